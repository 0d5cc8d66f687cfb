import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_tui.domain import events as ev
from ralph_tui.domain.costs import CostMeter
from ralph_tui.domain.events import EVENT, Event
from ralph_tui.domain.outcomes import LoopStatus
from ralph_tui.domain.plan.plan import Task, TaskStatus
from ralph_tui.domain.plan.task_map import tasks_of
from ralph_tui.domain.project_state import Phase
from ralph_tui.domain.view.loop_view import ENDED, KEPT_ITERATIONS, KEPT_NOTICES, LoopView, RunState
from ralph_tui.domain.view.reducer import reduce
from tests.domain.strategies import events


def fold(told: list[Event], view: LoopView | None = None) -> LoopView:
    result = view or LoopView()
    for event in told:
        result = reduce(result, event)
    return result


@given(st.lists(events, max_size=20))
def test_any_sequence_folds_to_a_bounded_view(told: list[Event]) -> None:
    view = fold(told)
    assert len(view.iterations) <= KEPT_ITERATIONS
    assert len(view.notices) <= KEPT_NOTICES
    assert 0 <= view.denials <= len(told)


@given(st.lists(events, max_size=10), st.lists(events, max_size=10))
def test_folding_in_two_steps_is_folding_at_once(first: list[Event], second: list[Event]) -> None:
    assert fold(second, fold(first)) == fold([*first, *second])


@given(events)
def test_every_event_survives_the_journal(event: Event) -> None:
    assert EVENT.validate_json(event.model_dump_json()) == event


@given(events)
def test_the_view_is_not_changed_in_place(event: Event) -> None:
    view = LoopView(tasks=tasks_of([Task(id="a")]))
    before = view.model_copy(deep=True)
    reduce(view, event)
    assert view == before


def started() -> ev.LoopStarted:
    return ev.LoopStarted(run_id="r", project="p", phase=Phase.BUILDING, max_iterations=9)


def test_a_run_that_ended_keeps_its_figures_when_its_project_is_read() -> None:
    read = ev.ProjectRead(
        project="p", phase=Phase.PLANNING, max_iterations=5, unworkable="a circle"
    )
    costs = CostMeter(session=1.5, total=4.0)
    spent = ev.UsageReported(costs=costs, context_tokens=1_000, context_capacity=200_000)
    done = ev.LoopFinished(status=LoopStatus.STOPPED, reason="r", exit_code=1)
    found = ev.LoopFound(pid=1)
    ended = fold([started(), found, spent, done, ev.LoopLost(pid=1), read])
    assert (ended.phase, ended.max_iterations, ended.costs.session) == (Phase.BUILDING, 9, 1.5)
    assert (ended.run_state, ended.unworkable, ended.trouble) == (RunState.STOPPED, "a circle", "")
    idle = fold([read])
    assert (idle.phase, idle.max_iterations, idle.run_state) == (Phase.PLANNING, 5, RunState.IDLE)


def test_a_run_from_start_to_end() -> None:
    a = Task(id="a")
    view = fold(
        [
            ev.PlanLoaded(tasks=(a,)),
            started(),
            ev.TaskChanged(task=a.model_copy(update={"status": TaskStatus.IN_PROGRESS})),
            ev.IterationStarted(iteration=1, task_id="a", why="the only one"),
        ]
    )
    assert view.run_state is RunState.RUNNING
    assert view.current_task is not None
    assert view.current_task.status is TaskStatus.IN_PROGRESS
    view = fold([ev.GateStarted(task_id="a")], view)
    assert view.run_state is RunState.VERIFYING
    view = fold([ev.PauseRequested(), ev.GateFinished(task_id="a", passed=True)], view)
    assert view.run_state is RunState.PAUSING, "a pause that was asked for stays in sight"
    view = fold([ev.LoopPaused(), ev.LoopResumed()], view)
    assert view.run_state is RunState.RUNNING
    result = [
        ev.GateStarted(task_id="validation"),
        ev.GateFinished(task_id="validation", passed=True, reviewed=True),
        ev.ValidationFinished(round=1, passed=True),
    ]
    end = ev.LoopFinished(status=LoopStatus.COMPLETE, reason="done", exit_code=0)
    view = fold(result[:2], view)
    assert view.gate_passed is None, "a claim is not accepted before it is reviewed"
    view = fold([*result[2:], end], view)
    assert view.run_state in ENDED
    assert (view.exit_code, view.task_id, view.gate_passed) == (0, None, True)


def test_a_new_run_forgets_the_last_ones_end() -> None:
    end = ev.LoopFinished(status=LoopStatus.ERROR, reason="x", exit_code=3)
    view = fold([started(), end, started()])
    assert (view.run_state, view.exit_code, view.detail) == (RunState.RUNNING, None, "")


def test_an_iteration_that_met_a_usage_limit_is_counted_once() -> None:
    view = LoopView()
    for number in (1, 1, 1, 2):
        view = reduce(view, ev.IterationStarted(iteration=number, task_id="a", title="A"))
    assert (view.iteration, view.run_iterations) == (2, 2)


@pytest.mark.parametrize("ids", [["i1"], ["i1", "i2"]])
def test_guidance_is_pending_until_it_is_consumed(ids: list[str]) -> None:
    view = fold([ev.InjectionQueued(id=i, text=i) for i in ["i1", "i2", "i1"]])
    assert [i.id for i in view.injections] == ["i1", "i2"]
    again = fold([ev.InjectionQueued(id="i1", text="i1")], view)
    assert again.injections is view.injections, "it tells nothing"
    view = fold([ev.InjectionConsumed(ids=tuple(ids), iteration=2)], view)
    assert {i.id for i in view.injections} == {"i1", "i2"} - set(ids)
