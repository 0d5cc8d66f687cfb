"""Limits, models and the breaker changed by a person; on disk, so from any process."""

from pathlib import Path

import pytest

from ralph_tui.config.load import load_settings
from ralph_tui.domain.errors import RalphError
from ralph_tui.domain.events import LimitsChanged, LoopStarted
from ralph_tui.domain.project_state import Adjusted, Phase
from ralph_tui.domain.run.breaker import BreakerState
from ralph_tui.domain.view.loop_view import LoopView
from ralph_tui.domain.view.reducer import reduce
from ralph_tui.engine.control.run_settings import adjust, adjusted_settings, reset_breaker
from ralph_tui.store.lock import LoopLock
from ralph_tui.store.project import Project
from tests.harness.projects import make_project, task


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_project(tmp_path, [task("a")])


def test_limits_are_changed_only_while_a_loop_runs_and_add_up(root: Path) -> None:
    project = Project(root)
    with pytest.raises(RalphError, match="No loop is running"):
        adjust(root, Adjusted(max_iterations=5))
    lock = LoopLock(project.layout)
    lock.acquire("run")
    try:
        adjust(root, Adjusted(max_iterations=5))
        known = adjust(root, Adjusted(total=300.0, model="opus"))
    finally:
        lock.release()
    assert known == Adjusted(max_iterations=5, total=300.0, model="opus")
    documents = project.load()
    assert documents.state.adjusted == known
    assert documents.breaker.max_cost_usd == 300.0


def test_the_settings_of_a_run_are_those_of_the_project_with_what_was_changed(root: Path) -> None:
    settings = load_settings(root, environ={})
    assert adjusted_settings(settings, None) is settings
    changed = adjusted_settings(settings, Adjusted(max_iterations=7, per_session=1.5, model="opus"))
    assert changed.phases.building.max_iterations == 7
    assert changed.safety.cost_limits.per_session == 1.5
    assert changed.models.primary == "opus"
    assert changed.models.planning == settings.models.planning
    assert changed.safety.cost_limits.total == settings.safety.cost_limits.total


def test_the_view_shows_the_limits_that_hold_now() -> None:
    view = reduce(
        LoopView(),
        LoopStarted(run_id="r", project="p", phase=Phase.BUILDING, max_iterations=100),
    )
    view = reduce(view, LimitsChanged(adjusted=Adjusted(max_iterations=5, per_iteration=0.5)))
    assert view.max_iterations == 5
    assert view.limits.per_iteration == 0.5
    assert view.limits.total == 200.0
    changed = Adjusted(max_iterations=5, per_iteration=0.5)
    assert changed.summary == "at most 5 iterations, $0.50 an iteration"


def test_the_breaker_is_reset_with_a_reason_that_is_kept(root: Path) -> None:
    project = Project(root)
    project.transact(
        lambda docs: docs.model_copy(
            update={
                "breaker": docs.breaker.model_copy(
                    update={"state": BreakerState.OPEN, "failure_count": 3}
                )
            }
        )
    )
    with pytest.raises(RalphError, match="needs a reason"):
        reset_breaker(root, "  ")
    reset_breaker(root, "the flaky test is gone")
    breaker = project.load().breaker
    assert (breaker.state, breaker.failure_count) == (BreakerState.CLOSED, 0)
    assert breaker.reset_reason == "the flaky test is gone"
