"""People read the times of their own clock, programs read UTC, whichever command it is."""

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ralph_tui.domain import events as ev
from ralph_tui.domain.outcomes import LoopStatus
from ralph_tui.domain.project_state import Pause, Phase, SessionRecord
from ralph_tui.domain.run.breaker import BreakerState, CircuitBreaker
from ralph_tui.domain.view.loop_view import LoopView
from ralph_tui.present.events.run_result import exit_summary
from ralph_tui.store.documents.documents import Documents
from ralph_tui.store.lock import LoopLock
from ralph_tui.store.project import Project
from tests.cli.processes import inside
from tests.harness.projects import make_project, task

LATE = datetime(2026, 1, 2, 20, 30, tzinfo=UTC)
"""The next day in Tokyo."""


@pytest.fixture(autouse=True)
def _in_tokyo(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "JST-9")
    time.tzset()
    yield
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(make_project(tmp_path, [task("t1")]))


def test_the_history_is_local_for_people_and_utc_for_programs(project: Project) -> None:
    project.archive_session(SessionRecord(session_id="s1", iteration=7, ended_at=LATE))
    root = project.root
    assert "2026-01-03 05:30" in inside("history", cwd=root).stdout
    (record,) = json.loads(inside("history", "--json", cwd=root).stdout)
    assert record["ended_at"] == "2026-01-02T20:30:00Z"


def test_a_state_that_lasts_until_a_time_names_the_zone(project: Project) -> None:
    waits = Pause(until=LATE, why="The limit is reached.")
    cooling = CircuitBreaker(state=BreakerState.OPEN).cooling(LATE)

    def put(docs: Documents) -> Documents:
        state = docs.state.model_copy(update={"waits": waits})
        return docs.model_copy(update={"state": state, "breaker": cooling})

    project.transact(put)
    root = project.root
    assert "at 2026-01-03 05:30:00 JST\n" in inside("status", cwd=root).stdout
    lock = LoopLock(project.layout)
    lock.acquire("run-1")
    try:
        told = inside("status", cwd=root).stdout
        refused = inside("build", "--headless", cwd=root).stderr
    finally:
        lock.release()
    assert "waiting until 2026-01-03 05:30:00 JST" in told
    assert told.count(" UTC") == 0
    assert "UTC" not in refused
    assert "JST" in refused


def test_a_report_names_the_zone_of_its_times(project: Project) -> None:
    assert "Nothing has run yet." in inside("report", cwd=project.root).stdout
    started = ev.LoopStarted(project="project", phase=Phase.BUILDING, run_id="1", seq=1)
    begun = ev.IterationStarted(iteration=1, task_id="t1", time=LATE, seq=2)
    ended = ev.LoopFinished(
        status=LoopStatus.USAGE_LIMIT,
        reason="the limit resets at 2026-01-02 20:30 UTC",
        exit_code=2,
        seq=3,
    )
    lines = "".join(f"{event.model_dump_json()}\n" for event in (started, begun, ended))
    project.layout.events.write_text(lines, encoding="utf-8")
    page = inside("report", cwd=project.root).stdout
    assert "| 2026-01-03 05:30:00 JST | 1 | t1 |" in page
    assert "The limit resets at 2026-01-03 05:30:00 JST." in page
    assert exit_summary(LoopView(), ended)[0] == "the limit resets at 2026-01-03 05:30:00 JST."
    found = json.loads(inside("report", "--json", cwd=project.root).stdout)
    assert found["timeline"][0]["started_at"] == "2026-01-02T20:30:00Z"
