"""Merging an imported file into the plan: nothing done is reopened, nothing of the person's is lost."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_tui.domain.plan.import_preview import ImportChange, ImportedCommand
from ralph_tui.domain.plan.plan import ImplementationPlan, Origin, Task, TaskStatus
from ralph_tui.domain.verification.check_commands import NO_CHECKS
from ralph_tui.domain.verification.verification import (
    CommandCriterion,
    TaskVerification,
    VerificationOutcome,
)
from ralph_tui.interop.formats import Imported, InteropError, LeftOut
from ralph_tui.interop.merge import Incoming, Merged, commands_in, merge

AT = datetime(2026, 1, 2, tzinfo=UTC)


def theirs(task_id: str, text: str = "", **fields: object) -> Task:
    said = text or f"Do {task_id}"
    origin = Origin(format="list", id=task_id, hash=f"{said}{fields.get('dependencies')}")
    return Task.model_validate(
        {"id": task_id, "description": said, **fields, "origin": origin.model_dump()}
    )


def incoming(*tasks: Task, path: str = "a.list", **more: object) -> Incoming:
    lines = {task.id: number for number, task in enumerate(tasks, 1)}
    made = Imported(format="list", tasks=tasks, lines=lines, **more)  # type: ignore[arg-type]  # as a test gives them
    return Incoming(path, path, made)


def merged(plan: ImplementationPlan, file: Incoming, denied: tuple[str, ...] = ()) -> Merged:
    verdicts = {
        command: ImportedCommand(
            task_id="", command=command, verdict="deny" if command in denied else "allow"
        )
        for command in commands_in(plan, file, NO_CHECKS)
    }
    return merge(plan, file, verdicts=verdicts, checks=NO_CHECKS, at=AT)


def changes(result: Merged) -> dict[str, ImportChange]:
    return {row.id: row.change for row in result.preview.rows}


EMPTY = ImplementationPlan()


def test_everything_is_new_in_an_empty_plan_and_the_same_the_second_time() -> None:
    file = incoming(theirs("a"), theirs("b", dependencies=("a",)), title="Shop")
    first = merged(EMPTY, file)
    assert [task.id for task in first.plan.tasks] == ["a", "b"]
    assert first.plan.title == "Shop"
    assert set(changes(first).values()) == {ImportChange.NEW}
    again = merged(first.plan, file)
    assert again.plan is first.plan
    assert set(changes(again).values()) == {ImportChange.SAME}
    assert not again.preview.changes_plan


def test_a_task_of_ralphs_own_is_found_in_a_file_that_ralph_wrote() -> None:
    own = (Task(id="a", description="Do a"), Task(id="b", description="Do b", status="complete"))
    result = merged(ImplementationPlan(tasks=own), incoming(theirs("a"), theirs("b"), theirs("c")))
    assert changes(result) == {
        "a": ImportChange.CHANGED,
        "b": ImportChange.SAME,
        "c": ImportChange.NEW,
    }
    assert result.plan.tasks[0].origin is not None
    again = merged(result.plan, incoming(theirs("a"), theirs("b"), theirs("c")))
    assert set(changes(again).values()) == {ImportChange.SAME}
    other = merged(ImplementationPlan(tasks=own), incoming(theirs("a", "Do something else")))
    assert changes(other) == {"a-2": ImportChange.NEW}


def test_what_the_file_has_and_nobody_asked_for_is_not_gone() -> None:
    plan = merged(EMPTY, incoming(theirs("a"), theirs("b"), theirs("c"))).plan
    part = merged(plan, incoming(theirs("a"), unread=frozenset({"b"})))
    assert changes(part) == {"a": ImportChange.SAME, "c": ImportChange.GONE}


def test_a_file_cannot_make_a_task_verified_or_change_what_only_a_person_may() -> None:
    forged = theirs(
        "a",
        status="complete",
        verification=TaskVerification(
            outcome=VerificationOutcome.VERIFIED, receipt="x"
        ).model_dump(),
        may_change_checks=True,
        may_be_unverified=True,
        model="opus",
        retry_count=2,
    )
    (task,) = merged(EMPTY, incoming(forged)).plan.tasks
    assert task.status is TaskStatus.COMPLETE
    assert task.verification is not None
    assert task.verification.outcome is VerificationOutcome.UNVERIFIED
    assert task.verification.reason == "complete in a.list, not verified by ralph"
    assert (task.may_change_checks, task.may_be_unverified, task.model) == (False, False, None)
    assert task.retry_count == 0


def test_what_is_complete_here_stays_complete_and_as_it_was_verified() -> None:
    plan = merged(EMPTY, incoming(theirs("a"), theirs("b"))).plan
    rests = TaskVerification(outcome=VerificationOutcome.VERIFIED)
    plan = plan.with_task("a", status=TaskStatus.COMPLETE, verification=rests)
    again = merged(plan, incoming(theirs("a", "Do it otherwise"), theirs("b")))
    assert again.plan.task("a") == plan.task("a")
    (row,) = [row for row in again.preview.rows if row.id == "a"]
    assert row.detail == "changed in the file, but complete here, so it is not updated"


def test_a_task_that_the_file_completes_later_is_adopted_unverified() -> None:
    plan = merged(EMPTY, incoming(theirs("a"))).plan
    again = merged(plan, incoming(theirs("a", status="complete")))
    assert again.adopted == ("a",)
    task = again.plan.task("a")
    assert task is not None
    assert task.is_unverified


def test_a_task_in_progress_is_left_alone_until_the_next_import() -> None:
    plan = merged(EMPTY, incoming(theirs("a"))).plan.with_task("a", status=TaskStatus.IN_PROGRESS)
    again = merged(plan, incoming(theirs("a", "Do it otherwise")))
    assert again.plan is plan
    later = merged(
        plan.with_task("a", status=TaskStatus.PENDING), incoming(theirs("a", "Otherwise"))
    )
    assert later.plan.tasks[0].description == "Otherwise"


def test_a_task_that_the_person_edited_stays_as_it_is() -> None:
    plan = merged(EMPTY, incoming(theirs("a", priority=5), theirs("b"))).plan
    plan = plan.with_task("a", description="My words").with_task("b", held=True)
    again = merged(plan, incoming(theirs("a", "Their new words", priority=1), theirs("b", "New")))
    assert again.plan.task("a") == plan.task("a")
    (edited, row) = again.preview.rows
    assert edited.detail == "changed in the file, but edited here, so it is not updated"
    assert row.change is ImportChange.CHANGED
    (_, b) = again.plan.tasks
    assert (b.description, b.held) == ("New", True)
    done = merged(
        again.plan, incoming(theirs("a", "Their newest", status="complete"), theirs("b", "New"))
    )
    task = done.plan.task("a")
    assert task is not None
    assert (task.description, task.status) == ("My words", TaskStatus.COMPLETE)


def test_what_is_gone_from_the_file_stays_in_the_plan_and_is_told() -> None:
    plan = merged(EMPTY, incoming(theirs("a"), theirs("b"))).plan
    left = (LeftOut("b", "Do b", "cancelled"),)
    again = merged(plan, incoming(theirs("a"), left_out=left))
    assert again.plan is plan
    told = {row.change: row.detail for row in again.preview.rows if row.id == "b"}
    assert told[ImportChange.LEFT_OUT] == "cancelled"
    assert told[ImportChange.GONE].startswith("cancelled, stays in the plan")


def test_a_task_of_another_file_is_not_gone() -> None:
    plan = merged(EMPTY, incoming(theirs("a"))).plan
    again = merged(plan, incoming(theirs("b"), path="b.list"))
    assert changes(again) == {"b": ImportChange.NEW}


def test_clashing_ids_are_renamed_everywhere_and_stay_found() -> None:
    plan = ImplementationPlan(tasks=(Task(id="a", description="Mine"),))
    file = incoming(theirs("a"), theirs("b", dependencies=("a",)))
    result = merged(plan, file)
    assert [task.id for task in result.plan.tasks] == ["a", "a-2", "b"]
    renamed = result.plan.task("b")
    assert renamed is not None
    assert renamed.dependencies == ("a-2",)
    assert "Another task already has the ID a, so the imported one is a-2." in (
        result.preview.remarks
    )
    assert set(changes(merged(result.plan, file)).values()) == {ImportChange.SAME}


def test_commands_are_named_and_refused_ones_become_words() -> None:
    criteria = (
        "$ make test",
        "It is fast",
        CommandCriterion(command="rm -rf /", description="Clean"),
    )
    task = theirs("a").model_copy(update={"verification_criteria": criteria})
    result = merged(EMPTY, incoming(task), denied=("rm -rf /",))
    assert [(c.command, c.is_refused) for c in result.preview.commands] == [
        ("make test", False),
        ("rm -rf /", True),
    ]
    assert result.plan.tasks[0].verification_criteria == (
        "$ make test",
        "It is fast",
        "Not run, refused by the guard: Clean: rm -rf /",
    )
    assert commands_in(EMPTY, incoming(result.plan.tasks[0]), NO_CHECKS) == ("make test",)


def test_only_what_is_new_is_judged_and_not_without_end() -> None:
    task = theirs("a").model_copy(update={"verification_criteria": ("$ make test",)})
    file = incoming(task)
    assert commands_in(EMPTY, file, NO_CHECKS) == ("make test",)
    assert commands_in(merged(EMPTY, file).plan, file, NO_CHECKS) == ()
    many = tuple(f"$ make test{number}" for number in range(5_001))
    with pytest.raises(InteropError, match="more than 5,000 different commands"):
        merged(EMPTY, incoming(task.model_copy(update={"verification_criteria": many})))


def test_a_command_that_nobody_judged_is_refused() -> None:
    task = theirs("a").model_copy(update={"verification_criteria": ("$ make test",)})
    result = merge(EMPTY, incoming(task), verdicts={}, checks=NO_CHECKS, at=AT)
    assert result.preview.commands[0].is_refused


@pytest.mark.parametrize(
    ("tasks", "line", "said"),
    [
        ((theirs("a", dependencies=("b",)), theirs("b", dependencies=("a",))), 1, "cycle"),
        ((theirs("a"), theirs("b", dependencies=("zz",))), 2, "zz"),
        ((theirs("a"), theirs("a")), 2, "used twice"),
        ((theirs("a"), theirs("b").model_copy(update={"id": "a"})), 2, "used twice"),
        (tuple(theirs(f"t{n}") for n in range(5_001)), 0, "5,001 tasks"),
    ],
)
def test_a_plan_that_would_not_work_is_refused_with_its_line(
    tasks: tuple[Task, ...], line: int, said: str
) -> None:
    with pytest.raises(InteropError) as refused:
        merged(EMPTY, incoming(*tasks))
    assert refused.value.line == line
    assert said in refused.value.what


def test_problems_that_the_plan_had_before_do_not_stop_an_import() -> None:
    broken = ImplementationPlan(tasks=(Task(id="x", dependencies=("nowhere",)),))
    assert [task.id for task in merged(broken, incoming(theirs("a"))).plan.tasks] == ["x", "a"]


def test_the_words_of_a_task_that_was_never_imported_stay() -> None:
    mine = Task(id="a", description="Do a\n\nin my way", verification_criteria=("$ make test",))
    result = merged(ImplementationPlan(tasks=(mine,)), incoming(theirs("a", "Do a\n\nin theirs")))
    (task,) = result.plan.tasks
    assert (task.description, task.verification_criteria) == (
        mine.description,
        mine.verification_criteria,
    )
    assert task.origin is not None
    again = merged(result.plan, incoming(theirs("a", "Do a\n\nin a third way")))
    assert again.plan.tasks[0].description == mine.description


ids = st.sampled_from("abcdef")
plans = st.dictionaries(ids, st.tuples(st.sampled_from(TaskStatus), st.text("xy", max_size=2)))


@given(first=plans, second=plans, states=st.dictionaries(ids, st.sampled_from(TaskStatus)))
def test_no_import_reopens_drops_or_repeats_a_task(
    first: dict[str, tuple[TaskStatus, str]],
    second: dict[str, tuple[TaskStatus, str]],
    states: dict[str, TaskStatus],
) -> None:
    def file(given: dict[str, tuple[TaskStatus, str]]) -> Incoming:
        return incoming(*(theirs(i, f"Do {i}{text}", status=s) for i, (s, text) in given.items()))

    plan = merged(EMPTY, file(first)).plan
    for task_id, status in states.items():
        plan = plan.with_task(task_id, status=status)
    after = merged(plan, file(second))
    assert [task.id for task in after.plan.tasks][: len(plan.tasks)] == [t.id for t in plan.tasks]
    assert plan.complete_ids() <= after.plan.complete_ids()
    assert {task.id for task in after.plan.tasks} == set(first) | set(second)
    told = {row.id for row in after.preview.rows}
    assert told == set(first) | set(second)
    if second:
        assert not merged(after.plan, file(second)).preview.changes_plan or any(
            task.status is TaskStatus.IN_PROGRESS for task in after.plan.tasks
        )
