"""What `ralph doctor` finds when something of the guard is not as it must be."""

import json
import os
import re
import shutil
import subprocess
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from ralph_tui.cli.doctor import checks, guard_layers
from ralph_tui.cli.doctor.checks import readiness, try_checks_of
from ralph_tui.cli.doctor.preflight import Finding
from ralph_tui.engine.safety.processes import RUN_MARK
from ralph_tui.engine.verification import check_command
from ralph_tui.guard.sandbox.environment import SHIMS
from ralph_tui.guard.sandbox.os_sandbox import cli_sandbox_prefix, sandbox_problem
from ralph_tui.store.project import Project
from ralph_tui.store.project_root import AGENT_OF
from tests.cli.processes import inside
from tests.guard.test_os_sandbox import broken
from tests.harness.projects import make_project, repository, task
from tests.harness.real_processes import PYTHON_HERE


def found(name: str, start: Path) -> Finding:
    return next(finding for finding in checks.examine(start) if finding.name == name)


@pytest.fixture(autouse=True)
def no_cli(monkeypatch: pytest.MonkeyPatch) -> None:
    """Asking the CLI for its version takes a second and is tested elsewhere."""
    monkeypatch.setattr(checks, "cli_version", lambda: "2.1")


def passed_over(*_: object) -> str:
    return ""


