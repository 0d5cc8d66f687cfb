"""How soon something is there: the first paint of the screen, and a small command's answer."""

import subprocess
import sys
import time
from pathlib import Path

from tests.bench.ptys import recording
from tests.harness.projects import make_project, task

TASK = "task-zebra"

FRAMES = b"opening"
"""In the header of the splash: the first that a person sees."""

TASKS = TASK.encode()
"""The plan's tasks stand in the board; the splash draws them."""

DASHBOARD = b"breaker"
"""In the first frame that Textual draws, which takes keys; all of its panes stand in it."""

PROJECT = b"Nothing is spent"
"""What was read from the project stands in the panes, and how to start."""

RALPH = ("-m", "ralph_tui")

ONE_MODEL = "from pydantic import BaseModel\nclass A(BaseModel):\n    x: int\nA(x=1)"
"""The least that a program with pydantic does: `import pydantic` alone loads next to nothing of it."""

EMPTY_APP = f"""
from textual.app import App
from textual.widgets import Static

class Empty(App):
    def compose(self):
        yield Static("{TASK}")

Empty().run()
"""


def project(tmp: Path) -> Path:
    return make_project(tmp, [task(TASK)])


def paints(root: Path, what: bytes, *words: str) -> float:
    """Seconds until a Python paints it."""
    with recording([sys.executable, *words], root) as record:
        return record.wait_for(what)


def takes(cwd: Path, *words: str) -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, *words], cwd=cwd, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began
