"""Finds the check boxes of a Markdown text, with the exact offset of each mark.

The tools that write these formats search line by line, and so does this reader. A CommonMark parser
(markdown-it-py was tried) does not fit: it treats boxes below an HTML tag or after four spaces as other text,
limits the depth, and gives lines but no offsets. As in such a parser, boxes in code blocks, HTML comments and
front matter do not count.
"""

import re
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

OPEN = " "
DONE = "xX✓✔✅☑√"
"""Characters that mark a box as done."""
_TAB = 4
_NEST = 2
"""How many columns deeper a nested list item must be."""

_LINE = re.compile(r"([^\r\n]*)(?:\r\n|\r|\n|\Z)")
_ITEM = re.compile(r"([ \t]*)(?:[-*+]|[0-9]{1,9}[.)])(?:[ \t]+|$)")
_BOX = re.compile(
    r"[ \t]*(?:[-*+]|[0-9]{1,9}[.)])[ \t]+"
    # Another symbol is a tool's mark for started, cancelled or moved. A letter or digit may be a reference.
    r"\[(?:(?P<usual>[\sxX])|(?P<other>[^\w\s\[\]])\uFE0F?)\]"
    r"(?P<star>\*(?=\s|$))?(?P<text>.*)"
)
_MALFORMED = re.compile(
    r"[ \t]*(?:[-*+]|[0-9]{1,9}[.)])"
    r"(?:[ \t]+\[[ \t]*+(?:[xX][ \t]*+)?(?:\](?![(\[:])|$|(?<=[ \t])[^\[\]]*$)|\[[ xX]?\](?=[ \t]|$))"
)
_OUTSIDE_LIST = re.compile(r"[ \t]*(?:\||>|\[[ xX]\][ \t]|(?:[-*+][ \t]+){2}\[[ xX]\])")
_SQUARE = re.compile(r"\[[ xX]\]")
_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*))?$")
_UNDERLINE = re.compile(r" {0,3}(?:(=+)|-+)[ \t]*$")
_TOKEN = re.compile(r"`+|<!---?>|<!--|-->")
_FENCE = re.compile(r"[ \t]*(?:(?:[-*+]|[0-9]{1,9}[.)])[ \t]+)*(`{3,}|~{3,})(.*)$")


@dataclass(frozen=True)
class Heading:
    """A heading, with its level and line, both from 1."""

    level: int
    text: str
    line: int


@dataclass(frozen=True)
class TextLine:
    """One line of the text.

    Attributes:
        number: Its number, from 1.
        start: The offset of its first character in the text.
        raw: The line without its line end.
        shown: The same with code, HTML comments and front matter blanked out; offsets stay the same.
        is_code: Whether it is in a fenced code block.
    """

    number: int
    start: int
    raw: str
    shown: str
    is_code: bool = False


@dataclass(frozen=True)
class Box:
    """One check box.

    Attributes:
        line: Its line, from 1.
        start: The offset of the character between the brackets.
        end: The offset of the closing bracket.
        indent: Its indentation in columns; a tab reaches to the next multiple of four.
        mark: The text between the brackets.
        starred: Whether an asterisk follows the bracket, which marks an optional task in Kiro.
        text: The rest of its line.
        headings: The headings above it, the outermost first.
        parent: The index of the box that it is nested in.
        body: Its further lines, without those of nested boxes and without their common indentation.
    """

    line: int
    start: int
    end: int
    indent: int
    mark: str
    starred: bool
    text: str
    headings: tuple[Heading, ...]
    parent: int | None
    body: str = ""

    @property
    def is_done(self) -> bool:
        return self.mark.rstrip("\ufe0f") in DONE

    @property
    def has_unknown_mark(self) -> bool:
        return not self.is_done and not self.mark.isspace()


@dataclass(frozen=True)
class MalformedBox:
    """A list item that starts like a check box but is not one, such as `- [ x]`."""

    line: int
    shown: str
    headings: tuple[Heading, ...]


