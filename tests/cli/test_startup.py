"""What a start leaves out, and that nothing of pydantic is lost by it."""

from pathlib import Path

from tests.cli.processes import python
from tests.harness.projects import make_project, task

SEARCH = "importlib.metadata"
"""What pydantic looks through every installed distribution with, for its plugins."""

A_MODEL = (
    "import sys\n"
    "{start}"
    "from pydantic import BaseModel\n"
    "class One(BaseModel):\n"
    "    number: int\n"
    "assert One(number='1').number == 1\n"
    f"print({SEARCH!r} in sys.modules)\n"
)
START = "from ralph_tui.cli.main import start_lean\nstart_lean()\n"


def test_a_status_looks_for_no_plugins_of_pydantic(tmp_path: Path) -> None:
    root = make_project(tmp_path, [task("task-01")])
    done = python("-X", "importtime", "-m", "ralph_tui", "status", cwd=root)
    assert "task-01" in done.stdout
    assert SEARCH not in done.stderr


def test_without_the_lean_start_pydantic_does_look(tmp_path: Path) -> None:
    assert python("-c", A_MODEL.format(start=""), cwd=tmp_path).stdout == "True\n"
    assert python("-c", A_MODEL.format(start=START), cwd=tmp_path).stdout == "False\n"


def test_the_sdk_loads_no_web_server(tmp_path: Path) -> None:
    loaded = python("-X", "importtime", "-c", "import ralph_tui.agent.agent", cwd=tmp_path).stderr
    assert "mcp.server" in loaded
    assert "starlette" not in loaded
