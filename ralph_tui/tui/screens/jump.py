"""Letters over the screen: press one to go where it is."""

from collections.abc import Sequence
from pathlib import PurePath
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.content import Content
from textual.geometry import Offset
from textual.widgets import Static

from ralph_tui.tui.jumping import labels
from ralph_tui.tui.screens.over import Over
from ralph_tui.tui.styles import STYLES
from ralph_tui.tui.widgets.foot import Foot


class Jump(Over[int | None]):
    """Returns which place was chosen; any other key, and a click, only take the letters away."""

    CSS_PATH: ClassVar[list[str | PurePath]] = [STYLES / "jump.tcss"]

    def __init__(self, places: Sequence[Offset]) -> None:
        """Offer these."""
        super().__init__()
        self._places = places
        self._labels = labels(len(places))
        self._typed = ""

    def compose(self) -> ComposeResult:
        """A label at each place."""
        for at, label in zip(self._places, self._labels, strict=True):
            sign = Static(Content(label), classes="jump", id=f"jump-{at.x}-{at.y}")
            sign.styles.offset = at
            yield sign
        yield Foot()

    def on_mount(self) -> None:
        """Letters are keys here."""
        self.query_one(Foot).keys = "each letter goes to its place, any other key leaves"

    def on_key(self, event: events.Key) -> None:
        """Letters narrow the choice."""
        event.stop()
        event.prevent_default()
        self._typed += event.character or "\0"
        left = [label for label in self._labels if label.startswith(self._typed)]
        if not left:
            self.dismiss(None)
        elif left == [self._typed]:
            self.dismiss(self._labels.index(self._typed))
        else:
            for sign, label in zip(self.query(".jump"), self._labels, strict=True):
                sign.display = label in left

    def on_click(self) -> None:
        """Never mind."""
        self.dismiss(None)
