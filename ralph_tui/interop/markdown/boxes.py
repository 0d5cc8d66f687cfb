"""Finds the check boxes of a Markdown text, with the exact offset of each mark.

The tools that write these formats search line by line, and so does this reader. A CommonMark parser
(markdown-it-py was tried) does not fit: it treats boxes below an HTML tag or after four spaces as other text,
limits the depth, and gives lines but no offsets. As in such a parser, boxes in code blocks, HTML comments and
front matter do not count.
"""

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

DONE = "xX✓✔✅☑√"
_TAB = 4
_NEST = 2
"""How many columns deeper a nested list item must be."""

_MARKER = r"[ \t]*(?:[-*+]|[0-9]{1,9}[.)])"
_LINE = re.compile(r"([^\r\n]*)(?:\r\n|\r|\n|\Z)")
_ITEM = re.compile(rf"{_MARKER}(?:[ \t]+|$)")
_BOX = re.compile(
    _MARKER + r"[ \t]+"
    # Another symbol is a tool's mark for started, cancelled or moved. A letter or digit may be a reference.
    r"\[(?:(?P<usual>[\sxX])|(?P<other>[^\w\s\[\]])\uFE0F?)\]"
    r"(?P<star>\*(?=\s|$))?(?P<text>.*)"
)
_MALFORMED = re.compile(
    _MARKER
    + r"(?:[ \t]+\[[ \t]*+(?:[xX][ \t]*+)?(?:\](?![(\[:])|$|(?<=[ \t])[^\[\]]*$)|\[[ xX]?\](?=[ \t]|$))"
)
_OUTSIDE_LIST = re.compile(r"[ \t]*(?:\||>|\[[ xX]\][ \t]|(?:[-*+][ \t]+){2}\[[ xX]\])")
_SQUARE = re.compile(r"\[[ xX]\]")
_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*))?$")
_UNDERLINE = re.compile(r" {0,3}(?:(=+)|-+)[ \t]*$")
_RULE = re.compile(r"[ \t]*([-*_])(?:[ \t]*\1){2,}[ \t]*")
_TOKEN = re.compile(r"`+|<!---?>|<!--|-->")
_FENCE = re.compile(r"[ \t]*(?:(?:[-*+]|[0-9]{1,9}[.)])[ \t]+)*(`{3,}|~{3,})(.*)$")
_OWN_ID = re.compile(r"<!-- ralph: ([^\r\n<>]+) -->[ \t]*$")


@dataclass(frozen=True)
class Heading:
    """A heading."""

    level: int
    text: str
    line: int


@dataclass(frozen=True)
class TextLine:
    """One line of the text, with its number from 1 and its offset.

    `shown` is `raw` with code, HTML comments and front matter blanked out; offsets stay the same.
    """

    number: int
    start: int
    raw: str
    shown: str
    is_code: bool = False

    @property
    def text(self) -> str:
        return self.raw if self.is_code else self.shown


@dataclass(frozen=True)
class Box:
    """One check box.

    Attributes:
        line: Its line, from 1.
        start: The offset of the mark between the brackets.
        end: The offset of the closing bracket.
        indent: Its indentation in columns.
        starred: Whether an asterisk follows the bracket, which marks an optional task in Kiro.
        own_id: The id that ralph wrote in a comment at the end of the line.
        headings: The headings above it, the outermost first.
        parent: The index of the box that it is nested in.
        body: Its further lines, without those of nested boxes.
    """

    line: int
    start: int
    end: int
    indent: int
    mark: str
    starred: bool
    text: str
    own_id: str
    headings: tuple[Heading, ...]
    parent: int | None
    body: str = ""

    @property
    def is_done(self) -> bool:
        return self.mark.rstrip("\ufe0f") in DONE

    @property
    def is_odd(self) -> bool:
        return not self.is_done and not self.mark.isspace()

    @property
    def title_and_text(self) -> tuple[str, str]:
        """The title and the text below it. If its own line is empty, the next line is the title."""
        if self.text:
            return self.text, self.body
        first, _, rest = self.body.partition("\n")
        return first.strip(), rest


