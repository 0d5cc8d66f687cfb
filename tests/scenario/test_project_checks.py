"""The gate runs what the project has, and the prompts say so, on the real CLI: never what is on the PATH."""

import json
import os
import stat
import zipfile
from pathlib import Path

import pytest
from pydantic import JsonValue

from ralph_tui.domain import events as ev
from ralph_tui.domain.plan.plan import TaskStatus
from tests.harness.model import serving
from tests.harness.projects import make_project, task, task_of
from tests.harness.scenarios import scenario
from tests.scenario.running import play

EXTRA = """\
[project]
name = "sample"
version = "0.1.0"
requires-python = ">=3.11"

[project.optional-dependencies]
docs = []
test = ["pytest"]

[tool.uv]
package = false

[tool.uv.sources]
pytest = {{ path = "{wheel}" }}
"""

OURS = f"""
import sys

sys.path.append({str(Path(pytest.__file__).parents[1])!r})


def main():
    import pytest

    print("the pytest of the extra", *sys.argv[1:])
    sys.exit(pytest.console_main())
"""
"""Brings the real one along from where it is."""
WORKS = """
    - name: works
      task: a
      turns:
        - write: {path: a.txt, content: "done"}
        - bash: python say.py
        - ralph: {mark_task_complete: {task_id: a, verification_notes: Done.}}
        - say: Done.
"""


def wheel(directory: Path) -> Path:
    """A pytest of our own, installed without a network."""
    info = "pytest-99.0.dist-info"
    path = directory / "pytest-99.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("our_pytest.py", OURS)
        file.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: pytest\nVersion: 99.0\n")
        file.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        file.writestr(f"{info}/entry_points.txt", "[console_scripts]\npytest = our_pytest:main\n")
        file.writestr(f"{info}/RECORD", "")
    return path


def decoy(directory: Path) -> dict[str, str]:
    directory.mkdir()
    program = directory / "pytest"
    program.write_text("#!/bin/sh\necho the pytest of the PATH\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return {"PATH": f"{directory}{os.pathsep}{os.environ['PATH']}"}


@pytest.mark.long
async def test_tests_in_an_extra_are_what_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {
        "pyproject.toml": EXTRA.format(wheel=wheel(tmp_path)),
        "tests/test_a.py": "def test_a():\n    assert True\n",
        "say.py": "import sys\nprint('prefix', sys.prefix)\n",
    }
    unset = {"phases": {"building": {"backpressure": ["detected"]}}}
    criteria: list[JsonValue] = ["tests", "uv run pytest tests/test_a.py passes"]
    tasks = [task("a", verification_criteria=criteria)]
    project = make_project(tmp_path, tasks, config=unset, files=files)
    for name, value in decoy(tmp_path / "bin").items():
        monkeypatch.setenv(name, value)
    async with serving(scenario(WORKS)) as server:
        run = await play(project, server)
        system = json.dumps(server.requests[0].body["system"])
        heard = "".join(str(request.body["messages"]) for request in server.requests)
    (gate,) = run.of(ev.GateFinished)
    assert [r.command for r in gate.receipts] == [
        "uv run --extra test pytest",
        "uv run --extra test pytest tests/test_a.py",
    ]
    assert all("the pytest of the extra" in r.tail for r in gate.receipts)
    assert task_of(project, "a").status is TaskStatus.COMPLETE
    assert "- Tests: `uv run --extra test pytest`" in system
    assert "uv run mypy" not in system
    assert f"prefix {project / '.venv'}" in heard, "python say.py went through uv run"