@pytest.fixture
def unguarded(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests of what comes after the guard, whose process takes a third of a second."""
    monkeypatch.setattr(guard_layers, "_guard", passed_over)


@pytest.fixture
def quick(unguarded: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests of what comes after the layers that start a Python each."""
    monkeypatch.setattr(guard_layers, "_shims", passed_over)


def test_the_guard_is_tried(tmp_path: Path) -> None:
    finding = found("guard", tmp_path)
    assert (finding.ok, finding.needed) == (True, True)


def test_a_guard_that_does_not_start_is_told(
    own_processes: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ralph_tui.guard.command_judge.sys.executable", "/bin/false")
    finding = found("guard", tmp_path)
    assert not finding.ok
    assert "every command would be denied" in finding.text
    assert finding.advice


def test_a_python_that_is_not_there_is_told_before_a_run(tmp_path: Path) -> None:
    assert found("python", tmp_path).ok
    (tmp_path / ".python-version").write_text("3.99\n")
    finding = found("python", tmp_path)
    assert (finding.ok, finding.needed) == (False, False)
    assert "3.99" in finding.text
    assert "uv python install" in finding.advice


@pytest.mark.usefixtures("unguarded")
def test_a_shim_that_cannot_be_run_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert found("shims", tmp_path).ok
    shims = tmp_path / "shims"
    (shims / "hooks").mkdir(parents=True)
    for name, mode in (("git", 0o755), ("pip", 0o644), ("common.sh", 0o644)):
        (shims / name).write_text("#!/bin/sh\n", encoding="utf-8")
        (shims / name).chmod(mode)
    monkeypatch.setattr("ralph_tui.guard.sandbox.environment.SHIMS", shims)
    finding = found("shims", tmp_path)
    assert (finding.ok, finding.text) == (False, "cannot be run: pip")


@pytest.mark.usefixtures("unguarded")
def test_no_shims_at_all_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ralph_tui.guard.sandbox.environment.SHIMS", tmp_path / "nowhere")
    finding = found("shims", tmp_path)
    assert (finding.ok, finding.text) == (False, f"none in {tmp_path / 'nowhere'}")


@pytest.mark.usefixtures("unguarded")
def test_a_shim_that_lets_a_commit_through_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shims = tmp_path / "shims"
    shutil.copytree(SHIMS, shims)
    (shims / "git").write_text("#!/bin/sh\nexit 0\n", encoding="utf-8")
    monkeypatch.setattr("ralph_tui.guard.sandbox.environment.SHIMS", shims)
    finding = found("shims", tmp_path)
    assert (finding.ok, finding.needed) == (False, True)
    assert finding.text == "do not refuse git commit (it was done)"


@pytest.mark.usefixtures("quick")
def test_the_hook_of_git_is_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert found("git hook", tmp_path).ok
    monkeypatch.setattr("ralph_tui.guard.sandbox.environment.SHIMS", tmp_path / "nowhere")
    assert "does not refuse a commit" in found("git hook", tmp_path).text


@pytest.mark.usefixtures("quick")
def test_a_secret_that_reaches_a_command_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert found("secrets", tmp_path).ok
    monkeypatch.setattr("ralph_tui.guard.sandbox.environment.is_secret_name", lambda _: False)
    finding = found("secrets", tmp_path)
    assert (finding.ok, finding.needed) == (False, True)
    assert finding.text == "a command sees variables with secret names"


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("there", [(), ("bwrap",)])
def test_a_missing_sandbox_is_told_and_not_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: tuple[str, ...]
) -> None:
    monkeypatch.setattr("ralph_tui.guard.sandbox.os_sandbox.sys.platform", "linux")
    monkeypatch.setattr(
        "ralph_tui.guard.sandbox.os_sandbox.shutil.which",
        lambda name: f"/usr/bin/{name}" if name in (*there, "uv", "git") else None,
    )
    finding = found("sandbox", tmp_path)
    assert (finding.ok, finding.needed) == (False, False)
    missing = [name for name in ("bwrap", "socat") if name not in there]
    told = f"not available: {' and '.join(missing)} {'are' if missing[1:] else 'is'} not installed"
    assert finding.text == told
    assert "apt install bubblewrap socat" in finding.advice


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("mode", ["off", "auto", "required"])
def test_a_sandbox_is_tried_and_needed_when_it_is_required(tmp_path: Path, mode: str) -> None:
    (tmp_path / ".ralph").mkdir()
    (tmp_path / ".ralph" / "config.yaml").write_text(f"safety: {{sandbox: '{mode}'}}\n")
    finding = found("sandbox", tmp_path)
    assert finding.needed is (mode == "required")
    assert finding.ok is (mode != "off" and not sandbox_problem())


@pytest.mark.usefixtures("quick")
@pytest.mark.needs("sandbox")
def test_a_sandbox_that_is_installed_and_broken_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", broken(tmp_path / "bin", "socat", "UNIX-LISTEN*"))
    finding = found("sandbox", tmp_path)
    assert (finding.ok, finding.text) == (False, "not available: socat does not work (broken)")


@pytest.mark.long
@pytest.mark.usefixtures("quick")
def test_keys_that_a_script_can_read_are_named_where_there_is_no_sandbox(
    tmp_path: Path, isolated: Path
) -> None:
    (isolated / ".claude").mkdir()
    login = isolated / ".claude" / ".credentials.json"
    login.write_text("{}")
    program = "import sys; from tests.cli.test_doctor import keys; print(keys(sys.argv[1]))"
    shell = f"{PYTHON_HERE} -c '{program}' {tmp_path}; :"
    done = subprocess.run(
        ["sh", "-c", shell],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "SOME_TOKEN": "of the person"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "SOME_TOKEN in the environment of sh (pid " in done.stdout
    assert str(login) in done.stdout


def keys(start: str) -> str:
    """What doctor says about keys where the sandbox is off."""
    Path(start, ".ralph").mkdir()
    Path(start, ".ralph", "config.yaml").write_text("safety: {sandbox: 'off'}\n")
    return next(f.text for f in guard_layers.check_layers(Path(start), "off") if f.name == "keys")


REACH = "reach a host that is not allowed"


@pytest.mark.usefixtures("quick")
@pytest.mark.needs("sandbox")
@pytest.mark.parametrize(
    ("hole", "told"),
    [
        (
            lambda _: ("env",),
            f"write to .git, write to .ralph, write outside the project, read ~/.ssh, {REACH}",
        ),
        pytest.param(
            lambda words: [word for word in words if word != "--unshare-net"],
            REACH,
            marks=pytest.mark.long,
        ),
    ],
    ids=["all", "network"],
)
def test_what_a_sandbox_lets_a_command_do_is_said(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    hole: Callable[[tuple[str, ...]], Sequence[str]],
    told: str,
) -> None:
    monkeypatch.setattr(
        "ralph_tui.guard.sandbox.os_sandbox.cli_sandbox_prefix",
        lambda *held: hole(cli_sandbox_prefix(*held)),
    )
    finding = found("sandbox", tmp_path)
    assert (finding.ok, finding.text) == (False, f"does not hold, a command can {told}")


@pytest.mark.usefixtures("no_layers")
def test_a_server_without_its_variable_is_found(tmp_path: Path) -> None:
    Project(tmp_path).create()
    Project(tmp_path).layout.config.write_text(
        'phases: {validation: {mcp_servers: {eyes: {command: x, env: {A: "${NO_SUCH_VARIABLE}"}}}}}\n',
        encoding="utf-8",
    )
    config = found("config", tmp_path)
    assert not config.ok
    assert "NO_SUCH_VARIABLE is not set" in config.text


@pytest.mark.usefixtures("no_layers")
def test_the_screen_says_before_a_run_who_works_and_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    Project(tmp_path).create()
    first, *wrong = list(readiness(tmp_path))
    assert first.text == "sonnet builds, opus plans; up to 100 iterations, $50"
    assert any(
        n.level == "error" and n.text.startswith("login: There is no API key") for n in wrong
    )
    assert any(n.level == "warning" and n.text.startswith("git: not a rep") for n in wrong)
    assert not any("plan" in n.text for n in wrong), "the screen says itself that there is none"
    (tmp_path / ".ralph" / "config.yaml").write_text("modles: {}\n")
    (only,) = readiness(tmp_path)
    assert only.level == "error"
    assert "modles" in only.text


@pytest.mark.usefixtures("no_layers")
@pytest.mark.parametrize("name", [".ralph/fix_plan.md", "prd.json"])
def test_it_is_said_what_to_do_with_the_plan_of_another_tool(tmp_path: Path, name: str) -> None:
    project = make_project(tmp_path, [])
    assert "another tool" not in advice_on_the_plan(project)
    (project / name).write_text("- [ ] Parse the log", encoding="utf-8")
    told = advice_on_the_plan(project)
    assert told.startswith(
        f"{name} is a plan of another tool. Import it with `ralph import {name}`."
    )
    worked = make_project(tmp_path / "worked", [task("a")])
    (worked / name).write_text("- [ ] Parse the log", encoding="utf-8")
    assert "another tool" not in advice_on_the_plan(worked)


def advice_on_the_plan(project: Path) -> str:
    return found("plan", project).advice


@pytest.mark.usefixtures("no_layers")
def test_what_is_not_there_yet_is_next_and_not_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "dummy")
    root = tmp_path / "fresh"
    assert inside("init", "-C", str(root), cwd=tmp_path).returncode == 0
    done = inside("doctor", cwd=root)
    assert done.returncode == 0
    assert "wrong" not in done.stdout
    plan = next(line for line in done.stdout.splitlines() if " no tasks yet" in line)
    assert " next " in plan
    told = json.loads(inside("doctor", "--json", cwd=root).stdout)
    assert [f["name"] for f in told if f["is_next"]] == ["checks", "plan"]
    (root / ".ralph" / "implementation_plan.json").write_text(
        '{"tasks": [{"id": "a", "description": "x", "dependencies": ["b"]}]}'
    )
    broken = found("plan", root)
    assert (broken.ok, broken.is_next) == (False, False)


@pytest.mark.usefixtures("no_layers")
def test_the_checks_of_the_project_are_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"Makefile": "test:\n\ttrue\n"}
    project = make_project(tmp_path, [task("a")], ["detected", "true"], files=files)
    assert found("checks", project).text == "tests `make test` from Makefile test"
    told = [notice.text for notice in readiness(project)]
    assert "The gate runs `make test`, `true` for every task." in told
    monkeypatch.setattr(shutil, "which", lambda _: None)
    missing = found("checks", project)
    assert (missing.ok, missing.needed) == (False, True)
    assert missing.text.startswith("make is not installed; ")
    (tmp_path / "go.mod").touch()
    assert "; types and lint `go vet ./...` from go.mod" in found("checks", tmp_path).text


