"""The start screen, shown in a folder that is not a project yet: facts, one input, and what each key does."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from textual import work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Input, Static
from textual.worker import get_current_worker

from ralph_tui.domain.errors import RalphError
from ralph_tui.domain.plan.import_preview import ImportPreview
from ralph_tui.domain.sanitize import inert
from ralph_tui.present.sections.import_parts import import_heading, import_parts
from ralph_tui.present.text.glyphs import choose
from ralph_tui.present.text.parts import parts_blocks
from ralph_tui.present.text.spans import Line, Tone
from ralph_tui.store.typed_texts import REQUEST
from ralph_tui.tui.theme.stylesheets import STYLES
from ralph_tui.tui.theme.themes import RALPH_DARK, THEMES, shown_as
from ralph_tui.tui.widgets.file_completion import WritingLine

_MOST_ROWS = 60
"""Maximum number of tasks of each kind that a preview lists."""

_EMPTY = "Describe what to build first, or press ctrl+s to set up ralph only."
_LANGUAGE = "Which language? The same key again makes a new Python project; ^l leaves the language to the request."
_TYPED = "Your request has not been sent. Press {key} again to {what}."
_UNUSED = "The request you typed will not be sent, because the plan defines what to build."
_TONES = {
    Tone.OK: "$text-success",
    Tone.WARN: "$text-warning",
    Tone.BAD: "$text-error",
    Tone.INFO: "bold $text-primary",
    Tone.TITLE: "bold $text-primary",
    Tone.MUTED: "$foreground 60%",
}


@dataclass(frozen=True)
class ForeignPlan:
    """Another tool's plan in the folder.

    Attributes:
        name: The plan's file, relative to the folder.
        look: Returns what an import would do. Blocks, writes nothing, and may raise `RalphError`.
    """

    name: str
    look: Callable[[], ImportPreview]


@dataclass(frozen=True)
class StartFacts:
    """What the screen shows about the folder.

    Attributes:
        place: The folder's path, as a person writes it.
        facts: What was found and what a run would use, by label.
        files: Files that setting up would write.
        missing: What a run needs and lacks; empty when nothing is missing.
        plan: Another tool's plan that can be imported, or None.
        offers_git: Whether the folder is in no repository, so that `git init` could create one.
        root: The folder, whose files a request may name.
    """

    place: str
    facts: Mapping[str, str]
    files: tuple[str, ...]
    missing: str = ""
    plan: ForeignPlan | None = None
    offers_git: bool = False
    offers_python: bool = False
    root: Path = Path()


@dataclass(frozen=True)
class StartChoice:
    """What the person chose.

    Attributes:
        request: What to build; empty to start nothing.
        plan: The import that the person previewed and accepted, or None.
        makes_git: Whether to create a repository with `git init`.
    """

    request: str = ""
    plan: ImportPreview | None = None
    makes_git: bool = False
    makes_python: bool = False


class StartScreen(App[StartChoice]):
    """Asks what to build; returns the person's choice, or None to change nothing."""

    TITLE = "ralph"
    CSS_PATH = STYLES / "start.tcss"
    ENABLE_COMMAND_PALETTE = False
    VERTICAL_BREAKPOINTS = [(0, "-short"), (16, "-tall")]  # noqa: RUF012 - as Textual declares it
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "only_set_up", priority=True),
        Binding("ctrl+t", "look_at_plan", priority=True),
        Binding("ctrl+g", "toggle_git", priority=True),
        Binding("ctrl+l", "toggle_python", priority=True),
        Binding("escape", "leave"),  # the list of files handles it first
        Binding("ctrl+q,ctrl+c", "leave", priority=True),
    ]

    def __init__(self, found: StartFacts, theme: str = "") -> None:
        super().__init__()
        self.root = found.root
        self.glyphs = choose()
        self._found = found
        self._makes_git = found.offers_git
        self._makes_python: bool | None = None  # until the person was asked
        self._asked = ""
        for one in THEMES:
            self.register_theme(one)
        known = theme if theme in self.available_themes else RALPH_DARK.name
        self.theme = shown_as(known, self.console.color_system, no_color=self.no_color)

    def compose(self) -> ComposeResult:
        found = self._found
        with VerticalScroll(can_focus=False):
            yield Static(Content("Set up ralph here?"), id="headline")
            yield Static(Content(inert(found.place)), id="place")
            for label, text in found.facts.items():
                yield from _fact(label, text)
            if found.offers_git:
                yield from _fact("Git", self._git(), "git")
            if found.missing:
                yield Static(Content(inert(found.missing)), id="missing")
            yield WritingLine(
                "What should Ralph build? (type @ to name a file)", "request", REQUEST
            )
            yield Static(Content(self._next()), id="next")
        yield Static(self._keys(), classes="keys")

    def _git(self) -> str:
        if self._makes_git:
            return "no repository, `git init` will create one (^g to skip)"
        return "no repository, none will be created (^g to create one)"

    def _next(self) -> str:
        return (
            f"Enter {_listed([*self._sets_up(), 'starts the run'])}. The model reads the project and asks "
            "about anything unclear. You approve the specs and the plan before anything is built."
        )

    def _sets_up(self) -> list[str]:
        git = ["runs `git init`"] if self._makes_git else []
        python = ["makes a Python project"] if self._makes_python else []
        files = self._found.files
        return [*git, *python, *([f"writes {' and '.join(files)}"] if files else [])]

    def _keys(self) -> Content:
        plan = (("^t", "import the plan"),) if self._found.plan else ()
        return _keys(("enter", "set up and start"), ("^s", "set up only"), *plan, ("esc", "quit"))

    def on_mount(self) -> None:
        self._input.focus()

    @property
    def _input(self) -> WritingLine:
        return self.screen_stack[0].query_one(WritingLine)

    def show_message(self, text: str) -> None:
        self.screen_stack[0].query_one("#next", Static).update(Content(inert(text) or self._next()))

    def on_input_changed(self) -> None:
        """Withdraw the warning about an unsent request, because the person continues typing."""
        if self._asked:
            self._asked = ""
            self.show_message("")

    def on_input_submitted(self, message: Input.Submitted) -> None:
        """Exit with the request; refuse an empty one, which would spend money on nothing."""
        if not (request := message.value.strip()):
            self.show_message(_EMPTY)
        elif not self._asks_language():
            self._leave_with(request)

    def _asks_language(self) -> bool:
        """Ask once before an empty folder becomes a Python project."""
        asks = self._found.offers_python and self._makes_python is None
        if asks:
            self._makes_python = True
            self.show_message(_LANGUAGE)
        return asks

    def _leave_with(self, request: str = "", plan: ImportPreview | None = None) -> None:
        self.exit(StartChoice(request, plan, self._makes_git, bool(self._makes_python)))

    def action_only_set_up(self) -> None:
        may_go = not self._is_previewing and self._may_drop("ctrl+s", "set up ralph without it")
        if may_go and not self._asks_language():
            self._leave_with()

    def action_toggle_git(self) -> None:
        if self._found.offers_git and not self._is_previewing:
            self._makes_git = not self._makes_git
            self.query_one("#git", Static).update(self._git())
            self.show_message("")

    def action_toggle_python(self) -> None:
        if self._found.offers_python and not self._is_previewing:
            self._makes_python = self._makes_python is False
            self.show_message("")

    def action_look_at_plan(self) -> None:
        """Show what an import of the plan would do."""
        plan = self._found.plan
        if plan is not None and not self._is_previewing:
            self.show_message(f"Reading {plan.name}…")
            self._read_plan(plan)

    @work(thread=True, exclusive=True)
    def _read_plan(self, plan: ForeignPlan) -> None:
        try:
            preview = plan.look()
        except RalphError as error:
            if not get_current_worker().is_cancelled:
                self.call_from_thread(self.show_message, f"{error.message} {error.hint}")
            return
        if not get_current_worker().is_cancelled:
            self.call_from_thread(self._show, preview)

    def _show(self, preview: ImportPreview) -> None:
        self.show_message("")
        warning = _UNUSED if self._input.value.strip() else ""

        self.push_screen(PlanPreview(preview, self._sets_up(), warning), self._decided)

    def _decided(self, plan: ImportPreview | None) -> None:
        if plan is not None:
            self._leave_with(plan=plan)

    @property
    def _is_previewing(self) -> bool:
        return isinstance(self.screen, PlanPreview)

    def action_leave(self) -> None:
        """Close the preview, or exit and change nothing."""
        if isinstance(self.screen, PlanPreview):
            self.screen.dismiss(None)
        elif self._may_drop("esc", "discard it and quit"):
            self.exit(None)

    def _may_drop(self, key: str, what: str) -> bool:
        if not self._input.value.strip() or self._asked == key:
            return True
        self._asked = key
        self.show_message(_TYPED.format(key=key, what=what))
        return False


