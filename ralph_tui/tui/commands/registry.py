"""Every command of the screen, declared once: keys, footer, palette, help and docs/keys.md come from here."""

from dataclasses import replace

from textual.binding import Binding, BindingType

from ralph_tui.present.text.key_hints import Keys, key_label
from ralph_tui.tui.commands import availability
from ralph_tui.tui.commands.command import Command, Leads

PAGES = ("iterations", "history", "memory", "why", "settings", "features")
"""In the order of their keys; each is also the name of the command that opens it."""

_SEARCH = (
    Command(
        "search",
        ("slash",),
        "Search",
        "Find words; enter keeps them.",
        "",
        "search",
        3,
        leads=Leads.FIELD,
    ),
    Command("next_match", ("greater_than_sign",), "Next match", "Go to the next match.", ""),
    Command(
        "previous_match", ("less_than_sign",), "Previous match", "Go to the previous match.", ""
    ),
)

_SHARE = Command(
    "share",
    ("Y",),
    "Copy all or export",
    "Copy everything that is shown, or write it to a file.",
    "",
    leads=Leads.DIALOG,
)
_EXPORT = Command(
    "export",
    (),
    "Export",
    "Write what is shown to .ralph/exports.",
    "",
    leads=Leads.FIELD,
    within="share",
)
_COPY_ALL = Command(
    "copy_all", (), "Copy everything", "Copy everything that is shown.", "", within="share"
)


def _of(area: str, *commands: Command) -> tuple[Command, ...]:
    return tuple(replace(command, area=area) for command in commands)


def name_of(command: Command) -> str:
    """Return the command's name in the settings: a page's own begin with the page, such as history.export."""
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
            "filter", ("F",), "Filter", "Filter: all, tool calls, problems, messages.", "", "filter", 5
        ),
        Command("newer", ("right_square_bracket",), "Newer iteration", "The one after this.", ""),
        Command("older", ("left_square_bracket",), "Older iteration", "The one before this.", ""),
        Command("open", ("enter",), "Open", "From the list to its contents; the whole of an entry.", "", "open", 0, leads=Leads.PLACE),
        Command(
            "undo", ("u",), "Undo iteration", "Restore the files from before it; shows first what would change.", "",
            leads=Leads.DIALOG,
        ),
        Command("copy", ("y",), "Copy", "Copy the selected entry, the changes or the summary.", ""),
        _SHARE,
        _COPY_ALL,
        _EXPORT,
    ),
    "history": _of(
        "History",
        Command("look", ("v",), "Next view", "Plots, sessions, metrics.", "", "view", 1),
        Command("open", ("enter",), "Open", "Walk through the selected iteration.", "", "open", 0, leads=Leads.PLACE),
        *_SEARCH,
        Command("export", (), "Export", "Write it as CSV, JSON or Markdown.", "", "export", 2, leads=Leads.FIELD, within="share"),
        Command("copy", ("y",), "Copy", "Copy the selected session, the metrics, or the plots' numbers.", "", "copy", 4),
        _SHARE,
        _COPY_ALL,
    ),
    "memory": _of(
        "Memory",
        Command("open", ("enter",), "Open", "From the list to the text.", "", "open", 0, leads=Leads.PLACE),
        *_SEARCH,
        Command("edit", ("e",), "Edit", "Open the file in $VISUAL or $EDITOR.", "", "edit", 1, leads=Leads.DIALOG),
        Command("copy", ("y",), "Copy", "Copy the whole text.", "", "copy", 4),
        _SHARE,
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
            leads=Leads.FIELD,
        ),
        Command("copy", ("y",), "Copy", "Copy what is shown.", "", "copy", 4),
        _SHARE,
        _COPY_ALL,
        _EXPORT,
    ),
    "features": _of(
        "Features",
        Command("choose", ("enter",), "Choose", "Work on the selected feature; not while a loop runs.", "", "choose", 0),
        Command("new", ("A",), "New feature", "Make a feature and choose it.", "", "new", 1, leads=Leads.FIELD),
        Command("archive", ("z",), "Archive", "Copy the selected plan, its specs and its log; the memory page has the archives.", "", "archive", 2),
        *_SEARCH,
        Command("copy", ("y",), "Copy", "Copy the selected row.", "", "copy", 4),
        _SHARE,
        _COPY_ALL,
        _EXPORT,
    ),
    "settings": _of(
        "Settings",
        Command("look", ("v",), "Next view", "This run, settings, themes.", "", "view", 1),
        Command("open", ("enter",), "Change", "Change the selected value, or keep the theme.", "", "change", 0, leads=Leads.PLACE),
        *_SEARCH,
        Command("copy", ("y",), "Copy", "Copy the selected setting.", "", "copy", 4),
        _SHARE,
        Command("copy_all", (), "Copy everything", "Copy every setting with its source.", "", within="share"),
        _EXPORT,
    ),
}  # fmt: skip


