"""A run that nobody answers in time ends with status 4, says so, and keeps what was asked."""

from datetime import timedelta
from pathlib import Path

import pytest

from ralph_tui.domain.project_state import ApprovalKind, Phase
from ralph_tui.engine.control.approved_content import plan_content
from ralph_tui.engine.decisions.ask_person import requested, with_approval
from ralph_tui.store.io.files import utc_now
from ralph_tui.store.project import Project
from tests.harness.model import answered, serving
from tests.harness.projects import make_project, task
from tests.harness.real_processes import run_ralph
from tests.harness.scenarios import REQUEST, SPEC, finishes, scenario


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
