"""What a person may ask, as changes on disk."""

from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ralph_tui.domain.documents.questions import (
    Answer,
    AskedQuestion,
    Option,
    Question,
    parse_answer,
)
from ralph_tui.domain.errors import RalphError
from ralph_tui.domain.plan.plan import (
    ImplementationPlan,
    Task,
    TaskStatus,
    free_id,
    in_order,
    open_order,
)
from ralph_tui.domain.project_state import Approval, ApprovalKind, Phase, StopMode
from ralph_tui.domain.verification.verification import CommandCriterion
from ralph_tui.engine.control.controls import Controls
from ralph_tui.engine.control.plan_edits import SKIPPED, TaskFields, moved
from ralph_tui.engine.core.outcome import who_stopped
from ralph_tui.store.io.files import utc_now
from ralph_tui.store.lock import LoopLock
from ralph_tui.store.project import Documents, Project
from tests.harness.projects import make_project, plan_of, task, task_of


@pytest.fixture
def root(tmp_path: Path) -> Path:
    tasks = [task("a"), task("b", dependencies=["a"]), task("done", status="complete")]
    return make_project(tmp_path, tasks)


def test_pause_and_stop_rise_from_after_the_iteration_to_now(root: Path) -> None:
    controls, lock = Controls(root), LoopLock(Project(root).layout)
    with pytest.raises(RalphError, match="No loop is running"):
        controls.pause()
    lock.acquire("run")
    try:
        assert [controls.pause(), controls.pause()] == [StopMode.AFTER_ITERATION, StopMode.NOW]
        controls.resume()
        state = Project(root).load().state
        assert (state.pause, state.paused) == (StopMode.NONE, False)
        assert [controls.stop(), controls.stop()] == [StopMode.AFTER_ITERATION, StopMode.NOW]
        assert who_stopped(Project(root).load().state) == "stopped on request"
        controls.stop(now=True, why="stopped by a signal (SIGTERM)")
        controls.stop()
        assert who_stopped(Project(root).load().state) == "stopped by a signal (SIGTERM)"
        controls.retry_now()
        assert Project(root).load().state.retry_now
    finally:
        lock.release()


def test_skip_and_retry(root: Path) -> None:
    controls = Controls(root)
    assert controls.skip("a").blockers == (SKIPPED,)
    assert controls.skip("a").blockers == (SKIPPED,), "twice is once"
    assert controls.retry("a").status is TaskStatus.PENDING
    with pytest.raises(RalphError, match="not blocked"):
        controls.retry("a")
    with pytest.raises(RalphError, match="already complete"):
        controls.skip("done")


def test_a_held_task_is_not_chosen_until_it_is_released(root: Path) -> None:
    controls = Controls(root)
    assert controls.hold("a").is_held
    assert plan_of(root).get_next_task() is None, "b waits for a"
    with pytest.raises(RalphError, match="already on hold"):
        controls.hold("a")
    assert not controls.release("a").held
    assert plan_of(root).get_next_task() == task_of(root, "a")
    with pytest.raises(RalphError, match="not on hold"):
        controls.release("a")
    with pytest.raises(RalphError, match="already complete"):
        controls.hold("done")
    controls.skip("a")
    with pytest.raises(RalphError, match="blocked"):
        controls.hold("a")


def test_a_task_has_a_model_of_its_own(root: Path) -> None:
    controls = Controls(root)
    assert controls.edit_task("a", TaskFields(model=" opus ")).model == "opus"
    assert controls.edit_task("a", TaskFields(priority=1)).model == "opus", (
        "what is not given stays"
    )
    with pytest.raises(RalphError, match="not a model name"):
        controls.edit_task("a", TaskFields(model="two words"))
    assert [t.model for t in controls.split_task("a", ["One", "Two"])] == ["opus", "opus"]
    assert controls.edit_task("a-1", TaskFields(model="")).model is None


def test_a_task_that_is_not_there_is_named_with_the_nearest(root: Path) -> None:
    with pytest.raises(RalphError) as refused:
        Controls(root).skip("dne")
    assert "Did you mean done?" in str(refused.value)


def test_editing_and_dropping(root: Path) -> None:
    controls = Controls(root)
    edited = controls.edit_task("a", TaskFields(description="New", priority=3, criteria=("x",)))
    assert (edited.description, edited.priority) == ("New", 3)
    assert task_of(root, "a") == edited
    with pytest.raises(RalphError, match="needs a description"):
        controls.edit_task("a", TaskFields(description=" "))
    with pytest.raises(RalphError, match="b depends on a"):
        controls.drop_task("a")
    with pytest.raises(RalphError, match="already complete"):
        controls.drop_task("done")
    assert controls.drop_task("b").id == "b"
    assert [t.id for t in plan_of(root).tasks] == ["a", "done"]


TASKS = st.lists(
    st.builds(
        Task,
        id=st.uuids().map(str),
        priority=st.integers(0, 2),
        status=st.sampled_from([TaskStatus.PENDING, TaskStatus.BLOCKED, TaskStatus.COMPLETE]),
    ),
    max_size=7,
    unique_by=lambda task: task.id,
)


