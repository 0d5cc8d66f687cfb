"""Events on their way out, and what happens when the disk is full."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from threading import get_ident

import pytest

from ralph_tui.domain import events as ev
from ralph_tui.domain.errors import StoreError
from ralph_tui.engine.core.event_bus import EventBus
from ralph_tui.store.journal.journal import JournalWriter, read_events


async def test_events_are_shown_at_once_and_written_in_order(tmp_path: Path) -> None:
    shown: list[int] = []
    path = tmp_path / "events.jsonl"
    bus = EventBus(JournalWriter(path), lambda _: shown.append(get_ident()))
    bus.start()
    await asyncio.to_thread(bus.emit, ev.Notice(text="0"))
    for number in range(1, 500):
        bus.emit(ev.Notice(text=str(number)))
        bus.emit(ev.TextDelta(text="live"))
    assert shown == [get_ident()] * 999, "in this thread, and nobody waits for the disk"
    await bus.close()
    kept = [event for _, event in read_events(path)]
    assert [e.seq for e in kept] == list(range(1, 501))
    assert all(isinstance(e, ev.Notice) for e in kept)


async def test_a_full_disk_is_kept_as_the_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: JournalWriter, __: Sequence[ev.Event]) -> None:
        raise StoreError("The disk is full.", "Free some space.")

    monkeypatch.setattr(JournalWriter, "write", full)
    bus = EventBus(JournalWriter(tmp_path / "events.jsonl"), lambda _: None)
    bus.start()
    bus.emit(ev.Notice(text="x"))
    await bus.close()
    assert bus.failure is not None
    assert "disk is full" in str(bus.failure)


async def test_events_are_written_also_when_everything_is_cancelled_at_once(tmp_path: Path) -> None:
    """As `asyncio.run` does at its end, when a second signal left no time for an orderly one."""
    path = tmp_path / "events.jsonl"
    bus = EventBus(JournalWriter(path), lambda _: None)
    bus.start()
    bus.emit(ev.Notice(text="before"))
    for other in asyncio.all_tasks() - {asyncio.current_task()}:
        other.cancel()
    await asyncio.sleep(0)
    bus.emit(ev.Notice(text="after"))
    async with asyncio.timeout(10):
        await bus.close()
    texts = [event.text for _, event in read_events(path) if isinstance(event, ev.Notice)]
    assert texts == ["before", "after"]


async def test_subscribers_hear_every_event_before_the_face_does(tmp_path: Path) -> None:
    heard: list[str] = []
    bus = EventBus(JournalWriter(tmp_path / "events.jsonl"), lambda _: heard.append("face"))
    bus.subscribe("guard", lambda _: heard.append("replaced"))
    bus.subscribe("guard", lambda event: heard.append(event.type))
    bus.subscribe("quota", lambda _: heard.append("quota"))
    bus.start()
    bus.emit(ev.Notice(text="x"))
    await bus.close()
    assert heard == ["notice", "quota", "face"]
