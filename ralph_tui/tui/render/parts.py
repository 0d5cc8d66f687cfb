"""A titled block of lines: what details are made of."""

from dataclasses import dataclass

from ralph_tui.tui.render.spans import Line, plain


@dataclass(frozen=True, slots=True)
class Part:
    """A titled block; `key` names what it is about, where something can be done to it."""

    title: str
    lines: list[Line]
    key: str = ""


def parts_text(parts: list[Part]) -> str:
    """Every part as plain text, for the clipboard."""
    return "\n\n".join(
        "\n".join([part.title, *(plain(line) for line in part.lines)]) for part in parts
    )