COMMANDS: tuple[Command, ...] = (
    Command(
        "answer", ("a",), "Answer",
        "Open the question or the decision that is waiting for you.",
        "Loop", "answer", -2, availability.nothing_waits, availability.answer_label,
        leads=Leads.DIALOG, on_pages=True,
    ),
    Command(
        "hurry", ("w",), "Retry now", "Retry now instead of waiting for a limit or a cool-down.",
        "Loop", "try now", -1, availability.no_limit, availability.hurry_label,
        on_pages=True,
    ),
    Command(
        "build", ("b",), "Start building", "Run the loop until the plan is done or a limit stops it.",
        "Loop", "build", 0, availability.cannot_build, availability.build_label,
        on_pages=True,
    ),
    Command(
        "request", ("n",), "New request", "Describe what to build. Ralph plans, builds and verifies it.",
        "Loop", "new", 8, availability.no_request, availability.request_label,
        leads=Leads.DIALOG,
    ),
    Command(
        "pause", ("p",), "Pause or resume",
        "Pause after this iteration, or at once when pressed again. Resume when paused.",
        "Loop", "pause", 1, availability.cannot_pause, availability.pause_label,
        on_pages=True,
    ),
    Command(
        "resume", (), "Resume, or withdraw a pause",
        "Resume a paused loop, or withdraw the request to pause.", "Loop", disabled=availability.cannot_resume,
        on_pages=True, within="palette",
    ),
    Command(
        "stop", ("x",), "Stop the loop", "Stop after this iteration or at once, after asking.",
        "Loop", "stop", 5, availability.no_loop, availability.stop_label,
        leads=Leads.DIALOG, on_pages=True,
    ),
    Command(
        "inject", ("i",), "Guide the agent", "Send guidance to the next iteration, or to the agent now.",
        "Loop", "guide", 2,
        leads=Leads.DIALOG, on_pages=True,
    ),
    Command(
        "urge", (), "Guide the agent now", "Send guidance to the agent without waiting for the next iteration.",
        "Loop", disabled=availability.no_loop,
        leads=Leads.DIALOG, within="inject",
    ),
    Command(
        "skip", (), "Skip task",
        "Block the selected or the current task, after asking. Retry queues it again.",
        "Task", disabled=availability.cannot_skip,
        leads=Leads.DIALOG, within="detail",
    ),
    Command(
        "retry", (), "Retry task",
        "Reset the attempts of the selected blocked task and queue it again.",
        "Task", disabled=availability.cannot_retry,
        leads=Leads.PLACE, within="detail",
    ),
    Command(
        "hold", (), "Hold or release task",
        "Put a task on hold. If it is running, it stops and returns to the queue.",
        "Task", disabled=availability.cannot_hold,
        leads=Leads.PLACE, within="detail",
    ),
    Command(
        "model", (), "Choose the task's model", "Choose another model for the selected task.",
        "Task", disabled=availability.cannot_change,
        leads=Leads.DIALOG, within="detail",
    ),
    Command(
        "edit", ("e",), "Edit task",
        "Change the selected task: text, criteria, dependencies, priority, tokens, model.",
        "Task", disabled=availability.cannot_change,
        leads=Leads.DIALOG,
    ),
    Command(
        "add", ("A",), "Add task",
        "Add a task to the plan, by default after all others.",
        "Task", disabled=availability.no_plan,
        leads=Leads.DIALOG,
    ),
    Command(
        "import_plan", ("O",), "Import a plan…",
        "Import a plan from another tool, after showing what will change.",
        "Task", "import", 9, availability.cannot_import, availability.import_label,
        leads=Leads.DIALOG,
    ),
    Command(
        "split", (), "Split task",
        "Replace the selected task with several, built one after the other.",
        "Task", disabled=availability.cannot_change,
        leads=Leads.DIALOG, within="detail",
    ),
    Command(
        "replan", (), "Plan again",
        "Replan with your feedback. Completed tasks stay; the old plan is archived.",
        "Task", disabled=availability.cannot_replan,
        leads=Leads.DIALOG, within="palette",
    ),
    Command(
        "sooner", ("shift+up",), "Move task up", "Put the selected task before the one above it.",
        "Task", disabled=availability.cannot_change,
    ),
    Command(
        "later", ("shift+down",), "Move task down", "Put the selected task after the one below it.",
        "Task", disabled=availability.cannot_change,
    ),
    Command(
        "drop", (), "Drop task", "Remove the selected task from the plan, after asking.",
        "Task", disabled=availability.cannot_change,
        leads=Leads.DIALOG, within="detail",
    ),
    Command(
        "undo", ("u",), "Undo task",
        "Restore the files from before the selected task, after showing what will change.",
        "Task", disabled=availability.cannot_undo,
        leads=Leads.DIALOG,
    ),
    Command(
        "detail", ("enter",), "Open", "Open the menu of the selected task, or the whole of the selected entry.",
        "Look", "detail", 3,
        leads=Leads.VIEW,
    ),
    Command(
        "plan", ("v",), "View the plan",
        "Show the plan as a dependency graph or as a list, and change it.", "Look",
        leads=Leads.VIEW,
    ),
    Command(
        "search", ("slash",), "Search",
        "Find words in the tasks or the activity, also in inputs and outputs.", "Look",
        leads=Leads.FIELD,
    ),
    Command(
        "sift", ("F",), "Filter",
        "Filter the activity (all, tool calls, problems, messages) or the tasks (all, open, by status).",
        "Look",
    ),
    Command("fold", ("Z",), "Fold group", "Hide or show the tasks of a group, or the checks of a rejected claim.", "Look"),
    Command("zoom", ("M",), "Zoom the pane", "Show the pane in use alone, or all of them again.", "Look"),
    Command("follow", ("f",), "Follow the activity", "Toggle auto-scroll.", "Look"),
    Command("copy", ("y",), "Copy the selection", "Copy the whole of the selected entry or task.", "Look"),
    Command(
        "share", ("Y",), "Copy all or export",
        "Copy the tasks, the activity or the status, or write them to a file.", "Look",
        leads=Leads.DIALOG,
    ),
    Command(
        "copy_all", (), "Copy everything", "Copy the tasks, the activity or the status, as filtered.",
        "Look", within="share",
    ),
    Command(
        "export", (), "Export", "Write the tasks, the activity or the status, as filtered, to .ralph/exports.",
        "Look",
        leads=Leads.FIELD, within="share",
    ),
    Command(
        "jump", ("o", "ctrl+o"), "Jump",
        "Letters appear on panes, tabs and rows; press one to go there.", "Look",
        leads=Leads.DIALOG, on_pages=True,
    ),
    Command("tasks", ("1",), "Go to tasks", "Focus the task board.", "Look", leads=Leads.PLACE),
    Command("activity", ("2",), "Go to activity", "Focus the live stream.", "Look", leads=Leads.PLACE),
    Command("status", ("3",), "Go to status", "Focus context, cost, breaker and gate.", "Look", leads=Leads.PLACE),
    Command("next_pane", ("tab", "right", "l"), "Next pane", "Focus the next pane.", "Look", leads=Leads.PLACE),
    Command("previous_pane", ("shift+tab", "left", "h"), "Previous pane", "Focus the pane before.", "Look", leads=Leads.PLACE),
    Command(
        "iterations", ("4",), "Iterations and replay",
        "Go through past iterations, see their changes and replay them.", "Pages", "iterations", 10,
        leads=Leads.VIEW, on_pages=True,
    ),
    Command(
        "history", ("5",), "History", "Sessions, plots over time, burn-down, success metrics, export.",
        "Pages", "history", 11,
        leads=Leads.VIEW, on_pages=True,
    ),
    Command(
        "memory", ("6",), "Memory and specs",
        "What the model is given: memory, learnings, AGENTS.md, specs; archived plans.", "Pages", "memory", 12,
        leads=Leads.VIEW, on_pages=True,
    ),
    Command(
        "why", ("7",), "Why?",
        "Why this task, why blocked, why waiting, why stopped; guard log and breaker.", "Pages", "why", 13,
        leads=Leads.VIEW, on_pages=True,
    ),
    Command(
        "settings", ("8", "comma"), "Settings",
        "Every setting with its source; limits of this run; themes.", "Pages", "settings", 14,
        leads=Leads.VIEW, on_pages=True,
    ),
    Command(
        "features", ("9",), "Features",
        "The plans of this project, each with its own specs and memory; choose or make one.",
        "Pages",
        leads=Leads.VIEW, on_pages=True,
    ),
    Command(
        "help", ("question_mark", "f1"), "Show help", "Every key and what it does.",
        "App", "help", 6,
        leads=Leads.VIEW, on_pages=True,
    ),
    Command("palette", ("ctrl+p",), "Open the command palette", "Find any command by name.", "App", leads=Leads.FIELD, on_pages=True),
    Command(
        "screenshot", (), "Save a screenshot", "Save the screen as an SVG picture.", "App",
        on_pages=True, within="palette",
    ),
    Command(
        "quit", ("q", "ctrl+q"), "Quit", "Quit. Asks first while the loop runs.", "App", "quit", 7,
        leads=Leads.DIALOG, on_pages=True,
    ),
)  # fmt: skip

