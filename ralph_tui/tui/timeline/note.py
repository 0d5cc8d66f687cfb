"""What becomes one line of the stream that is neither a call nor the model's words."""

from dataclasses import dataclass

from ralph_tui.tui.render.spans import Tone


@dataclass(frozen=True, slots=True)
class Note:
    """The content of a `NoteEntry`, before it has a number."""

    glyph: str
    label: str
    text: str
    tone: Tone = Tone.MUTED
    right: str = ""
    more: str = ""
