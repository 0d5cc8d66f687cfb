"""`ralph verify`: the gate of a task by hand, with what its receipts rest on."""

import json
from pathlib import Path

import pytest

from ralph_tui.domain.sanitize import inert
from ralph_tui.engine.verification.evidence.check_files import CheckFiles
from tests.cli.processes import inside
from tests.engine.verification.evidence.projects import PROJECT, PYTEST, RIGHT, write
from tests.harness.projects import make_project, task

WEAK = PROJECT["tests/test_total.py"].replace("== 3", ">= 0")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    tasks = [task("a"), task("b", dependencies=["a"])]
    return make_project(tmp_path, tasks, [PYTEST], files=PROJECT)


def test_a_tasks_checks_run_by_hand_and_nothing_is_written_down(project: Path) -> None:
    write(project, {"total.py": RIGHT})
    plan = (project / ".ralph" / "implementation_plan.json").read_bytes()
    done = inside("verify", cwd=project)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        f"passed  {inert(PYTEST)}",
        "    2 passed",
        "    check files unchanged",
        "    in place, without a sandbox",
        "a passes: 1 check passed.",
    ]
    assert done.stderr == "ralph: Verifying a (1 check)\n"
    assert (project / ".ralph" / "implementation_plan.json").read_bytes() == plan
    missing = inside("verify", "nothing", cwd=project)
    assert (missing.returncode, "no task nothing" in missing.stderr) == (3, True)


def test_changed_check_files_are_told_and_speak_against_it(project: Path) -> None:
    CheckFiles(project).begin(
        "a", [PYTEST]
    )  # a session that never ended: what follows is the agent's
    write(project, {"tests/test_total.py": WEAK})
    done = inside("verify", "b", "--json", cwd=project)
    assert done.returncode == 1, done.stderr
    told = json.loads(done.stdout)
    (receipt,) = told["receipts"]
    assert (told["passed"], receipt["status"], receipt["place"]) == (
        False,
        "failed",
        "in_place_and_copy",
    )
    assert receipt["inputs"] == "originals_used"
    assert receipt["changed"] == ["tests/test_total.py (changed)"]
    assert receipt["failing"] == ["tests/test_total.py::test_some"]
    assert receipt["counts"]["passed"] == 2
    assert receipt["before"]["failed"] == 1
