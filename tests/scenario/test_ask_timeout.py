"""A run that nobody answers in time ends with status 4, says so, and keeps what was asked."""

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from ralph_tui.domain import events as ev
from ralph_tui.domain.documents.questions import parse_answer
from ralph_tui.domain.outcomes import IterationOutcome, LoopStatus
from ralph_tui.domain.plan.plan import TaskStatus
from ralph_tui.domain.project_state import ApprovalKind, Phase
from ralph_tui.engine.control.approved_content import plan_content
from ralph_tui.engine.control.controls import Controls
from ralph_tui.engine.control.request import RunRequest
from ralph_tui.engine.decisions.ask_person import requested, with_approval
from ralph_tui.store.io.files import utc_now
from ralph_tui.store.project import Project
from tests.harness.model import answered, serving
from tests.harness.projects import make_project, task, task_of
from tests.harness.real_processes import run_ralph
from tests.harness.scenarios import finishes, scenario
from tests.scenario.running import Run, play
from tests.scenario.test_permission import works
from tests.scenario.test_phases import REQUEST, SPEC, discovers

SOON = {"limits.ask_timeout_seconds": 1}
WAITING = (LoopStatus.WAITING, 4)


@pytest.mark.long
async def test_a_question_of_discovery_stays_open_for_an_answer_later(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    request = RunRequest(text=REQUEST, interactive=True)
    async with serving(scenario(discovers(asks=True))) as server:
        run = await play(project, server, request=request, overrides=SOON)
        assert (run.end.status, run.end.exit_code) == WAITING
        assert run.end.reason == "no answer in 1s: Which language?"
        (told,) = run.of(ev.NobodyAnswered)
        assert (told.about, told.seconds) == ("Which language?", 1)
        (asked,) = Project(project).load().questions.open()
        assert asked.expires_at is not None
        assert (asked.expires_at - asked.asked_at).total_seconds() == 1
        Controls(project).answer(asked.id, parse_answer(asked.question, "2", by="command"))
        known = len(server.requests)
        await play(project, server, request=RunRequest(no_input=True), overrides=SOON)
        assert any("Which language? → French" in str(one.body) for one in server.requests[known:])


@pytest.mark.long
async def test_an_approval_that_nobody_gives_ends_the_real_command(tmp_path: Path) -> None:
    config = {"limits": {"ask_timeout_seconds": 1}}
    project = make_project(tmp_path, [task("a")], config=config, files={"specs/greeter.md": SPEC})
    begun = utc_now() - timedelta(seconds=60)
    Project(project).transact(
        lambda docs: with_approval(
            docs.with_state(request=REQUEST, current_phase=Phase.PLANNING),
            requested(ApprovalKind.PLAN, "1 task", plan_content(docs.plan), begun),
        )
    )
    async with serving(scenario(finishes("a"))) as server:
        ran = await run_ralph(["run", "--headless", "--wait"], project, server)
        assert not answered(server)
    assert ran.status == 4
    assert ran.last_line.startswith("ralph: waiting for approval of the plan, no answer in 1s.")
    assert "no answer within 1s: approval of the plan" in ran.stdout
    asked = Project(project).load().state.approval
    assert asked is not None
    assert asked.approved is None
    assert asked.expires_at is not None
    assert asked.expires_at - begun > timedelta(seconds=30), "its time was over: it asked afresh"


@pytest.mark.usefixtures("played_cli")
async def test_a_permission_that_nobody_gives_costs_no_attempt(tmp_path: Path) -> None:
    config = {"safety": {"ask_commands": ["touch"]}}
    project = make_project(tmp_path, [task("a")], config=config)
    request = RunRequest(only=Phase.BUILDING, interactive=True)
    async with serving(works("bash: touch 1.made")) as server:
        run = await play(project, server, request=request, overrides=SOON)
    assert (run.end.status, run.end.exit_code) == WAITING
    assert run.end.reason.startswith("no answer in 1s: ")
    assert "touch 1.made" in run.end.reason
    assert run.of(ev.IterationFinished)[0].outcome is IterationOutcome.INTERRUPTED
    left = task_of(project, "a")
    assert (left.status, left.retry_count) == (TaskStatus.PENDING, 0)
    assert not (project / "1.made").exists()
    assert not Project(project).load().questions.open(), "the next session asks for itself"


@pytest.mark.long
async def test_an_answer_in_time_is_all_that_counts(tmp_path: Path) -> None:
    config = {"safety": {"ask_commands": ["touch"]}}
    project = make_project(tmp_path, [task("a")], config=config)
    request = RunRequest(only=Phase.BUILDING, interactive=True)

    async def person(run: Run) -> None:
        asked = (await run.until_told(ev.QuestionAsked)).question
        assert asked.expires_at is not None
        yes = parse_answer(asked.question, "1", by="command")
        await asyncio.to_thread(Controls(project).answer, asked.id, yes)

    long = {"limits.ask_timeout_seconds": 3_600}
    async with serving(works("bash: touch 1.made")) as server:
        run = await play(project, server, request=request, overrides=long, meanwhile=person)
    assert run.end.exit_code == 0
    assert not run.of(ev.NobodyAnswered)
