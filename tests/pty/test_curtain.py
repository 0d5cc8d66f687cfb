"""What stands on a real terminal before the screen does, and what becomes of it when no screen follows."""

import signal
import uuid
from pathlib import Path

import pytest

from ralph_tui.tui.terminal.splash import frames
from tests.harness.projects import make_project, task
from tests.harness.real_processes import marked_processes, ralph_environment
from tests.harness.waiting import wait_until
from tests.pty.terminal import Terminal, app_process, terminal

pytestmark = pytest.mark.pty

HELD = """
import sys
import time
from pathlib import Path


class Held:
    def find_spec(name, path=None, target=None):
        while name == "ralph_tui.tui.app.app" and not Path("go-on").exists():
            time.sleep(0.02)


if sys.orig_argv[1:3] == ["-m", "ralph_tui"]:
    sys.meta_path.insert(0, Held)
"""
"""Python reads it at its start when it is `sitecustomize.py`: the screen is loaded when the test says so."""


def held(tmp_path: Path, mark: str) -> dict[str, str]:
    """The environment of a `ralph` whose curtain stays until `go-on` is there."""
    (tmp_path / "held").mkdir()
    (tmp_path / "held" / "sitecustomize.py").write_text(HELD)
    return ralph_environment(None, tmp_path, mark) | {"PYTHONPATH": str(tmp_path / "held")}


def test_the_frames_stand_at_once_and_a_key_typed_before_the_screen_counts(tmp_path: Path) -> None:
    mark = uuid.uuid4().hex
    project = make_project(tmp_path, [task("task-zebra")])
    environment = held(tmp_path, mark)
    with terminal([], cwd=project, notes=tmp_path, environment=environment) as shown:
        shown.until_shown("opening")
        shown.until_shown("activity")
        shown.press("?")
        (project / "go-on").touch()
        shown.until_shown("In a minute")
        assert shown.raw.count(b"\x1b[?1049h") == 1, "entered again, some terminals go blank"
        shown.press("\x1b")
        shown.until(lambda: "In a minute" not in shown.text, "the dashboard")
        shown.press("q")
        assert left_in_order(shown, mark) == 0


def test_a_mistake_in_the_settings_is_said_where_the_person_was(tmp_path: Path) -> None:
    mark = uuid.uuid4().hex
    project = make_project(tmp_path, [task("task-zebra")])
    (project / ".ralph" / "config.yaml").write_text("safety: [")
    environment = ralph_environment(None, tmp_path, mark)
    with terminal([], cwd=project, notes=tmp_path, environment=environment) as shown:
        assert left_in_order(shown, mark) == 3
        assert "config.yaml" in shown.after_screen
        assert b"opening" in shown.raw


def test_asked_to_end_before_the_screen_is_there(tmp_path: Path) -> None:
    mark = uuid.uuid4().hex
    project = make_project(tmp_path, [task("task-zebra")])
    environment = held(tmp_path, mark)
    with terminal([], cwd=project, notes=tmp_path, environment=environment) as shown:
        shown.until(lambda: b"opening" in shown.raw, "the curtain")
        app_process(mark).send_signal(signal.SIGTERM)
        assert left_in_order(shown, mark) == 128 + signal.SIGTERM, shown.after_screen
        assert shown.after_screen == ""


def left_in_order(shown: Terminal, mark: str) -> int:
    """The exit status of a program that has given everything back."""
    status = shown.exit_status()
    assert shown.left_over() == []
    wait_until(lambda: not marked_processes(mark), what="an empty machine")
    return status


@pytest.mark.parametrize("width", [1, 19, 20, 60, 80, 99, 100, 139, 140, 300])
@pytest.mark.parametrize("unicode", [True, False])
def test_the_frames_fill_the_terminal_and_no_more(width: int, *, unicode: bool) -> None:
    for height in (1, 4, 5, 40):
        rows = frames("p\x1b[31m" * 99, width, height, unicode=unicode).split("H")[1:]
        assert len(rows) <= height
        for row in rows:
            assert len(row.partition("\x1b")[0]) <= width
            assert unicode or row.partition("\x1b")[0].isascii() or "…" in row
