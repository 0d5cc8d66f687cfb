"""What the two footers have in common: while somebody searches, keys mean the search."""

from collections.abc import Iterable, Sequence
from typing import Literal

from textual.reactive import reactive

from ralph_tui.tui.keys import Keys, key_label
from ralph_tui.tui.render.spans import Line, Span, Tone, width_of
from ralph_tui.tui.widgets.links import LinkLine

Stage = Literal["", "typing", "found"]
"""How far a search is: nobody searches, words are typed, words are kept."""

KEYS_OF_STAGE: dict[Stage, tuple[tuple[str, str], ...]] = {
    "": (),
    "typing": (("enter", "keep the words"), ("escape", "end the search")),
    "found": (("n", ""), ("N", "step"), ("escape", "end the search")),
}
"""Keys with what they do, the most important first."""

_PRESS = "press "

Link = tuple[str, Line]


def more(keys: Keys) -> Line:
    """The way to all other commands."""
    label = keys.label("palette").replace("ctrl+", "^")
    return (Span(label, Tone.ACCENT), Span(" more", Tone.MUTED))


class KeyLine(LinkLine):
    """Whole labels only; the least important go first when the line is short."""

    can_jump = False

    stage: reactive[Stage] = reactive[Stage]("")
    """How far a search is."""

    def commands(self) -> Iterable[Link]:
        """What can be done where nobody searches, the most important first."""
        raise NotImplementedError

    def links(self, width: int) -> Sequence[Link]:
        """As many as fit, and the palette for the rest; letters that are typed are no commands."""
        shown = [_key(key, said) for key, said in KEYS_OF_STAGE[self.stage]]
        if self.stage == "typing":
            return shown
        palette = more(self.app.keys)
        room = width - width_of(palette) - sum(map(self._cells, shown))
        for link in self.commands():
            room -= self._cells(link)
            if room < 0:
                break
            shown.append(link)
        return [*shown, ("palette", palette)]

    def _cells(self, link: Link) -> int:
        return width_of(link[1]) + len(self.GAP)

    def follow(self, name: str) -> None:
        """A key of the search is pressed; the rest are commands."""
        if name.startswith(_PRESS):
            self.app.action_press(name.removeprefix(_PRESS))
        else:
            super().follow(name)


def _key(key: str, said: str) -> Link:
    words = f" {said}" if said else ""
    return (f"{_PRESS}{key}", (Span(key_label(key), Tone.ACCENT), Span(words)))
