"""The whole of a call: a diff in the colours of its language; long ones in pieces."""

import difflib
import threading
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.selection import SELECT_ALL
from textual.widget import AwaitMount, Widget

from ralph_tui.domain import events as ev
from ralph_tui.domain.outcomes import ToolOutcome
from ralph_tui.present.text import diffs
from ralph_tui.present.text.diffs import GUTTER
from ralph_tui.present.text.glyphs import UNICODE
from ralph_tui.present.text.spans import CHUNK_CHARACTERS, CHUNK_LINES, Line, Tone, text_chunks
from ralph_tui.present.timeline.entries import CallEntry
from ralph_tui.present.timeline.entry_detail import MAX_DIFF, detail_of
from ralph_tui.present.tools.calls import Call, SectionKind
from ralph_tui.tui.app.app import RalphApp
from ralph_tui.tui.screens.dialogs.text_reader import DiffView, ToolDetail
from ralph_tui.tui.widgets.scroll_text import ScrollText
from tests.tui import feed
from tests.tui.conftest import Open, drained, ralph, screen_text, script_of, until

OLD = "def total(items):\n    count = 0\n    return sum(items)\n"
NEW = 'def total(items):\n    """Add them up."""\n    return sum(items) + 1\n# done\n'


def edited(path: str = "src/totals.py", old: str = OLD, new: str = NEW) -> list[ev.Event]:
    given = {"file_path": path, "old_string": old, "new_string": new}
    return [
        *feed.running()[:3],
        ev.ToolStarted(tool_id="e", name="Edit", input=given),
        ev.ToolFinished(tool_id="e", name="Edit", outcome=ToolOutcome.OK),
    ]


def test_of_a_huge_diff_so_many_lines_are_shown_and_the_rest_is_counted() -> None:
    new = "".join(f"{n}\n" for n in range(9_000))
    call = Call(tool_id="e", name="Write", input={"file_path": "a.py", "content": new})
    entry = CallEntry(number=1, depth=0, call=call)
    (diff,) = (s for s in detail_of(entry, UNICODE).sections if s.kind is SectionKind.DIFF)
    shown = diff.body.splitlines()
    assert len(shown) == MAX_DIFF + 1
    assert shown[-1] == "@@ 7,001 more lines are not shown @@", (
        "the header is one of those that are"
    )


async def test_an_edit_is_shown_as_a_diff_and_copied(open_app: Open) -> None:
    async with open_app(script_of(edited())) as pilot:
        app = ralph(pilot)
        await drained(pilot)
        await pilot.press("G", "enter")
        await until(pilot, lambda: isinstance(app.screen, ToolDetail))
        rows = _rows(app)
        assert rows.index("- count = 0") < rows.index('+ """Add them up."""')
        assert has_tone(app, "def", Tone.CODE_KEYWORD)
        await pilot.press("y")
        await until(pilot, lambda: "-    count = 0\n" in app.clipboard)


def _rows(app: RalphApp) -> list[str]:
    x, y, width, height = app.screen.query_one("#reader").content_region
    lines = screen_text(app).splitlines()[y : y + height]
    return [" ".join(line[x : x + width].split()) for line in lines]


async def test_each_row_of_a_changed_line_has_its_background_and_copying_joins_them(
    open_app: Open,
) -> None:
    long = " ".join(f"word{n}" for n in range(30))
    async with open_app(script_of(edited(new=f"{OLD}# {long}\n")), size=(80, 24)) as pilot:
        app = ralph(pilot)
        await drained(pilot)
        await pilot.press("G", "enter")
        await until(pilot, lambda: "word29" in screen_text(app))
        view = app.screen.query_one(DiffView)
        texts = view.render().plain.split("\n")
        first = next(row for row, text in enumerate(texts) if "+ # word0" in text)
        assert len(texts[first:]) > 2
        grounds = []
        for row, text in enumerate(texts[first:], first):
            strip = view.render_line(row)
            assert len(text) == view.content_size.width, "the background reaches the edge"
            assert row == first or not text[:GUTTER].strip(), "only the first row has a number"
            x = view.gutter.left
            cells = strip.crop(x + GUTTER - 1, x + len(text))
            grounds += [piece.style.bgcolor for piece in cells if piece.style]
        assert grounds.count(grounds[0]) == len(grounds)
        assert grounds[0] != next(iter(view.render_line(0).crop(GUTTER + 8))).style.bgcolor  # type: ignore[union-attr]
        app.screen.selections = {view: SELECT_ALL}
        marked = (app.screen.get_selected_text() or "").splitlines()
        assert marked[-1].endswith(f"+ # {long}")


async def test_hostile_lines_are_only_text(open_app: Open) -> None:
    bad = "[red]\x1b]0;x\x07\u202e[/]\n[@click=app.quit]q[/]\n" + "x" * 5000
    async with open_app(script_of(edited("a.[py", OLD, bad)), size=(80, 24)) as pilot:
        app = ralph(pilot)
        await drained(pilot)
        await pilot.press("G", "enter")
        await until(pilot, lambda: isinstance(app.screen, ToolDetail))
        await until(pilot, lambda: any("+ [red]" in row for row in _rows(app)))
        assert "\x1b" not in screen_text(app)