@dataclass(frozen=True)
class Unclosed:
    """A code block or comment that is never closed and hides boxes."""

    line: int
    kind: str


@dataclass(frozen=True)
class BoxDocument:
    """The boxes of a text and their surroundings.

    Attributes:
        malformed: List items that are almost a box.
        boxes_outside_lists: Lines with a box in a table, a quotation or a paragraph.
        unclosed: The code block or comment that hides boxes up to the end of the text.
    """

    boxes: tuple[Box, ...]
    headings: tuple[Heading, ...]
    lines: tuple[TextLine, ...]
    malformed: tuple[MalformedBox, ...] = ()
    boxes_outside_lists: tuple[int, ...] = ()
    unclosed: Unclosed | None = None

    def children(self) -> dict[int | None, list[int]]:
        """Return the indexes of the boxes directly inside each box, by its index; those of None are at the top level."""
        found: dict[int | None, list[int]] = {}
        for index, box in enumerate(self.boxes):
            found.setdefault(box.parent, []).append(index)
        return found

    @cached_property
    def titles(self) -> int:
        return sum(heading.level == 1 for heading in self.headings)

    @property
    def title(self) -> str:
        return next((heading.text for heading in self.headings if heading.level == 1), "")


@dataclass(frozen=True)
class Edit:
    """The replacement of a part of a text."""

    start: int
    end: int
    new: str


def edited(text: str, edits: Iterable[Edit]) -> str:
    """Return the text with the edits made; every other character stays."""
    parts: list[str] = []
    at = 0
    for edit in sorted(edits, key=lambda edit: edit.start):
        parts += (text[at : edit.start], edit.new)
        at = edit.end
    return "".join((*parts, text[at:]))


def read_boxes(text: str) -> BoxDocument:
    """Find the boxes of a text, in time proportional to its length, however deeply it is nested."""
    lines, unclosed = _classified(text)
    scan = _Collector()
    before, last, was_code = "", "", False
    for line in lines:
        if line.is_code:
            scan.code(line, begins=not was_code)
        else:
            scan.text(line, last, paragraph_starts=not before.strip())
        before, last, was_code = last, "" if line.is_code else line.shown, line.is_code
    return replace(scan.document(lines), unclosed=unclosed)


def columns(shown: str) -> int:
    white = shown[: len(shown) - len(shown.lstrip(" \t"))]
    return len(white.expandtabs(_TAB)) if "\t" in white else len(white)


def _classified(text: str) -> tuple[tuple[TextLine, ...], Unclosed | None]:
    split = _split(text)
    classifier = _LineClassifier(split)
    lines = tuple(
        classifier.line(number, start, raw) for number, (start, raw) in enumerate(split, 1)
    )
    opened = classifier.opened
    if opened is None or not any(_BOX.match(raw) for _, raw in split[opened.line :]):
        return lines, None
    return lines, opened


def _split(text: str) -> list[tuple[int, str]]:
    # splitlines() would also split at form feeds and other separators that editors do not count as line ends.
    found = [(match.start(), match[1]) for match in _LINE.finditer(text)]
    return found[:-1] if len(found) > 1 and found[-1] == (len(text), "") else found


