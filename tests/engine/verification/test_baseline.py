"""When a check that was red before the run is not held against a task; unclear cases are."""

from pathlib import Path

import pytest

from ralph_tui.domain.errors import SetupError
from ralph_tui.domain.verification.check_commands import CheckCommand, CheckKind, ProjectChecks
from ralph_tui.domain.verification.verification import GateResult, Receipt, ReceiptStatus
from ralph_tui.engine.control.undo import snapshots_of
from ralph_tui.engine.verification.baseline import (
    Baseline,
    BaselineFailure,
    cannot_start,
    circumstances,
    require_started,
)
from ralph_tui.engine.verification.check_command import CommandResult
from ralph_tui.engine.verification.detection.project_checks import GateRules
from ralph_tui.engine.verification.evidence.classify import Side
from ralph_tui.engine.verification.evidence.examined import Examined
from ralph_tui.engine.verification.evidence.trusted_base import ChangedFile, Inspection
from ralph_tui.engine.verification.gate import all_checks
from tests.engine.verification.evidence.projects import write

NOTHING = Inspection()


@pytest.mark.parametrize(
    ("changed", "other"),
    [
        ({"app.py": "x = 2\n"}, True),
        ({"new.py": ""}, True),
        ({".env": "KEY=2\n"}, True),  # git ignores it
        ({".coverage": "", "pkg/__pycache__/a.pyc": "", ".venv/x": ""}, False),
        ({}, False),
    ],
)
def test_circumstances_are_what_decides_the_results_of_checks(
    tmp_path: Path, changed: dict[str, str], other: bool
) -> None:
    write(tmp_path, {"app.py": "x = 1\n", ".gitignore": ".env\n.coverage\n", ".env": "KEY=1\n"})
    before = circumstances(snapshots_of(tmp_path), "", ["pytest"], "")
    write(tmp_path, changed)
    now = circumstances(snapshots_of(tmp_path), "", ["pytest"], "")
    assert before
    assert (now != before) is other
    assert circumstances(snapshots_of(tmp_path), "other settings", ["pytest"], "") != now


def ended(exit_code: int | None, tail: str = "", **outcomes: str) -> Examined:
    result = CommandResult(exit_code=exit_code, seconds=1, tail=tail)
    return Examined(result=result, outcomes=outcomes)


@pytest.mark.parametrize(
    ("before", "now", "excused"),
    [
        # The runner reports each test.
        ({"a": "failed", "b": "passed"}, {"a": "failed", "b": "passed"}, True),
        ({"a": "failed", "b": "passed"}, {"a": "failed", "b": "passed", "new": "passed"}, True),
        ({"a": "failed", "b": "failed"}, {"a": "passed", "b": "failed"}, True),
        ({"a": "failed", "b": "passed"}, {"a": "failed", "b": "failed"}, False),
        ({"a": "failed", "b": "passed"}, {"a": "passed", "b": "failed"}, False),
        ({"a": "failed", "b": "passed"}, {"a": "failed", "b": "passed", "new": "failed"}, False),
        ({"a": "failed", "b": "passed"}, {"a": "failed"}, False),
        ({"a": "failed", "b": "passed"}, {"a": "failed", "b": "skipped"}, False),
        ({"a": "failed", "b": "passed"}, {"a": "failed", "b": "xfailed"}, False),
        ({"a": "failed"}, {}, False),
        ({"a": "failed"}, {"a": "passed"}, False),  # red for another reason
    ],
)
def test_a_red_check_is_excused_only_while_no_test_is_worse(
    before: dict[str, str], now: dict[str, str], excused: bool
) -> None:
    known = BaselineFailure(exit_code=1, outcomes=before)
    assert known.excuses(ended(1, **now), NOTHING) is excused


