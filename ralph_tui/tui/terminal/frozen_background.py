"""Lets another screen shine through a dialog, as it was when the dialog opened.

Textual draws all of both screens, dims one and lays them over each other for every step of a
spinner beneath, and keys wait for it.

Upstream: Textualize/textual#3055 asked for the updates, closed; none filed for their cost.
Gain: with a dialog over a busy stream nothing is written for what moves beneath it. A look once a second was
25 kB a second over SSH.
"""

from math import inf
from typing import Self, TypeVar

from textual.css.styles import RulesMap
from textual.geometry import Region
from textual.message import Message
from textual.screen import ModalScreen
from textual.strip import Strip
from textual.style import Style
from textual.visual import RenderOptions, Visual, visualize

from ralph_tui.tui.terminal.private import forget_closed

Answer = TypeVar("Answer")


class FrozenVisual(Visual):
    """Shows what another visual shows, drawn once for each size."""

    def __init__(self, moving: Visual) -> None:
        """Draw nothing yet."""
        self._moving = moving
        self._drawn: dict[tuple[int, int | None], list[Strip]] = {}

    def render_strips(
        self, width: int, height: int | None, style: Style, options: RenderOptions
    ) -> list[Strip]:
        """Return the same strips as before, or the first."""
        if (width, height) not in self._drawn:
            strips = self._moving.render_strips(width, height, style, options)
            self._drawn = {(width, height): strips}
        return self._drawn[width, height]

    def get_optimal_width(self, rules: RulesMap, container_width: int) -> int:
        """Return the width of what it shows."""
        return self._moving.get_optimal_width(rules, container_width)

    def get_height(self, rules: RulesMap, width: int) -> int:
        """Return the height of what it shows."""
        return self._moving.get_height(rules, width)


class FrozenBackground(ModalScreen[Answer]):
    """A modal screen that draws what is beneath when it opens, comes back, or changes size or colors."""

    drawn_at = inf
    """When it was first drawn, on Textual's clock of messages."""
    _still: FrozenVisual | None = None

    def on_mount(self) -> None:
        """Drop the references to screens that were closed since."""
        forget_closed(self.app)

    def render(self) -> FrozenVisual:  # type: ignore[override]  # of a screen Textual says less than of any widget
        """Return what is beneath, as it was drawn last."""
        self.drawn_at = min(self.drawn_at, Message().time)
        if self._still is None:
            self._still = FrozenVisual(visualize(self, super().render()))
        return self._still

    def refresh(
        self,
        *regions: Region,
        repaint: bool = True,
        layout: bool = False,
        recompose: bool = False,
    ) -> Self:
        """Draw the screen, unless Textual passes regions: then only what is beneath has moved."""
        if not regions:
            return super().refresh(repaint=repaint, layout=layout, recompose=recompose)
        return self

    def on_screen_resume(self) -> None:
        """Draw what is beneath again: it may have moved under another screen."""
        self._still = None

    def notify_style_update(self) -> None:
        """Draw again in other colors."""
        self._still = None
        super().notify_style_update()