@dataclass(frozen=True)
class MalformedBox:
    """A list item that starts like a check box but is not one, such as `- [ x]`."""

    line: int
    shown: str
    headings: tuple[Heading, ...]


@dataclass
class BoxDocument:
    """The boxes of a text and their surroundings.

    Attributes:
        malformed: List items that are almost a box.
        boxes_outside_lists: Lines with a box in a table, a quotation or a paragraph.
        unclosed: The line and the kind of a code block or comment that hides boxes up to the end of the text.
    """

    boxes: list[Box] = field(default_factory=list)
    headings: list[Heading] = field(default_factory=list)
    lines: list[TextLine] = field(default_factory=list)
    malformed: list[MalformedBox] = field(default_factory=list)
    boxes_outside_lists: list[int] = field(default_factory=list)
    unclosed: tuple[int, str] | None = None

    @property
    def title(self) -> str:
        return next((heading.text for heading in self.headings if heading.level == 1), "")


def read_boxes(text: str) -> BoxDocument:
    """Find the boxes of a text, in time proportional to its length, however deeply it is nested."""
    # splitlines() would also split at form feeds and other separators that editors do not count as line ends.
    split = [(match.start(), match[1]) for match in _LINE.finditer(text)]
    if len(split) > 1 and split[-1] == (len(text), ""):
        split.pop()
    hidden, found = _Hidden(split), _Collector(BoxDocument())
    before, last = "", ""
    for number, (start, raw) in enumerate(split, 1):
        line = hidden.line(number, start, raw)
        found.add(line, last, paragraph_starts=not before.strip())
        before, last = last, "" if line.is_code else line.shown
    opened = hidden.opened
    if opened and any(_BOX.match(raw) for _, raw in split[opened[0] :]):
        found.document.unclosed = opened
    return found.finished()


def columns(shown: str) -> int:
    white = shown[: len(shown) - len(shown.lstrip(" \t"))]
    return len(white.expandtabs(_TAB))


class _Hidden:
    """Goes through the lines and blanks out code, comments and front matter."""

    def __init__(self, lines: Sequence[tuple[int, str]]) -> None:
        self._fence = ""
        self.opened: tuple[int, str] | None = None
        """The code block or comment that is still open: its line and its kind."""
        ends = (n for n, (_, raw) in enumerate(lines[1:], 2) if raw.rstrip() in {"---", "..."})
        end = next(ends, 0) if lines[0][1].rstrip() == "---" else 0
        self._front_matter = 0 if any(_BOX.match(raw) for _, raw in lines[:end]) else end

    def line(self, number: int, start: int, raw: str) -> TextLine:
        if number <= self._front_matter:
            return TextLine(number, start, raw, "")
        if self._fence:
            closing = raw.strip(" \t")
            if set(closing) == {self._fence[0]} and len(closing) >= len(self._fence):
                self._fence, self.opened = "", None
            return TextLine(number, start, raw, "", is_code=True)
        if self.opened:
            self.opened = None if "-->" in raw else self.opened
            return TextLine(number, start, raw, "")
        fence = _FENCE.match(raw)
        if fence and not (fence[1][0] == "`" and "`" in fence[2]):
            self._fence, self.opened = fence[1], (number, "code block")
            # The fence may follow a box on the same line. That is a box without text.
            return TextLine(number, start, raw, raw[: fence.start(1)], is_code=not _ITEM.match(raw))
        shown, at = "", 0
        for begin, end in _comments(raw) if "<!--" in raw else ():
            shown += raw[at:begin] + " " * (end - begin)
            at = max(end, begin)
            if not end:
                self.opened, at = (number, "HTML comment"), len(raw)
        return TextLine(number, start, raw, shown + raw[at:])


