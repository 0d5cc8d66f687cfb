"""A diff keeps every line, has the numbers of the file, and shows which words of a line differ."""

import difflib

from hypothesis import given
from hypothesis import strategies as st

from ralph_tui.present.text.diffs import FOLD, GUTTER, Diff, code_lines, read_diff
from ralph_tui.present.text.glyphs import ASCII, UNICODE
from ralph_tui.present.text.spans import Span, Tone, flat, fold, hang, plain, width_of

LINES = st.lists(st.text("ab c", max_size=4), max_size=12)


def drawn(text: str, path: str = "") -> list[str]:
    return [plain(line) for line in Diff(read_diff(text.splitlines()), path).lines(UNICODE)]


@given(st.lists(st.text(" +-@\\x", max_size=4), max_size=30))
def test_no_line_is_lost_or_made_up(lines: list[str]) -> None:
    sides = read_diff(lines)
    assert [side.text for side in sides if side.sign == "+"] == [
        line[1:] for line in lines if line[:1] == "+"
    ]


@given(LINES, LINES)
def test_the_numbers_are_those_of_the_files(before: list[str], after: list[str]) -> None:
    for side in read_diff(list(difflib.unified_diff(before, after, lineterm=""))[2:]):
        if side.sign != FOLD:
            text = before if side.sign == "-" else after
            assert text[side.number - 1] == side.text


def test_lines_between_two_hunks_are_folded_into_their_number() -> None:
    shown = drawn("@@ -1,1 +1,1 @@\n-a\n+b\n@@ -14,1 +14,1 @@\n-c\n+d")
    assert [line.split() for line in shown] == [
        ["1", "-", "a"],
        ["1", "+", "b"],
        ["…", "12", "unchanged", "lines"],
        ["14", "-", "c"],
        ["14", "+", "d"],
    ]


def test_without_numbers_there_are_none() -> None:
    assert [line.split() for line in drawn("@@\n-a\n+b\n@@\n+c")] == [
        ["-", "a"],
        ["+", "b"],
        ["…"],
        ["+", "c"],
    ]


def test_only_the_words_that_differ_have_the_color_of_the_change() -> None:
    diff = Diff(read_diff(["-return days[:30]", "+return days[:last]"]), "a.py")
    removed, added = diff.lines(UNICODE)
    assert [s.text for s in removed if s.tone is Tone.REMOVED_WORD] == ["30"]
    assert [s.text for s in added if s.tone is Tone.ADDED_WORD] == ["last"]
    assert Tone.CODE_KEYWORD in {s.tone for s in added}, "the rest has the colors of its language"


@given(
    st.lists(st.text("def ()\"'#\\1\t\x1b[é字", max_size=20), max_size=8),
    st.sampled_from(["a.py", "b.sh", "c", ""]),
)
def test_colors_change_no_character(lines: list[str], path: str) -> None:
    text = "\n".join(lines)
    assert "\n".join(plain(line) for line in code_lines(text, path)) == text
    sides = read_diff([f"{'-' if n % 2 else '+'}{line}" for n, line in enumerate(lines)])
    for glyphs in (ASCII, UNICODE):
        for side, line in zip(sides, Diff(sides, path).lines(glyphs), strict=True):
            assert plain(line).endswith(side.text)


def test_a_change_that_was_not_made_has_no_colors() -> None:
    diff = Diff(read_diff(["-a = 1", "+a = 2"]), "a.py", made=False)
    assert {s.tone for line in diff.lines(UNICODE) for s in line} == {Tone.MUTED}


@given(st.text("ab \t漢é", max_size=60), st.integers(1, 20))
def test_rows_of_a_folded_line_are_the_whole_line_in_its_width(text: str, room: int) -> None:
    line = [Span("   12 ", Tone.MUTED), Span("+ ", Tone.ADDED), Span(text), Span("end")]
    rows = hang(line, 2, GUTTER + room)
    assert "".join(plain(row)[GUTTER:] for row in rows) == flat(f"{text}end")
    assert all(width_of(row) <= GUTTER + max(room, 2) for row in rows)
    assert all(plain(row)[:GUTTER].isspace() for row in rows[1:])
    assert {width_of(row) for row in fold(line, GUTTER + room)} <= {GUTTER + room, GUTTER + 2}
