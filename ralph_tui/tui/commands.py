"""Every command of the screen, declared once: keys, footer, palette, help and README come from here."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from textual.binding import Binding, BindingType
from textual.command import DiscoveryHit, Hit, Hits, Provider

from ralph_tui.domain.plan import TaskStatus
from ralph_tui.domain.view import RunState
from ralph_tui.tui.render.spans import flat
from ralph_tui.tui.situation import Situation

if TYPE_CHECKING:
    from ralph_tui.tui.host import Host
    from ralph_tui.tui.screens.page import Page

Reason = Callable[[Situation], str]
"""Why a command cannot be used now; empty when it can."""


def always(_: Situation) -> str:
    """Never disabled."""
    return ""


def _no_loop(now: Situation) -> str:
    return "" if now.running else "No loop is running here; press b to start one."


def _not_running(now: Situation) -> str:
    if now.view.elsewhere is not None:
        return f"The loop is already running, in process {now.view.elsewhere.pid}."
    return "The loop is already running." if now.running else ""


def _cannot_pause(now: Situation) -> str:
    if now.state is RunState.STOPPING:
        return "The loop is stopping already."
    return _no_loop(now)


def _cannot_resume(now: Situation) -> str:
    waiting = now.state in (RunState.PAUSED, RunState.PAUSING)
    return _no_loop(now) or ("" if waiting else "Nothing is paused.")


def _cannot_skip(now: Situation) -> str:
    if now.task is None:
        return "Select a task on the board first; none is being worked."
    if now.task.status is TaskStatus.COMPLETE:
        return f"Task {now.task.id} is complete already."
    return f"Task {now.task.id} is blocked already." if _is_blocked(now) else ""


def _cannot_retry(now: Situation) -> str:
    if now.task is None:
        return "Select a blocked task on the board first."
    return "" if _is_blocked(now) else f"Task {now.task.id} is not blocked."


def _is_blocked(now: Situation) -> bool:
    return now.task is not None and now.task.status is TaskStatus.BLOCKED


def _pause_label(now: Situation) -> str:
    if not now.running:
        return ""
    if now.state is RunState.PAUSED:
        return "resume"
    return "pause now" if now.state is RunState.PAUSING else "pause"


def _build_label(now: Situation) -> str:
    return "" if now.running else "build"


def _stop_label(now: Situation) -> str:
    return "stop now" if now.state is RunState.STOPPING else "stop"


def _nothing_waits(now: Situation) -> str:
    return "" if now.waiting else "Nothing waits for you."


def _answer_label(now: Situation) -> str:
    return "answer" if now.waiting else ""


def _no_limit(now: Situation) -> str:
    return "" if now.view.limit_until else "The loop does not wait for a limit."


def _hurry_label(now: Situation) -> str:
    return "try now" if now.view.limit_until else ""


def _no_request(now: Situation) -> str:
    if not now.takes_requests:
        return 'A request cannot be typed here; use ralph run "what to build".'
    return _not_running(now)


def _request_label(now: Situation) -> str:
    return "" if _no_request(now) else "new request"


def _cannot_change(now: Situation) -> str:
    if now.task is None:
        return "Select a task on the board first."
    complete = now.task.status is TaskStatus.COMPLETE
    return f"Task {now.task.id} is complete already." if complete else ""


@dataclass(frozen=True, slots=True)
class Command:
    """One thing a person can do.

    Attributes:
        name: Names the handler in `steering.py` and the binding, so that keys can be remapped.
        keys: As Textual names them; the first is the one that is shown.
        title: For the palette and the help, as "Verb thing".
        help: One sentence.
        area: Groups commands in palette, help and README.
        footer: The short label in the footer, or empty to keep it out.
        rank: Footer order; when the line is too short, the highest ranks go first.
        disabled: Why it cannot be used now.
        label: A footer label that depends on the state.
    """

    name: str
    keys: tuple[str, ...]
    title: str
    help: str
    area: str
    footer: str = ""
    rank: int = 0
    disabled: Reason = always
    label: Callable[[Situation], str] | None = None

    def footer_label(self, now: Situation) -> str:
        """The footer's word for it; empty while another command has its place."""
        return self.label(now) if self.label else self.footer


