"""What the stream is made of; frozen, and replaced when something becomes known."""

from dataclasses import dataclass

from ralph_tui.domain.verification.verification import Receipt
from ralph_tui.tui.render.calls import Call
from ralph_tui.tui.render.spans import Tone


@dataclass(frozen=True, slots=True, eq=False)
class CallEntry:
    """A tool call."""

    number: int
    depth: int
    call: Call


@dataclass(frozen=True, slots=True, eq=False)
class TextEntry:
    """Something the model said."""

    number: int
    depth: int
    text: str


@dataclass(frozen=True, slots=True, eq=False)
class HeadingEntry:
    """The start of an iteration."""

    number: int
    title: str
    right: str


@dataclass(frozen=True, slots=True, eq=False)
class CheckEntry:
    """One receipt of the gate."""

    number: int
    receipt: Receipt


@dataclass(frozen=True, slots=True, eq=False)
class NoteEntry:
    """Anything else, as label and text; `glyph` names a field of `Glyphs`."""

    number: int
    glyph: str
    label: str
    text: str
    tone: Tone
    right: str = ""
    more: str = ""
    """What the detail screen adds."""


Entry = CallEntry | TextEntry | HeadingEntry | CheckEntry | NoteEntry