@given(st.lists(st.sampled_from(["", "a", "word " * 30, "x" * 12_000, "two words " * 900])))
def test_a_text_in_pieces_is_the_whole_text(lines: list[str]) -> None:
    text = "\n".join(lines)
    parts = list(text_chunks(text))
    assert "\n".join(parts).replace("\n", "") == text.replace("\n", "")
    assert all(len(part) <= CHUNK_CHARACTERS + CHUNK_LINES for part in parts)
    assert all(part.count("\n") < CHUNK_LINES for part in parts)
    if all(len(line) <= CHUNK_CHARACTERS for line in lines):
        assert "\n".join(parts) == text
    cut = [part for part in parts if not part.isspace() and "words" in part]
    assert all(part[0] != " " and not part.endswith("wor") for part in cut), "at spaces"


def texts_of(app: RalphApp) -> list[str]:
    frame = app.screen.query_one("#reader", ScrollText)
    return ["\n".join(frame.lines_of(text)) for text in frame.children]


OUTPUT = "\n".join(f"line {n} of what it said" for n in range(800))


def said(output: str) -> list[ev.Event]:
    return [
        *feed.running()[:3],
        ev.ToolStarted(tool_id="b", name="Bash", input={"command": "make"}),
        ev.ToolFinished(tool_id="b", name="Bash", outcome=ToolOutcome.OK, output=output),
    ]


@pytest.mark.long
async def test_of_a_long_output_what_is_in_sight_is_laid_out_first(
    open_app: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    laid_out: list[list[int]] = []
    async with open_app(script_of(said(OUTPUT))) as pilot:
        app = ralph(pilot)
        await drained(pilot)
        await pilot.press("G")
        real = ScrollText.mount

        def watched(frame: ScrollText, *texts: Widget, **where: None) -> AwaitMount:
            laid_out.append([sum(map(len, frame.lines_of(text))) for text in texts])
            return real(frame, *texts, **where)

        monkeypatch.setattr(ScrollText, "mount", watched)
        await pilot.press("enter")
        await until(
            pilot, lambda: isinstance(app.screen, ToolDetail) and "line 9 " in screen_text(app)
        )
        await until(pilot, lambda: texts_of(app)[-1].endswith("line 799 of what it said"))
        assert len(laid_out) > 3
        assert max(map(sum, laid_out)) <= 2 * (CHUNK_CHARACTERS + CHUNK_LINES)
        assert "\n".join(texts_of(app)).endswith(OUTPUT)
        await pilot.press("slash", *"line 700", "enter")
        await until(pilot, lambda: "1 of 1" in screen_text(app) and "line 700" in screen_text(app))
        await pilot.press("escape", "y")
        await until(pilot, lambda: OUTPUT in app.clipboard)


async def test_a_long_diff_is_coloured_beside_the_loop_of_the_screen(
    open_app: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[threading.Thread] = []
    real = diffs.code_lines

    def watched(text: str, path: str) -> tuple[Line, ...]:
        if len(text) > diffs.AT_ONCE:
            threads.append(threading.current_thread())
        return real(text, path)

    monkeypatch.setattr(diffs, "code_lines", watched)
    lines = "".join(f"def number_{n}() -> int:\n    return {n}\n" for n in range(300))
    async with open_app(script_of(edited(old="", new=lines))) as pilot:
        app = ralph(pilot)
        await drained(pilot)
        await pilot.press("G", "enter")
        await until(pilot, lambda: isinstance(app.screen, ToolDetail))
        await until(pilot, lambda: any("return 299" in text for text in texts_of(app)))
        await until(pilot, lambda: has_tone(app, "def", Tone.CODE_KEYWORD))
        assert threads
        assert threading.main_thread() not in threads
        sizes = [len(view.render().plain.split("\n")) for view in app.screen.query(DiffView)]
        assert sum(sizes) == 600
        assert max(sizes) == CHUNK_LINES


async def test_a_change_is_compared_once_however_often_its_row_is_drawn(
    open_app: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[Sequence[str]] = []
    real = difflib.unified_diff

    def watched(before: list[str], after: list[str], **how: Any) -> Iterator[str]:
        compared.append(after)
        return real(before, after, **how)

    monkeypatch.setattr(difflib, "unified_diff", watched)
    async with open_app(script_of(edited(new=f"{NEW}# only here"))) as pilot:
        app = ralph(pilot)
        await drained(pilot)
        await pilot.press("G", "k", "j", "k", "j", "enter")
        await until(pilot, lambda: isinstance(app.screen, ToolDetail))
        await until(pilot, lambda: "# only here" in screen_text(app))
        assert len(compared) == 1


def has_tone(app: RalphApp, word: str, tone: Tone) -> bool:
    """Whether the first diff in the frame shows a word in a tone."""
    view = app.screen.query(DiffView).first()
    shown = view.render()
    seen = [s.style for s in shown.spans if shown.plain[s.start : s.end] == word]
    wanted = {view.visual(tone, None, ground) for ground in (None, Tone.ADDED, Tone.REMOVED)}
    return any(style in wanted for style in seen)
