"""A check box is found with the place of its character; what only looks like one is no box, and may be told."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from ralph_tui.interop.formats import edited
from ralph_tui.interop.markdown.boxes import read_boxes
from tests.harness.effort import effort


def marks(text: str) -> list[str]:
    return [f"{box.mark}{box.text}" for box in read_boxes(text).boxes]


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


@pytest.mark.parametrize(
    "text",
    [
        "```\n- [ ] x\n```",
        "````\n```\n- [ ] x\n````",
        "~~~ md\n- [ ] x\n~~~",
        "- a\n  ```\n  - [ ] x\n  ```",
        "<!-- - [ ] x -->",
        "<!--\n- [ ] x\n-->",
        "text <!-- a\n- [ ] x -->",
        "---\na: 1\n---\n",
        "- \\[ ] x",
        "- [x](https://example.org)",
        "- [x]: https://example.org",
        "- [x][ref]",
        "- [1] reference",
        "- [-]minus",
        "x - [ ] y",
    ],
)
def test_what_is_no_box(text: str) -> None:
    document = read_boxes(text)
    assert (document.boxes, document.malformed, document.unclosed) == ([], [], None)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("- [ ] x <!-- why -->", [" x"]),
        ("- [ ] `<!--` and\n- [ ] y", [" `<!--` and", " y"]),
        ("<!-->\n- [ ] y", [" y"]),
        ("```a`b\n- [ ] y", [" y"]),
        ("<details>\n- [ ] y\n</details>", [" y"]),
        ("## T\n\n    - [ ] y", [" y"]),
        ("1) [x] y", ["xy"]),
        ("- [✔️] y", ["✔️y"]),
        ("- [-] y", ["-y"]),
        ("- [\u00a0] y", ["\u00a0y"]),
        ("- [ ]y", [" y"]),
        ("- [ ]\n  y", [" "]),
        ("---\n- [ ] y\n---", [" y"]),
        ("---\n- [ ] y", [" y"]),
        ("-\t[ ]\ty\u2028z", [" y\u2028z"]),
    ],
)
def test_what_is_a_box(text: str, found: list[str]) -> None:
    assert marks(text) == found


@pytest.mark.parametrize(
    "line",
    ["- []", "- [ x] a", "- [x ] a", "- [  ] a", "* [] a", "-[ ] a", "1.[x]", "- [ Task", "- [x"],
)
def test_what_is_half_a_box_is_told_with_its_line(line: str) -> None:
    document = read_boxes(f"- [ ] whole\n{line}\n")
    assert [(half.line, half.shown) for half in document.malformed] == [(2, line)]
    assert len(document.boxes) == 1


@pytest.mark.parametrize("line", ["| 1 | [ ] |", "> - [ ] a", "[ ] a", "- - [x] a"])
def test_a_box_that_stands_elsewhere_is_told(line: str) -> None:
    assert read_boxes(f"text\n\n{line}\n").boxes_outside_lists == [3]


@pytest.mark.parametrize(
    ("text", "line", "kind"),
    [("a\n```\n- [ ] b", 2, "code block"), ("\n\n<!--\n- [ ] b", 3, "HTML comment")],
)
def test_what_hides_boxes_to_the_end_is_told(text: str, line: int, kind: str) -> None:
    unclosed = read_boxes(text).unclosed
    assert unclosed == (line, kind)
    assert read_boxes(text.replace("- [ ] b", "b")).unclosed is None


def test_a_box_belongs_to_the_item_that_it_is_nested_in() -> None:
    text = "- [ ] a\n- plain\n  - [ ] b\n- [ ] c\n  - plain\n    - [ ] d\n   - [ ] e\n\ntext\n\n  - [ ] f\n"
    assert [box.parent for box in read_boxes(text).boxes] == [None, None, None, 2, 2, None]


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