class _LineClassifier:
    """Goes through the lines and blanks out code, comments and front matter."""

    def __init__(self, lines: Sequence[tuple[int, str]]) -> None:
        self._fence = ""
        self._fence_line = 0
        self._comment_line = 0
        self._front_matter = _front_matter_end(lines)
        self._closing = _next_ends_of_comments(lines)

    @property
    def opened(self) -> Unclosed | None:
        """The code block or comment that is still open."""
        if self._fence:
            return Unclosed(self._fence_line, "code block")
        return Unclosed(self._comment_line, "HTML comment") if self._comment_line else None

    def line(self, number: int, start: int, raw: str) -> TextLine:
        """Return the next line, with the hidden parts blanked out."""
        if number <= self._front_matter:
            return TextLine(number, start, raw, "")
        if self._fence:
            closing = raw.strip(" \t")
            if set(closing) == {self._fence[0]} and len(closing) >= len(self._fence):
                self._fence = ""
            return TextLine(number, start, raw, "", is_code=True)
        if self._comment_line:
            if "-->" in raw:
                self._comment_line = 0
            return TextLine(number, start, raw, "")
        fence = _FENCE.match(raw)
        if fence and not (fence[1][0] == "`" and "`" in fence[2]):
            self._fence, self._fence_line = fence[1], number
            # The fence may follow a box on the same line. That is a box without text.
            return TextLine(number, start, raw, raw[: fence.start(1)], is_code=not _ITEM.match(raw))
        return TextLine(number, start, raw, self._without_comments(number, raw))

    def _without_comments(self, number: int, raw: str) -> str:
        parts: list[str] = []
        at = 0
        for start, end in _comments(raw):
            if end > 0:
                parts += (raw[at:start], " " * (end - start))
                at = end
                continue
            begins = not _ITEM.sub("", raw[:start]).strip()
            # Inside a paragraph, a comment must end in the same paragraph; at the start of a line, anywhere.
            if begins or self._closing[number]:
                self._comment_line = number
                return "".join((*parts, raw[at:start]))
        return "".join((*parts, raw[at:]))


def _front_matter_end(lines: Sequence[tuple[int, str]]) -> int:
    if lines[0][1].rstrip() != "---":
        return 0
    ends = (n for n, (_, raw) in enumerate(lines[1:], 2) if raw.rstrip() in {"---", "..."})
    end = next(ends, 0)
    return 0 if any(_BOX.match(raw) for _, raw in lines[:end]) else end


def _next_ends_of_comments(lines: Sequence[tuple[int, str]]) -> list[bool]:
    ends = [False] * (len(lines) + 1)
    for index in range(len(lines) - 1, 0, -1):
        raw = lines[index][1]
        ends[index] = bool(raw.strip()) and ("-->" in raw or ends[index + 1])
    return ends


def _comments(raw: str) -> Iterator[tuple[int, int]]:
    if "<!--" not in raw:
        return
    tokens = list(_TOKEN.finditer(raw))
    last = {len(token[0]): index for index, token in enumerate(tokens) if token[0][0] == "`"}
    code, comment = 0, -1
    for index, token in enumerate(tokens):
        sign = token[0]
        if comment >= 0:
            if sign == "-->":
                yield comment, token.end()
                comment = -1
        elif code:
            code = 0 if sign == "`" * code else code
        elif sign[0] == "`":
            code = len(sign) if last[len(sign)] > index else 0
        elif sign == "<!--":
            comment = token.start()
        elif sign != "-->":
            yield token.start(), token.end()
    if comment >= 0:
        yield comment, 0


@dataclass
class _Item:
    """An open list item, with the box that its lines belong to."""

    indent: int
    box: int | None