WHEN_DONE = (
    "answer",
    "request",
    "iterations",
    "memory",
    "history",
    "detail",
    "help",
    "quit",
    "why",
    "settings",
)
"""What the footer offers when the plan is complete, the most important first."""

WHEN_EMPTY = ("answer", "request", "import_plan", "help", "settings", "quit")
"""What the footer offers when there is no plan yet."""

BY_NAME = {command.name: command for command in COMMANDS}

EVERY = (*COMMANDS, *(command for own in PAGE_COMMANDS.values() for command in own))
"""All commands, those of the pages included."""

LEADS = {command.name: command.leads for command in EVERY}
"""By name; commands of pages with the same name lead to the same."""

DEFAULT_KEYS = Keys(
    {name_of(command): command.keys for command in EVERY},
    {name_of(command): command.within for command in EVERY if command.within},
)
"""The keys where the settings change none."""

MOVES = (
    ("↑ ↓  j k", "Move in tasks, activity and details"),
    ("g G  Home End", "First and last; at the end auto-scroll is on again"),
    ("ctrl+u ctrl+d", "Half a page up and down"),
    ("↑ ↓", "Recall earlier texts in a text box, from its first row"),
    ("@", "Complete the name of a file in a text box"),
    ("esc", "Close the top layer; never quits"),
    ("ctrl+c", "Copy a mouse selection; else warns, and asks to quit when pressed again"),
)
"""Keys that lists and dialogs have of their own, for help and docs/keys.md."""


