"""The log of a run in the background: its process goes on in a new one when it is full."""

import subprocess
import sys
from pathlib import Path

import pytest

from ralph_tui.cli.run.background import background_starter
from ralph_tui.domain.errors import RalphError
from ralph_tui.domain.project_state import Adjusted, Phase
from ralph_tui.engine.control.request import RunRequest
from ralph_tui.store.io.rotation import older
from ralph_tui.store.project import Project

TALK = """
import sys
from pathlib import Path
from ralph_tui.cli.run.background import limit_log
from ralph_tui.cli.run.headless import line_printer
from ralph_tui.domain.events import Notice
from ralph_tui.store.io import rotation as growing
growing.MOST_BYTES = 2_000
root = Path(sys.argv[1])
if sys.argv[2] == "blocked":
    growing.older(root / ".ralph/logs/background.log").joinpath("in the way").mkdir(parents=True)
printer = limit_log(line_printer(sys.stdout), root)
for number in range(400):
    printer(Notice(text=f"number {number}"))
print("the end", file=sys.stderr)
"""


def talked(root: Path, how: str) -> Path:
    """The log in which a process has talked; it is its standard output."""
    project = Project(root)
    project.create()
    log = project.log_path("background.log")
    with log.open("ab") as file:
        words = [sys.executable, "-c", TALK, str(root), how]
        assert subprocess.call(words, stdout=file, stderr=subprocess.STDOUT) == 0
    return log


def numbers(text: str) -> list[int]:
    return [int(line.split()[-1]) for line in text.splitlines() if "number" in line]


def test_a_run_in_the_background_begins_a_new_log_when_it_is_full(tmp_path: Path) -> None:
    log = talked(tmp_path, "freely")
    old, new = older(log).read_text(), log.read_text()
    said = numbers(old) + numbers(new)
    assert said == list(range(said[0], 400))
    assert 0 < said[0] < 350
    assert len(old) < 2_100 > len(new)
    assert new.endswith("the end\n"), "standard error goes to the new one, too"


def test_a_log_that_cannot_be_set_aside_goes_on_and_says_so_once(tmp_path: Path) -> None:
    text = talked(tmp_path, "blocked").read_text()
    assert numbers(text) == list(range(400))
    assert text.count("This log keeps growing. Cannot set aside ") == 1


def test_planning_again_in_the_background_plans_and_does_no_more(tmp_path: Path) -> None:
    Project(tmp_path).create()
    asked = RunRequest(text="Fewer", only=Phase.PLANNING)
    with pytest.raises(RalphError, match=r"at once: There are no specs to plan from\. Start with"):
        background_starter(tmp_path, "run")(asked, Adjusted())
