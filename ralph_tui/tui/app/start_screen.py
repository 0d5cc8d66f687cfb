"""The screen of a folder that is no project yet: what is here, one input, and what enter will do."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Input, Static

from ralph_tui.domain.sanitize import inert
from ralph_tui.tui.theme.stylesheets import STYLES
from ralph_tui.tui.theme.themes import RALPH_DARK, THEMES, shown_as

_LABEL = 10
"""Columns of a fact's label."""

_EMPTY = "Say what to build first, or press ctrl+s to only set ralph up."


@dataclass(frozen=True)
class StartFacts:
    """What the screen says about the folder.

    Attributes:
        place: The folder, as a person writes it.
        facts: What is here and what a run would use, by label.
        files: Files that are written.
        missing: What a run needs and does not have; empty when nothing is missing.
    """

    place: str
    facts: Mapping[str, str]
    files: tuple[str, ...]
    missing: str = ""


class StartScreen(App[str]):
    """Asks for a request; ends with it, with an empty text to only set ralph up, or with None to do nothing."""

    TITLE = "ralph"
    CSS_PATH = STYLES / "start.tcss"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "only_set_up", priority=True),
        Binding("escape,ctrl+q,ctrl+c", "leave", priority=True),
    ]

    def __init__(self, found: StartFacts, theme: str = "") -> None:
        """Show what was found.

        Args:
            found: What to say.
            theme: The theme in the settings; an unknown one is ralph's own.
        """
        super().__init__()
        self._found = found
        for one in THEMES:
            self.register_theme(one)
        known = theme if theme in self.available_themes else RALPH_DARK.name
        self.theme = shown_as(known, self.console.color_system, no_color=self.no_color)

    def compose(self) -> ComposeResult:
        """Lay out the facts, the input and the keys."""
        found = self._found
        with VerticalScroll(can_focus=False):
            yield Static(Content("Set up ralph here?"), id="headline")
            yield Static(Content(inert(found.place)), id="place")
            for label, text in found.facts.items():
                line = Content(f"{label:<{_LABEL}}{inert(text)}").stylize(
                    "$foreground 60%", 0, _LABEL
                )
                yield Static(line, classes="fact")
            if found.missing:
                yield Static(Content(inert(found.missing)), id="missing")
            yield Input(placeholder="What should be built?", id="request")
            yield Static(Content(self._next()), id="next")
        yield Static(self._keys(), id="keys")

    def _next(self) -> str:
        return (
            f"Enter writes {', '.join(self._found.files)} and begins: the model reads the project and asks "
            "what is unclear. You approve the specs and the plan before anything is built."
        )

    def _keys(self) -> Content:
        keys = (("enter", "set up and begin"), ("^s", "only set up"), ("esc", "leave"))
        return Content("   ").join(
            Content.assemble((key, "bold $text-primary"), f" {words}") for key, words in keys
        )

    def on_mount(self) -> None:
        """Wait for the request."""
        self.query_one("#request", Input).focus()

    def on_input_submitted(self, message: Input.Submitted) -> None:
        """End with the request; an empty one costs money for nothing."""
        if request := message.value.strip():
            self.exit(request)
        else:
            self.query_one("#next", Static).update(Content(_EMPTY))

    def action_only_set_up(self) -> None:
        """End without a request."""
        self.exit("")

    def action_leave(self) -> None:
        """End and change nothing."""
        self.exit(None)
