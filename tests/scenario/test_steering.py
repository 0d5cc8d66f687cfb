"""A person and other programs act on a loop that runs."""

import json
from pathlib import Path

import pytest

from ralph_tui.domain import events as ev
from tests.cli.processes import inside
from tests.harness.model import serving
from tests.harness.projects import ALWAYS_GREEN, make_project, task
from tests.harness.scenarios import finishes, scenario
from tests.scenario.running import WAITS_FOR_GO, Run, let_go, play

HELD = {"safety.sandbox": "required"}
"""No command can write ralph's documents, so that an edit at any time is the person's."""


@pytest.mark.long
@pytest.mark.needs("sandbox")
async def test_an_edit_that_is_not_valid_is_named_and_set_aside_when_the_plan_is_written(
    tmp_path: Path,
) -> None:
    project = make_project(tmp_path, [task("a")], [WAITS_FOR_GO])
    plan = project / ".ralph" / "implementation_plan.json"
    foreign = json.dumps({"tasks": [task("late", acceptanceCriteria=[ALWAYS_GREEN])]})

    async def editor(run: Run) -> None:
        await run.until_told(ev.ToolStarted, lambda e: "mark_task_complete" in e.name)
        plan.write_text(foreign)
        named = await run.until_told(ev.Notice, lambda e: "'acceptanceCriteria'" in e.text)
        assert "Until then, ralph uses the last valid version." in named.text
        assert plan.read_text() == foreign
        let_go(project)  # the claim is accepted, and the plan is written

    async with serving(scenario(finishes("a"))) as server:
        run = await play(project, server, meanwhile=editor, overrides=HELD)
    assert run.end.reason == "the only task is complete"
    (aside,) = plan.parent.glob("*.corrupt-*")
    assert aside.read_text() == foreign
    assert any(f"set aside as {aside.name}" in e.text for e in run.of(ev.Notice))


def test_nothing_to_pause_is_said_plainly(tmp_path: Path) -> None:
    ran = inside("pause", cwd=make_project(tmp_path, [task("a")]))
    assert ran.returncode == 3
    assert "No loop is running" in ran.stderr
