"""Completes `@` and the beginning of a file's name in a text box, from the files of the project.

The box keeps the focus, and passes keys to the list while it is open. A completed name stays in the text as
`@path`; the model reads it as a name.
"""

import asyncio
import re
from collections.abc import Sequence
from heapq import nsmallest

from textual import events
from textual.content import Content
from textual.geometry import Offset
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget
from textual.widgets import Input, TextArea

from ralph_tui.tui.data.project_files import project_paths
from ralph_tui.tui.widgets.text_recall import RECALLS, Recall, text_box_app

MAX_FILES = 8
"""Maximum number of files that are offered at once."""

MAX_CELLS = 60
"""Maximum number of cells of a path in the list."""

KEYS = frozenset({"up", "down", "tab", "enter", "escape"})
"""Keys that the open list handles."""

OPEN = "enter insert, up down move, esc close the list"
"""What those keys do, for the footer of a dialog."""

_AT = re.compile(r"(?:^|[\s(\"'`])@([^\s@]*)$")
"""An `@` at the start of a word and the name typed so far; in an e-mail address, letters precede the `@`."""


def matching_paths(paths: Sequence[str], typed: str, most: int = MAX_FILES) -> list[str]:
    """Return the paths that match the typed text, the best first.

    A name that starts with the text ranks before one that contains it, and a short path before a long one. Paths
    that only contain its letters in order come last.

    Args:
        typed: The text after the `@`, in any case.
    """
    wanted = typed.casefold()
    if not wanted:
        return nsmallest(most, paths, key=lambda path: (path.count("/"), path))
    ranked = []
    for path in paths:
        folded = path.casefold()
        at = folded.find(wanted)
        if at >= 0:
            name = folded.rpartition("/")[2]
            rank = 0 if name.startswith(wanted) else 1 if wanted in name else 2
            ranked.append((rank, len(path), path))
    if len(ranked) < most:
        loose = re.compile(".*?".join(map(re.escape, wanted)))
        known = {path for *_, path in ranked}
        ranked += [
            (3, len(path), path)
            for path in paths
            if path not in known and loose.search(path.casefold())
        ]
    return [path for *_, path in nsmallest(most, ranked)]


class FileCompletion(Widget):
    """The list below the cursor of a text box; hidden unless a name is being typed."""

    offered: reactive[tuple[str, ...]] = reactive((), layout=True)
    at: reactive[int] = reactive(0)
    _paths: Sequence[str] | None = None
    _dismissed: str | None = None
    """The typed name at which the list was closed; it stays closed until the name changes."""

    class Turned(Message):
        """Posted when the list opens or closes."""

    @property
    def is_open(self) -> bool:
        return bool(self.offered)

    def watch_offered(self, before: tuple[str, ...], now: tuple[str, ...]) -> None:
        if bool(before) != bool(now):
            self.post_message(self.Turned())

    def footer_text(self, keys: str, offers: str) -> str:
        return OPEN if self.is_open else f"{keys}{', ' if '; ' in keys else '; '}{offers}"

    async def follow(self, before: str, cursor: Offset) -> None:
        """Offer the files that match the text before the cursor, or close the list."""
        found = _AT.search(before)
        if found is None or found[1] == self._dismissed:
            self.offered = ()
        else:
            if self._paths is None:
                self._paths = await asyncio.to_thread(project_paths, text_box_app(self).root)
            self._dismissed = None
            self.at = 0
            self.offered = tuple(matching_paths(self._paths, found[1]))
            self.absolute_offset = cursor + Offset(-len(found[0]), 1)
        self.display = self.is_open

    def press(self, key: str, before: str) -> str | None:
        """Handle a key of the open list; return the path that replaces the typed name, if one was chosen."""
        if key in ("up", "down"):
            self.at = (self.at + (1 if key == "down" else -1)) % len(self.offered)
            return None
        chosen, found = self.offered[self.at], _AT.search(before)
        self._dismissed = found[1] if found is not None and key == "escape" else None
        self.offered, self.display = (), False
        if key == "escape" or found is None:
            return None
        self._dismissed = chosen
        return chosen

    def render(self) -> Content:
        return Content("\n").join(self._row(number) for number in range(len(self.offered)))

    def _row(self, number: int) -> Content:
        is_here, glyphs = number == self.at, text_box_app(self).glyphs
        sign = glyphs.arrow if is_here else " "
        path = self.offered[number]
        room = min(MAX_CELLS, self.app.size.width - 8)
        shown = path if len(path) <= room else f"{glyphs.ellipsis}{path[1 - room :]}"
        if not glyphs.unicode:
            shown = shown.encode("ascii", "replace").decode("ascii")
        tone = "bold $foreground" if is_here else "$foreground"
        return Content.assemble((f" {sign} ", "bold $text-accent"), (f"{shown} ", tone))


