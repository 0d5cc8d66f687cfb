"""A change stands below its call: bounded, numbered where the call tells, with the differing words in color."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_tui.present.text.glyphs import ASCII, UNICODE
from ralph_tui.present.text.spans import Line, Tone, plain, width_of
from ralph_tui.present.tools.calls import Call, CallState
from ralph_tui.present.tools.inline_diff import MOST, inline_height, inline_line

TEXT = st.text(alphabet="ab \n\té字\x1b", max_size=80)


def edit(old: str, new: str, **more: object) -> Call:
    return Call("t1", "Edit", {"file_path": "a.py", "old_string": old, "new_string": new}, **more)  # type: ignore[arg-type]


def lines(call: Call, width: int = 80) -> list[Line]:
    return [inline_line(call, index, width, UNICODE) for index in range(inline_height(call))]


def texts(call: Call) -> list[str]:
    return [plain(line).strip() for line in lines(call)]


def test_the_line_before_stands_above_what_was_removed_and_added() -> None:
    call = edit("def f():\n    return 1\n", "def f():\n    return 2\n", state=CallState.OK)
    assert texts(call) == ["def f():", "-     return 1", "+     return 2"]


def test_the_numbers_are_those_of_the_file_where_the_tool_tells_them() -> None:
    patch = "@@ -11,2 +11,2 @@\n def f():\n-    return 1\n+    return 2"
    call = edit("    return 1", "    return 2", patch=patch)
    assert texts(call) == ["11   def f():", "12 -     return 1", "12 +     return 2"]


def test_a_file_written_over_shows_what_changed() -> None:
    patch = "@@ -1,2 +1,2 @@\n a\n-b\n+c"
    call = Call("t1", "Write", {"file_path": "a", "content": "a\nc\n"}, patch=patch)
    assert texts(call) == ["1   a", "2 - b", "2 + c"]


def test_a_long_change_counts_what_it_does_not_show() -> None:
    call = Call("t1", "Write", {"content": "\n".join(f"line {n}" for n in range(16))})
    shown = texts(call)
    assert len(shown) == MOST
    assert shown[0] == "1 + line 0"
    assert "11 more lines" in shown[-1]


def test_a_long_replacement_shows_both_sides() -> None:
    call = edit("\n".join("abcdefgh"), "\n".join("ijklmnop"))
    signs = [text[0] for text in texts(call)]
    assert "-" in signs
    assert "+" in signs


@pytest.mark.parametrize("state", [CallState.DENIED, CallState.FAILED, CallState.INTERRUPTED])
def test_a_change_that_was_not_made_has_no_colors(state: CallState) -> None:
    tones = {s.tone for line in lines(edit("a", "b", state=state)) for s in line}
    assert tones <= {Tone.TEXT, Tone.FAINT, Tone.MUTED}


def test_a_call_that_changes_nothing_has_no_lines() -> None:
    assert inline_height(Call("t1", "Bash", {"command": "ls", "content": "a"})) == 0
    assert inline_height(edit("same", "same")) == 0
    assert inline_height(Call("t1", "Edit", {})) == 0


@given(TEXT, TEXT, st.integers(1, 90), st.lists(st.tuples(TEXT, TEXT), max_size=2))
def test_any_change_is_bounded(
    old: str, new: str, width: int, others: list[tuple[str, str]]
) -> None:
    edits = [{"old_string": a, "new_string": b} for a, b in ((old, new), *others)]
    call = Call("t1", "MultiEdit", {"file_path": "a", "edits": edits})  # type: ignore[dict-item]
    assert inline_height(call) <= MOST
    for glyphs in (ASCII, UNICODE):
        for index in range(MOST):
            line = inline_line(call, index, width, glyphs)
            assert width_of(line) <= width
            assert "\x1b" not in plain(line)
