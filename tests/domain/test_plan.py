import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_tui.domain.plan.plan import ImplementationPlan, Task, TaskStatus
from ralph_tui.domain.verification.verification import TaskVerification, VerificationOutcome
from tests.domain.strategies import acyclic_plans, any_plans


def plan(*tasks: Task) -> ImplementationPlan:
    return ImplementationPlan(tasks=tasks)


def test_what_a_completion_rests_on_survives_a_round_trip_and_old_plans_load() -> None:
    old = ImplementationPlan.model_validate_json('{"tasks": [{"id": "a", "status": "complete"}]}')
    assert old.tasks[0].verification is None
    rests = TaskVerification(
        outcome=VerificationOutcome.UNVERIFIED,
        at=datetime(2026, 11, 23, tzinfo=UTC),
        reason="it has no check that can run",
    )
    now = old.with_task("a", verification=rests)
    again = ImplementationPlan.model_validate_json(now.model_dump_json(exclude_none=True))
    assert again.tasks[0].verification == rests


@given(acyclic_plans())
def test_the_chosen_task_is_ready_and_none_is_better(drawn: ImplementationPlan) -> None:
    chosen = drawn.get_next_task()
    done = drawn.complete_ids()
    ready = [
        t for t in drawn.tasks if t.status is TaskStatus.PENDING and set(t.dependencies) <= done
    ]
    if chosen is None:
        assert not ready
    else:
        assert chosen in ready
        assert chosen.priority == min(t.priority for t in ready)
        rivals = [t for t in ready if t.priority == chosen.priority]
        assert rivals[0] == chosen


@given(acyclic_plans())
def test_a_plan_without_problems_can_always_be_worked_to_its_end(drawn: ImplementationPlan) -> None:
    current, _ = drawn.reset_stale()
    for task in current.tasks:
        if task.status is TaskStatus.BLOCKED:
            current = current.with_task(task.id, status=TaskStatus.PENDING)
    assert current.problems() == ()
    for _ in current.tasks:
        chosen = current.get_next_task()
        if chosen is not None:
            current = current.with_task(chosen.id, status=TaskStatus.COMPLETE)
    assert current.is_finished or not current.tasks


@given(any_plans)
def test_a_workable_plan_is_told_from_one_that_is_not(drawn: ImplementationPlan) -> None:
    known = {t.id for t in drawn.tasks}
    kinds = {p.kind for p in drawn.problems()}
    unknown = any(d not in known for t in drawn.tasks for d in t.dependencies)
    assert ("unknown_dependency" in kinds) == unknown
    assert ("duplicate_id" in kinds) == (len(known) < len(drawn.tasks))


@pytest.mark.parametrize(
    "task_id", ["", "  \n", "\x1b[2J", "\u200b\u202e", "\x1b]52;c;eA==\x07 \x00"]
)
def test_an_id_that_nobody_can_see_is_refused_with_its_position(task_id: str) -> None:
    (problem,) = plan(Task(id="a"), Task(id=task_id)).problems()
    assert problem.kind == "empty_id"
    assert problem.message.startswith("Task 2 has ")
    assert problem.message.isprintable()


GOOD_IDS = (
    "../../x",
    "/etc/x",
    "CON",
    "nul.txt",
    "\N{SNOWMAN}\N{GRINNING FACE}",
    "two words",
    "x" * 200,
)
ODD_IDS = ("x" * 201, "a\nTask ID: b", "a\n", " a", "a\tb", "\x1b[1ma", "a\u202eb", "a\x00b")


def test_an_id_that_nobody_can_name_is_refused_with_its_position() -> None:
    assert plan(*(Task(id=name) for name in GOOD_IDS)).problems() == ()
    for name in ODD_IDS:
        (problem,) = plan(Task(id="a"), Task(id=name)).problems()
        assert problem.kind == "odd_id"
        assert problem.message.startswith("Task 2 has an id ")
        assert problem.message.isprintable()
        assert len(problem.message) < 250


@given(st.integers(1, 2_000))
def test_a_cycle_of_any_length_is_found_with_its_path(length: int) -> None:
    tasks = [Task(id=str(n), dependencies=(str((n + 1) % length),)) for n in range(length)]
    problems = plan(*tasks).problems()
    assert [p.kind for p in problems] == ["cycle"]
    assert problems[0].path[0] == problems[0].path[-1]
    assert len(problems[0].path) == length + 1


def test_an_empty_plan_is_never_finished() -> None:
    assert not ImplementationPlan().is_finished
    assert ImplementationPlan().completion_percentage == 0.0


def test_stale_tasks_go_back() -> None:
    fresh, stale = plan(Task(id="a", status=TaskStatus.IN_PROGRESS), Task(id="b")).reset_stale()
    assert stale == ("a",)
    assert [t.status for t in fresh.tasks] == [TaskStatus.PENDING] * 2


SEEDS = Path(__file__).parents[1] / "interop" / "seeds"


@pytest.mark.parametrize("printed", sorted(SEEDS.iterdir()), ids=lambda path: path.name)
def test_a_plan_printed_in_the_seeds_loads_as_it_stands(printed: Path) -> None:
    text = printed.read_text(encoding="utf-8")
    loaded = ImplementationPlan.model_validate_json(text)
    assert loaded.tasks
    assert loaded.problems() == ()
    written = json.loads(loaded.model_dump_json())["tasks"]
    wanted = json.loads(text)["tasks"]
    assert [task | of for task, of in zip(written, wanted, strict=True)] == written


def test_an_unknown_field_of_a_plan_survives() -> None:
    loaded = ImplementationPlan.model_validate_json('{"tasks": [{"id": "a"}], "by": "hand"}')
    assert loaded.tasks[0].status is TaskStatus.PENDING
    assert json.loads(loaded.model_dump_json())["by"] == "hand"
