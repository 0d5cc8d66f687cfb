"""`ralph` in an empty folder: a question instead of an error, then the screen."""

import uuid
from pathlib import Path

import pytest

from tests.harness.model import serving_in_process
from tests.harness.real_processes import marked_processes, ralph_environment
from tests.harness.scenarios import scenario
from tests.harness.waiting import wait_until
from tests.pty.terminal import terminal

pytestmark = pytest.mark.serial

ASKS = """
- name: discovers
  when: "^# Ralph Discovery"
  turns:
    - say: I will read the folder first.
      wait: 0.2
      repeat: 10000
"""


def test_a_request_in_an_empty_folder_begins_the_work(tmp_path: Path) -> None:
    folder = tmp_path / "habits"
    folder.mkdir()
    mark = uuid.uuid4().hex
    with serving_in_process(scenario(ASKS), tmp_path) as server:
        environment = ralph_environment(server, tmp_path, mark)
        with terminal(
            [], cwd=folder, notes=tmp_path, environment=environment, size=(80, 24)
        ) as left:
            left.until_shown("Language of the project")
            left.press("Go\r")
            left.until_shown("Set up ralph here?")
            left.press("n\r")
            assert left.exit_status() == 0
        assert list(folder.iterdir()) == []
        with terminal(
            [], cwd=folder, notes=tmp_path, environment=environment, size=(80, 24)
        ) as shown:
            shown.until_shown("Language of the project")
            shown.press("\r")
            shown.until_shown("Set up ralph here?")
            shown.press("\r")
            shown.until_shown("What should Ralph build?", 60)
            shown.press("A habit tracker")
            shown.press("\x13")
            shown.until_shown("I will read the folder first.", 90)
            assert (folder / ".ralph/config.yaml").is_file()
            assert (folder / "AGENTS.md").is_file()
            shown.press("q")
            shown.until_shown("Keep running")
            shown.press("s")
            assert shown.exit_status() == 130
        wait_until(lambda: not marked_processes(mark), what="an empty machine")
