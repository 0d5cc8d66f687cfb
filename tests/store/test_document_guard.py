"""Whose a change of ralph's documents is: ralph's own, the person's, or that of an agent's command."""

import json
import subprocess
import sys
from subprocess import PIPE

import pytest

from ralph_tui.store.backup.document_hold import DocumentHold
from ralph_tui.store.project import Project
from tests.store.helpers import count_up, with_tasks


def mark_complete(project: Project) -> None:
    plan = project.layout.plan
    data = json.loads(plan.read_text())
    data["tasks"][0]["status"] = "complete"
    plan.write_text(json.dumps(data))


def statuses(project: Project) -> list[str]:
    return [task.status.value for task in project.transact(count_up).plan.tasks]


@pytest.fixture
def worked_on(project: Project) -> Project:
    with_tasks(project, "a", "b")
    project.transact(count_up)
    return project


def test_what_changes_while_a_command_runs_is_put_back_and_kept_beside(worked_on: Project) -> None:
    guarded = DocumentHold(worked_on.root, worked_on.undo_agent_edits)
    guarded.hold()
    mark_complete(worked_on)
    worked_on.layout.questions.unlink(missing_ok=True)
    other = Project(worked_on.root)
    assert statuses(other) == ["pending", "pending"], "in every process"
    (said,) = other.undone()
    assert said.startswith("implementation_plan.json was changed while a command of the agent ran.")
    (kept,) = worked_on.layout.dot.glob("implementation_plan.json.refused-*")
    assert "complete" in kept.read_text()
    mark_complete(worked_on)
    guarded.release()
    assert statuses(other) == ["pending", "pending"], "up to the last moment"
    mark_complete(worked_on)
    assert statuses(other) == ["complete", "pending"], "and then it is the person's"
    assert other.undone() == ()


def test_what_changes_after_the_loop_died_is_the_persons(worked_on: Project) -> None:
    code = (
        "import sys; from pathlib import Path; from ralph_tui.store.backup.document_hold import DocumentHold; "
        "held = DocumentHold(Path(sys.argv[1]), print); held.hold(); print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(worked_on.root)], stdin=PIPE, stdout=PIPE
    ) as loop:
        assert loop.stdout is not None
        assert loop.stdout.readline() == b"held\n"
        mark_complete(worked_on)
        assert statuses(worked_on) == ["pending", "pending"]
        loop.kill()
    mark_complete(worked_on)
    assert statuses(worked_on) == ["complete", "pending"]


def test_settings_and_documents_that_ralph_writes_are_its_own(worked_on: Project) -> None:
    worked_on.layout.config.write_text("git: {}\n")
    before = worked_on.transact(count_up).state.iteration_count
    guarded = DocumentHold(worked_on.root, worked_on.undo_agent_edits)
    guarded.hold()
    worked_on.write_config("limits: {}\n")
    assert Project(worked_on.root).transact(count_up).state.iteration_count == before + 1
    assert (worked_on.layout.config.read_text(), worked_on.undone()) == ("limits: {}\n", ())
    worked_on.layout.config.write_text("safety: {sandbox: 'off'}\n")
    worked_on.undo_agent_edits()
    assert worked_on.layout.config.read_text() == "limits: {}\n"
