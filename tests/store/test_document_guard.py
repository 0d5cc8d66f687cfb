"""Whose a change of ralph's documents is: ralph's own, the person's, or that of an agent's command."""

import json
import os
import time
from pathlib import Path

import pytest

from ralph_tui.store.backup import agent_activity, mirror
from ralph_tui.store.backup.agent_activity import Activity, ActivityLog, read_activity
from ralph_tui.store.backup.mirror import copy_of, mirror_of
from ralph_tui.store.io.files import replace_file
from ralph_tui.store.lock import boot_id
from ralph_tui.store.project import Project
from tests.store.helpers import count_up, with_tasks

MARK = ("RALPH_TEST_MARK", "none")


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


def test_what_changes_while_a_command_runs_is_put_back_and_kept_beside(
    worked_on: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = ActivityLog(worked_on.root, MARK)
    log.begin("1")
    mark_complete(worked_on)
    worked_on.layout.questions.unlink(missing_ok=True)
    other = Project(worked_on.root)
    assert statuses(other) == ["pending", "pending"], "in every process"
    (said,) = other.undone()
    assert said.startswith("implementation_plan.json was changed while a command of the agent ran.")
    (kept,) = worked_on.layout.dot.glob("implementation_plan.json.refused-*")
    assert "complete" in kept.read_text()
    log.end("1")
    monkeypatch.setattr(agent_activity, "SLACK_SECONDS", 60.0)  # however busy the machine is
    mark_complete(worked_on)
    assert statuses(worked_on) == ["pending", "pending"]


@pytest.mark.parametrize("commands", [0, 1])
def test_a_copy_that_disappears_while_it_is_compared_costs_nothing(
    worked_on: Project, monkeypatch: pytest.MonkeyPatch, commands: int
) -> None:
    log = ActivityLog(worked_on.root, MARK)
    for number in range(commands):
        log.begin(str(number))
        log.end(str(number))
    plan = worked_on.layout.plan
    copy = copy_of(worked_on.layout, plan)

    def gone_meanwhile(root: Path) -> Activity:
        copy.unlink(missing_ok=True)
        return read_activity(root)

    plan.unlink()
    monkeypatch.setattr(agent_activity, "read_activity", gone_meanwhile)
    worked_on.undo_agent_edits()
    assert not copy.exists()
    assert plan.exists() is (commands > 0), "nobody but a command can be blamed"


def test_what_changes_while_no_command_runs_is_the_persons(worked_on: Project) -> None:
    log = ActivityLog(worked_on.root, MARK)
    log.begin("1")
    log.end("1")
    later = read_activity(worked_on.root)
    ended = tuple((b - 10, e - 10) for b, e in later.spans)
    replace_file(
        mirror_of(worked_on.root) / agent_activity.NAME,
        later.model_copy(update={"spans": ended}).model_dump_json().encode(),
    )
    mark_complete(worked_on)
    assert statuses(worked_on) == ["complete", "pending"]
    assert worked_on.undone() == ()


@pytest.mark.parametrize(
    ("activity", "is_the_persons"),
    [
        (Activity(boot="another", running=(time.time() - 60,), owner=os.getpid()), True),
        (Activity(boot=boot_id(), running=(time.time() - 60,), at=time.time() - 50), True),
        (Activity(boot=boot_id(), running=(time.time() - 60,), at=time.time() + 86_400), False),
    ],
    ids=["before a reboot", "of a loop that died long ago", "of a loop that died just now"],
)
def test_what_a_dead_loop_left_running(
    worked_on: Project, activity: Activity, *, is_the_persons: bool
) -> None:
    gone = activity if activity.owner else activity.model_copy(update={"owner": 2**22 + 1})
    replace_file(mirror_of(worked_on.root) / agent_activity.NAME, gone.model_dump_json().encode())
    mark_complete(worked_on)
    assert (statuses(worked_on)[0] == "complete") is is_the_persons


def test_what_a_transaction_wrote_before_it_was_killed_is_not_blamed_on_anybody(
    worked_on: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    ActivityLog(worked_on.root, MARK).begin("1")
    with monkeypatch.context() as patch:
        patch.setattr(mirror.Mirror, "sync", lambda *_: None)  # it died between file and copy
        before = worked_on.transact(count_up).state.iteration_count
    fresh = Project(worked_on.root)
    assert fresh.transact(count_up).state.iteration_count == before + 1
    assert fresh.undone() == ()


def test_settings_and_report_that_ralph_writes_are_its_own(worked_on: Project) -> None:
    worked_on.layout.config.write_text("git: {}\n")
    worked_on.transact(count_up)
    ActivityLog(worked_on.root, MARK).begin("1")
    worked_on.write_config("limits: {}\n")
    worked_on.transact(count_up)
    assert (worked_on.layout.config.read_text(), worked_on.undone()) == ("limits: {}\n", ())
    Path(worked_on.layout.config).write_text("safety: {sandbox: 'off'}\n")
    worked_on.undo_agent_edits()
    assert worked_on.layout.config.read_text() == "limits: {}\n"
