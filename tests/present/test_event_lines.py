"""What line mode says, as a person reads it."""

import re

import pytest

from ralph_tui.domain import events as ev
from ralph_tui.domain.documents.questions import Answer, AskedQuestion, Option, Question
from ralph_tui.domain.plan.plan import Task, TaskStatus
from ralph_tui.domain.project_state import ApprovalKind, Phase
from ralph_tui.domain.run.steps import StepOutcome
from ralph_tui.domain.verification.verification import Receipt, ReceiptStatus
from ralph_tui.present.events.event_lines import LIMIT, OWN_LINES, SCREEN_ONLY, EventPrinter
from ralph_tui.present.events.event_sentences import SENTENCES
from ralph_tui.present.text.glyphs import ASCII
from tests.cli.recorded import COMPLETE, HOSTILE, NOON, STOPPED, whole_run

GOLDEN = """\
ralph: habits, building with sonnet, at most 100 iterations, limits $2.00 / $50.00 / $200 (iteration / run / project)
. plan: 2 tasks, 0 complete
> iteration 1: task task-001, Write the parser (priority 1, the only task that is ready)
  . session with claude-sonnet, CLI 2.1.330
  * I will read first.
  + read src/app.py - 0.1s
  ! bash git push - denied (git-write) in `git push`: git is read-only here > Leave commits to the person.
  ~ rewritten (uv): pytest > uv run pytest
  x bash uv run pytest - 2.3s failed, exit 1
  ? verifying task-001 (2 checks)
    x uv run pytest - failed, exit 1, 2.5s
  x rejected: task-001, 1 of 1 check failed
  ? verifying task-001 (2 checks)
    + uv run pytest - passed, 2.5s
    - uv run mypy . - skipped, 0.0s: mypy is not a dependency of the project
  + accepted: task-001, 1 check passed
. task task-001 is complete: every check passed
  + learned (testing): use tmp_path
  > handing off: the context is 62 % full
  > handed off: MEMORY.md written
+ iteration 1 complete: every check passed - 12s, $0.12 ($3.50 in total), context 41.2k (21 %)
> guidance queued: use argparse
> guidance delivered to iteration 2
  ~ overloaded (529), retrying in 2s (1/10)
! task task-002 is blocked: three attempts
! warning: state.json was set aside
! The project's limit is used up.
= paused; run `ralph resume` to continue
> resumed
  x No network. Check it.
ralph: 1 of 2 tasks complete, 2 iterations, $3.50, 1m 15s
  Built: 1 of 2 tasks
  Next: Review the changes and commit them. `ralph report` shares the result, `ralph undo TASK` reverts a task.
ralph: complete: Every task is complete.
"""


def told(*events: ev.Event) -> list[str]:
    printer = EventPrinter(ASCII)
    return [str(line) for event in events for line in printer.lines(event)]


def test_a_whole_run_reads_as_written_here() -> None:
    assert "\n".join(told(*whole_run(), COMPLETE)) + "\n" == GOLDEN


def test_verbose_lines_have_what_was_printed_and_no_more_than_its_end() -> None:
    call = ev.ToolStarted(tool_id="t", name="Bash", input={"command": "make"})
    printed = "\n".join(f"line {number} \x1b[31m" for number in range(1, 51))
    ended = ev.ToolFinished(tool_id="t", outcome="ok", output=printed, seconds=1.0)
    assert len(told(call, ended)) == 1
    printer = EventPrinter(ASCII, verbose=True)
    lines = [str(line) for event in (call, ended) for line in printer.lines(event)]
    assert lines[0] == told(call, ended)[0]
    assert lines[1] == "    10 earlier lines not shown:"
    assert [line.strip() for line in lines[2:]] == [f"line {n}" for n in range(11, 51)]


def test_the_last_line_says_why_and_what_to_do() -> None:
    end = STOPPED.model_copy(update={"hint": "`ralph build` goes on."})
    assert told(end)[-1] == "ralph: interrupted: You asked it to stop. `ralph build` goes on."


def test_a_wait_for_approval_is_said_once() -> None:
    reason = {"reason": "waiting for approval of the plan", "hint": "`ralph approve`."}
    end = STOPPED.model_copy(update={"status": ev.LoopStatus.WAITING, **reason})
    assert told(end)[-1] == "ralph: waiting for approval of the plan. `ralph approve`."


