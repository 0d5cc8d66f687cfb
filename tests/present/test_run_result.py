"""The card on the dashboard and the lines in the shell say what is known of a run, and nothing else."""

from ralph_tui.domain import events as ev
from ralph_tui.domain.outcomes import LoopStatus
from ralph_tui.domain.plan.plan import Task, TaskCommit, TaskStatus
from ralph_tui.domain.plan.task_map import Tasks
from ralph_tui.domain.verification.verification import TaskVerification, VerificationOutcome
from ralph_tui.domain.view.loop_view import LoopView
from ralph_tui.present.events.run_result import exit_summary, result_facts

DONE = ev.LoopFinished(
    status=LoopStatus.COMPLETE,
    reason="all tasks are complete",
    exit_code=0,
    iterations=2,
    cost_usd=1.21,
    seconds=180,
    files_changed=9,
    lines_added=1_214,
    lines_removed=12,
    start_command="uv run python -m habits",
)


def view(*tasks: Task) -> LoopView:
    return LoopView(project="habits", tasks=Tasks({task.id: task for task in tasks}))


def complete(name: str, outcome: VerificationOutcome, cost: float = 0.5) -> Task:
    rests = TaskVerification(outcome=outcome)
    return Task(id=name, status=TaskStatus.COMPLETE, verification=rests, actual_cost_usd=cost)


def test_a_finished_run_is_told_in_a_few_lines() -> None:
    tasks = (
        complete("a", VerificationOutcome.VERIFIED),
        complete("b", VerificationOutcome.UNVERIFIED, 0.71),
    )
    *facts, last = exit_summary(view(*tasks), DONE)
    assert facts == [
        "habits: all tasks are complete.",
        "  Built     2 of 2 tasks, 9 files, +1,214 -12 lines",
        "  Verified  1 verified by checks, 1 unverified",
        "  Cost      $1.21, 2 iterations, 3m 00s",
        "  Per task  b $0.71, a $0.50",
        "  Try it    uv run python -m habits",
    ]
    assert "commit them" in last
    assert "ralph undo" in last


def test_the_checks_are_counted_where_every_task_counted_its_own() -> None:
    one = complete("a", VerificationOutcome.VERIFIED)
    assert one.verification is not None
    counted = [
        one.model_copy(
            update={"id": str(n), "verification": one.verification.model_copy(update={"checks": n})}
        )
        for n in (2, 3)
    ]
    assert result_facts(counted, DONE)["Verified"] == "2 verified by 5 checks"
    assert result_facts([*counted, one], DONE)["Verified"] == "3 verified by checks"


def test_what_reviewed_tasks_rest_on_what_else_changed_and_what_is_flaky_is_named() -> None:
    verification = TaskVerification(
        outcome=VerificationOutcome.REVIEWED,
        rests_on=("golden/report.txt",),
        also_changed=("tests/test_slug.py",),
        flaky=("tests/test_net.py::test_get",),
    )
    task = complete("a", VerificationOutcome.REVIEWED).model_copy(
        update={"verification": verification}
    )
    lines = exit_summary(view(task), DONE)
    assert lines[2:6] == (
        "  Verified     1 reviewed",
        "  Rests on     golden/report.txt",
        "  Also changed tests/test_slug.py",
        "  Flaky        tests/test_net.py::test_get",
    )


def test_nobody_is_told_to_commit_what_ralph_committed() -> None:
    task = complete("a", VerificationOutcome.VERIFIED)
    committed = task.model_copy(update={"commit": TaskCommit(hash="abc")})
    assert "Review the commits." in exit_summary(view(committed), DONE)[-1]


def test_a_stopped_run_says_what_happened_and_what_to_do() -> None:
    stopped = DONE.model_copy(
        update={
            "status": LoopStatus.INTERRUPTED,
            "reason": "stopped\x1b[31m by you.",
            "hint": "`ralph build` continues.",
        }
    )
    lines = exit_summary(view(Task(id="a")), stopped)
    assert lines[0] == "habits: stopped by you."
    assert lines[-1] == "  Next      `ralph build` continues."
    assert not any("Verified" in line for line in lines)


def test_a_run_that_did_nothing_claims_nothing() -> None:
    nothing = ev.LoopFinished(status=LoopStatus.STOPPED, reason="stopped", exit_code=130)
    left = "`ralph status` shows what is left."
    assert result_facts((), nothing) == {"Cost": "$0.00, 0 iterations, 0s", "Next": left}


def test_hostile_ids_and_commands_stay_on_their_line() -> None:
    bad = complete("a\x1b[2J\nb", VerificationOutcome.VERIFIED)
    ended = DONE.model_copy(update={"start_command": "make run\x1b]0;x\x07\nrm -rf /"})
    text = "".join(exit_summary(view(bad, complete("c", VerificationOutcome.VERIFIED)), ended))
    assert not {"\x1b", "\n", "\x07"} & set(text)