@given(TASKS, st.builds(Task, id=st.just("it"), priority=st.integers(0, 2)), st.data())
def test_a_task_is_moved_past_its_neighbour_and_no_further(
    others: list[Task], it: Task, data: st.DataObject
) -> None:
    place, step = data.draw(st.integers(0, len(others))), data.draw(st.sampled_from([-1, 1]))
    plan = ImplementationPlan(tasks=(*others[:place], it, *others[place:]))
    wanted = [t.id for t in in_order(plan.tasks)]
    at = wanted.index("it")
    if 0 <= at + step < len(wanted):
        wanted[at], wanted[at + step] = wanted[at + step], wanted[at]
    after = moved(plan, "it", step)
    assert [t.id for t in in_order(after.tasks)] == wanted
    unmoved = [t for t in after.tasks if t.id != "it"]
    assert unmoved == others, "nothing else was changed"


PLANS = st.lists(
    st.tuples(st.integers(0, 3), st.lists(st.integers(0, 6), max_size=2), st.booleans()),
    min_size=2,
    max_size=7,
).map(
    lambda made: [
        Task(
            id=f"t{n}",
            priority=priority,
            dependencies=tuple(f"t{d}" for d in needs if d < n),
            status=TaskStatus.COMPLETE if done else TaskStatus.PENDING,
        )
        for n, (priority, needs, done) in enumerate(made)
    ]
)


@given(PLANS, st.data())
def test_a_task_is_worked_before_its_neighbour_or_it_is_said_that_it_waits(
    tasks: list[Task], data: st.DataObject
) -> None:
    order = [t.id for t in open_order(tasks)]
    assume(len(order) > 1)
    at, step = data.draw(st.integers(0, len(order) - 1)), data.draw(st.sampled_from([-1, 1]))
    assume(0 <= at + step < len(order))
    it, other = order[at], order[at + step]
    plan = ImplementationPlan(tasks=tuple(tasks))
    first, second = (it, other) if step > 0 else (other, it)
    waits = plan.task(second)
    assert waits is not None
    if first in waits.dependencies:
        with pytest.raises(RalphError, match=f"{second} depends on {first}"):
            moved(plan, it, step)
        return
    after = [t.id for t in open_order(moved(plan, it, step).tasks)]
    assert (after.index(it) - after.index(other)) * step > 0
    assert [t for t in moved(plan, it, step).tasks if t.id != it] == [
        t for t in tasks if t.id != it
    ]


def test_a_key_pressed_twice_moves_twice_and_the_end_is_said(tmp_path: Path) -> None:
    root = make_project(tmp_path, [task("a"), task("b"), task("c")])
    controls = Controls(root)
    assert [controls.move_task("c", -1) for _ in range(3)] == [True, True, False]
    assert [t.id for t in in_order(plan_of(root).tasks)] == ["c", "a", "b"]


def test_an_edit_keeps_what_was_typed_as_it_was_shown(root: Path) -> None:
    command = CommandCriterion(command="uv run pytest tests/x.py", description="The tests pass")
    prose = "`uv run mypy .` passes"

    def change(docs: Documents) -> Documents:
        plan = docs.plan.with_task("a", verification_criteria=(command, prose))
        return docs.model_copy(update={"plan": plan})

    Project(root).transact(change)
    controls = Controls(root)
    lines = ("uv run mypy .", "uv run pytest  tests/x.py", "Something new")
    edited = controls.edit_task("a", TaskFields(criteria=lines))
    assert edited.verification_criteria == (prose, command, "Something new")
    assert task_of(root, "a") == edited


def test_dependencies_are_changed_within_reason(root: Path) -> None:
    controls = Controls(root)
    assert controls.edit_task("a", TaskFields(dependencies=("done", "done"))).dependencies == (
        "done",
    )
    with pytest.raises(RalphError, match="List the IDs with `ralph tasks`"):
        controls.edit_task("a", TaskFields(dependencies=("nowhere",)))
    with pytest.raises(RalphError, match="Did you mean done"):
        controls.edit_task("a", TaskFields(dependencies=("don",)))
    with pytest.raises(RalphError, match="cycle"):
        controls.edit_task("a", TaskFields(dependencies=("b",)))
    assert controls.edit_task("b", TaskFields(dependencies=())).dependencies == ()


def test_an_estimate_is_set_and_taken_away(root: Path) -> None:
    controls = Controls(root)
    assert controls.edit_task("a", TaskFields(tokens=30_000)).estimated_tokens == 30_000
    assert controls.edit_task("a", TaskFields(priority=1)).estimated_tokens == 30_000
    assert controls.edit_task("a", TaskFields(tokens=0)).estimated_tokens is None
    before = plan_of(root)
    with pytest.raises(RalphError, match="-5 is not a number of tokens"):
        controls.edit_task("a", TaskFields(tokens=-5))
    assert plan_of(root) == before


