"""The commands of the pages, declared like all others; they live where their page is open."""

from ralph_tui.tui.command import Command

PAGES = ("iterations", "history", "memory", "why", "settings")
"""In the order of their keys; each is also the name of the command that opens it."""

_SEARCH = (
    Command("search", ("slash",), "Search", "Find words; enter keeps them.", "", "search", 3),
    Command("next_match", ("n",), "Next match", "Go to the next place with the words.", ""),
    Command("previous_match", ("N",), "Previous match", "Go to the place before.", ""),
)

_EXPORT = Command("export", ("E",), "Export", "Write what is shown to .ralph/exports.", "")
_COPY_ALL = Command("copy_all", ("Y",), "Copy everything", "Copy all that is shown.", "")


def _of(area: str, *commands: Command) -> tuple[Command, ...]:
    return tuple(Command(c.name, c.keys, c.title, c.help, area, c.footer, c.rank) for c in commands)


def name_of(command: Command) -> str:
    """How the settings call it: a page's own commands after the page, such as history.export."""
    page = command.area.lower()
    return f"{page}.{command.name}" if page in PAGES else command.name


PAGE_COMMANDS: dict[str, tuple[Command, ...]] = {
    "iterations": _of(
        "Iterations",
        Command(
            "play", ("space",), "Replay or hold",
            "Play the iteration as it went, or hold; long silences are shortened.", "", "replay", 1,
        ),
        Command("faster", ("plus",), "Faster", "Replay at 2, 5 or 10 times the pace.", "", "faster", 4),
        Command("slower", ("minus",), "Slower", "Replay at 5 or 2 times the pace, down to the real one.", ""),
        Command("rewind", ("0",), "From the start", "Replay from the beginning.", ""),
        Command("whole", ("full_stop",), "Show it whole", "End the replay and show everything.", ""),
        Command("look", ("v",), "Next view", "Activity, changes, summary.", "", "view", 2),
        *_SEARCH,
        Command(
            "filter", ("f",), "Filter", "All, calls alone, trouble alone, what was said.", "", "filter", 5
        ),
        Command("newer", ("right_square_bracket",), "Newer iteration", "The one after this.", ""),
        Command("older", ("left_square_bracket",), "Older iteration", "The one before this.", ""),
        Command("open", ("enter",), "Open", "From the list to its contents; the whole of an entry.", "", "open", 0),
        Command("copy", ("y",), "Copy", "Copy the selected entry, the changes or the summary.", ""),
        _COPY_ALL,
        _EXPORT,
    ),
    "history": _of(
        "History",
        Command("look", ("v",), "Next view", "Plots, sessions, metrics.", "", "view", 1),
        Command("open", ("enter",), "Open", "Walk through the selected iteration.", "", "open", 0),
        *_SEARCH,
        Command("export", ("e", "E"), "Export", "Write it as CSV, JSON or Markdown.", "", "export", 2),
        Command("copy", ("y",), "Copy", "Copy the selected session, the metrics, or the plots' numbers.", "", "copy", 4),
        _COPY_ALL,
    ),
    "memory": _of(
        "Memory",
        Command("open", ("enter",), "Open", "From the list to the text.", "", "open", 0),
        *_SEARCH,
        Command("edit", ("e",), "Edit", "Open the file in $VISUAL or $EDITOR.", "", "edit", 1),
        Command("copy", ("y",), "Copy", "Copy the whole text.", "", "copy", 4),
        _COPY_ALL,
        _EXPORT,
    ),
    "why": _of(
        "Why",
        Command("look", ("v",), "Next view", "Now, guard log, breaker.", "", "view", 1),
        *_SEARCH,
        Command(
            "reset_breaker", ("R",), "Reset the breaker",
            "Close the circuit breaker; asks for the reason, which is kept.", "", "reset breaker", 2,
        ),
        Command("copy", ("y",), "Copy", "Copy what is shown.", "", "copy", 4),
        _COPY_ALL,
        _EXPORT,
    ),
    "settings": _of(
        "Settings",
        Command("look", ("v",), "Next view", "This run, settings, themes.", "", "view", 1),
        Command("open", ("enter",), "Change", "Change the selected value, or keep the theme.", "", "change", 0),
        *_SEARCH,
        Command("copy", ("y",), "Copy", "Copy the selected setting.", "", "copy", 4),
        Command("copy_all", ("Y",), "Copy everything", "Copy every setting with its source.", ""),
        _EXPORT,
    ),
}  # fmt: skip