@pytest.mark.parametrize(
    ("before", "now", "exit_code", "excused"),
    [
        ("a.py:3: error: bad\nFound 1 error\n", "a.py:9: error: bad\nFound 1 error\n", 1, True),
        ("a.py:3: error\nb.py:1: error\nFound 2 errors", "b.py:1: error\nFound 2 errors", 1, True),
        ("a.py:3: error: bad\nFound 1 error\n", "b.py:3: error: bad\nFound 1 error\n", 1, False),
        (
            "a.py:3: error\nFound 1 errors\n",
            "a.py:3: error\na.py:4: error\nFound 2 errors",
            1,
            False,
        ),
        (
            "pid 812 in /tmp/x1/a.log, 0x7f3a at 09:30:12\nError: no server (3f2a9bc1)\n12ms",
            "pid 9 in /tmp/y22/b.log, 0x1 at 10:01:00\nError: no server (77aa01e)\n1.2 s",
            1,
            True,
        ),
        ("a.py:3: error: bad", "a.py:3: error: bad\na.py:9: error: bad", 1, False),
        ("waiting\nno server", "waiting\nwaiting\nno server", 1, True),
        ("boom", "boom", 2, False),
        ("boom", "boom", None, False),
        ("boom", "boom", 0, False),
    ],
)
def test_a_tool_without_a_report_is_judged_by_what_it_prints(
    before: str, now: str, exit_code: int | None, excused: bool
) -> None:
    result = ended(exit_code, now)
    assert BaselineFailure(exit_code=1, tail=before).excuses(result, NOTHING) is excused
    script = {"lint.js (script)": "failed"}
    known = BaselineFailure(exit_code=1, tail=before, outcomes=script)
    assert known.excuses(result.model_copy(update={"outcomes": script}), NOTHING) is excused


def test_changed_check_files_and_a_runner_that_is_not_the_installed_one_are_no_excuse() -> None:
    known, now = BaselineFailure(exit_code=1, outcomes={"a": "failed"}), ended(1, a="failed")
    assert known.excuses(now, NOTHING)
    changed = ChangedFile(path="test_a.py", kind="changed", side=Side.CHECK, reason="is a test")
    weakened = Inspection(changes=(changed,))
    assert not known.excuses(now, weakened)
    lint = BaselineFailure(exit_code=1, tail="a.py:1: error")
    found = [lint.excuses(ended(1, "a.py:1: error"), weakened, c) for c in ("mypy .", "make test")]
    assert found == [True, False], "the tests are what mypy judges"
    assert known.excuses(now, weakened.model_copy(update={"allowed": ("test_a.py",)}))
    assert not known.excuses(now.model_copy(update={"run_faults": ("shadowed",)}), NOTHING)


