"""A rejected claim is one line that names the check; its checks unfold, and nothing of them is lost."""

from textual.pilot import Pilot

from ralph_tui.domain import events as ev
from ralph_tui.present.timeline.entries import CheckEntry, NoteEntry
from ralph_tui.tui.widgets.stream import Stream
from tests.tui import feed
from tests.tui.conftest import Open, drained, ralph, screen_text, script_of, toasts, until


def stream_of(pilot: Pilot[int]) -> Stream:
    return ralph(pilot).dashboard.stream


def checks_shown(stream: Stream) -> int:
    entries = [stream.timeline.entry(number) for number, _ in stream._rows]
    return sum(isinstance(entry, CheckEntry) for entry in entries)


async def test_a_rejected_claim_is_one_line_that_unfolds(open_app: Open) -> None:
    async with open_app(script_of(feed.failed_gate())) as pilot:
        stream = stream_of(pilot)
        assert checks_shown(stream) == 0
        assert "rejected: demo-02, 1 of 3 checks" in screen_text(ralph(pilot))
        assert "4 lines hidden" in screen_text(ralph(pilot))
        await pilot.press("2")
        verdict = stream.selected
        assert isinstance(verdict, NoteEntry)
        assert "uv run mypy ." in verdict.text
        assert "return-value" in verdict.more, "the output is there without unfolding"
        await pilot.press("Z")
        assert checks_shown(stream) == 3
        await pilot.press("k", "k")
        assert stream.cursor in stream.timeline.folded
        await pilot.press("Z")
        assert checks_shown(stream) == 0
        assert stream.cursor == verdict.number, "the cursor goes to what is left of the group"
        await pilot.press("g", "Z")
        await until(pilot, lambda: any("rejected claim" in text for text in toasts(ralph(pilot))))


async def test_a_search_and_a_filter_find_what_is_folded(open_app: Open) -> None:
    async with open_app(script_of(feed.failed_gate())) as pilot:
        stream = stream_of(pilot)
        await pilot.press("2", "/", *"ruff", "enter")
        await until(pilot, lambda: checks_shown(stream) == 3)
        await pilot.press("escape", "Z")
        await until(pilot, lambda: checks_shown(stream) == 0)
        await pilot.press("F", "F")
        await until(pilot, lambda: "activity: problems" in str(stream.border_title))
        assert checks_shown(stream) == 1, "the failed check is a problem of its own"


async def test_what_the_person_reads_is_not_folded_away(open_app: Open) -> None:
    gate = [e for e in feed.failed_gate() if isinstance(e, ev.GateFinished)]
    before = [e for e in feed.failed_gate() if not isinstance(e, ev.GateFinished)]
    script = script_of(before)
    async with open_app(script) as pilot:
        stream = stream_of(pilot)
        await pilot.press("2")
        while stream.following or not isinstance(stream.selected, CheckEntry):
            await pilot.press("k")
        here = stream.selected
        script.news.put_nowait(gate[-1])
        await until(
            pilot,
            lambda: any(isinstance(e, NoteEntry) and e.hides for e in stream.timeline.entries),
        )
        await drained(pilot)
        assert checks_shown(stream) == 3
        assert stream.selected is here