COMMANDS: tuple[Command, ...] = (
    Command(
        "answer", ("a",), "Answer what waits for you",
        "Open the question or the decision that the loop waits for.",
        "Loop", "answer", -2, _nothing_waits, _answer_label,
    ),
    Command(
        "hurry", ("w",), "Wait no longer", "Try again now instead of waiting for a limit.",
        "Loop", "try now", -1, _no_limit, _hurry_label,
    ),
    Command(
        "build", ("b",), "Start building", "Run the loop until the plan is done or a limit stops it.",
        "Loop", "build", 0, _not_running, _build_label,
    ),
    Command(
        "request", ("n",), "New request", "Say what to build; Ralph goes the whole way.",
        "Loop", "new", 8, _no_request, _request_label,
    ),
    Command(
        "pause", ("p",), "Pause or resume",
        "Pause after this iteration, and at once when pressed again; resume when paused.",
        "Loop", "pause", 1, _cannot_pause, _pause_label,
    ),
    Command(
        "resume", ("r",), "Resume, or withdraw a pause",
        "Go on when paused; take back a pause that was asked for.", "Loop", disabled=_cannot_resume,
    ),
    Command(
        "stop", ("x",), "Stop the loop", "Stop after this iteration or at once; asks which.",
        "Loop", "stop", 5, _no_loop, _stop_label,
    ),
    Command(
        "inject", ("i",), "Inject guidance", "Say something to the next iteration.",
        "Loop", "guide", 2,
    ),
    Command(
        "urge", ("I",), "Say it now", "Say something to the turn that runs, without waiting for the next.",
        "Loop", disabled=_no_loop,
    ),
    Command(
        "skip", ("s",), "Skip or hold task",
        "Block the selected task, or the one being worked; asks first. t takes it up again.",
        "Task", "skip", 4, _cannot_skip,
    ),
    Command(
        "retry", ("t",), "Try a blocked task again",
        "Put the selected blocked task back to pending with its tries at zero.",
        "Task", disabled=_cannot_retry,
    ),
    Command(
        "edit", ("e",), "Edit task", "Change the selected task: text, criteria, what it waits for, priority.",
        "Task", disabled=_cannot_change,
    ),
    Command(
        "split", ("S",), "Split task",
        "Put several tasks in the place of the selected one, worked one after the other.",
        "Task", disabled=_cannot_change,
    ),
    Command(
        "sooner", ("plus",), "Move task up", "Put the selected task before the one above it.",
        "Task", disabled=_cannot_change,
    ),
    Command(
        "later", ("minus",), "Move task down", "Put the selected task after the one below it.",
        "Task", disabled=_cannot_change,
    ),
    Command(
        "drop", ("d",), "Drop task", "Take the selected task out of the plan; asks first.",
        "Task", disabled=_cannot_change,
    ),
    Command(
        "detail", ("enter",), "Show detail", "The whole of the selected entry or task.",
        "Look", "detail", 3,
    ),
    Command(
        "plan", ("v",), "View the plan",
        "The plan as a graph of what waits for what, or as a list; change it there.", "Look",
    ),
    Command(
        "search", ("slash",), "Search",
        "Find words in the tasks or the activity, in inputs and outputs too; enter keeps them, "
        "n and N step.", "Look",
    ),
    Command(
        "sift", ("F",), "Filter the activity",
        "Everything, calls alone, trouble alone, what was said.", "Look",
    ),
    Command("follow", ("f",), "Follow the activity", "Stay at the end of the stream, or let go.", "Look"),
    Command("copy", ("y",), "Copy the selection", "Copy the selected entry or task.", "Look"),
    Command(
        "export", ("E",), "Export", "Write the tasks or the activity, as filtered, to .ralph/exports.",
        "Look",
    ),
    Command("tasks", ("1",), "Go to tasks", "Focus the task board.", "Look"),
    Command("activity", ("2",), "Go to activity", "Focus the live stream.", "Look"),
    Command("status", ("3",), "Go to status", "Focus context, cost, breaker and gate.", "Look"),
    Command("next_pane", ("tab",), "Next pane", "Focus the next pane.", "Look"),
    Command("previous_pane", ("shift+tab",), "Previous pane", "Focus the pane before.", "Look"),
    Command(
        "iterations", ("4",), "Iterations and replay",
        "Walk back through past iterations, see what each changed, replay them.", "Pages",
    ),
    Command(
        "history", ("5",), "History", "Sessions, plots over time, burn-down, success metrics, export.",
        "Pages",
    ),
    Command(
        "memory", ("6",), "Memory and specs",
        "What the model is given: memory, learnings, AGENTS.md, specs, the report.", "Pages",
    ),
    Command(
        "why", ("7",), "Why?",
        "Why this task, why blocked, why waiting, why stopped; guard log and breaker.", "Pages",
    ),
    Command(
        "settings", ("8", "comma"), "Settings",
        "Every setting with its source; limits of this run; themes.", "Pages",
    ),
    Command(
        "help", ("question_mark", "f1"), "Show help", "Every key and what it does.",
        "App", "help", 6,
    ),
    Command("palette", ("ctrl+p",), "Open the command palette", "Find any command by name.", "App"),
    Command(
        "screenshot", ("f12",), "Save a screenshot", "Save the screen as an SVG picture.", "App"
    ),
    Command(
        "quit", ("q", "ctrl+q"), "Quit", "Leave; asks first while the loop runs.", "App", "quit", 7
    ),
)  # fmt: skip

