"""Imports, crashes, logins: what holds whatever the command."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from ralph_tui.agent.login import check_login, login
from ralph_tui.cli.console import no_screen
from ralph_tui.cli.main import QUICK
from ralph_tui.domain.errors import SetupError
from ralph_tui.store.crash_reports import write_report
from ralph_tui.store.layout import Layout
from ralph_tui.store.project import Project
from tests.cli.processes import inside, python
from tests.harness.projects import make_project, task
from tests.harness.real_processes import PYTHON_HERE

HEAVY = ("textual", "claude_agent_sdk", "mcp", "rich", "watchfiles")
PARSER = "typer"
UNREAD = (
    "shutil",
    "tempfile",
    "ctypes",
    "ralph_tui.domain.documents.validation_report",
    "ralph_tui.domain.documents.extensions",
)
"""What a look at the documents has no use for; together a twentieth of its time."""


@pytest.mark.parametrize("words", ["--help", "status", "tasks", "inject x"])
def test_quick_commands_load_nothing_heavy(tmp_path: Path, words: str) -> None:
    Project(tmp_path).create()
    program = (
        "import sys\n"
        "from ralph_tui.cli.main import main\n"
        "try:\n"
        f"    main({words.split()!r})\n"
        "except SystemExit as left:\n"
        "    assert left.code == 0, left.code\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)\n"
    )
    program += f"assert ({PARSER!r} in sys.modules) is {words != 'status'}\n"
    if words == "status":
        program += f"print([name for name in {UNREAD!r} if name in sys.modules], file=sys.stderr)\n"
    done = python("-c", program, cwd=tmp_path)
    assert done.stderr.splitlines()[-1] == "[]"


def test_help_waits_for_nothing(tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "from ralph_tui.cli.main import main\n"
        "try:\n"
        "    main(['--help'])\n"
        "except SystemExit:\n"
        "    print([n for n in ('pydantic', 'asyncio', 'yaml') if n in sys.modules], file=sys.stderr)\n"
    )
    assert python("-c", program, cwd=tmp_path).stderr == "[]\n"


def test_finding_the_cli_does_not_import_the_sdk(tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "from ralph_tui.cli.doctor.checks import cli_version\n"
        "print(cli_version())\n"
        "print('claude_agent_sdk' in sys.modules)\n"
    )
    done = python("-c", program, cwd=tmp_path)
    assert "Claude Code" in done.stdout
    assert done.stdout.endswith("False\n")


def test_an_unexpected_error_becomes_a_sentence_and_a_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Project(tmp_path).create()
    monkeypatch.setenv("MY_API_KEY", "hunter2hunter2")

    def explode(*_: object, **__: object) -> None:
        msg = "no such thing as hunter2hunter2 \x1b[31m"
        raise LookupError(msg)

    monkeypatch.setattr("ralph_tui.cli.status_report.status_facts", explode)
    done = inside("status", cwd=tmp_path)
    assert done.returncode == 3
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert "(LookupError)" in done.stderr
    (report,) = Layout(tmp_path).logs.iterdir()
    assert str(report) in done.stderr
    text = report.read_text(encoding="utf-8")
    assert "Traceback" in text
    assert "no such thing as [redacted]" in text
    assert "\x1b" not in text
    assert stat.S_IMODE(report.stat().st_mode) == 0o600


def test_without_a_project_the_report_goes_to_temporary_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    report = write_report(ValueError("x"), tmp_path)
    assert report.is_file()
    assert list(tmp_path.iterdir()) == []
    report.unlink()


def test_ctrl_c_during_a_command_leaves_130(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("ralph_tui.cli.status_report.find_project", interrupted)
    done = inside("status", cwd=tmp_path)
    assert done.returncode == 130
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("words", QUICK, ids=" ".join)
def test_the_front_door_answers_as_the_tree_does(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answers() -> list[tuple[int, str, str]]:
        done = [inside(*words, cwd=where) for where in (root, tmp_path)]
        return [(d.returncode, d.stdout, d.stderr) for d in done]

    root = make_project(tmp_path, [task("only-one")])
    quick = answers()
    monkeypatch.setattr("ralph_tui.cli.main.QUICK", {})
    assert answers() == quick
    assert [status for status, *_ in quick] == [0, 3]
    assert "only-one" in quick[0][1] or "total" in quick[0][1]


def test_windows_is_refused_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ralph_tui.cli.main.sys.platform", "win32")
    done = inside("status", cwd=tmp_path)
    assert done.returncode == 3
    assert done.stderr.startswith("ralph: ralph does not run on Windows")
    assert inside("--version", cwd=tmp_path).returncode == 0


@pytest.mark.parametrize(
    "name", ["ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_BEDROCK"]
)
def test_a_key_is_a_login(name: str) -> None:
    assert login({name: "x"}) == name
    assert login({name: "  "}) is None or sys.platform == "darwin"


def test_the_persons_own_login_is_found(tmp_path: Path, isolated: Path) -> None:
    assert login({"CLAUDE_CONFIG_DIR": str(tmp_path)}) is None or sys.platform == "darwin"
    (tmp_path / ".credentials.json").write_text("{}", encoding="utf-8")
    assert login({"CLAUDE_CONFIG_DIR": str(tmp_path)}) == str(tmp_path / ".credentials.json")
    home = isolated / ".claude" / ".credentials.json"
    home.parent.mkdir()
    home.write_text("{}", encoding="utf-8")
    assert login({}) == str(home)


def test_on_macos_the_keychain_cannot_be_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ralph_tui.agent.login.sys.platform", "linux")
    with pytest.raises(SetupError, match="no API key and no Claude login"):
        check_login({})
    monkeypatch.setattr("ralph_tui.agent.login.sys.platform", "darwin")
    check_login({})


def test_a_dumb_terminal_cannot_show_the_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal:
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdout", Terminal())
    monkeypatch.setattr(sys, "stdin", Terminal())
    monkeypatch.setenv("TERM", "xterm-256color")
    assert no_screen() is None
    for term in ("dumb", ""):
        monkeypatch.setenv("TERM", term)
        assert "TERM=" in str(no_screen())


def test_the_module_is_the_same_program(tmp_path: Path) -> None:
    script = Path(sys.executable).with_name("ralph")
    assert os.access(script, os.X_OK)
    assert {"ralph-tui", "ralph-agent"} <= {path.name for path in script.parent.iterdir()}
    assert python("-m", "ralph_tui", "--version", cwd=tmp_path).stdout.startswith("ralph ")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device here")
def test_output_that_cannot_be_written_is_no_success(tmp_path: Path) -> None:
    project = make_project(tmp_path, [task("a")])
    program = f"exec {PYTHON_HERE} -m ralph_tui tasks > /dev/full"
    done = subprocess.run(
        program, shell=True, cwd=project, capture_output=True, text=True, check=False
    )
    assert done.returncode == 3
    assert done.stderr.splitlines() == [
        "ralph: Standard output cannot be written: No space left on device.",
        "  The output is incomplete.",
    ]


def test_a_closed_standard_stream_leads_nowhere(tmp_path: Path) -> None:
    project = make_project(tmp_path, [task("a")])
    program = f"exec {PYTHON_HERE} -m ralph_tui inject 'use argparse' >&- <&-"
    done = subprocess.run(
        program, shell=True, cwd=project, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert [i.guidance for i in Project(project).load().pending] == ["use argparse"]
