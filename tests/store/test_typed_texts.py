"""Typed texts are kept per kind, at most a hundred; two writers, a damaged file and a secret do no harm."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_tui.domain.errors import StoreError
from ralph_tui.store.layout import Layout
from ralph_tui.store.typed_texts import (
    GUIDANCE,
    MAX_CHARS,
    MAX_TEXTS,
    REASON,
    TypedText,
    keep_typed,
    read_typed,
    with_text,
)


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    layout = Layout(tmp_path)
    layout.dot.mkdir()
    return layout


def texts(layout: Layout, kind: str) -> list[str]:
    return [one.text for one in read_typed(layout) if one.kind == kind]


def test_texts_are_kept_per_kind_and_survive_a_restart(layout: Layout) -> None:
    keep_typed(layout, GUIDANCE, "use sqlite\nand no ORM")
    keep_typed(layout, REASON, "it was the network")
    keep_typed(layout, GUIDANCE, " use sqlite\nand no ORM ")
    keep_typed(layout, GUIDANCE, "café \udcff")
    assert texts(layout, GUIDANCE) == ["use sqlite\nand no ORM", "café \ufffd"]
    assert texts(layout, REASON) == ["it was the network"]
    assert layout.typed.stat().st_mode & 0o077 == 0, "for nobody else"


def test_a_project_that_is_not_set_up_keeps_none(tmp_path: Path) -> None:
    keep_typed(Layout(tmp_path), GUIDANCE, "hello")
    assert list(tmp_path.iterdir()) == []


def test_a_secret_and_a_pasted_file_are_not_kept(layout: Layout) -> None:
    keep_typed(layout, GUIDANCE, f"the key is sk-ant-{'a1' * 20}")
    keep_typed(layout, GUIDANCE, "x" * (MAX_CHARS + 1))
    assert not layout.typed.exists()


def test_unreadable_lines_are_left_out(layout: Layout) -> None:
    layout.typed.write_bytes(
        b'{"kind": "guidance", "text": "one"}\n{"kind": "gui\n\xff\xfe\x00\n[]\n{"kind": 3}\n'
        b'{"kind": "guidance", "text": "two", "later": true}\nnull'
    )
    assert texts(layout, GUIDANCE) == ["one", "two"]
    keep_typed(layout, GUIDANCE, "three")
    assert texts(layout, GUIDANCE) == ["one", "two", "three"]
    assert b"later" in layout.typed.read_bytes(), "a newer ralph's field survives"


def test_something_else_in_its_place_is_said(layout: Layout) -> None:
    os.mkfifo(layout.typed)
    with pytest.raises(StoreError, match=r"typed\.jsonl is not a regular file"):
        read_typed(layout)


def test_two_processes_at_once_lose_nothing(layout: Layout) -> None:
    code = (
        "import sys; from pathlib import Path; from ralph_tui.store.layout import Layout\n"
        "from ralph_tui.store.typed_texts import keep_typed\n"
        "for n in range(30): keep_typed(Layout(Path(sys.argv[1])), 'guidance', f'{sys.argv[2]} {n}')"
    )
    both = [subprocess.Popen([sys.executable, "-c", code, str(layout.root), name]) for name in "ab"]
    assert [one.wait(timeout=60) for one in both] == [0, 0]
    assert sorted(texts(layout, GUIDANCE)) == sorted(
        f"{name} {n}" for name in "ab" for n in range(30)
    )


KINDS = st.sampled_from(["guidance", "reason"])


@given(st.lists(st.tuples(KINDS, st.text(max_size=5)), max_size=30), st.integers(0, 3))
def test_the_newest_of_each_kind_are_kept_in_order(typed: list[tuple[str, str]], many: int) -> None:
    kept: tuple[TypedText, ...] = ()
    sent: dict[str, list[str]] = {"guidance": [], "reason": []}
    typed = [*typed, *(("reason", f"again {n}") for n in range(many * 40))]
    for kind, text in typed:
        kept = with_text(kept, kind, text)
        clean = text.encode(errors="replace").decode().strip()
        if clean and sent[kind][-1:] != [clean]:
            sent[kind].append(clean)
    for kind, expected in sent.items():
        assert [one.text for one in kept if one.kind == kind] == expected[-MAX_TEXTS:]