@pytest.mark.usefixtures("no_layers")
def test_what_keeps_ralph_from_committing_is_found_before_a_run(tmp_path: Path) -> None:
    project = make_project(tmp_path, [task("a")])
    assert not [finding for finding in checks.examine(project) if finding.name == "commits"]
    settings = project / ".ralph" / "config.yaml"
    text = settings.read_text()
    settings.write_text(f"{text}git: {{commit: task}}\n")
    nowhere = found("commits", project)
    assert (nowhere.ok, nowhere.needed) == (False, True)
    assert "git init" in nowhere.advice
    repository(project)
    protected = found("commits", project)
    assert not protected.ok
    assert "protected branch main" in protected.text
    settings.write_text(f"{text}git: {{commit: task, branch: feature}}\n")
    ready = found("commits", project)
    assert ready.ok
    assert ready.text == "one for each verified task, on the branch feature/project"
    (project / "pyproject.toml").write_text("")
    dirty = found("commits", project)
    assert not dirty.ok
    assert "pyproject.toml" in dirty.text


@pytest.mark.usefixtures("no_layers")
def test_what_a_dead_run_left_is_named_and_ended_only_when_asked(tmp_path: Path) -> None:
    project, other = tmp_path / "project", tmp_path / "other"
    for root in (project, other):
        root.mkdir()
        Project(root).create()
    with left_by_a_dead_run(project) as left, left_by_a_dead_run(other) as of_another_project:
        strays = found("strays", project)
        assert (strays.ok, strays.needed) == (False, False)
        assert f"pid {left.pid} (" in strays.text
        assert str(of_another_project.pid) not in strays.text
        assert left.poll() is None
        ended = inside("doctor", "--end-strays", cwd=project)
        assert f"pid {left.pid} (" in ended.stderr
        assert ended.stderr.rstrip().endswith("Ended.")
        assert left.wait(20) < 0
        assert of_another_project.poll() is None
        assert "Ended." not in inside("doctor", "--end-strays", cwd=project).stderr


