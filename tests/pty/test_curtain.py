"""What stands on a real terminal before the screen does, and what becomes of it when no screen follows."""

import signal
import uuid
from pathlib import Path

import pyte
import pytest

from ralph_tui.domain.plan.plan import Task
from ralph_tui.present.text.glyphs import ASCII, UNICODE, Glyphs
from ralph_tui.tui.terminal.splash import frames
from tests.harness.projects import make_project, task
from tests.harness.real_processes import marked_processes, ralph_environment
from tests.harness.waiting import wait_until
from tests.pty.terminal import Terminal, app_process, terminal

pytestmark = pytest.mark.serial

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


@pytest.mark.parametrize("size", [(80, 24), pytest.param((160, 50), marks=pytest.mark.long)])
def test_the_tasks_stand_at_once_as_on_the_board_and_a_key_typed_before_the_screen_counts(
    tmp_path: Path, size: tuple[int, int]
) -> None:
    mark = uuid.uuid4().hex
    tasks = [
        task(f"task-{n}", description=f"Bring the {'very ' * n}old barn in order") for n in range(6)
    ]
    project = make_project(tmp_path, tasks)
    environment = held(tmp_path, mark)
    with terminal([], cwd=project, notes=tmp_path, environment=environment, size=size) as shown:
        shown.until_shown("opening")
        shown.until_shown("task-5")
        early = board(shown.text)
        assert len(early) >= 6
        shown.press("?")
        (project / "go-on").touch()
        shown.until_shown("In one minute")
        assert shown.raw.count(b"\x1b[?1049h") == 1, "entered again, some terminals go blank"
        shown.press("\x1b")
        shown.until(lambda: board(shown.text) == early, f"the board as it was: {early}")
        shown.press("q")
        assert left_in_order(shown, mark) == 0, shown.after_screen


def board(text: str) -> list[str]:
    rows = [row[1:].partition("│")[0].rstrip() for row in text.splitlines()]
    return [row for row in rows if "barn" in row and "Next: " not in row]


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


@pytest.mark.parametrize("width", [1, 19, 20, 99, 100, 140])
@pytest.mark.parametrize("glyphs", [UNICODE, ASCII], ids=["unicode", "ascii"])
@pytest.mark.parametrize("tasks", [0, 50])
def test_the_frames_fill_the_terminal_and_no_more(width: int, glyphs: Glyphs, tasks: int) -> None:
    hostile = "p\x1b[31m\x1b]0;x\x07" * 99
    plan = [Task(id=f"task-{n}", description=hostile) for n in range(tasks)]
    for height in (1, 5, 14, 30):
        larger = pyte.Screen(width + 20, height + 20)
        pyte.Stream(larger).feed(frames(hostile, width, height, glyphs, plan))
        drawn = [
            (x, y)
            for y, row in larger.buffer.items()
            for x, cell in row.items()
            if cell.data.strip()
        ]
        assert all(x < width and y < height for x, y in drawn)
        assert {cell.fg for row in larger.buffer.values() for cell in row.values()} == {"default"}
        assert larger.title == ""
