"""The footers of the dashboard, pages and dialogs, which show what the keys do."""

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Literal

from textual.content import Content
from textual.geometry import Size
from textual.reactive import reactive
from textual.style import Style

from ralph_tui.present.text.key_hints import HintPiece, Keys, foot_lines, key_label
from ralph_tui.present.text.spans import Line, Span, Tone, width_of
from ralph_tui.tui.commands.availability import CommandContext, is_done, is_empty
from ralph_tui.tui.commands.command import Command
from ralph_tui.tui.commands.registry import BY_NAME, COMMANDS, WHEN_DONE, WHEN_EMPTY, name_of
from ralph_tui.tui.widgets.links import LinkLine
from ralph_tui.tui.widgets.styled import StyledWidget, pressing

Stage = Literal["", "typing", "found"]
"""The stage of a search: none, typing the words, or stepping through matches."""

KEYS_OF_STAGE: dict[Stage, tuple[tuple[str, str], ...]] = {
    "": (),
    "typing": (("enter", "confirm"), ("escape", "end search")),
    "found": (("greater_than_sign", ""), ("less_than_sign", "step"), ("escape", "end search")),
}
"""The keys of each stage and what they do, the most important first."""

_PRESS = "press "

Link = tuple[str, Line]


MAX_FOOTER_COMMANDS = 3
"""Maximum number of commands in a footer; all others are behind the two keys that follow them."""


def more_links(keys: Keys) -> Sequence[Link]:
    palette = keys.label("palette").replace("ctrl+", "^")
    return (
        ("palette", (Span(palette, Tone.ACCENT), Span(" commands", Tone.MUTED))),
        ("help", (Span(keys.label("help"), Tone.ACCENT), Span(" help", Tone.MUTED))),
    )


class FooterLine(LinkLine):
    """A line with the few keys that matter now; the least important is left out first, labels are never cut."""

    stage: reactive[Stage] = reactive[Stage]("")
    """The stage of a search."""

    def commands(self) -> Iterable[Link]:
        raise NotImplementedError

    def links(self, width: int) -> Sequence[Link]:
        """Return as many keys as fit, then palette and help; while somebody types, only the search's keys."""
        shown = [_key(key, label) for key, label in KEYS_OF_STAGE[self.stage]]
        if self.stage == "typing":
            return shown
        others = more_links(self.app.keys)
        room = width - sum(map(self._cells, (*shown, *others)))
        for link in islice(self.commands(), MAX_FOOTER_COMMANDS):
            room -= self._cells(link)
            if room < 0:
                break
            shown.append(link)
        return [*shown, *others]

    def _cells(self, link: Link) -> int:
        return width_of(link[1]) + len(self.GAP)

    def follow(self, name: str) -> None:
        if name.startswith(_PRESS):
            self.app.action_press(name.removeprefix(_PRESS))
        else:
            super().follow(name)


def _key(key: str, label: str) -> Link:
    words = f" {label}" if label else ""
    return (f"{_PRESS}{key}", (Span(key_label(key), Tone.ACCENT), Span(words)))


def command_link(command: Command, keys: Keys, label: str) -> Link:
    key = Span(keys.label(name_of(command)), Tone.ACCENT)
    return command.name, (key, Span(f" {label}", Tone.TEXT))


class DashboardFooter(FooterLine):
    """The footer of the dashboard."""

    command_context: reactive[CommandContext | None] = reactive(None)

    def links(self, width: int) -> Sequence[Link]:
        return super().links(width) if self.command_context is not None else []

    def commands(self) -> Iterable[Link]:
        now = self.command_context
        if now is None:
            return
        for command in _offered(now):
            label = command.footer_label(now)
            if label and command.name != "help" and not command.disabled(now):
                yield command_link(command, self.app.keys, label)


def _offered(now: CommandContext) -> list[Command]:
    if is_done(now) or is_empty(now):
        return [BY_NAME[name] for name in (WHEN_DONE if is_done(now) else WHEN_EMPTY)]
    return sorted((c for c in COMMANDS if c.footer), key=lambda c: c.rank)


class PageFooter(FooterLine):
    """The footer of a page."""

    items: reactive[tuple[Link, ...]] = reactive(())
    """The usable commands, the most important first."""

    def commands(self) -> Iterable[Link]:
        return self.items


class DialogFooter(StyledWidget):
    """The keys of a dialog with their labels, which are never cut; a click presses the key."""

    keys: reactive[str] = reactive("", layout=True)
    """The keys, such as `y approve, n reject, esc later`; the most important first."""

    def get_content_width(self, container: Size, viewport: Size) -> int:
        del viewport
        return container.width

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        del container, viewport
        return len(foot_lines(self.keys, width))

    def render(self) -> Content:
        lines = foot_lines(self.keys, self.content_size.width)
        return Content("\n").join([self._line(line) for line in lines])

    def _line(self, line: Iterable[HintPiece]) -> Content:
        return Content.assemble(*((piece.text, self._style(piece)) for piece in line))

    def _style(self, piece: HintPiece) -> Style:
        style = self.visual(Tone.ACCENT if piece.is_key else Tone.TEXT)
        return style + Style.from_meta(pressing(piece.presses)) if piece.presses else style
