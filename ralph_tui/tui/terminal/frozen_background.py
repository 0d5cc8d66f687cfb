"""Shows the screen beneath a dialog as it was when the dialog opened.

For every step of a spinner beneath, Textual draws both screens, dims one and blends them, which delays keys.

Upstream: Textualize/textual#3055 asked for the updates, closed; none filed for their cost.
Gain: with a dialog over a busy stream, nothing is written for changes beneath it. Updating the background once a
second wrote 25 kB a second over SSH.
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
    """Shows another visual, drawn once per size."""

    def __init__(self, moving: Visual) -> None:
        self._moving = moving
        self._drawn: dict[tuple[int, int | None], list[Strip]] = {}

    def render_strips(
        self, width: int, height: int | None, style: Style, options: RenderOptions
    ) -> list[Strip]:
        """Return the strips drawn for this size; draw them on the first call."""
        if (width, height) not in self._drawn:
            strips = self._moving.render_strips(width, height, style, options)
            self._drawn = {(width, height): strips}
        return self._drawn[width, height]

    def get_optimal_width(self, rules: RulesMap, container_width: int) -> int:
        return self._moving.get_optimal_width(rules, container_width)

    def get_height(self, rules: RulesMap, width: int) -> int:
        return self._moving.get_height(rules, width)


class FrozenBackground(ModalScreen[Answer]):
    """A modal screen that draws the screen beneath only when it opens, resumes, or changes size or colors."""

    drawn_at = inf
    """When the screen was first drawn, on the clock of Textual's messages."""
    _frozen: FrozenVisual | None = None

    def on_mount(self) -> None:
        forget_closed(self.app)

    def render(self) -> FrozenVisual:  # type: ignore[override]  # Textual declares a narrower type for screens than for widgets
        self.drawn_at = min(self.drawn_at, Message().time)
        if self._frozen is None:
            self._frozen = FrozenVisual(visualize(self, super().render()))
        return self._frozen

    def refresh(
        self,
        *regions: Region,
        repaint: bool = True,
        layout: bool = False,
        recompose: bool = False,
    ) -> Self:
        """Draw the screen, unless Textual passes regions: then only the screen beneath has changed."""
        if not regions:
            return super().refresh(repaint=repaint, layout=layout, recompose=recompose)
        return self

    def on_screen_resume(self) -> None:
        """Draw the screen beneath again, because it may have changed while another screen was open."""
        self._frozen = None

    def notify_style_update(self) -> None:
        self._frozen = None
        super().notify_style_update()