@contextmanager
def left_by_a_dead_run(root: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process with the marks of a run in `root`, which is not there any more."""
    marks = {RUN_MARK: uuid.uuid4().hex, AGENT_OF: os.path.realpath(root)}
    with subprocess.Popen(["sleep", "600"], env={**os.environ, **marks}) as process:
        try:
            yield process
        finally:
            process.kill()


WATCH = "console.log('Waiting for file changes...'); setInterval(() => {}, 1e6)"
PASSES = "require('node:test').test('a', () => {})"


@pytest.mark.needs("sandbox", "node")
def test_each_check_is_tried_as_a_run_would(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check_command, "IDLE_SECONDS", 0.3)
    scripts = {"test": "vitest run", "lint": "node lint.js", "typecheck": "node types.js"}
    scripts["more"] = "vitest more"
    commands = "phases: {building: {backpressure: [detected, npm run more]}}"
    package = {"private": True, "scripts": scripts, "devDependencies": {"vitest": "1"}}
    files = {"lint.js": "console.log('3 problems'); process.exit(1)", "types.js": WATCH}
    files |= {"package.json": json.dumps(package), ".ralph/config.yaml": commands}
    (tmp_path / ".ralph").mkdir()
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    told = {one.text.split("`")[1]: one for one in try_checks_of(tmp_path)}
    assert told["npm test"].text.startswith("`npm test`, `npm run more` cannot start: the dep")
    assert "`npm install`" in told["npm test"].advice
    assert "does not end: it waits for changes" in told["npm run typecheck"].text
    assert [one.needed for one in told.values()] == [True, True, False]
    assert told["npm run lint"].text.endswith("3 problems")
    scripts = {
        "pretest": "mkdir -p out && touch out/a a.log Cargo.lock",
        "test": "npm test --workspaces",
    }
    root = {"private": True, "workspaces": ["a", "b"], "scripts": scripts}
    (tmp_path / "package.json").write_text(json.dumps(root))
    for name in ("a", "b"):
        one = {"name": name, "version": "1.0.0", "scripts": {"test": "node --test"}}
        (tmp_path / name).mkdir()
        (tmp_path / name / "package.json").write_text(json.dumps(one))
        (tmp_path / name / "x.test.js").write_text(PASSES)
    (tmp_path / ".ralph/config.yaml").unlink()
    done = inside("doctor", "--try", cwd=tmp_path)
    said = r"(?s)ok +tried +`npm test` passes \(2 tests, .*made +the checks wrote Cargo.lock, a.log, out/a in"
    assert re.search(said, done.stdout), done.stdout
    notices = [notice.text for notice in readiness(tmp_path)]
    assert any(re.search("Tried: `npm test` passes .* ago", text) for text in notices)


def test_a_user_without_a_home_is_told_what_to_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nowhere() -> Path:
        raise RuntimeError("Could not determine home directory.")

    Project(tmp_path).create()
    monkeypatch.setattr(Path, "home", nowhere)
    done = inside("until", "true", cwd=tmp_path)
    assert (done.returncode, "Set HOME to a directory of yours." in done.stderr) == (3, True)