def test_a_phase_is_not_called_a_task() -> None:
    failed = Receipt(
        command="make", source="backpressure", status=ReceiptStatus.FAILED, exit_code=2, seconds=1
    )
    assert told(
        ev.IterationStarted(iteration=3, task_id="planning", title="Planning", why="no plan yet"),
        ev.GateStarted(task_id="validation", commands=("make",)),
        ev.GateFinished(task_id="validation", passed=True, unverified=True),
        ev.GateFinished(task_id="validation", passed=False, receipts=(failed,)),
    ) == [
        "> iteration 3: planning (no plan yet)",
        "  ? validation: running 1 check",
        "  ! validation: no check could run",
        "  x validation: rejected: 1 of 1 check failed",
    ]


def test_what_a_person_does_to_the_repository_is_said_and_the_run_goes_on() -> None:
    two = ("b2 second", "a1 first")
    assert told(
        ev.RepositoryChanged(branch="main", commits=("a1 first",)),
        ev.RepositoryChanged(branch="main", commits=two, summary="tag v1 was made"),
        ev.RepositoryChanged(commits=("a1 first",)),
        ev.RepositoryChanged(summary="the setting a.b was changed"),
    ) == [
        ". You committed a1 first on main. The run continues.",
        ". You made 2 commits on main; the last: b2 second. Also, tag v1 was made. The run continues.",
        ". You committed a1 first. The run continues.",
        ". The repository changed: the setting a.b was changed. The run continues.",
    ]


@pytest.mark.parametrize("status", ev.LoopStatus)
def test_every_ending_has_a_word(status: ev.LoopStatus) -> None:
    assert told(COMPLETE.model_copy(update={"status": status}))[-1].startswith("ralph: ")


def asked(text: str = "Which storage?") -> AskedQuestion:
    options = (Option(label="A file", description="readable"), Option(label="SQLite"))
    question = Question(question=text, header=text[:5], options=options)
    return AskedQuestion(
        id="q-1", batch="b", phase=Phase.DISCOVERY, question=question, asked_at=NOON
    )


def answered(answer: Answer | None, text: str = "Which storage?") -> AskedQuestion:
    return asked(text).model_copy(update={"answer": answer, "withdrawn": answer is None})


def test_what_is_asked_of_a_person_says_how_to_answer() -> None:
    events = (
        ev.QuestionAsked(question=asked()),
        ev.QuestionAnswered(question=answered(Answer(labels=("SQLite",), by="screen"))),
        ev.QuestionAnswered(question=answered(Answer(declined=True, by="terminal"))),
        ev.QuestionAnswered(question=answered(None)),
        ev.ApprovalRequested(kind=ApprovalKind.PLAN, summary="3 tasks"),
        ev.ApprovalGiven(kind=ApprovalKind.PLAN, approved=True, by="--yes"),
        ev.ApprovalGiven(kind=ApprovalKind.VALIDATION, approved=False, reason="no total", by="Ann"),
    )
    assert told(*events) == [
        "? discovery asks (Which): Which storage?",
        "    1. A file - readable",
        "    2. SQLite",
        "    to answer: ralph answer q-1 TEXT",
        "  ? Which: SQLite (by screen)",
        "  ? Which: declined (by terminal)",
        "  ? Which: withdrawn, because the session that asked has ended",
        "? waiting for your approval of the plan: 3 tasks",
        "    to decide: ralph approve, or ralph reject --reason TEXT",
        "+ approved the plan - by --yes",
        "x rejected the result: no total - by Ann",
    ]


def test_what_was_found_on_the_way_is_told() -> None:
    failures = tuple(f"finding {number}" for number in range(12))
    events = (
        ev.SpecsChecked(valid=("a.md",), problems={"b.md": ("a section `## Constraints`",)}),
        ev.ValidationFinished(round=1, passed=False, failures=failures),
        ev.ValidationFinished(round=2, passed=True, summary="all there"),
        ev.LimitWait(until=NOON, message="5-hour limit"),
        ev.LimitWaitEnded(why="it was reset"),
    )
    lines = told(*events)
    assert lines[:3] == [
        "  ! 1 spec read, 1 with problems",
        "    b.md: a section `## Constraints`",
        "x validation round 1 failed: 12 findings",
    ]
    assert "  and 2 more" in lines
    assert lines[-5:] == [
        "+ validation round 2 passed",
        "  all there",
        "~ waiting until 2026-01-01 12:00:00 UTC: 5-hour limit",
        "    to retry now: ralph retry",
        "> it was reset",
    ]


def test_every_event_is_told_or_left_out_on_purpose() -> None:
    kinds = set(ev.KINDS)
    said = {*SENTENCES, *OWN_LINES}
    assert kinds - said == {ev.TextDelta, ev.UsageReported, ev.CatchingUp}
    assert SCREEN_ONLY - said == kinds - said


