"""The commands, through the real program."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ralph_tui.cli.app import GROUPS as HELP_GROUPS
from ralph_tui.cli.app import command_tree
from ralph_tui.domain.project_state import SessionRecord
from ralph_tui.store.layout import Layout
from ralph_tui.store.lock import LoopLock
from ralph_tui.store.project import Project
from tests.cli.processes import inside, ralph
from tests.cli.recorded import HOSTILE
from tests.harness.projects import make_project, task

TASKS = [
    {"id": "task-001", "description": f"First {HOSTILE}", "status": "complete", "priority": 1},
    {"id": "task-002", "description": "Second", "dependencies": ["task-001"], "priority": 2},
    {"id": "task-003", "description": "Third", "dependencies": ["task-002"]},
]


def write_plan(root: Path, tasks: object) -> None:
    Layout(root).plan.write_text(json.dumps({"tasks": tasks}), encoding="utf-8")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "sample"
    root.mkdir()
    Project(root).create()
    write_plan(root, TASKS)
    return root


@pytest.fixture
def running(project: Path) -> Iterator[Path]:
    """The project while a loop owns it: this very process."""
    lock = LoopLock(Layout(project))
    lock.acquire("run-1")
    yield project
    lock.release()


def said(done: "subprocess.CompletedProcess[str]") -> list[str]:
    """What a failed command said: no data, no traceback, one sentence and a hint."""
    assert done.stdout == ""
    lines = done.stderr.splitlines()
    assert lines[0].startswith("ralph: ")
    assert "Traceback" not in done.stderr
    return lines


def test_every_command_of_the_tree_is_in_exactly_one_group() -> None:
    grouped = [name for names in HELP_GROUPS.values() for name in names]
    root = command_tree()
    shown = [name for name, command in root.commands.items() if not command.hidden]
    assert sorted(grouped) == sorted(shown)


def test_the_shell_completes_commands_and_options(tmp_path: Path) -> None:
    def completed(line: str) -> set[str]:
        count = len(line.split()) - (not line.endswith(" "))
        environ = {
            **os.environ,
            "_RALPH_COMPLETE": "complete_bash",
            "COMP_WORDS": line,
            "COMP_CWORD": str(count),
        }
        done = inside(cwd=tmp_path, environ=environ)
        assert "Traceback" not in done.stderr
        return set(done.stdout.split())

    assert {"regenerate-plan", "resume", "run"} <= completed("ralph r")
    assert {"--answers", "--yes", "--headless"} <= completed("ralph run --")
    assert {"set", "show"} <= completed("ralph config ")


@pytest.mark.parametrize("words", [("status",), ("tasks",), ("inject", "x"), ("build",), ()])
def test_without_a_project_every_command_says_so(tmp_path: Path, words: tuple[str, ...]) -> None:
    done = inside(*words, cwd=tmp_path)
    assert done.returncode == 3
    assert "No ralph project in" in done.stderr
    assert "ralph init" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_ralph_directory_that_cannot_be_read(project: Path) -> None:
    dot = Layout(project).dot
    dot.chmod(0)
    try:
        done = inside("status", cwd=project)
    finally:
        dot.chmod(0o700)
    assert done.returncode == 3
    assert ".ralph" in said(done)[0]


def test_status_is_found_from_inside_the_project(project: Path) -> None:
    below = project / "src" / "deep"
    below.mkdir(parents=True)
    done = inside("status", cwd=below)
    assert (done.returncode, done.stderr) == (0, "")
    facts = dict(line.split(None, 1) for line in done.stdout.splitlines())
    assert facts["project"] == str(project)
    assert facts["loop"] == "not running"
    assert facts["tasks"] == "3 tasks: 2 pending, 1 complete"
    assert facts["next"].startswith("task-002: Second (priority 2")


def test_sessions_are_listed(project: Path) -> None:
    assert inside("history", cwd=project).stdout == "No session has ended yet.\n"
    ended = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
    Project(project).archive_session(
        SessionRecord(
            session_id="s1",
            iteration=7,
            cost_usd=1.25,
            tokens_used=52_000,
            duration_ms=61_000,
            task_id="task-001",
            handoff_reason="the context was 62 % full",
            ended_at=ended,
        )
    )
    row = inside("history", cwd=project).stdout.splitlines()[1].split()
    assert row[:8] == ["2026-01-02", "03:04", "7", "task-001", "$1.25", "52k", "1m", "01s"]
    assert json.loads(inside("history", "--json", cwd=project).stdout)[0]["session_id"] == "s1"
    assert "task-001  $1.25" in inside("status", "-v", cwd=project).stdout


@pytest.mark.parametrize(
    ("command", "unbuffered"), [("tasks", ""), ("tasks", "1"), ("init -C new --no-python", "1")]
)
def test_a_reader_that_leaves_early_is_no_error_and_stops_nothing_in_the_middle(
    project: Path, command: str, unbuffered: str
) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "ralph_tui", *command.split()],
        cwd=project,
        env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
        stdout=writer,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writer)
    assert (done.returncode, b"is a ralph project, too" in done.stderr) == (0, "new" in command)
    assert (project / "new" / "AGENTS.md").is_file() == ("new" in command)


@pytest.mark.parametrize("headless", [(), ("--headless",)])
def test_a_run_needs_a_login_before_anything_is_spent(
    project: Path, headless: tuple[str, ...]
) -> None:
    done = inside("build", *headless, cwd=project)
    assert done.returncode == 3
    assert "There is no API key and no Claude login." in done.stderr
    assert "ANTHROPIC_API_KEY" in done.stderr
    assert ("runs in line mode" in done.stderr) is (headless == ())
    assert not Layout(project).events.exists()


def test_a_run_needs_uv(project: Path, tmp_path: Path) -> None:
    environ = {**os.environ, "PATH": str(tmp_path), "ANTHROPIC_API_KEY": "dummy"}
    done = inside("build", "--headless", cwd=project, environ=environ)
    assert done.returncode == 3
    assert said(done) == [
        "ralph: uv is not installed, or not on the PATH.",
        "  Install it: pip install uv",
    ]


def test_a_run_without_python_needs_no_uv(project: Path, tmp_path: Path) -> None:
    (project / "go.mod").write_text("module example.com/x\n")
    environ = {**os.environ, "PATH": str(tmp_path)}
    done = inside("build", "--headless", cwd=project, environ=environ)
    assert said(done)[0] == "ralph: There is no API key and no Claude login."
    findings = json.loads(inside("doctor", "--json", cwd=project, environ=environ).stdout)
    assert "uv" not in {one["name"] for one in findings}
    (project / ".ralph" / "config.yaml").write_text(
        "phases: {building: {backpressure: [uv run x]}}\n"
    )
    again = inside("build", "--headless", cwd=project, environ=environ)
    assert said(again)[0] == "ralph: uv is not installed, or not on the PATH."


def test_a_demo_whose_tool_is_missing_says_which_and_what_runs_instead(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    for tool in ("node", "npm", "go"):
        works = tool != "go"
        (tmp_path / "bin" / tool).write_text(f"#!/bin/sh\necho v1\nexit {int(not works)}\n")
        (tmp_path / "bin" / tool).chmod(0o755)
    environ = {**os.environ, "PATH": str(tmp_path / "bin")}
    listed = inside("demo", "--list", "--json", cwd=tmp_path, environ=environ)
    tools = {one["name"]: one["tools"] for one in json.loads(listed.stdout)}
    assert tools == {
        "python": {"uv": False},
        "go": {"go": False},
        "npm": {"node": True, "npm": True},
        "rust": {"cargo": False, "cc": False},
    }
    table = inside("demo", "--list", cwd=tmp_path, environ=environ).stdout.splitlines()
    assert "`ralph until" in table[-1]
    assert [("(missing)" in line) for line in table[:5]] == [False, True, True, False, True]
    rust = inside("demo", "rust", "--headless", cwd=tmp_path, environ=environ)
    assert (rust.returncode, said(rust)) == (
        3,
        [
            "ralph: cargo is not installed, or not on the PATH.",
            "  Install it: https://rustup.rs, or run `ralph demo`, which needs only uv.",
        ],
    )
    go = inside("demo", "go", "--headless", cwd=tmp_path, environ=environ)
    assert "does not work: v1" in go.stderr
    assert "Repair it until `go version` works, or run `ralph demo`" in go.stderr


def test_a_broken_uv_is_named(project: Path, tmp_path: Path) -> None:
    fake = tmp_path / "uv"
    fake.write_text("#!/bin/sh\necho cannot open shared object >&2\nexit 127\n", encoding="utf-8")
    fake.chmod(0o755)
    environ = {**os.environ, "PATH": f"{tmp_path}:/usr/bin:/bin", "ANTHROPIC_API_KEY": "dummy"}
    done = inside("run", "--headless", cwd=project, environ=environ)
    assert done.returncode == 3
    assert "cannot open shared object" in said(done)[0]


def test_settings_are_shown_with_their_source(project: Path) -> None:
    Layout(project).config.write_text("models:\n  primary: haiku\n", encoding="utf-8")
    environ = {**os.environ, "RALPH_MAX_ITERATIONS": "7"}
    shown = json.loads(inside("config", "show", "--json", cwd=project, environ=environ).stdout)
    assert shown["models.primary"] == {
        "value": "haiku",
        "source": f"{Layout(project).config}:2",
        "topic": "Model and context",
    }
    assert shown["phases.building.max_iterations"]["source"] == "RALPH_MAX_ITERATIONS"
    assert shown["models.planning"]["source"] == "default"
    lines = inside("config", "show", cwd=project).stdout.splitlines()
    at = lines.index("Model and context")
    assert lines[at + 1].split() == ["models.primary", '"haiku"', "project", ".ralph/config.yaml:2"]


@pytest.mark.usefixtures("no_layers")
def test_doctor_explains_itself_without_a_project(tmp_path: Path) -> None:
    done = inside("doctor", cwd=tmp_path)
    assert done.returncode == 3
    assert "Run `ralph init` in your project." in done.stdout


def test_build_commands_pass_arguments_and_status_on(project: Path) -> None:
    Layout(project).config.write_text(
        "build:\n  test_command: \"sh -c 'echo $0 $1; exit 7'\"\n  lint_command: 'kill -9 $$;'\n",
        encoding="utf-8",
    )
    done = ralph("test", "--", "-k", "two words", cwd=project)
    assert (done.returncode, done.stdout) == (7, "-k two words\n")
    assert inside("lint", cwd=project).returncode == 128 + 9
    missing = inside("typecheck", cwd=project)
    assert (missing.returncode, "no type checker" in missing.stderr) == (3, True)


@pytest.mark.long
def test_dependencies_go_through_uv(project: Path, tmp_path: Path) -> None:
    fake = tmp_path / "uv"
    fake.write_text('#!/bin/sh\necho "uv $@"\nexit 5\n', encoding="utf-8")
    fake.chmod(0o755)
    environ = {**os.environ, "PATH": f"{tmp_path}:/usr/bin:/bin"}

    def deps(*words: str) -> tuple[int, str]:
        done = ralph("deps", *words, cwd=project, environ=environ)
        return done.returncode, done.stdout.strip()

    assert deps("add", "--dev", "hypothesis") == (5, "uv add --dev -- hypothesis")
    assert deps("remove", "hypothesis") == (5, "uv remove -- hypothesis")
    assert deps("sync") == (5, "uv sync")


def test_looking_changes_nothing(project: Path) -> None:
    def everything() -> dict[Path, bytes]:
        files = (path for path in project.rglob("*") if path.is_file())
        return {path: path.read_bytes() for path in files}

    before = everything()
    looks = (
        "status -v",
        "tasks",
        "history",
        "config show",
        "doctor",
        "memory",
        "answer",
    )
    for words in (*map(str.split, looks), ["memory", "--stats"], ["guard", "check", "git push"]):
        inside(*words, cwd=project)
    assert everything() == before


def test_the_project_may_be_named_before_the_command(project: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    for words in (["-C", str(project)], [f"--project-root={project}"], [f"-C{project}"]):
        done = inside(*words, "status", "--json", cwd=tmp_path / "elsewhere")
        assert json.loads(done.stdout)["project"] == str(project)
    nearer = inside("-C", str(tmp_path), "status", "-C", str(project), cwd=tmp_path)
    assert str(project) in nearer.stdout
    refused = inside("-C", str(project), "demo", cwd=tmp_path)
    assert (refused.returncode, "takes no -C" in refused.stderr) == (3, True)
    asked = inside("-C", str(tmp_path / "elsewhere"), "Build a thing", "--headless", cwd=tmp_path)
    assert "has no .ralph directory" in asked.stderr, "a request, and not the name of a command"


def test_help_has_every_usual_name(tmp_path: Path) -> None:
    whole = inside("--help", cwd=tmp_path).stdout
    assert inside("-h", cwd=tmp_path).stdout == inside("help", cwd=tmp_path).stdout == whole
    one = inside("build", "--help", cwd=tmp_path).stdout
    assert inside("build", "-h", cwd=tmp_path).stdout == one
    assert inside("help", "build", cwd=tmp_path).stdout == one
    assert inside("help", "config", "show", cwd=tmp_path).stdout.startswith(
        "Usage: ralph config show"
    )
    assert inside("help", "nothing", cwd=tmp_path).returncode == 3


def test_completion_is_for_the_shell_that_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert "complete --command ralph" in inside("--show-completion", "fish", cwd=tmp_path).stdout
    assert "compdef" in inside("--show-completion=zsh", cwd=tmp_path).stdout
    done = inside("--install-completion", "fish", cwd=tmp_path)
    assert done.returncode == 0
    assert "ralph" in (tmp_path / ".config/fish/completions/ralph.fish").read_text()
    unknown = inside("--install-completion", "tcsh", cwd=tmp_path)
    assert (unknown.returncode, "bash, zsh, fish" in unknown.stderr) == (3, True)


@pytest.mark.parametrize(("run_id", "is_told"), [("run-1", True), ("archive", False)])
def test_status_says_that_the_last_run_was_killed(
    tmp_path: Path, run_id: str, *, is_told: bool
) -> None:
    root = make_project(tmp_path, [task("a")])
    assert "killed" not in inside("status", cwd=root).stdout
    child = os.fork()
    if child == 0:
        try:
            LoopLock(Layout(root)).acquire(run_id)
        finally:
            os._exit(0)  # without a word, as after kill -9
    os.waitpid(child, 0)
    told = inside("status", cwd=root).stdout
    assert "not running" in told
    assert (f"the last run was killed (pid {child}" in told) is is_told
    again = LoopLock(Layout(root))
    again.acquire("run-2")
    assert "killed" not in inside("status", cwd=root).stdout
    again.release()
    assert "killed" not in inside("status", cwd=root).stdout
