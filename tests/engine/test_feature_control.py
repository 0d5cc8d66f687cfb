"""A screen shows one feature, and controls the one whose loop it shows."""

from pathlib import Path

from ralph_tui.domain import events as ev
from ralph_tui.domain.plan.plan import TaskStatus
from ralph_tui.domain.project_state import Phase
from ralph_tui.domain.view.loop_view import LoadState, LoopView
from ralph_tui.domain.view.reducer import reduce
from ralph_tui.engine.control.controls import Controls
from ralph_tui.engine.control.feature_control import make_feature
from ralph_tui.engine.control.plan_export import FollowedExports, follow_settings
from ralph_tui.store.feature_folders import Features
from ralph_tui.store.project import Project
from tests.harness.projects import make_project, task


def guidance(root: Path, feature: str) -> list[str]:
    return [one.guidance for one in Project(root, feature).load().pending]


def test_guidance_goes_to_the_feature_whose_loop_is_shown(tmp_path: Path) -> None:
    root = make_project(tmp_path, [task("a")])
    make_feature(root, "login")
    controls = Controls(root)
    controls.inject("for login")
    controls.follow_feature("")
    controls.inject("for the plan without a name")
    controls.follow_feature(None)
    controls.inject("for login again")
    assert guidance(root, "login") == ["for login", "for login again"]
    assert guidance(root, "") == ["for the plan without a name"]


def test_a_file_that_is_kept_current_moves_with_a_renamed_feature(tmp_path: Path) -> None:
    root = make_project(tmp_path, [task("a")])
    make_feature(root, "login")
    plan = Project(root, "").load().plan
    Project(root, "login").transact(lambda docs: docs.replacing(plan=plan))
    follow_settings(Project(root, "login"), ("prd.json",))
    Features(root).rename("login", "sign-in")

    renamed, told = Project(root, "sign-in"), list[str]()
    follow_settings(renamed, ("prd.json",))
    done = plan.tasks[0].model_copy(update={"status": TaskStatus.COMPLETE})
    FollowedExports(renamed, told.append).sync(plan.model_copy(update={"tasks": (done,)}))
    assert told == []
    assert '"passes": true' in (renamed.layout.home / "prd.json").read_text(encoding="utf-8")


def test_another_feature_begins_with_an_empty_view() -> None:
    view = reduce(LoopView(), ev.ProjectRead(project="p", phase=Phase.BUILDING))
    view = reduce(view, ev.InjectionQueued(id="1", text="x"))
    same = reduce(view, ev.ProjectRead(project="p", phase=Phase.BUILDING))
    assert same.injections == view.injections
    other = reduce(view, ev.ProjectRead(project="p", phase=Phase.PLANNING, feature="login"))
    assert (other.feature, other.phase, other.injections) == ("login", Phase.PLANNING, ())
    assert other.sight is LoadState.ALL