def test_a_task_is_added_under_a_free_id_and_after_all_others(root: Path) -> None:
    controls = Controls(root)
    controls.edit_task("b", TaskFields(priority=700))
    fields = TaskFields("Say how long it took", None, ("uv run pytest",), ("b", "b"), "opus", 9_000)
    made = controls.add_task(fields)
    assert (made.id, made.title, made.priority) == ("task-001", "Say how long it took", 700)
    assert (made.dependencies, made.model, made.estimated_tokens) == (("b",), "opus", 9_000)
    assert plan_of(root).tasks[-1] == made
    assert controls.add_task(TaskFields("Next", 3)).id == "task-002"
    before = plan_of(root)
    for wrong, said in (
        (TaskFields("  "), "needs a description"),
        (TaskFields(), "needs a description"),
        (TaskFields("x", dependencies=("nowhere",)), "'nowhere', which is not in the plan"),
        (TaskFields("x", dependencies=("task-003",)), "in a cycle: task-003 → task-003"),
        (TaskFields("x", model="two words"), "not a model name"),
        (TaskFields("x", tokens=-1), "not a number of tokens"),
    ):
        with pytest.raises(RalphError, match=said):
            controls.add_task(wrong)
    assert plan_of(root) == before


@pytest.mark.parametrize(
    ("ids", "made"),
    [
        ((), "task-001"),
        (("demo-08", "demo-09", "demo-02-1", "demo-02-2"), "demo-10"),
        (("v2-1", "v2-9", "x"), "v2-10"),
        (("a", "b"), "task-001"),
        (("1", "2"), "3"),
        (("t9", "t10", "task\n5", "task\n6", "task\n7"), "t11"),
        (("task-1",) * 2 + ("x" * 200 + "1",), "task-2"),
    ],
)
def test_a_free_id_counts_on_as_the_others_do(ids: tuple[str, ...], made: str) -> None:
    plan = ImplementationPlan(tasks=tuple(Task(id=task_id) for task_id in ids))
    assert free_id(plan) == made
    assert {p.task_id for p in plan.adding([Task(id=made)]).problems()} <= set(ids)


def test_a_task_is_split_into_parts_worked_one_after_the_other(root: Path) -> None:
    controls = Controls(root)
    controls.edit_task("a", TaskFields(dependencies=("done",), criteria=("It works",)))
    made = controls.split_task("a", ["The model", " The command "])
    assert [(t.id, t.description, t.dependencies) for t in made] == [
        ("a-1", "The model", ("done",)),
        ("a-2", "The command", ("a-1",)),
    ]
    assert [t.verification_criteria for t in made] == [(), ("It works",)]
    plan = plan_of(root)
    assert plan.task("a") is None
    assert task_of(root, "b").dependencies == ("a-2",)
    assert plan.problems() == ()
    for wrong in (["one"], ["one", " "]):
        with pytest.raises(RalphError, match="at least 2 parts"):
            controls.split_task("b", wrong)
    with pytest.raises(RalphError, match="already complete"):
        controls.split_task("done", ["x", "y"])
    assert controls.add_task(TaskFields("c")).id == "a-3", "parts are no example"
    controls.split_task("a-3", "xy")
    assert controls.add_task(TaskFields("c")).id == "a-3"
    assert [t.id for t in controls.split_task("a-3", "xy")] == ["a-3-3", "a-3-4"]


def test_answers_reach_their_question_only(root: Path) -> None:
    options = (Option(label="Yes"), Option(label="No"))
    asked = [
        AskedQuestion(
            id=i,
            batch="b",
            phase=Phase.DISCOVERY,
            question=Question(question="Same text?", options=options),
            asked_at=utc_now(),
        )
        for i in ("q1", "q2")
    ]
    Project(root).transact(
        lambda docs: docs.model_copy(update={"questions": docs.questions.asking(asked)})
    )
    controls = Controls(root)
    answered = controls.answer("q2", parse_answer(asked[1].question, "2", by="command"))
    assert answered.answer == Answer(labels=("No",), by="command")
    assert [q.id for q in controls.open_questions()] == ["q1"]
    with pytest.raises(RalphError, match="was already answered: No"):
        controls.answer("q2", Answer(other="late"))
    with pytest.raises(RalphError, match="no question 'q3'"):
        controls.answer("q3", Answer(other="x"))


def test_decisions(root: Path) -> None:
    controls = Controls(root)
    with pytest.raises(RalphError, match="nothing to approve"):
        controls.decide(approved=True)
    _wait_for(root, ApprovalKind.PLAN)
    with pytest.raises(RalphError, match="needs a reason"):
        controls.decide(approved=False)
    decided = controls.decide(approved=False, reason=" Too big ")
    assert (decided.approved, decided.reason) == (False, "Too big")
    _wait_for(root, ApprovalKind.LIMIT)
    assert controls.decide(approved=False).approved is False, "no model works on this"


def _wait_for(root: Path, kind: ApprovalKind) -> None:
    waiting = Approval(kind=kind)
    Project(root).transact(
        lambda d: d.model_copy(update={"state": d.state.model_copy(update={"approval": waiting})})
    )


def test_empty_guidance_is_refused(root: Path) -> None:
    with pytest.raises(RalphError, match="empty"):
        Controls(root).inject("  ")
