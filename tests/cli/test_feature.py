"""`ralph feature`, `ralph init NAME` and `-f`: several plans in one project, each command on the right one."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from ralph_tui.cli.mcp_steering import answer_call
from ralph_tui.domain import events as ev
from ralph_tui.domain.outcomes import IterationOutcome, LoopStatus
from ralph_tui.domain.project_state import Phase, SessionRecord
from ralph_tui.store.backup.mirror import copy_of
from ralph_tui.store.feature_choice import pinned_feature
from ralph_tui.store.journal.journal import JournalWriter
from ralph_tui.store.layout import Layout
from ralph_tui.store.project import Project
from tests.cli.processes import inside
from tests.harness.projects import make_project, task


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_project(tmp_path, [task("task-1"), task("task-2")])


def said(*words: str, cwd: Path) -> str:
    done = inside(*words, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return done.stdout


def refused(*words: str, cwd: Path) -> str:
    done = inside(*words, cwd=cwd)
    assert (done.returncode, done.stdout) == (3, ""), done.stdout
    assert "Traceback" not in done.stderr
    return done.stderr


def ids(*words: str, cwd: Path) -> list[str]:
    return [one["id"] for one in json.loads(said(*words, "--json", cwd=cwd))]


def worked(root: Path, feature: str, *ids: str) -> None:
    """Write a run into the journal and the history: one iteration for each task."""
    told: list[ev.Event] = [
        ev.LoopStarted(run_id=f"run-{feature}", project="p", phase=Phase.BUILDING, feature=feature)
    ]
    for number, task_id in enumerate(ids, 1):
        done = IterationOutcome.COMPLETE
        told += [
            ev.IterationStarted(iteration=number, task_id=task_id),
            ev.IterationFinished(iteration=number, task_id=task_id, outcome=done, cost_usd=0.5),
        ]
        Project(root, feature).archive_session(
            SessionRecord(session_id=f"{feature}{number}", iteration=number, task_id=task_id)
        )
    told.append(
        ev.LoopFinished(status=LoopStatus.COMPLETE, exit_code=0, reason=f"{feature} is done")
    )
    writer = JournalWriter(Layout(root).events)
    writer.write([writer.stamp(event) for event in told])
    writer.close()


def test_looking_back_shows_one_feature_also_under_its_former_name(root: Path) -> None:
    worked(root, "", "task-1", "task-2")
    before = said("history", cwd=root)
    said("feature", "new", "login", cwd=root)
    worked(root, "login", "task-1")
    assert said("history", "-f", ".", cwd=root) == before + (
        "1 session of other features; `-f NAME` lists them.\n"
    )

    def of(feature: str) -> tuple[list[str], list[str], str]:
        named = ("-f", feature)
        sessions = json.loads(said("history", "--json", *named, cwd=root))
        report = json.loads(said("report", "--json", *named, cwd=root))
        return (
            [s["task_id"] for s in sessions],
            [line["task_id"] for line in report["timeline"]],
            report["ending"],
        )

    assert of(".") == (["task-1", "task-2"], ["task-1", "task-2"], "is done")
    assert of("login") == (["task-1"], ["task-1"], "login is done")


def test_a_client_and_a_browser_see_the_feature_that_is_named(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said("feature", "new", "login", cwd=root)
    monkeypatch.chdir(root)
    assert not answer_call("add", {"text": "Draw the form"}).is_error
    with pinned_feature(""):
        assert not answer_call("inject", {"text": "Use sqlite"}).is_error
        listed = answer_call("tasks", {}).text
    assert [line.split()[1] for line in listed.splitlines()[1:]] == ["task-1", "task-2"]
    assert ids("tasks", "-f", "login", cwd=root) == ["task-001"]
    assert json.loads(answer_call("status", {}).text)["feature"] == "login"
    assert [len(Project(root, name).load().pending) for name in ("", "login")] == [1, 0]

    served: list[Sequence[str]] = []
    monkeypatch.setattr(
        "ralph_tui.tui.web_server.RalphServer.run", lambda server: served.append(server._command)
    )
    for words in ([], ["-f", "login"], ["-f", "."]):
        said("serve", "--no-open", *words, cwd=root)
    named = [command[command.index("--project-root") + 2 :] for command in served]
    assert named == [[], ["--feature", "login"], ["--feature", "."]]


def test_a_damaged_list_never_leads_to_the_wrong_plan(root: Path) -> None:
    said("feature", "new", "login", cwd=root)
    listed = Layout(root).project
    listed.write_text('{"tasks', encoding="utf-8")
    assert "feature    login" in said("status", cwd=root), "the last good copy says it"
    listed.unlink()
    copy_of(Layout(root), listed).unlink()
    told = refused("status", cwd=root)
    assert "cannot be read" in told
    assert "ralph feature use login" in told
    said("feature", "use", "login", cwd=root)
    assert "feature    login" in said("status", cwd=root)


@pytest.mark.long
def test_doctor_names_the_feature_and_what_is_not_clear(root: Path) -> None:
    def plan_of(*words: str) -> str:
        found = json.loads(inside("doctor", "--json", *words, cwd=root).stdout)
        return next(str(one["text"]) for one in found if one["name"] == "plan")

    assert "feature" not in plan_of()
    for name in ("login", "search"):
        said("feature", "new", name, cwd=root)
        said("add", "Do it", cwd=root)
    assert plan_of().startswith("feature search: 1 task")
    assert plan_of("-f", "login").startswith("feature login: 1 task")
    (root / ".git").mkdir()
    (root / ".git/HEAD").write_text("ref: refs/heads/feature/login\n", encoding="utf-8")
    assert "The feature is ambiguous" in plan_of()
