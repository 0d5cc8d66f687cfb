"""Two features of one project on the real CLI: the same task ids, one set of limits, a branch for each."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pydantic import JsonValue

from ralph_tui.demo.server import ModelServer
from ralph_tui.domain import events as ev
from ralph_tui.domain.outcomes import LoopStatus
from ralph_tui.domain.plan.plan import ImplementationPlan, TaskStatus
from ralph_tui.engine.control.controls import Controls
from ralph_tui.engine.control.feature_control import make_feature
from ralph_tui.engine.control.request import RunRequest
from ralph_tui.store.archive import read_archives
from ralph_tui.store.feature_choice import pinned_feature
from ralph_tui.store.feature_folders import Features
from ralph_tui.store.layout import Layout
from ralph_tui.store.project import Project
from tests.harness.model import serving
from tests.harness.projects import HAS_FILE, committing, git, make_project, task
from tests.harness.scenarios import claims_in_vain, finishes, scenario
from tests.scenario.running import Run, play


def plan_feature(root: Path, name: str, *tasks: Mapping[str, JsonValue]) -> None:
    make_feature(root, name)
    plan = ImplementationPlan.model_validate({"tasks": tasks})
    Project(root, name).transact(lambda docs: docs.replacing(plan=plan))


def statuses(root: Path, feature: str) -> dict[str, TaskStatus]:
    return {t.id: t.status for t in Project(root, feature).load().plan.tasks}


@pytest.mark.long
async def test_two_features_with_the_same_task_ids_on_branches_of_their_own(tmp_path: Path) -> None:
    project = committing(tmp_path, task("a"))
    plan_feature(project, "login", task("a"))
    plan_feature(project, "search", task("a"))
    done, left = {"a": TaskStatus.COMPLETE}, {"a": TaskStatus.PENDING}

    async with serving(scenario(finishes("a"))) as server:
        run = await play(project, server)
    assert run.end.status is LoopStatus.COMPLETE, run.end.reason
    assert [e.feature for e in run.of(ev.LoopStarted)] == ["search"], "the one made last was chosen"
    assert git(project, "branch", "--show-current").strip() == "feature/search"
    assert (statuses(project, "search"), statuses(project, "login")) == (done, left)
    assert statuses(project, "") == left

    git(project, "switch", "-q", "main")
    async with serving(scenario(finishes("a"))) as server:
        with pinned_feature("login"):
            run = await play(project, server)
    assert run.end.status is LoopStatus.COMPLETE, run.end.reason
    assert git(project, "branch", "--show-current").strip() == "feature/login"
    assert (statuses(project, "login"), statuses(project, "")) == (done, left)
    assert git(project, "diff", "--name-only", "main", "feature/search").split() == ["a.txt"]
    for name in ("login", "search"):
        book = Project(project, name)
        assert book.receipts.unrecorded(book.load().plan) == ()
    assert {s.feature for s in Project(project, "").read_sessions()} == {"login", "search"}
    assert (Layout(project, "login").home / "memory" / "iterations" / "iter-001.md").is_file()
    assert not (project / "progress.txt").exists()
    assert not (project / ".ralph" / "memory" / "iterations" / "iter-001.md").exists()

    archived = {one.feature: one for one in read_archives(Layout(project))[0]}
    assert archived.keys() == {"login", "search"}, "each finished plan, and not the open one"
    for name, one in archived.items():
        folder = Layout(project).archive / one.name
        assert one.name.endswith(name)
        assert (one.tasks_complete, one.tasks_total) == (1, 1)
        assert json.loads((folder / "prd.json").read_bytes())["userStories"][0]["passes"] is True
        assert "Story: a - " in (folder / "progress.txt").read_text(encoding="utf-8")


@pytest.mark.long
async def test_the_limits_are_about_all_features(tmp_path: Path) -> None:
    project = make_project(tmp_path, [task("a")], ["true"])
    async with serving(scenario(finishes("a"))) as server:
        await play(project, server)
    spent = Project(project).load().project_cost
    assert spent > 0
    plan_feature(project, "login", task("b"))

    async with serving(scenario(finishes("b"))) as server:
        run = await play(project, server, overrides={"safety.cost_limits.total": spent})
        assert len(server.requests) == 0
    assert run.end.status is LoopStatus.STOPPED
    assert "the project has cost" in run.end.reason
    assert statuses(project, "login") == {"b": TaskStatus.PENDING}

    made = Project(project, "").load().state.requests.in_hour(datetime.now(UTC))

    async def person(run: Run) -> None:
        wait = await run.until_told(ev.LimitWait)
        assert wait.message.startswith(f"{made} model requests in the last hour")
        assert not server.requests, "the other feature's requests count"
        Controls(project).retry_now()

    async with serving(scenario(finishes("b"))) as server:
        run = await play(
            project,
            server,
            meanwhile=person,
            overrides={"safety.cost_limits.total": 0, "limits.rate_limit_per_hour": made},
        )
    assert run.end.status is LoopStatus.COMPLETE, run.end.reason
    rows = {one.name: one.cost_usd for one in Features(project).summaries()}
    assert rows[""] == spent
    assert rows["login"] > 0
    assert run.of(ev.LoopStarted)[0].costs.total == spent, "the meter goes on where the others are"
    assert Project(project).load().project_cost == spent + rows["login"]
    listed = json.loads((project / ".ralph/project.json").read_bytes())["features"]
    assert sum(listed["login"]["requests"]["minutes"].values()) > 0


def messages(server: ModelServer) -> str:
    return "\n".join(str(request) for request in server.requests)


@pytest.mark.usefixtures("played_cli")
async def test_guidance_questions_memory_and_breaker_never_mix(tmp_path: Path) -> None:
    """Both features work on a task with the same id; what belongs to one never reaches the other."""
    project = make_project(tmp_path, [], [HAS_FILE.format(name="a.txt")])
    for name in ("login", "search"):
        plan_feature(project, name, task("a"))
        own = Project(project, name)
        own.queue_injection(f"guidance of {name}")
        own.append_learning("note", f"learned in {name} about a.txt")
        own.write_memory(f"hand-off of {name}\n")
        (Layout(project, name).specs / "spec.md").write_text(
            f"# Spec of {name}\n", encoding="utf-8"
        )

    async with serving(scenario(claims_in_vain("a"))) as server:
        with pinned_feature("login"):
            run = await play(project, server, request=RunRequest(once=True))
        sent = messages(server)
    assert len(run.of(ev.IterationStarted)) == 1
    for kind in ("guidance of {}", "learned in {}", "hand-off of {}", "specs/{}"):
        assert kind.format("login") in sent, kind
        assert kind.format("search") not in sent, kind

    failed, other = Project(project, "login").load(), Project(project, "search").load()
    assert failed.breaker.failure_count + failed.breaker.refused_claims_count > 0
    assert failed.pending == ()
    assert other.breaker.failure_count + other.breaker.refused_claims_count == 0
    assert [one.guidance for one in other.pending] == ["guidance of search"]
    assert (other.state.iteration_count, other.plan.tasks[0].status) == (0, TaskStatus.PENDING)
    assert Project(project, "search").recent_iteration_memories() == ()

    async with serving(scenario(finishes("a"))) as server:
        with pinned_feature("search"):
            run = await play(project, server)
        sent = messages(server)
    assert run.end.status is LoopStatus.COMPLETE, run.end.reason
    assert [e.iteration for e in run.of(ev.IterationStarted)] == [1], "each counts for itself"
    assert "guidance of search" in sent
    assert "of login" not in sent
    assert "in login" not in sent
    assert Project(project, "login").load().breaker == failed.breaker
    assert Project(project, "login").load().plan == failed.plan