def _comments(raw: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each comment outside of code; the end is 0 for one that is open at the end of the line."""
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
class _Collector:
    """Goes through the lines and collects boxes and headings.

    Attributes:
        above: The headings that the next line is under.
        items: The open list items: their indentation, and the box that their lines belong to.
    """

    document: BoxDocument
    bodies: list[list[str]] = field(default_factory=list)
    above: tuple[Heading, ...] = ()
    items: list[tuple[int, int | None]] = field(default_factory=list)

    def add(self, line: TextLine, last: str, *, paragraph_starts: bool) -> None:
        """Add a line; `last` is the line above it, empty if that is code."""
        shown = line.shown
        begins_code = line.is_code and not (self.document.lines and self.document.lines[-1].is_code)
        self.document.lines.append(line)
        if line.is_code:
            if begins_code:
                self._leave(columns(line.raw) - _NEST)
            self._add(line.raw)
        elif not shown.strip():
            self._add("")
        elif heading := _HEADING.match(shown):
            text = re.sub(r"(?:^|[ \t])#+[ \t]*$", "", heading[2] or "").strip()
            self._head(Heading(len(heading[1]), text, line.number))
        elif paragraph_starts and (rule := _UNDERLINE.match(shown)) and _is_paragraph(last):
            self._head(Heading(1 if rule[1] else 2, last.strip(), line.number - 1))
        elif _ITEM.match(shown):
            self._item(line)
        else:
            self._paragraph(line, last)

    def finished(self) -> BoxDocument:
        for index, body in enumerate(self.bodies):
            box = self.document.boxes[index]
            if body:
                width = box.indent + _NEST
                cut = (line[min(width, len(line) - len(line.lstrip(" "))) :] for line in body)
                dedented = textwrap.dedent("\n".join(cut)).strip("\n")
                self.document.boxes[index] = replace(box, body=dedented)
        return self.document

    def _head(self, heading: Heading) -> None:
        self.document.headings.append(heading)
        self.items.clear()
        self.above = (*(h for h in self.above if h.level < heading.level), heading)

    def _item(self, line: TextLine) -> None:
        indent = columns(line.shown)
        self._leave(indent - _NEST)
        parent = self.items[-1][1] if self.items else None
        match = _BOX.match(line.shown)
        rest = match["text"][:1] if match else ""
        if match and rest not in {"(", "[", ":"} and not (match["other"] and rest.strip()):
            self.items.append((indent, len(self.document.boxes)))
            self._box(line, match, parent, indent)
            return
        if not match:  # a match is a link, a reference or a footnote
            self._doubtful(line)
        self._add(line.shown)
        self.items.append((indent, parent))

    def _box(self, line: TextLine, match: re.Match[str], parent: int | None, indent: int) -> None:
        start = match.start("usual" if match["usual"] else "other")
        end = line.shown.index("]", start)
        own = _OWN_ID.search(line.raw, end) if "<!-- ralph: " in line.raw else None
        self.bodies.append([])
        self.document.boxes.append(
            Box(
                line=line.number,
                start=line.start + start,
                end=line.start + end,
                indent=indent,
                mark=line.shown[start:end],
                starred=match["star"] is not None,
                text=match["text"].strip(),
                own_id=own[1] if own else "",
                headings=self.above,
                parent=parent,
            )
        )

    def _paragraph(self, line: TextLine, last: str) -> None:
        self._doubtful(line)
        lazy = last.strip() and not _HEADING.match(last) and not _RULE.fullmatch(last)
        if lazy and columns(line.shown) < _NEST:
            self._add(line.shown.strip())  # it continues the paragraph above it
            return
        self._leave(columns(line.shown) - _NEST)
        self._add(line.shown)

    def _doubtful(self, line: TextLine) -> None:
        if _MALFORMED.match(line.shown):
            half = MalformedBox(line.number, line.shown.strip(), self.above)
            self.document.malformed.append(half)
        elif _OUTSIDE_LIST.match(line.shown) and _SQUARE.search(line.shown):
            self.document.boxes_outside_lists.append(line.number)

    def _leave(self, indent: int) -> None:
        while self.items and self.items[-1][0] > indent:
            self.items.pop()

    def _add(self, text: str) -> None:
        box = self.items[-1][1] if self.items else None
        if box is not None:
            self.bodies[box].append(text.expandtabs(_TAB) if text[:1] in "\t " else text)


def _is_paragraph(shown: str) -> bool:
    begins = shown.lstrip()[:1]
    return bool(begins) and begins not in "#>|" and columns(shown) < _TAB and not _ITEM.match(shown)