class PlanPreview(Screen[ImportPreview | None]):
    """Shows what an import would do; returns the preview if the person accepts it."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter,ctrl+y", "agree")]

    def __init__(self, preview: ImportPreview, sets_up: list[str], warning: str) -> None:
        super().__init__()
        self._preview = preview
        self._sets_up = sets_up
        self._warning = warning

    def compose(self) -> ComposeResult:
        preview = self._preview
        lines = [
            _content(line)
            for block in parts_blocks(import_parts(preview, _MOST_ROWS))
            for line in block.lines
        ]
        with VerticalScroll():
            yield Static(Content(f"Import {inert(import_heading(preview))}?"), id="headline")
            yield Static(Content(inert(self._summary())), id="place")
            yield Static(Content("\n").join(lines))
        agree = (("enter", "set up and import"),) if preview.changes_plan else ()
        yield Static(_keys(*agree, ("↑↓", "scroll"), ("esc", "back")), classes="keys")

    def _summary(self) -> str:
        if not self._preview.changes_plan:
            return "This plan has nothing to import."
        does = _listed([*self._sets_up, "imports these tasks"])
        return f"Enter {does}. The file is not changed, and no model is called. {self._warning}".strip()

    def on_mount(self) -> None:
        self.query_one(VerticalScroll).focus()

    def action_agree(self) -> None:
        if self._preview.changes_plan:
            self.dismiss(self._preview)


def _fact(label: str, text: str, name: str | None = None) -> ComposeResult:
    with Horizontal(classes="fact"):
        yield Static(Content(label), classes="label")
        yield Static(Content(inert(text)), id=name)


def _listed(does: list[str]) -> str:
    *most, last = does
    return f"{', '.join(most)}, and {last}" if most else last


def _keys(*keys: tuple[str, str]) -> Content:
    return Content("   ").join(
        Content.assemble((key, "bold $text-primary"), f" {words}") for key, words in keys
    )


def _content(line: Line) -> Content:
    return Content.assemble(*((inert(text), _TONES.get(tone, "")) for text, tone in line))
