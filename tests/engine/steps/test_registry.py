"""Which types of steps there are, and what is said of those that cannot be used."""

import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ralph_tui.config.settings import Settings
from ralph_tui.config.step_settings import StepSettings
from ralph_tui.domain.errors import ConfigError
from ralph_tui.domain.run.steps import StepLog
from ralph_tui.engine.control.step_records import has_changed
from ralph_tui.engine.steps.step_runner import check_steps, step_types
from ralph_tui.store.project import Project

Brings = Callable[[str, str], None]


@pytest.fixture
def brings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Brings:
    """A package that brings the type `mine` with this code, found as `where` in its module."""

    def make(code: str, where: str) -> None:
        info = tmp_path / "site" / "mine-1.0.dist-info"
        info.mkdir(parents=True)
        (tmp_path / "site" / "mine_module.py").write_text(code, encoding="utf-8")
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[ralph_tui.steps]\nmine = mine_module:{where}\n")
        monkeypatch.delitem(sys.modules, "mine_module", raising=False)
        monkeypatch.syspath_prepend(tmp_path / "site")

    return make


def test_a_package_is_loaded_only_when_a_step_names_its_type(brings: Brings) -> None:
    brings("raise SystemExit('loaded')\n", "Mine")
    steps = {
        "a": StepSettings(type="noop"),
        "off": StepSettings(type="mine", enabled=False),
    }
    assert list(step_types(steps)) == ["a"]
    with pytest.raises(ConfigError, match="mine of mine cannot be loaded: SystemExit: loaded"):
        step_types({"b": StepSettings(type="mine")})


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("class Mine:\n    def run(self, job): ...\n", "has no `async def run"),
        ("class Other: ...\n", "cannot be loaded: AttributeError"),
        ("class Mine:\n    def __init__(self, x): ...\n", "cannot be loaded: TypeError"),
        ("import nowhere_to_be_found\n", "cannot be loaded: ModuleNotFoundError"),
    ],
)
def test_a_package_that_does_not_fit_is_named(brings: Brings, code: str, said: str) -> None:
    brings(code, "Mine")
    with pytest.raises(ConfigError) as caught:
        step_types({"b": StepSettings(type="mine")})
    assert "steps.b: the type mine of mine" in caught.value.message
    assert said in caught.value.message
    assert "steps.b.enabled" in caught.value.hint


def test_an_unknown_type_is_refused_with_those_there_are(tmp_path: Path) -> None:
    steps = {"work": {}, "docs": {"type": "comand"}}
    with pytest.raises(ConfigError) as caught:
        check_steps(Project(tmp_path), Settings.model_validate({"steps": steps}), StepLog())
    assert caught.value.message == "steps.docs: there is no step type 'comand'."
    assert "agent, command, git-commit, readme-check, noop" in caught.value.hint


@pytest.mark.parametrize("prompt", ["SETUP.md", "../outside.md", "directory"])
def test_instructions_that_are_not_there_are_refused_before_anything_is_spent(
    tmp_path: Path, prompt: str
) -> None:
    root = tmp_path / "project"
    (root / "directory").mkdir(parents=True)
    (tmp_path / "outside.md").write_text("x")
    steps = {"setup": {"type": "agent", "prompt": prompt}, "work": {}}
    with pytest.raises(ConfigError, match=f"steps.setup: its prompt {prompt} is "):
        check_steps(Project(root), Settings.model_validate({"steps": steps}), StepLog())


def test_a_commit_that_is_wanted_and_switched_off_is_refused(tmp_path: Path) -> None:
    given = {"git": {"commit": "task"}, "steps": {"work": {}, "commit": {"enabled": False}}}
    with pytest.raises(ConfigError, match=r"steps.commit is disabled, but git.commit is task"):
        check_steps(Project(tmp_path), Settings.model_validate(given), StepLog())


def test_instructions_of_a_step_that_is_done_may_be_gone(tmp_path: Path) -> None:
    steps = {"setup": {"type": "agent", "prompt": "SETUP.md", "once": True}, "work": {}}
    settings = Settings.model_validate({"steps": steps})
    done = StepLog().done_once("setup", "hash", datetime(2026, 1, 2, tzinfo=UTC))
    check_steps(Project(tmp_path), settings, done)
    assert not has_changed(Project(tmp_path), settings.steps["setup"], done.of("setup"))