def bindings() -> list[BindingType]:
    """Return the app's bindings; `DashboardFooter` draws the footer, so Textual need not show them.

    A command without a key gets one that no terminal sends, so that the settings can give it a real one.
    """
    return [
        Binding(
            ",".join(c.keys) or f"none_{c.name}",
            f"invoke('{c.name}')",
            c.title,
            show=False,
            id=c.name,
            tooltip=c.help,
        )
        for c in COMMANDS
    ]


def _menu_of(command: Command) -> str:
    """Return where a command without a key is found."""
    return f"in the menu of `{DEFAULT_KEYS.label(command.within)}`"


def key_table() -> str:
    """Return the table of keys in docs/keys.md, as Markdown, with the names that `screen.keys` knows."""
    rows = [
        (
            " ".join(f"`{key_label(key)}`" for key in c.keys) or _menu_of(c),
            f"`{name_of(c)}`",
            f"{c.title}. {DEFAULT_KEYS.said(c.help)}",
        )
        for c in EVERY
    ]
    rows += [(" ".join(f"`{key}`" for key in keys.split()), "", f"{text}.") for keys, text in MOVES]
    return "\n".join(
        [
            "| Key | Name | What it does |",
            "| --- | --- | --- |",
            *(f"| {' | '.join(row)} |" for row in rows),
        ]
    )
