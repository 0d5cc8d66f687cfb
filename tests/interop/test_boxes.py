"""A check box is found with the place of its character; what only looks like one is no box, and may be told.

`boxes.txt` has texts, and below each its boxes.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from ralph_tui.interop.formats import edited
from ralph_tui.interop.markdown.boxes import read_boxes
from tests.harness.effort import effort

BOXES = Path(__file__).with_name("boxes.txt")


def test_a_box_knows_its_place_its_headings_and_its_lines() -> None:
    text = "# T\r\n\r\n## A ##\r\n- [ ] one\r\n  more\r\n\r\n  last\r\n\t- [x] two\r\n  after\r\nlazy\r\n\r\nB\r\n=\r\n+ [X]\tthree\r\n"
    document = read_boxes(text)
    one, two, three = document.boxes
    assert [text[box.start : box.end] for box in document.boxes] == [" ", "x", "X"]
    assert [box.line for box in document.boxes] == [4, 8, 14]
    assert (one.body, two.body) == ("more\n\nlast\nafter\nlazy", "")
    assert [heading.text for heading in two.headings] == ["T", "A"]
    assert (one.parent, two.parent, three.parent) == (None, 0, None)
    assert [(heading.level, heading.text) for heading in three.headings] == [(1, "B")]
    assert (three.is_done, three.text, document.title) == (True, "three", "T")


def test_a_box_belongs_to_the_item_that_it_is_nested_in() -> None:
    text = "- [ ] a\n- plain\n  - [ ] b\n- [ ] c\n  - plain\n    - [ ] d\n   - [ ] e\n\ntext\n\n  - [ ] f\n"
    assert [box.parent for box in read_boxes(text).boxes] == [None, None, None, 2, 2, None]


def told(text: str) -> Iterator[str]:
    document = read_boxes(text)
    yield from (f"line {box.line}: {box.mark!r} {box.text!r}" for box in document.boxes)
    yield from (f"line {half.line}: half a box: {half.shown}" for half in document.malformed)
    yield from (f"line {line}: a box elsewhere" for line in document.boxes_outside_lists)
    if document.unclosed:
        yield "line {}: a {} that hides boxes to the end".format(*document.unclosed)


def test_each_text_has_the_boxes_that_stand_below_it(pytestconfig: pytest.Config) -> None:
    before, now = BOXES.read_text(encoding="utf-8"), ""
    for line in before.splitlines():
        if not line.startswith(" "):
            now += f"{line}\n"
            text = re.sub(r"\\(n|t|u....)", lambda sign: json.loads(f'"{sign[0]}"'), line)
            shown = () if line.startswith("# ") else told(text)
            now += "".join(f"    {one}\n" for one in shown)
    if pytestconfig.option.update_snapshots:
        BOXES.write_text(now, encoding="utf-8")
    assert now == BOXES.read_text(encoding="utf-8")


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from([" ", "x", "X"])), min_size=1))
def test_an_ordinary_list_is_read_as_a_parser_of_markdown_reads_it(
    items: list[tuple[int, str]],
) -> None:
    depth, lines = -1, []
    for number, (wanted, mark) in enumerate(items):
        depth = min(wanted, depth + 1)
        lines.append(f"{'  ' * depth}- [{mark}] item {number}")
    text = "\n".join(lines)
    parsed = [token for token in MarkdownIt().parse(text) if token.type == "list_item_open"]
    boxes = read_boxes(text).boxes
    assert [box.line - 1 for box in boxes] == [token.map[0] for token in parsed if token.map]
    depths: list[int] = []
    for box in boxes:
        depths.append(0 if box.parent is None else depths[box.parent] + 1)
    assert depths == [(token.level - 1) // 2 for token in parsed]


PIECES = [
    "- [ ] ",
    "- [x] ",
    "* [",
    "] ",
    "```",
    "~~~",
    "<!--",
    "-->",
    "# ",
    "\n",
    "\r\n",
    "\r",
    "\t",
    "  ",
    "é",
    "---\n",
    "\u2028",
    "`",
    "1. [-] ",
]


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=40).map("".join))
def test_any_text_is_read_and_its_places_are_right(text: str) -> None:
    document = read_boxes(text)
    for line in document.lines:
        assert text[line.start : line.start + len(line.raw)] == line.raw
    for box in document.boxes:
        assert text[box.start - 1] == "["
        assert text[box.start : box.end] == box.mark
        assert text[box.end] == "]"
    turned = edited(text, [(box.start, box.end, "x") for box in document.boxes])
    assert [box.line for box in read_boxes(turned).boxes] == [box.line for box in document.boxes]


HOSTILE = {
    "nested": "".join(f"{' ' * (2 * depth)}- [ ] x\n" for depth in range(320)),
    "bullets": "- " * 50_000 + "[ ] x",
    "quotes": "> " * 50_000 + "- [ ] x",
    "spaces": "- [" + " " * 100_000,
    "backticks": "".join("#" + "`" * size for size in range(440)) + "<!--",
    "comments": "a <!-- --> " * 9_000,
    "openings": "- [ ] a <!--\n" * 8_000,
    "rules": "- - -" * 20_000,
    "heads": "# " * 50_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_100_kb_of_anything_is_read_at_once(name: str) -> None:
    assert effort(lambda: read_boxes(HOSTILE[name])) < 20