BY_NAME = {command.name: command for command in COMMANDS}

MOVES = (
    ("↑ ↓  j k", "Move in tasks, activity and details"),
    ("g G  Home End", "First and last; at the end the stream follows again"),
    ("ctrl+u ctrl+d", "Half a page up and down"),
    ("esc", "Close the top layer; never quits"),
    ("ctrl+c", "Copy a mouse selection; else warns, and asks to quit when pressed again"),
)
"""Keys that lists and dialogs have of their own, for help and README."""

_SHOWN = {
    "question_mark": "?",
    "plus": "+",
    "minus": "-",
    "slash": "/",
    "comma": ",",
    "full_stop": ".",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "enter": "enter",
    "shift+tab": "shift+tab",
}


def key_label(key: str) -> str:
    """A key as people write it."""
    return _SHOWN.get(key, key.upper() if key.startswith("f") and key[1:].isdigit() else key)


def bindings() -> list[BindingType]:
    """The app's bindings; the footer is drawn by `KeyBar`, so Textual need not show them."""
    return [
        Binding(
            ",".join(c.keys), f"invoke('{c.name}')", c.title, show=False, id=c.name, tooltip=c.help
        )
        for c in COMMANDS
    ]


def key_table() -> str:
    """The README's table of keys, as Markdown."""
    from ralph_tui.tui.page_commands import PAGE_COMMANDS

    rows = [
        (" ".join(f"`{key_label(key)}`" for key in c.keys), f"{c.title}. {c.help}")
        for c in COMMANDS
    ]
    rows += [
        (" ".join(f"`{key_label(key)}`" for key in c.keys), f"{c.area}: {c.title}. {c.help}")
        for commands in PAGE_COMMANDS.values()
        for c in commands
    ]
    rows += [(" ".join(f"`{key}`" for key in keys.split()), f"{text}.") for keys, text in MOVES]
    return "\n".join(
        [
            "| Key | What it does |",
            "| --- | --- |",
            *(f"| {keys} | {text} |" for keys, text in rows),
        ]
    )


class CommandsProvider(Provider):
    """Ralph's commands in the palette, with their keys and why one cannot be used now."""

    @property
    def _host(self) -> "Host":
        from ralph_tui.tui.host import Host

        app = self.app
        assert isinstance(app, Host)
        return app

    def _entries(self) -> list[tuple[str, str, Callable[[], None]]]:
        now = self._host.situation()
        entries: list[tuple[str, str, Callable[[], None]]] = []
        if page := page_of(self.screen):
            for command in page.page_commands:
                run = partial(page.action_invoke, command.name)
                shown = replace(command, keys=self._host.keys_of(command))
                entries.append(_entry(shown, page.not_now(command.name), run))
        for command in COMMANDS:
            if command.name != "palette":
                run = partial(self._host.action_invoke, command.name)
                shown = replace(command, keys=self._host.keys_of(command))
                entries.append(_entry(shown, command.disabled(now), run))
        return entries

    async def discover(self) -> Hits:
        """Every command, before anything was typed."""
        for name, text, run in self._entries():
            yield DiscoveryHit(_escaped(name), run, text=name, help=_harmless(text))

    async def search(self, query: str) -> Hits:
        """Commands whose name matches."""
        matcher = self.matcher(query)
        for name, text, run in self._entries():
            if (score := matcher.match(name)) > 0:
                yield Hit(score, matcher.highlight(name), run, text=name, help=_harmless(text))


Entry = tuple[str, str, Callable[[], None]]


def _entry(command: Command, reason: str, run: Callable[[], None]) -> Entry:
    text = f"Not now: {reason}" if reason else command.help
    return f"{command.area}: {command.title}  [{key_label(command.keys[0])}]", text, run


def page_of(screen: object) -> "Page | None":
    """The page a screen is; none before the first was opened, whose file is imported then."""
    import sys

    if "ralph_tui.tui.screens.page" not in sys.modules:
        return None
    from ralph_tui.tui.screens.page import Page

    return screen if isinstance(screen, Page) else None


def _escaped(name: str) -> str:
    """A name of ours, with its key in brackets, where the palette parses markup."""
    return name.replace("[", r"\[")


_BRACKETS = str.maketrans("[]\\", "()/")


def _harmless(text: str) -> str:
    """A reason may name a task, and the palette parses markup: no bracket gets through."""
    return flat(text).translate(_BRACKETS)