def hostile_events() -> tuple[ev.Event, ...]:
    task = Task(id="t[/]", description=HOSTILE, status=TaskStatus.BLOCKED, blockers=(HOSTILE,))
    receipt = Receipt(
        command=HOSTILE,
        source="criterion",
        status=ReceiptStatus.DENIED,
        reason=HOSTILE,
        tail=HOSTILE,
    )
    return (
        ev.LoopStarted(run_id="r", project=HOSTILE, phase="building", model=HOSTILE),
        ev.PlanLoaded(tasks=(task,)),
        ev.TaskChanged(task=task.model_copy(update={"id": HOSTILE}), reason=HOSTILE),
        ev.IterationStarted(iteration=1, task_id=HOSTILE, title=HOSTILE, why=HOSTILE),
        ev.AssistantText(text=HOSTILE),
        ev.ToolStarted(tool_id="1", name=HOSTILE, input={"x": HOSTILE}),
        ev.ToolFinished(tool_id="1", outcome=ev.ToolOutcome.ERROR, output=HOSTILE),
        ev.ToolStarted(tool_id="2", name="Bash", input={"command": HOSTILE}),
        ev.ToolRewritten(tool_id="2", before=HOSTILE, after=HOSTILE, rule=HOSTILE),
        ev.ToolDenied(
            tool_id="2", name="Bash", rule=HOSTILE, part=HOSTILE, reason=HOSTILE, instead=HOSTILE
        ),
        ev.GateChecked(task_id="t", receipt=receipt),
        ev.GateFinished(task_id=HOSTILE, passed=False, receipts=(receipt,)),
        ev.StepStarted(step=HOSTILE, kind=HOSTILE, what=HOSTILE),
        ev.StepFinished(
            step=HOSTILE, kind="x", outcome=StepOutcome.FAILED, reason=HOSTILE, tail=HOSTILE
        ),
        ev.LearningRecorded(category=HOSTILE, text=HOSTILE),
        ev.InjectionQueued(id="1", text=HOSTILE),
        ev.HandoffFinished(path=HOSTILE),
        ev.IterationFinished(
            iteration=1, task_id=HOSTILE, outcome=ev.IterationOutcome.FAILED, reason=HOSTILE
        ),
        ev.ApiRetry(attempt=1, max_attempts=1, delay_seconds=1, error=HOSTILE),
        ev.AgentFailed(failure=ev.FailureClass.UNKNOWN, message=HOSTILE, hint=HOSTILE),
        ev.Notice(text=HOSTILE),
        ev.QuestionAsked(question=asked(HOSTILE)),
        ev.QuestionAnswered(question=answered(Answer(other=HOSTILE), HOSTILE)),
        ev.ApprovalRequested(kind=ApprovalKind.PLAN, summary=HOSTILE),
        ev.ApprovalGiven(kind=ApprovalKind.PLAN, approved=False, reason=HOSTILE, by=HOSTILE),
        ev.SpecsChecked(valid=(HOSTILE,), problems={HOSTILE: (HOSTILE,)}),
        ev.ValidationFinished(round=1, passed=False, failures=(HOSTILE,)),
        ev.LimitWait(until=NOON, message=HOSTILE),
        COMPLETE.model_copy(update={"reason": HOSTILE, "hint": HOSTILE}),
    )


def test_hostile_text_is_inert_and_stays_on_its_line() -> None:
    lines = told(*hostile_events())
    assert not re.search("[\x00-\x1f\x7f-\x9f\u202e\u2028]", "".join(lines))
    assert sum("[@click=app.quit]x[/]list[int]" in line for line in lines) >= 15


def test_a_long_line_is_cut() -> None:
    (line,) = told(ev.Notice(text="word " * 100_000))
    assert len(line) == LIMIT


def test_a_denial_is_told_once_whatever_comes_first() -> None:
    denied = ev.ToolDenied(tool_id="1", name="Bash", rule="r", reason="no")
    started = ev.ToolStarted(tool_id="1", name="Bash", input={"command": "git push"})
    ended = ev.ToolFinished(tool_id="1", outcome=ev.ToolOutcome.DENIED)
    assert len(told(denied, started, ended)) == 1
    assert len(told(started, denied, ended)) == 1
    assert len(told(started, ended)) == 1


def test_a_sub_agents_calls_are_indented() -> None:
    (line,) = told(ev.ToolFinished(tool_id="1", name="Read", outcome="ok", parent_id="p"))
    assert line.startswith("    +")


def test_a_breaker_that_opens_is_told_once() -> None:
    from ralph_tui.domain.run.breaker import BreakerState, CircuitBreaker

    opened = ev.BreakerChanged(
        breaker=CircuitBreaker(state=BreakerState.OPEN, failure_count=3), reason="three failures"
    )
    assert told(opened, opened) == ["! breaker open: three failures"]
