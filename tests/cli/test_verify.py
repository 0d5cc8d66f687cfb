"""`ralph verify`: the gate of a task by hand, with what its receipts rest on."""

import json
from pathlib import Path

import pytest

from ralph_tui.cli.commands.checking import result_lines
from ralph_tui.domain.sanitize import inert
from ralph_tui.domain.verification.verification import GateResult
from ralph_tui.engine.verification.evidence.trusted_base import TrustedBase
from ralph_tui.engine.verification.judge_tree import JudgeTree
from tests.cli.processes import inside
from tests.engine.verification.evidence.projects import BROKEN, PROJECT, PYTEST, RIGHT, write
from tests.harness.projects import make_project, task
from tests.harness.real_processes import ralph_running, run_ralph
from tests.harness.waiting import until

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
        "    in place and in the judge tree, without a sandbox",
        "    in the judge tree: 2 passed",
        "a passes: 1 check passed.",
    ]
    assert done.stderr == "ralph: Verifying a (1 check)\n"
    assert (project / ".ralph" / "implementation_plan.json").read_bytes() == plan
    missing = inside("verify", "nothing", cwd=project)
    assert (missing.returncode, "no task 'nothing'" in missing.stderr) == (3, True)


def test_finished_work_passes_as_long_as_nothing_broke(project: Path) -> None:
    base = TrustedBase(project, JudgeTree(project).store)
    base.begin("a", [PYTEST])
    write(project, {"total.py": RIGHT})
    base.accept("a", base.inspect([PYTEST]))
    passed = {f"tests/test_total.py::{name}": "passed" for name in ("test_nothing", "test_some")}
    base.store.save_outcomes(PYTEST, passed)
    plan = project / ".ralph" / "implementation_plan.json"
    plan.write_text(json.dumps({"tasks": [{**task("a"), "status": "complete"}]}))
    done = inside("verify", "a", cwd=project)
    assert done.stdout.splitlines()[-1] == "a passes: 1 check passed.", done.stdout
    assert done.returncode == 0
    write(project, {"total.py": BROKEN})
    assert inside("verify", "a", cwd=project).returncode == 1


def test_what_the_checks_rest_on_is_told(project: Path) -> None:
    base = TrustedBase(project, JudgeTree(project).store)
    base.begin("a", [PYTEST])  # a session that never ended: what follows is the agent's
    write(project, {"tests/test_total.py": WEAK})
    done = inside("verify", "b", "--json", cwd=project)
    assert done.returncode == 1, done.stderr
    told = json.loads(done.stdout)
    (receipt,) = told["receipts"]
    assert (told["passed"], told["verified"], receipt["status"]) == (True, False, "passed")
    assert receipt["place"] == "in_place_and_copy"
    assert receipt["changed"] == ["tests/test_total.py (changed)"]
    assert told["rests_on"] == ["tests/test_total.py"]
    assert "passes only with the changes to tests/test_total.py" in told["question"]
    assert [(run["tree"], run["passed"]) for run in receipt["runs"]] == [
        ("in_place", True),
        ("judge_tree", False),
        ("whole_claim", True),
    ]
    known = {name: value for name, value in told.items() if name in GateResult.model_fields}
    assert result_lines(GateResult.model_validate(known))[-4:] == [
        "    in the judge tree: tests/test_total.py::test_some failed",
        "    in the judge tree with all changes: 2 passed",
        "rests on: tests/test_total.py",
        (
            f"b is not verified: 1 check passed, but `{inert(PYTEST)}` passes only with the changes to tests/test_total.py "
            "(tests/test_total.py::test_some failed). A reviewer must agree."
        ),
    ]


def test_it_explains_what_counts_as_product_and_what_as_a_check(project: Path) -> None:
    base = TrustedBase(project, JudgeTree(project).store)
    base.begin("a", [PYTEST])
    same = inside("verify", "--explain", cwd=project)
    assert (same.stdout, "No file has changed" in same.stderr) == ("", True)
    write(project, {"tests/test_total.py": WEAK, "total.py": RIGHT})
    told = inside("verify", "--explain", cwd=project).stdout.splitlines()
    assert told == [
        "tests/test_total.py: check, because it is a test or its data",
        "total.py: product, because it is source of the project",
    ]
    named = inside("verify", "--explain", "pyproject.toml", "--json", cwd=project)
    assert json.loads(named.stdout) == [
        {"path": "pyproject.toml", "side": "check", "reason": "steers a tool"}
    ]
    gone = inside("verify", "--explain", "../nothing", cwd=project)
    assert (gone.returncode, "no file ../nothing" in gone.stderr) == (3, True)
    assert inside("verify", "a", "b", cwd=project).returncode == 3


BLOCKS = """\
import pathlib, time

RAN = pathlib.Path("{ran}")


def test_it():
    RAN.write_text(RAN.read_text() + "x")
    while len(RAN.read_text()) in (1, 4):
        time.sleep(0.05)
"""


@pytest.mark.costly
async def test_nothing_is_left_of_a_check_whose_ralph_was_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran, temporary = tmp_path / "ran", tmp_path / "tmp"
    ran.touch()
    temporary.mkdir()
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("TMPDIR", str(temporary))
    project = make_project(
        tmp_path, [task("a")], [PYTEST], files={"test_it.py": BLOCKS.format(ran=ran)}
    )

    async def kill_in(runs: int, what: str) -> None:
        async with ralph_running(["verify"], project) as running:
            await until(lambda: len(ran.read_text()) == runs, what=what)
            running.process.kill()
            await running.process.wait()
        ran.write_text("x" * (runs + 1))  # the check that goes on ends, too

    await kill_in(1, "the run in place")
    await kill_in(4, "the run in the judge tree")
    assert (await run_ralph(["verify"], project)).status == 0
    assert [path.name for path in temporary.iterdir() if "report" in path.name] == []
