"""Every command of the screen, declared once: keys, footer, palette, help and docs/keys.md come from here."""

from dataclasses import replace

from textual.binding import Binding, BindingType

from ralph_tui.present.text.key_hints import Keys
from ralph_tui.tui.commands import availability
from ralph_tui.tui.commands.command import Command, Leads

PAGES = ("iterations", "history", "memory", "why", "settings", "features")

_SEARCH = (
    Command(
        "search",
        ("slash",),
        "Search",
        "Find text, then step through the matches.",
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
    "Copy and export all",
    "Copy everything shown, and save it to .ralph/exports.",
    "",
)


def _of(area: str, *commands: Command) -> tuple[Command, ...]:
    return tuple(replace(command, area=area) for command in commands)


def name_of(command: Command) -> str:
    page = command.area.lower()
    return f"{page}.{command.name}" if page in PAGES else command.name


PAGE_COMMANDS: dict[str, tuple[Command, ...]] = {
    "iterations": _of(
        "Iterations",
        Command("look", ("v",), "Next view", "Switch between activity, changes and summary.", "", "view", 2),
        *_SEARCH,
        Command(
            "filter", ("F",), "Filter", "Filter: all, tool calls, problems, messages.", "", "filter", 5
        ),
        Command("newer", ("right_square_bracket",), "Newer iteration", "Select the next newer iteration.", ""),
        Command("older", ("left_square_bracket",), "Older iteration", "Select the next older iteration.", ""),
        Command("open", ("enter",), "Open", "Open the selected iteration, or the selected entry in full.", "", "open", 0, leads=Leads.PLACE),
        Command(
            "undo", ("u",), "Undo iteration", "Restore the files from before the iteration, after showing what will change.", "",
            leads=Leads.DIALOG,
        ),
        Command("copy", ("y",), "Copy", "Copy the selected entry, the changes or the summary.", ""),
        _SHARE,
    ),
    "history": _of(
        "History",
        Command("look", ("v",), "Next view", "Switch between sessions and metrics.", "", "view", 1),
        Command("open", ("enter",), "Open", "Open the selected iteration.", "", "open", 0, leads=Leads.PLACE),
        *_SEARCH,
        Command("copy", ("y",), "Copy", "Copy the selected session or the metrics.", "", "copy", 4),
        _SHARE,
    ),
    "memory": _of(
        "Memory",
        Command("open", ("enter",), "Open", "Open the selected text.", "", "open", 0, leads=Leads.PLACE),
        *_SEARCH,
        Command("edit", ("e",), "Edit", "Open the file in $VISUAL or $EDITOR.", "", "edit", 1, leads=Leads.DIALOG),
        Command("copy", ("y",), "Copy", "Copy the whole text.", "", "copy", 4),
        _SHARE,
    ),
    "why": _of(
        "Why",
        Command("look", ("v",), "Next view", "Switch between now, guard log and breaker.", "", "view", 1),
        *_SEARCH,
        Command(
            "reset_breaker", ("R",), "Reset the breaker",
            "Close the circuit breaker. Asks for a reason and records it.", "", "reset breaker", 2,
            leads=Leads.FIELD,
        ),
        Command("copy", ("y",), "Copy", "Copy everything shown.", "", "copy", 4),
        _SHARE,
    ),
    "features": _of(
        "Features",
        Command("choose", ("enter",), "Choose", "Work on the selected feature. Not available while a loop runs.", "", "choose", 0),
        Command("new", ("A",), "New feature", "Create a feature and choose it.", "", "new", 1, leads=Leads.FIELD),
        Command("archive", ("z",), "Archive", "Archive a copy of the selected plan, its specs and its log. The memory page lists the archives.", "", "archive", 2),
        *_SEARCH,
        Command("copy", ("y",), "Copy", "Copy the selected row.", "", "copy", 4),
        _SHARE,
    ),
    "settings": _of(
        "Settings",
        Command("look", ("v",), "Next view", "Switch between this run and all settings.", "", "view", 1),
        Command("open", ("enter",), "Change", "Change the selected value.", "", "change", 0, leads=Leads.PLACE),
        *_SEARCH,
        Command("copy", ("y",), "Copy", "Copy the selected setting.", "", "copy", 4),
        _SHARE,
    ),
}  # fmt: skip


COMMANDS: tuple[Command, ...] = (
    Command(
        "answer", ("a",), "Answer",
        "Open the pending question or approval.",
        "Loop", "answer", -2, availability.nothing_waits, availability.answer_label,
        leads=Leads.DIALOG, on_pages=True,
    ),
    Command(
        "hurry", ("w",), "Retry now", "Retry without waiting for a limit or a cool-down to end.",
        "Loop", "retry now", -1, availability.no_limit, availability.hurry_label,
        on_pages=True,
    ),
    Command(
        "build", ("b",), "Start building", "Run the loop until the plan is complete or a limit is reached.",
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
        "Pause after this iteration. Press again to pause immediately, or to resume.",
        "Loop", "pause", 1, availability.cannot_pause, availability.pause_label,
        on_pages=True,
    ),
    Command(
        "resume", (), "Resume or cancel a pause",
        "Resume a paused loop, or cancel the request to pause.", "Loop", disabled=availability.cannot_resume,
        on_pages=True, within="palette",
    ),
    Command(
        "stop", ("x",), "Stop the loop", "Stop after this iteration or immediately. Asks first.",
        "Loop", "stop", 5, availability.no_loop, availability.stop_label,
        leads=Leads.DIALOG, on_pages=True,
    ),
    Command(
        "inject", ("i",), "Guide the agent", "Send guidance to the next iteration, or to the agent now.",
        "Loop", "guide", 2,
        leads=Leads.DIALOG, on_pages=True,
    ),
    Command(
        "edit", ("e",), "Edit task",
        "Change the selected task: text, criteria, dependencies, priority, tokens, model.",
        "Task", disabled=availability.cannot_change,
        leads=Leads.DIALOG, letter="e",
    ),
    Command(
        "skip", (), "Skip task",
        "Block the selected or the current task. Asks first. Retry queues it again.",
        "Task", disabled=availability.cannot_skip,
        leads=Leads.DIALOG, within="detail", letter="s",
    ),
    Command(
        "retry", (), "Retry task",
        "Reset the attempts of the selected blocked task and queue it again.",
        "Task", disabled=availability.cannot_retry,
        leads=Leads.PLACE, within="detail", letter="t",
    ),
    Command(
        "hold", (), "Hold or release task",
        "Put a task on hold. If it is running, it stops and returns to the queue.",
        "Task", disabled=availability.cannot_hold,
        leads=Leads.PLACE, within="detail", letter="h",
    ),
    Command(
        "model", (), "Choose the task's model", "Choose another model for the selected task.",
        "Task", disabled=availability.cannot_change,
        leads=Leads.DIALOG, within="detail", letter="m",
    ),
    Command(
        "add", ("A",), "Add task",
        "Add a task, by default at the end of the plan.",
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
        "Replace the selected task with several that are built in order.",
        "Task", disabled=availability.cannot_change,
        leads=Leads.DIALOG, within="detail", letter="S",
    ),
    Command(
        "replan", (), "Replan",
        "Replan with your feedback. Completed tasks stay; the old plan is archived.",
        "Task", disabled=availability.cannot_replan,
        leads=Leads.DIALOG, within="palette",
    ),
    Command(
        "sooner", ("shift+up",), "Move task up", "Move the selected task before the one above it.",
        "Task", disabled=availability.cannot_change, letter="shift+up",
    ),
    Command(
        "later", ("shift+down",), "Move task down", "Move the selected task after the one below it.",
        "Task", disabled=availability.cannot_change, letter="shift+down",
    ),
    Command(
        "undo", ("u",), "Undo task",
        "Restore the files from before the selected task, after showing what will change.",
        "Task", disabled=availability.cannot_undo,
        leads=Leads.DIALOG, letter="u",
    ),
    Command(
        "drop", (), "Drop task", "Remove the selected task from the plan. Asks first.",
        "Task", disabled=availability.cannot_change,
        leads=Leads.DIALOG, within="detail", letter="D",
    ),
    Command(
        "detail", ("enter",), "Open", "Open the menu of the selected task, or the selected entry in full.",
        "Look", "detail", 3,
        leads=Leads.VIEW,
    ),
    Command(
        "plan", ("v",), "View the plan",
        "View and edit the plan as a dependency graph or a list.", "Look",
        leads=Leads.VIEW,
    ),
    Command(
        "search", ("slash",), "Search",
        "Find text in the tasks or the activity, including inputs and outputs.", "Look",
        leads=Leads.FIELD,
    ),
    Command(
        "sift", ("F",), "Filter",
        "Filter the activity (all, tool calls, problems, messages) or the tasks (all, open, by status).",
        "Look",
    ),
    Command("fold", ("Z",), "Fold group", "Hide or show the tasks of a group, or the checks of a rejected claim.", "Look"),
    Command("zoom", ("M",), "Zoom the pane", "Show only the focused pane, or all panes again.", "Look"),
    Command("follow", ("f",), "Follow the activity", "Toggle auto-scroll.", "Look"),
    Command("copy", ("y",), "Copy the selection", "Copy the selected entry or task in full.", "Look"),
    Command(
        "share", ("Y",), "Copy and export all",
        "Copy the tasks, the activity or the status, as filtered, and save them to .ralph/exports.", "Look",
    ),
    Command("tasks", ("1",), "Go to tasks", "Focus the task board.", "Look", leads=Leads.PLACE),
    Command("activity", ("2",), "Go to activity", "Focus the activity.", "Look", leads=Leads.PLACE),
    Command("status", ("3",), "Go to status", "Focus the status panels: context, cost, breaker and gate.", "Look", leads=Leads.PLACE),
    Command("next_pane", ("tab", "right", "l"), "Next pane", "Focus the next pane.", "Look", leads=Leads.PLACE),
    Command("previous_pane", ("shift+tab", "left", "h"), "Previous pane", "Focus the previous pane.", "Look", leads=Leads.PLACE),
    Command(
        "iterations", ("4",), "Iterations",
        "Browse past iterations and see what each did and changed.", "Pages", "iterations", 10,
        leads=Leads.VIEW, on_pages=True,
    ),
    Command(
        "history", ("5",), "History", "Sessions with their figures, success metrics, an estimate of what is left.",
        "Pages", "history", 11,
        leads=Leads.VIEW, on_pages=True,
    ),
    Command(
        "memory", ("6",), "Memory and specs",
        "What the model receives: memory, learnings, AGENTS.md and specs. Also lists archived plans.", "Pages", "memory", 12,
        leads=Leads.VIEW, on_pages=True,
    ),
    Command(
        "why", ("7",), "Why?",
        "Why a task was chosen or blocked, and why the loop waits or stopped. Also shows the guard log and the breaker.", "Pages", "why", 13,
        leads=Leads.VIEW, on_pages=True,
    ),
    Command(
        "settings", ("8", "comma"), "Settings",
        "Every setting with its source, and the limits of this run.", "Pages", "settings", 14,
        leads=Leads.VIEW, on_pages=True,
    ),
    Command(
        "features", ("9",), "Features",
        "The plans of this project, each with its own specs and memory. Choose or create one.",
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
        "quit", ("q", "ctrl+q"), "Quit", "Close the screen. Asks first while the loop runs.", "App", "quit", 7,
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
"""Commands in the footer when the plan is complete, the most important first."""

WHEN_EMPTY = ("answer", "request", "import_plan", "help", "settings", "quit")
"""Commands in the footer when there is no plan yet."""

BY_NAME = {command.name: command for command in COMMANDS}

EVERY = (*COMMANDS, *(command for own in PAGE_COMMANDS.values() for command in own))

LEADS = {command.name: command.leads for command in EVERY}
"""Where each command leads, by name; page commands of the same name lead to the same place."""

DEFAULT_KEYS = Keys(
    {name_of(command): command.keys for command in EVERY},
    {name_of(command): command.within for command in EVERY if command.within},
)
"""The keys of all commands, before the settings change any."""

MOVES = (
    ("↑ ↓  j k", "Move in tasks, activity and details"),
    ("g G  Home End", "Go to the first or last row. At the end, auto-scroll resumes"),
    ("ctrl+u ctrl+d", "Half a page up and down"),
    ("esc", "Close the top layer. Never quits"),
    ("ctrl+c", "Copy the mouse selection. Without one, press twice to quit"),
)
"""Keys of lists and dialogs, which are no commands, for the help and docs/keys.md."""


def bindings() -> list[BindingType]:
    """Return the app's bindings; hidden, because `DashboardFooter` draws the footer.

    A command without a key gets one that no terminal sends, so that the settings can assign a real one.
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