@dataclass
class _Collector:
    """Goes through the lines and collects boxes and headings."""

    boxes: list[Box] = field(default_factory=list)
    bodies: list[list[str]] = field(default_factory=list)
    headings: list[Heading] = field(default_factory=list)
    malformed: list[MalformedBox] = field(default_factory=list)
    boxes_outside_lists: list[int] = field(default_factory=list)
    above: tuple[Heading, ...] = ()
    items: list[_Item] = field(default_factory=list)

    def code(self, line: TextLine, *, begins: bool) -> None:
        if begins:
            self._leave(columns(line.raw) - _NEST)
        self._add(line.raw)

    def text(self, line: TextLine, last: str, *, paragraph_starts: bool) -> None:
        """Add a line outside of code; `last` is the line above it."""
        shown = line.shown
        if not shown.strip():
            self._add("")
        elif heading := _HEADING.match(shown):
            text = re.sub(r"(?:^|[ \t])#+[ \t]*$", "", heading[2] or "").strip()
            self._head(Heading(len(heading[1]), text, line.number))
        elif paragraph_starts and (rule := _UNDERLINE.match(shown)) and _is_paragraph(last):
            self._head(Heading(1 if rule[1] else 2, last.strip(), line.number - 1))
        elif item := _ITEM.match(shown):
            self._item(line, columns(item[1]))
        else:
            self._paragraph(line, last)

    def document(self, lines: tuple[TextLine, ...]) -> BoxDocument:
        return BoxDocument(
            boxes=tuple(
                replace(box, body=_dedented(body, box.indent + _NEST)) if body else box
                for box, body in zip(self.boxes, self.bodies, strict=True)
            ),
            headings=tuple(self.headings),
            lines=lines,
            malformed=tuple(self.malformed),
            boxes_outside_lists=tuple(self.boxes_outside_lists),
        )

    def _head(self, heading: Heading) -> None:
        self.headings.append(heading)
        self.items.clear()
        self.above = (*(h for h in self.above if h.level < heading.level), heading)

    def _item(self, line: TextLine, indent: int) -> None:
        self._leave(indent - _NEST)
        parent = self.items[-1].box if self.items else None
        if match := _BOX.match(line.shown):
            self.items.append(_Item(indent, len(self.boxes)))
            self._box(line, match, parent, indent)
            return
        if _MALFORMED.match(line.shown):
            self.malformed.append(MalformedBox(line.number, line.shown.strip(), self.above))
        elif _OUTSIDE_LIST.match(line.shown):
            self.boxes_outside_lists.append(line.number)
        self._add(line.shown)
        self.items.append(_Item(indent, parent))

    def _box(self, line: TextLine, match: re.Match[str], parent: int | None, indent: int) -> None:
        group = "usual" if match["usual"] else "other"
        start, end = match.start(group), line.shown.index("]", match.start(group))
        text = match["text"]
        if text[:1] in {"(", "[", ":"} or (group == "other" and text[:1].strip()):
            self.items[-1].box = parent  # a link, a reference or a footnote
            self._add(line.shown)
            return
        self.bodies.append([])
        self.boxes.append(
            Box(
                line=line.number,
                start=line.start + start,
                end=line.start + end,
                indent=indent,
                mark=line.shown[start:end],
                starred=match["star"] is not None,
                text=text.strip(),
                headings=self.above,
                parent=parent,
            )
        )

    def _paragraph(self, line: TextLine, last: str) -> None:
        if _MALFORMED.match(line.shown):
            self.malformed.append(MalformedBox(line.number, line.shown.strip(), self.above))
        elif _OUTSIDE_LIST.match(line.shown) and _SQUARE.search(line.shown):
            self.boxes_outside_lists.append(line.number)
        if last.strip() and columns(line.shown) < _NEST and _continues(last):
            self._add(line.shown.strip())  # a lazy continuation of the paragraph above it
            return
        self._leave(columns(line.shown) - _NEST)
        self._add(line.shown)

    def _leave(self, indent: int) -> None:
        while self.items and self.items[-1].indent > indent:
            self.items.pop()

    def _add(self, text: str) -> None:
        box = self.items[-1].box if self.items else None
        if box is not None:
            self.bodies[box].append(text.expandtabs(_TAB) if text[:1] in "\t " else text)


def _dedented(lines: Sequence[str], width: int) -> str:
    cut = (line[min(width, len(line) - len(line.lstrip(" "))) :] for line in lines)
    return textwrap.dedent("\n".join(cut)).strip("\n")


def _is_paragraph(shown: str) -> bool:
    begins = shown.lstrip()[:1]
    indented = columns(shown) >= _TAB
    return bool(begins) and begins not in "#>|" and not indented and not _ITEM.match(shown)


def _continues(last: str) -> bool:
    return not _HEADING.match(last) and not re.fullmatch(
        r"[ \t]*([-*_])(?:[ \t]*\1){2,}[ \t]*", last
    )
