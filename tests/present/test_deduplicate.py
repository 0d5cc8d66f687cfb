"""The stream tells changes, not repetitions."""

from dataclasses import replace

import pytest

from ralph_tui.domain import events as ev
from ralph_tui.domain.events import EventSink
from ralph_tui.domain.plan.plan import Task, TaskStatus
from ralph_tui.domain.run.breaker import BreakerState, CircuitBreaker
from ralph_tui.present.sections.breaker_signals import breaker_lines, breaker_parts
from ralph_tui.present.text.glyphs import UNICODE
from ralph_tui.present.text.parts import parts_text
from ralph_tui.present.text.spans import plain, width_of
from ralph_tui.present.timeline import entry_lines
from ralph_tui.present.timeline.entries import CallEntry
from ralph_tui.present.timeline.timeline import Timeline
from ralph_tui.tui.host.bridge import Bridge
from tests.tui import feed
from tests.tui.conftest import script_of


def told(*events: ev.Event, roots: tuple[str, ...] = ()) -> list[str]:
    timeline = Timeline(roots=roots)
    for event in events:
        timeline.feed(event)
    return [plain(entry_lines.line(entry, 0, 100, UNICODE)).rstrip() for entry in timeline.entries]


def changed(**counters: object) -> ev.BreakerChanged:
    return ev.BreakerChanged(
        breaker=CircuitBreaker().model_copy(update=counters), reason="iteration 2: why"
    )


def test_a_closed_breaker_whose_counters_stand_still_is_no_news() -> None:
    assert told(changed(), changed(total_cost=3.0)) == []


def test_a_counter_that_rose_is_told_with_its_threshold_and_once() -> None:
    shown = told(changed(failure_count=1), changed(failure_count=1, total_cost=2.0), changed())
    assert shown == ["▲ breaker failures 1/3"]


def test_opening_and_closing_are_told() -> None:
    shown = told(changed(state=BreakerState.OPEN), changed(state=BreakerState.HALF_OPEN), changed())
    assert [text.split()[2] for text in shown] == ["open:", "half-open:", "closed:"]


def test_a_run_that_starts_with_counters_is_not_told_again() -> None:
    standing = CircuitBreaker(failure_count=2)
    start = feed.started().model_copy(update={"breaker": standing})
    assert told(start, changed(failure_count=2)) == told(start)


def test_a_task_is_told_when_its_status_changed_and_not_when_its_figures_did() -> None:
    done = feed.task(2, TaskStatus.COMPLETE)
    counted = done.model_copy(update={"actual_tokens_used": 900})
    shown = told(
        feed.plan(),
        ev.TaskChanged(task=done, reason="iteration 2: every check passed"),
        ev.TaskChanged(task=counted, reason="iteration 2: every check passed"),
        ev.TaskChanged(task=feed.task(2, TaskStatus.PENDING), reason="the person retries"),
    )
    assert len(shown) == 3
    assert shown[1].endswith("demo-02 is complete: iteration 2: every check passed")
    assert shown[2].endswith("demo-02 is pending: the person retries")


def test_paths_inside_the_project_are_relative_and_others_are_whole() -> None:
    inside, outside = "/home/dev/slug/src/a.py", "/home/dev/slugs/b.py"
    shown = told(
        *feed.tool("1", "Read", file_path=inside),
        *feed.tool("2", "Read", file_path=outside),
        *feed.tool("3", "Grep", pattern="x", path="/home/dev/slug"),
        roots=("/home/dev/slug",),
    )
    assert " src/a.py" in shown[0]
    assert inside not in shown[0]
    assert outside in shown[1]
    assert "x in ." in shown[2]


def test_live_paths_are_kept_as_they_are_without_a_root() -> None:
    timeline = Timeline()
    timeline.feed(ev.ToolStarted(tool_id="1", name="Read", input={"file_path": "/x/y"}))
    entry = timeline.entries[0]
    assert isinstance(entry, CallEntry)
    assert entry.call.input == {"file_path": "/x/y"}


BUSY = CircuitBreaker(
    failure_count=1,
    denied_count=2,
    refused_claims_count=1,
    max_refused_claims=2,
    same_error_count=1,
    max_collapses=0,
    evidence={"denials": ("git push", "git push")},
)


def test_the_panel_shows_the_main_signals_and_the_most_advanced_of_the_others() -> None:
    shown = [plain(line) for line in breaker_lines(BUSY, 40, UNICODE)]
    assert [text.split()[0] for text in shown] == ["failures", "stagnation", "refused"]
    assert shown[2].endswith("+2")
    quiet = [plain(line) for line in breaker_lines(CircuitBreaker(), 40, UNICODE)]
    assert len(quiet) == len(shown)
    assert quiet[2] == "5 other signals quiet"


def test_the_panel_never_overflows() -> None:
    full = CircuitBreaker(
        failure_count=10**6,
        max_consecutive_failures=50,
        total_cost=99_999.5,
        max_cost_usd=100_000,
        collapse_count=3,
        same_error_count=5,
    )
    for width in (40, 44, 60):
        assert all(width_of(line) <= width for line in breaker_lines(full, width, UNICODE))


def test_the_detail_has_every_signal_the_evidence_and_what_is_off() -> None:
    text = parts_text(breaker_parts(BUSY, UNICODE))
    for signal in BUSY.signals():
        assert signal.name in text.lower()
    assert text.count("git push") == 2
    assert "output collapse    off" in text
    assert text.index("refused claims") < text.index("denials") < text.index("Quiet")


async def test_a_plan_that_the_watcher_tells_again_is_compared_once_and_is_no_news(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tasks = tuple(Task(id=f"t{n}") for n in range(50))
    again = tuple(task.model_copy(deep=True) for task in tasks)
    waits = ev.InjectionQueued(id="i", text="Prefer sqlite.")
    told: list[ev.Event] = []

    async def watch(sink: EventSink) -> None:
        for event in told:
            sink(event)

    bridge = Bridge(replace(script_of().launch, watch=watch), feed.clock)

    async def news(*events: ev.Event) -> list[ev.Event]:
        told[:] = events
        await bridge.watch()
        return bridge.flush()

    first = ev.PlanLoaded(tasks=tasks)
    assert await news(first, waits) == [first, waits]
    compared: list[str] = []
    real = Task.__eq__

    def counted(task: Task, other: object) -> bool:
        compared.append(task.id)
        return real(task, other)

    monkeypatch.setattr(Task, "__eq__", counted)
    assert await news(ev.PlanLoaded(tasks=again), waits) == []
    assert len(compared) <= len(tasks)
    monkeypatch.undo()
    turned = ev.PlanLoaded(tasks=again[::-1], source="disk")
    assert await news(turned) == [turned], "the same tasks in another order"
    assert list(bridge.view.tasks) == [task.id for task in again[::-1]]
    other = waits.model_copy(update={"text": "Prefer files."})
    assert await news(other) == [other]


def test_a_change_made_here_is_told_once_though_it_is_seen_on_the_disk_again() -> None:
    bridge = Bridge(script_of().launch, feed.clock)
    task = Task(id="t")
    bridge.sink(ev.PlanLoaded(tasks=(task,)))
    bridge.flush()
    made = ev.TaskChanged(task=task.model_copy(update={"title": "Other"}), reason="changed by hand")
    bridge.sink(made)
    assert bridge.flush() == [made]
    bridge.sink(made)
    assert bridge.flush() == []
