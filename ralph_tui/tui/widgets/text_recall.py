"""Recalls in a text box what was typed there before, with the arrow keys, as a shell does.

What was being typed when the first earlier text was recalled comes back after the newest.
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
"""Keys that recall."""


@runtime_checkable
class Writing(Protocol):
    """What a text box needs of its app: the start screen has no project yet, and is no `Host`."""

    @property
    def root(self) -> Path:
        """The project's folder."""

    @property
    def glyphs(self) -> Glyphs:
        """The signs of this terminal."""

    def say(self, text: str) -> None:
        """Show a sentence."""


def writing_app(node: DOMNode) -> Writing:
    """Return the app of a text box."""
    app = node.app
    assert isinstance(app, Writing)
    return app


def keep_text(app: Host, kind: str, text: str) -> None:
    """Keep a text that was sent, without waiting for the disk."""
    if text.strip():
        do(app, _keep(app, kind, text), "typed")


async def _keep(app: Host, kind: str, text: str) -> None:
    try:
        await asyncio.to_thread(keep_typed, Layout(app.root), kind, text)
    except RalphError as error:
        app.say(f"Your text was sent but cannot be recalled later. {error.message} {error.hint}")


class Recall:
    """The earlier texts of one box, and which of them it shows."""

    def __init__(self, kind: str) -> None:
        """Read nothing yet; without a kind there is nothing to recall."""
        self._kind = kind
        self._texts: Sequence[str] | None = None
        self._at = 0
        """How far back; 0 is what the person types."""
        self._typed = ""

    def shows(self, text: str) -> bool:
        """Return whether a box with this text shows an earlier one, unchanged."""
        return self._at > 0 and self._texts is not None and self._texts[-self._at] == text

    async def older(self, app: Writing, now: str) -> str | None:
        """Return the text before the one that is shown, or None when there is none.

        Args:
            app: Has the project.
            now: What is in the box.
        """
        if self._texts is None:
            self._texts = await self._read(app)
        if not self.shows(now):
            self._at, self._typed = 0, now
        if self._at == len(self._texts):
            return None
        self._at += 1
        return self._texts[-self._at]

    def newer(self, now: str) -> str | None:
        """Return the text after the one that is shown, at last what was being typed; None without any."""
        if self._texts is None or not self.shows(now):
            return None
        self._at -= 1
        return self._texts[-self._at] if self._at else self._typed

    async def _read(self, app: Writing) -> Sequence[str]:
        if not self._kind:
            return ()
        try:
            texts = await asyncio.to_thread(read_typed, Layout(app.root))
        except RalphError as error:
            app.say(f"{error.message} {error.hint}")
            return ()
        return [one.text for one in texts if one.kind == self._kind]
