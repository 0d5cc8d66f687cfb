"""Lines 5-9, 11, 13, 16-18, 20, 22, 23: a broken or hostile `.ralph/`, met by `ralph`.

One clear sentence and the right exit status, never a traceback, never an empty plan taken for a finished one.
"""

import json
import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.processes import inside
from tests.harness.model import serving
from tests.harness.projects import events_of, make_project, task
from tests.harness.real_processes import run_ralph
from tests.harness.scenarios import scenario
from tests.store.helpers import finished

PLAN = "implementation_plan.json"
Break = Callable[[Path], object]


def text(content: str | bytes) -> Break:
    data = content if isinstance(content, bytes) else content.encode()
    return lambda dot: written(dot / PLAN, data)


def state(content: str) -> Break:
    return lambda dot: written(dot / "state.json", content.encode())


def written(path: Path, data: bytes) -> None:
    """Written long ago: what was written just now may not be whole yet, and is waited for."""
    path.write_bytes(data)
    finished(path)


def config(content: str) -> Break:
    return lambda dot: (dot / "config.yaml").write_text(content)


def fifo(dot: Path) -> None:
    (dot / PLAN).unlink()
    os.mkfifo(dot / PLAN)


def plan_leads_out(dot: Path) -> None:
    outside = dot.parent.parent / "outside.json"
    outside.write_text('{"tasks": []}')
    (dot / PLAN).unlink()
    (dot / PLAN).symlink_to(outside)


def dot_leads_out(dot: Path) -> None:
    elsewhere = dot.parent.parent / "elsewhere"
    dot.rename(elsewhere)
    dot.symlink_to(elsewhere)


def logs_are_a_file(dot: Path) -> None:
    (dot / "logs").write_text("in the way")


CONFLICT = '{"tasks": [\n<<<<<<< HEAD\n{"id": "a"}\n=======\n{"id": "b"}\n>>>>>>> theirs\n]}\n'
DEEP = '{"tasks": ' + "[" * 10_000 + "]" * 10_000 + "}"
ONE = {"id": "a", "description": "x"}

BROKEN: dict[str, tuple[Break, str]] = {
    "conflict": (text(CONFLICT), "merge conflict at line 2"),
    "nul": (text(b"\0" * 500), "cannot be read"),
    "deep": (text(DEEP), "nested"),
    "status": (text('{"tasks": [{"id": "a", "status": "done"}]}'), "task 1 (a), field 'status'"),
    "same id": (
        text(json.dumps({"tasks": [ONE, ONE]})),
        "'a' is used more than once (tasks 1 and 2)",
    ),
    "newer": (text('{"schema_version": 99, "tasks": {}}'), "newer"),
    "newer state": (state('{"schema_version": 99}'), "newer"),
    "endless cost": (state('{"total_cost_usd": NaN}'), "NaN"),
    "fifo": (fifo, "not a regular file"),
    "link out": (plan_leads_out, "symlink"),
    "dot leads out": (dot_leads_out, "symlink that leaves the project"),
    "logs are a file": (logs_are_a_file, ".ralph/logs: File exists"),
    "config": (config("phases: [\n<<<<<<< HEAD\n"), "config.yaml"),
}
"""One of each kind: what is told of the others is in tests/store and tests/domain."""

UNSHOWABLE = frozenset({"conflict", "newer", "fifo", "deep", "dot leads out"})
"""Of these `ralph status` says what a run says, and shows nothing."""


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_broken_is_said_and_nothing_is_taken_for_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    project = make_project(tmp_path, [task("a")])
    breaking, told = BROKEN[name]
    breaking(project / ".ralph")
    status = inside("status", cwd=project)
    assert "Traceback" not in status.stderr + status.stdout
    if name in UNSHOWABLE:
        assert status.returncode == 3, status
        assert status.stderr.startswith("ralph: ")
    # Nobody answers here: a run that got as far as asking would fail in another way.
    with socket.create_server(("127.0.0.1", 0)) as mute:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-none")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", f"http://127.0.0.1:{mute.getsockname()[1]}")
        build = inside("build", "--headless", cwd=project)
    assert told in build.stdout + build.stderr, build
    assert build.returncode == 3, build
    assert "Traceback" not in build.stderr + build.stdout
    assert "complete" not in build.stdout.strip().rpartition("\n")[2]
    assert events_of(project) == [] if project.joinpath(".ralph").is_dir() else True


IDS = ("../../x", "/etc/x", "CON", "\N{SNOWMAN}\N{GRINNING FACE}", "x" * 200)
"""Each of them is worked under its own name, and is the name of nothing else."""


def names(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir()}


CLAIMS = """
    - name: claims
      task: "{id}"
      turns:
        - ralph: {{mark_task_complete: {{task_id: "{id}", verification_notes: Done.}}}}
          write: {{path: done.txt, content: done}}
        - say: Done.
"""


@pytest.mark.parametrize("words", [200_000, pytest.param(2_000_000, marks=pytest.mark.long)])
@pytest.mark.long
async def test_a_huge_description_is_bounded_and_an_id_is_no_path(
    tmp_path: Path, words: int
) -> None:
    project = make_project(tmp_path, [task("../../x", description="long " * words)])
    outside = names(tmp_path) | {"claude-config"}
    async with serving(scenario(CLAIMS.format(id="../../x"))) as server:
        ran = await run_ralph(["build", "--headless"], project, server)
        asked = max(request.size for request in server.requests)
    assert ran.status == 0, ran.stdout[-500:] + ran.stderr[-500:]
    assert asked < 500_000, "the prompt is bounded"
    assert max(map(len, ran.stdout.splitlines())) < 10_000
    assert names(tmp_path) <= outside
    assert [p for p in project.rglob("x*") if ".venv" not in p.parts] == []
