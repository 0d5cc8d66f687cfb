"""Recalls earlier texts in a text box with the arrow keys, as a shell does.

The text that was being typed comes back after the newest earlier one.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

from textual.dom import DOMNode

from ralph_tui.domain.errors import RalphError
from ralph_tui.present.text.glyphs import Glyphs
from ralph_tui.store.layout import Layout
from ralph_tui.store.typed_texts import keep_typed, read_typed
from ralph_tui.tui.host.widget_host import Host
from ralph_tui.tui.host.workers import do

RECALLS = frozenset({"up", "down"})

FILES, EARLIER = "type @ for a file", "up earlier texts"
"""What a text box offers, for the footer of a dialog."""


@runtime_checkable
class TextBoxApp(Protocol):
    """What a text box uses of its app, which may be the start screen and not a `Host`."""

    @property
    def root(self) -> Path:
        """The project's folder."""

    @property
    def glyphs(self) -> Glyphs:
        """The glyphs of this terminal."""

    def show_message(self, text: str) -> None:
        """Show a sentence."""


def text_box_app(node: DOMNode) -> TextBoxApp:
    app = node.app
    assert isinstance(app, TextBoxApp)
    return app


def keep_text(app: Host, kind: str, text: str) -> None:
    """Save a text that was sent, so that it can be recalled, without waiting for the disk."""
    if text.strip():
        do(app, _keep(app, kind, text), "typed")


async def _keep(app: Host, kind: str, text: str) -> None:
    try:
        await asyncio.to_thread(keep_typed, Layout(app.root), kind, text)
    except RalphError as error:
        app.show_message(
            f"Your text was sent but cannot be recalled later. {error.message} {error.hint}"
        )


class Recall:
    """The earlier texts of one text box, and which of them it shows."""

    def __init__(self, kind: str) -> None:
        """Read nothing yet; without a kind there are no texts to recall."""
        self._kind = kind
        self._texts: Sequence[str] | None = None
        self._at = 0
        """How many texts back; 0 is the text that the person types."""
        self._typed = ""

    def is_shown(self, text: str) -> bool:
        return self._at > 0 and self._texts is not None and self._texts[-self._at] == text

    def hint(self, text: str) -> str:
        recalls = self._kind and (not text or self.is_shown(text))
        return f"{FILES}, {EARLIER}" if recalls else FILES

    async def older(self, app: TextBoxApp, now: str) -> str | None:
        """Return the text before the shown one, or None if there is none."""
        if self._texts is None:
            self._texts = await self._read(app)
        if self._texts is None:
            return None
        if not self.is_shown(now):
            self._at, self._typed = 0, now
        if self._at == len(self._texts):
            if self.hint(now) != FILES:
                app.show_message("There are no earlier texts.")
            return None
        self._at += 1
        return self._texts[-self._at]

    def newer(self, now: str) -> str | None:
        """Return the text after the shown one, finally the one that was being typed; None if none is recalled."""
        if self._texts is None or not self.is_shown(now):
            return None
        self._at -= 1
        return self._texts[-self._at] if self._at else self._typed

    async def _read(self, app: TextBoxApp) -> Sequence[str] | None:
        if not self._kind:
            return ()
        try:
            texts = await asyncio.to_thread(read_typed, Layout(app.root))
        except RalphError as error:
            app.show_message(f"{error.message} {error.hint}")
            return None
        return [one.text for one in texts if one.kind == self._kind]
