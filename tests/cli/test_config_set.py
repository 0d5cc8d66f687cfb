"""`ralph config set` through the real commands."""

import os
from pathlib import Path

import pytest

from ralph_tui.config.load import load_settings
from ralph_tui.config.template import template
from ralph_tui.store.project import Project
from tests.cli.processes import inside


@pytest.fixture
def root(tmp_path: Path) -> Path:
    Project(tmp_path).create()
    return tmp_path


def test_a_setting_is_written_and_holds(root: Path) -> None:
    path = Project(root).layout.config
    path.write_text(template(), encoding="utf-8")
    done = inside("config", "set", "phases.building.max_iterations", "7", cwd=root)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"phases.building.max_iterations = 7  ({path})\n"
    assert load_settings(root, environ={}).phases.building.max_iterations == 7
    written = path.read_text(encoding="utf-8").splitlines()
    assert [line for line in written if line not in template().splitlines()] == [
        "phases.building.max_iterations: 7"
    ]
    at = written.index("phases.building.max_iterations: 7")
    assert written[at - 1].startswith("# phases.building.max_iterations: 100"), "in its topic"


def test_a_stronger_layer_is_told(root: Path) -> None:
    environ = {**os.environ, "RALPH_PRIMARY_MODEL": "haiku"}
    done = inside("config", "set", "models.primary", "opus", cwd=root, environ=environ)
    assert done.returncode == 0
    assert "RALPH_PRIMARY_MODEL overrides" in done.stderr


def test_a_reference_to_a_variable_is_kept_and_shown_by_its_name(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_MODEL", "a-model-of-mine")
    path = Project(root).layout.config
    path.write_text("models:\n  planning: ${MY_MODEL}  # theirs\n", encoding="utf-8")
    done = inside("config", "set", "models.primary", "${MY_MODEL:-opus}", cwd=root)
    assert (done.returncode, done.stderr) == (0, "")
    assert '"${MY_MODEL:-opus}"' in done.stdout
    kept = path.read_text(encoding="utf-8")
    assert "planning: ${MY_MODEL}  # theirs" in kept
    assert load_settings(root).models.primary == "a-model-of-mine"
    for command in (("config", "show"), ("config", "show", "--json")):
        shown = inside(*command, cwd=root).stdout
        assert "${MY_MODEL}" in shown
        assert "a-model-of-mine" not in shown
    assert "a-model-of-mine" not in kept + done.stdout
