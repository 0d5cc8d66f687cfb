"""Turn Markdown into toned lines without markup or active content. Pure functions.

Each source line becomes one line, so that a long text can be drawn piece by piece.
"""

import re

from ralph_tui.domain.sanitize import inert
from ralph_tui.present.text.glyphs import Glyphs
from ralph_tui.present.text.spans import Line, Span, Tone, width_of

MAX_LINES = 20_000

_HEADING = re.compile(r"^(#{1,6})\s+(.*?)\s*#*$")
_ITEM = re.compile(r"^(\s*)([-*+]|\d{1,4}[.)])\s+(?:\[([ xX])\]\s+)?(.*)$")
_RULE = re.compile(r"^\s*([-*_])(?:\s*\1){2,}\s*$")
_FENCE = re.compile(r"^\s*(```+|~~~+)")
_INLINE = re.compile(
    r"`(?P<code>[^`]+)`"
    r"|\*\*(?P<strong>[^*]+)\*\*"
    r"|__(?P<strong2>[^_]+)__"
    r"|(?<!\w)[*_](?P<soft>[^*_\s][^*_]*)[*_](?!\w)"
    r"|\[(?P<text>[^\]]+)\]\((?P<url>[^)\s]+)\)"
)
_TONES = {
    "code": Tone.ACCENT,
    "strong": Tone.TITLE,
    "strong2": Tone.TITLE,
    "soft": Tone.INFO,
}


def markdown_lines(text: str, glyphs: Glyphs) -> list[Line]:
    lines: list[Line] = []
    fence = ""
    source = inert(text).expandtabs(4).splitlines()
    for raw in source[:MAX_LINES]:
        found = _FENCE.match(raw)
        if fence:
            closes = found is not None and found[1][0] == fence[0] and len(found[1]) >= len(fence)
            fence = "" if closes else fence
            lines.append(_code_edge(glyphs) if closes else [Span("  "), Span(raw, Tone.OK)])
        elif found:
            fence = found[1]
            lines.append(_code_edge(glyphs, raw.strip().strip("`~")))
        else:
            lines.append(_line(raw, glyphs))
    if len(source) > MAX_LINES:
        lines.append([Span(f"{len(source) - MAX_LINES:,} more lines", Tone.MUTED)])
    return lines


def _code_edge(glyphs: Glyphs, language: str = "") -> Line:
    named = [Span(f" {language}", Tone.MUTED)] if language else []
    return [Span(glyphs.line * 2, Tone.FAINT), *named]


def _line(raw: str, glyphs: Glyphs) -> Line:
    if heading := _HEADING.match(raw):
        level = len(heading[1])
        tone = Tone.ACCENT if level == 1 else Tone.INFO if level == 2 else Tone.TITLE
        return [Span(heading[2], tone)]
    if _RULE.match(raw):
        return [Span(glyphs.line * 40, Tone.FAINT)]
    if item := _ITEM.match(raw):
        return _item(item, glyphs)
    if raw.lstrip().startswith(">"):
        quoted = raw.lstrip()[1:].lstrip()
        return [Span(f"{glyphs.branch} ", Tone.FAINT), Span(quoted, Tone.MUTED)]
    if raw.lstrip().startswith("|"):
        return [Span(raw)]
    if raw.lstrip().startswith("<!--"):
        return [Span(raw, Tone.MUTED)]
    return inline(raw)


def _item(item: re.Match[str], glyphs: Glyphs) -> Line:
    indent, sign, box, rest = item.groups()
    if box is not None:
        done = box in "xX"
        mark = Span(f"{glyphs.ok if done else glyphs.idle} ", Tone.OK if done else Tone.MUTED)
    else:
        mark = Span(f"{sign if sign[0].isdigit() else glyphs.text} ", Tone.MUTED)
    return [Span(f"{indent}"), mark, *inline(rest)]


def hanging(line: Line) -> int:
    if not line or line[0].text.strip():
        return 0
    return width_of(line[: 2 if len(line) > 2 else 1])


def inline(text: str) -> list[Span]:
    """Return a line with toned code, emphasis and links. Links keep their address visible."""
    spans: list[Span] = []
    at = 0
    for found in _INLINE.finditer(text):
        if found.start() > at:
            spans.append(Span(text[at : found.start()]))
        kind = found.lastgroup or ""
        if kind == "url":
            spans += [Span(found["text"], Tone.INFO), Span(f" ({found['url']})", Tone.MUTED)]
        else:
            spans.append(Span(found[kind], _TONES[kind]))
        at = found.end()
    if at < len(text) or not spans:
        spans.append(Span(text[at:]))
    return spans
