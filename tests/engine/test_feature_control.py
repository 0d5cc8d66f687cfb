"""A screen shows one feature, and controls the one whose loop it shows."""

from pathlib import Path

from ralph_tui.engine.control.controls import Controls
from ralph_tui.engine.control.feature_control import make_feature
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