class WritingBox(TextArea):
    """A box for many lines in which `@` completes file names and `up` recalls earlier texts."""

    def __init__(self, text: str, name: str, kind: str) -> None:
        super().__init__(text, id=name, classes="editor", show_line_numbers=False, soft_wrap=True)
        self.completion = FileCompletion()
        self._recall = Recall(kind)

    def on_mount(self) -> None:
        self.screen.mount(self.completion)

    def footer_text(self, keys: str) -> str:
        return self.completion.footer_text(keys, self._recall.hint(self.text))

    @property
    def before(self) -> str:
        row, column = self.cursor_location
        return self.document.get_line(row)[:column]

    def check_consume_key(self, key: str, character: str | None = None) -> bool:
        """Claim the keys of the list and of recall, so that the key queue does not hold keys after them."""
        taken = KEYS if self.completion.is_open else RECALLS
        return key in taken or super().check_consume_key(key, character)

    async def on_key(self, event: events.Key) -> None:
        """Pass keys to the open list; recall earlier texts at the first and the last row."""
        if not (self.completion.is_open and event.key in KEYS):
            if (text := await self._recalled(event.key)) is not None:
                event.stop()
                event.prevent_default()
                self._show(text, at_end=event.key == "down")
            return
        event.stop()
        event.prevent_default()
        before = self.before
        if chosen := self.completion.press(event.key, before):
            row, column = self.cursor_location
            start = before.rindex("@") + 1
            self.replace(f"{chosen} ", (row, start), (row, column))

    async def _recalled(self, key: str) -> str | None:
        at, text = self.cursor_location, self.text
        if key == "down" and self.navigator.is_last_wrapped_line(at):
            return self._recall.newer(text)
        goes_back = at == (0, 0) or self._recall.is_shown(text)
        if key == "up" and goes_back and self.navigator.is_first_wrapped_line(at):
            return await self._recall.older(text_box_app(self), text)
        return None

    def _show(self, text: str, *, at_end: bool) -> None:
        """Show a recalled text, with the cursor placed so that the same key recalls the next one."""
        self.load_text(text)
        end = self.document.end
        self.move_cursor(end if at_end or self.navigator.is_first_wrapped_line(end) else (0, 0))

    async def on_text_area_changed(self) -> None:
        await self.completion.follow(self.before, self.cursor_screen_offset)

    def on_blur(self) -> None:
        self.completion.offered, self.completion.display = (), False


class WritingLine(Input):
    """A box for one line in which `@` completes file names and `up` recalls earlier texts."""

    def __init__(self, placeholder: str, name: str, kind: str) -> None:
        super().__init__(placeholder=placeholder, select_on_focus=False, id=name)
        self.completion = FileCompletion()
        self._recall = Recall(kind)

    def on_mount(self) -> None:
        self.screen.mount(self.completion)

    def footer_text(self, keys: str) -> str:
        return self.completion.footer_text(keys, self._recall.hint(self.value))

    @property
    def before(self) -> str:
        return self.value[: self.cursor_position]

    def check_consume_key(self, key: str, character: str | None) -> bool:
        """Claim the keys of the list and of recall, so that the key queue does not hold keys after them."""
        taken = KEYS if self.completion.is_open else RECALLS
        return key in taken or super().check_consume_key(key, character)

    async def on_key(self, event: events.Key) -> None:
        """Pass keys to the open list, or recall earlier texts."""
        if not (self.completion.is_open and event.key in KEYS):
            text = None
            if event.key == "up":
                text = await self._recall.older(text_box_app(self), self.value)
            elif event.key == "down":
                text = self._recall.newer(self.value)
            if text is not None:
                event.stop()
                event.prevent_default()
                self.value = text
                self.cursor_position = len(text)
            return
        event.stop()
        event.prevent_default()
        before = self.before
        if chosen := self.completion.press(event.key, before):
            start = before.rindex("@") + 1
            self.replace(f"{chosen} ", start, self.cursor_position)

    async def on_input_changed(self) -> None:
        await self.completion.follow(self.before, self.cursor_screen_offset)

    def on_blur(self) -> None:
        self.completion.offered, self.completion.display = (), False
