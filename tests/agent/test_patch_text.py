"""What the CLI reports of a tool: its text, and the changed file as a bounded and inert unified diff, whatever it reports."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ralph_tui.agent.translate import TEXT_LIMIT, patch_text, result_text

ANY = st.recursive(
    st.none() | st.integers() | st.text(alphabet="+- @a\r\n\x1b\u202e", max_size=6),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["lines", "oldStart", "type", "structuredPatch"]), inner)
    ),
)


def hunk(*lines: str) -> dict[str, Any]:
    return {"oldStart": 3, "oldLines": 1, "newStart": 4, "newLines": 2, "lines": list(lines)}


def test_hunks_become_a_unified_diff() -> None:
    result = {"structuredPatch": [hunk("-a\r", "+b"), hunk(" c")]}
    assert patch_text(result).splitlines() == [
        "@@ -3,1 +4,2 @@",
        "-a",
        "+b",
        "@@ -3,1 +4,2 @@",
        " c",
    ]


def test_no_change_of_a_file_is_no_diff() -> None:
    assert patch_text(None) == ""
    assert patch_text({"stdout": "x"}) == ""
    assert patch_text({"type": "create", "structuredPatch": []}) == ""
    assert patch_text({"type": "update", "structuredPatch": []}) == "@@ nothing changed @@"


def test_a_secret_does_not_get_out() -> None:
    assert "a1B2a1B2" not in patch_text({"structuredPatch": [hunk("+sk-ant-api03-" + "a1B2" * 20)]})


def test_a_long_diff_counts_what_it_leaves_out() -> None:
    many = [f"{'+' if n % 3 else '-'}{'x' * 99}" for n in range(900)]
    text = patch_text({"structuredPatch": [hunk(*many)]})
    assert len(text) <= TEXT_LIMIT + 50
    *kept, last = text.splitlines()
    shown = [line[:1] for line in kept]
    assert last == f"@@ +{600 - shown.count('+')} -{300 - shown.count('-')} more @@"


@given(ANY)
def test_any_report_is_taken(report: Any) -> None:
    text = patch_text({"structuredPatch": report})
    assert not set(text) & set("\x1b\r\u202e")


def test_what_the_cli_marks_for_the_model_is_shown_without_its_tag() -> None:
    text = "File has not been read yet. Read it first before writing to it."
    assert result_text(f"<tool_use_error>{text}</tool_use_error>") == text