def test_what_was_put_right_is_not_excused_again(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    baseline = Baseline(root)
    assert not baseline.load()
    red, empty = ended(1, a="failed", b="failed"), ended(5, "no tests ran")
    baseline.take("files", {"t": red, "lint": ended(0), "pytest": empty})
    assert baseline.holds("files", ("t", "lint", "pytest"))
    assert not baseline.holds("other", ("t", "lint", "pytest"))
    assert not baseline.holds("", ("t", "lint", "pytest"))
    again = Baseline(root)
    assert again.load()
    assert list(again.failures()) == [("t", "2 tests failed: a, b")]
    assert again.excuse("t", red, NOTHING) == (
        "already failed before this run (2 tests failed: a, b), and nothing got worse"
    )
    half = ended(1, a="passed", b="failed")
    again.accept({"t": half, "lint": ended(0)})
    assert not again.excuse("t", red, NOTHING)
    assert again.excuse("t", half, NOTHING)
    again.accept({"t": ended(0, a="passed", b="passed")})
    assert not list(again.failures())
    assert not Baseline(root, used=False).load()


def test_only_a_check_of_its_own_shows_a_task_beside_a_red_one() -> None:
    red = Receipt(command="t", source="backpressure", status=ReceiptStatus.RED_BEFORE)
    green = Receipt(command="lint", source="backpressure", status=ReceiptStatus.PASSED)
    beside = GateResult(task_id="a", receipts=(red, green))
    assert (beside.passed, beside.verified) == (True, False)
    assert GateResult(task_id="a", receipts=(red, green), shown=True).verified
    assert beside.basis == "1 check passed, 1 failed before this run, too"


NPM = {"package.json": '{"devDependencies": {"vitest": "1"}}', "package-lock.json": "{}"}
WORKSPACE = {"package.json": '{"workspaces": ["packages/*"]}', "packages/once/package.json": '{"dependencies": {"wrappy": "1"}}'}  # fmt: skip
NODE_TEST = {"package.json": '{"scripts": {"test": "node --test"}}'}
PLAN = "Add a slug command\nWrite slug.py and the program slugify."


@pytest.mark.parametrize(
    ("command", "status", "output", "files", "planned", "reason"),
    [
        # Tools that are not there.
        ("vitest run", 127, "bash: line 1: vitest: command not found", {}, None, "`vitest` is not"),
        ("npm test", 127, "> vitest run\n\nsh: 1: vitest: not found", {}, None, "`vitest` is not"),
        ("poetry run pytest", 127, "poetry: not found", {}, None, "`poetry` is not"),
        ("make test", 2, "make: pytest: No such file or directory\nmake: *** [Makefile:2: test] Error 127", {}, None, "`pytest` is not"),
        ("sh check.sh", 127, "check.sh: line 3: jq: command not found", {}, PLAN, "`jq` is not"),
        ("./x.py", 127, "/usr/bin/env: 'node': No such file or directory", {"x.py": ""}, PLAN, "`node` is not"),
        ("uv run pytest", 2, "error: Failed to spawn: `pytest`\n  Caused by: No such file", {}, PLAN, "`pytest` is not"),
        ("python -m pytest a.py", 1, "/usr/bin/python: No module named pytest", {}, PLAN, "`pytest` is not"),
        ("./check.sh", 126, "bash: line 1: ./check.sh: Permission denied", {"check.sh": ""}, PLAN, "`./check.sh` cannot be executed"),
        # Dependencies that are not installed.
        ("npm test", 127, "sh: 1: vitest: not found", NPM, PLAN, "the dependencies of package.json are not installed"),
        ("pnpm test", 1, "WARN node_modules missing, did you mean to install?", NPM, None, "the dependencies of package.json"),
        ("(cd web && npm test)", 127, "sh: 1: vitest: not found", {f"web/{n}": t for n, t in NPM.items()}, None, "the dependencies of web/package.json"),
        ("node a.test.js", 1, "Error: Cannot find package 'vitest' imported from", {**NPM, "node_modules/.x": ""}, PLAN, "vitest of package.json is not installed"),
        ("python t.py", 1, "ModuleNotFoundError: No module named 'requests'", {"requirements.txt": "requests"}, PLAN, "the dependency requests is not installed"),
        ("npm test", 1, "Error: Cannot find module 'wrappy'", WORKSPACE, None, "wrappy of package.json is not installed"),
        # What cannot be fetched or built.
        ("cargo test", 101, "error: failed to get `serde`\n  Could not resolve host: index.crates.io", {"Cargo.toml": ""}, None, "it cannot reach the network"),
        ("mvn -q test", 1, "Unknown host repo.maven.apache.org: Temporary failure in name resolution", {}, PLAN, "it cannot reach the network"),
        ("uv run pytest", 1, "  x Failed to build `lxml==4`", {}, None, "Failed to build"),
        ("uvx tox run -e py", 1, "py: failed with extras not found for package roman: test (available: none)", {}, None, "py: failed with extras not found"),
        ("pytest", 4, "ImportError while loading conftest '/p/conftest.py'.", {}, PLAN, "ImportError while loading conftest"),
        ("pytest", 4, "pytest: error: unrecognized arguments: --cov=x", {}, None, "pytest: error: unrecognized arguments: --cov=x"),
        ("npm test", 1, "Error: EROFS: read-only file system, mkdir '/root/.wrap'", {}, None, "it cannot write /root/.wrap"),
        ("npm test", 1, "ReferenceError: x is not defined\n    at f:1", NODE_TEST, None, "no test ran, and the status is 1: ReferenceError: x"),
        # Merely red, or the task's own work.
        ("pytest", 1, "pluggy.PluginValidationError: unknown argument", {}, PLAN, None),
        ("test -f a.txt", 1, "", {}, PLAN, None),
        ("npm test", 1, "3 failing", NPM, PLAN, None),
        ("./scripts/new.sh", 127, "bash: line 1: ./scripts/new.sh: No such file or directory", {}, PLAN, None),
        ("bash new.sh", 127, "bash: new.sh: No such file or directory", {}, PLAN, None),
        ("slugify x", 127, "bash: line 1: slugify: command not found", {}, PLAN, None),
        ("uv run slugify x", 2, "error: Failed to spawn: `slugify`", {}, PLAN, None),
        ("python new_test.py", 2, "python: can't open file '/p/new_test.py': [Errno 2] No such file", {}, PLAN, None),
        ("python -m newmod", 1, "/usr/bin/python: No module named newmod", {}, PLAN, None),
        ("pytest tests/test_new.py", 4, "ERROR: file or directory not found: tests/test_new.py", {}, PLAN, None),
        ("pytest tests/test_x.py", 5, "no tests ran", {}, PLAN, None),
        ("python t.py", 1, "ModuleNotFoundError: No module named 'slug'", {}, None, None),
        ("node a.test.js", 1, "Error: Cannot find module './sum.js'", NPM, PLAN, None),
        ("sh check.sh", 1, "check.sh: line 1: tput: command not found", {}, PLAN, None),
        ("make test", 2, "make: *** No rule to make target 'test'.  Stop.", {}, PLAN, None),
    ],
)  # fmt: skip
def test_a_check_that_cannot_start_is_told_from_one_that_is_red(
    tmp_path: Path,
    command: str,
    status: int,
    output: str,
    files: dict[str, str],
    planned: str | None,
    reason: str | None,
) -> None:
    write(tmp_path, files)
    found = cannot_start(command, ended(status, output), tmp_path, planned=planned)
    assert (found and found.reason[: len(reason or "")]) == reason


def test_a_check_in_which_a_test_passed_has_started(tmp_path: Path) -> None:
    one = ended(127, "sh: 1: vitest: not found", a="passed", b="failed")
    assert cannot_start("npm test", one, tmp_path) is None


def test_checks_that_the_same_keeps_from_starting_are_named_together(tmp_path: Path) -> None:
    output = "warning: CONNECT tunnel failed (3 tries left)\nerror: CONNECT tunnel failed"
    missing = {one: ended(101, output) for one in ("cargo test", "cargo check")}
    checks = all_checks((), GateRules(commands=tuple(missing)))
    said = "^`cargo test`, `cargo check` cannot start: it cannot reach the network: error: CONNECT"
    with pytest.raises(SetupError, match=said):
        require_started(tmp_path, checks, missing, (), ())


def test_a_check_that_names_tests_can_show_a_new_one(tmp_path: Path) -> None:
    baseline = Baseline(tmp_path)
    baseline.take("", {"a": ended(0), "b": ended(1), "c": ended(0, t="passed")})
    assert [one for one in "abc" if baseline.shows_nothing_new(one)] == ["a"]


def test_a_check_that_cannot_start_names_the_setting_that_names_it(tmp_path: Path) -> None:
    lint = CheckCommand(kind=CheckKind.LINT, command="lint-it", file="package.json")
    rules = GateRules(commands=("lint-it", "other"), checks=ProjectChecks(commands=(lint,)))
    checks = all_checks((), rules)
    missing = {one.command: ended(127, f"sh: 1: {one.command}: not found") for one in checks}
    with pytest.raises(SetupError) as refused:
        require_started(tmp_path, checks, missing, (), ())
    left_out = "another command with build.lint_command. `true` leaves the check out."
    assert left_out in refused.value.hint
    assert "another command with phases.building.backpressure." in refused.value.hint
