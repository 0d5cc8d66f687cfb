"""Line 3: a disk that is really full, a small one of its own that bubblewrap gives to the process.

The sentence says which path and how much space is left; what was there stays, and with space again work goes on.
"""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from ralph_tui.domain.plan.plan import TaskStatus
from tests.harness.model import serving
from tests.harness.projects import make_project, task, task_of
from tests.harness.real_processes import ralph_environment
from tests.harness.scenarios import finishes, scenario

SIZE = 8_000_000

WORKS = [
    *("bwrap", "--dev-bind", "/", "/", "--size", f"{SIZE}", "--tmpfs", "/mnt"),
    *("--die-with-parent", "--"),
]
pytestmark = pytest.mark.needs("sandbox", "bwrap")


def on_small_disk(at: Path) -> list[str]:
    return [str(at) if word == "/mnt" else word for word in WORKS]


STORE = """
import sys
from pathlib import Path
from ralph_tui.domain.errors import StoreError
from ralph_tui.store.project import Project
from tests.store.helpers import count_up, with_tasks

root = Path(sys.argv[1])
project = Project(root)
project.create()
with_tasks(project, "a", "b")
old = project.load()
with (root / "filler").open("wb", buffering=0) as filler:
    try:
        while True:
            filler.write(bytes(100_000))
    except OSError:
        pass
for path in root.glob("filler*"):
    while True:  # the last free page
        try:
            with path.with_name("filler.too").open("ab", buffering=0) as more:
                more.write(b"x" * 512)
        except OSError:
            break
try:
    project.transact(count_up)
    print("written")
except StoreError as error:
    print(error.message, "|", error.hint)
print(Project(root).load() == old)
for path in root.glob("filler*"):
    path.unlink()
print(Project(root).transact(count_up).state.iteration_count)
print([p.name for p in (root / ".ralph").iterdir() if p.name.endswith(".tmp")])
"""


def test_a_full_disk_is_named_with_its_space_and_nothing_is_lost(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    words = [*on_small_disk(disk), sys.executable, "-c", STORE, str(disk)]
    ran = subprocess.run(words, capture_output=True, text=True, check=True)
    told, same, counted, temps = ran.stdout.splitlines()
    assert f"{disk}/.ralph" in told
    assert "No space left on device." in told
    assert " | 0.0 MB are free there. Free some disk space" in told
    assert (same, counted, temps) == ("True", "1", "[]")


FILLS = """
    - name: fills the disk
      task: a
      times: 1
      turns:
        - bash: head -c 100M /dev/zero > filler.bin
        - bash: uv run python -c 'print(1)'
          repeat: 100
"""
TWICE = """
set -- "$1" -m ralph_tui build --headless
"$@"; echo "first: $?"
ls .ralph; rm filler.bin
"$@"; echo "second: $?"
cp -a . "$OUT"
"""


@pytest.mark.long
async def test_a_run_on_a_full_disk_stops_and_goes_on_when_there_is_space(tmp_path: Path) -> None:
    out, template = tmp_path / "out", make_project(tmp_path / "template", [task("a")])
    disk = tmp_path / "disk"
    disk.mkdir()
    async with serving(scenario(FILLS, finishes("a"))) as server:
        start = f"cp -a {template}/. {disk} && cd {disk} && {TWICE}"
        environment = ralph_environment(server, tmp_path) | {"OUT": str(out)}
        words = [*on_small_disk(disk), "sh", "-c", start, "sh", sys.executable]
        ran = await asyncio.to_thread(
            subprocess.run, words, env=environment, capture_output=True, text=True, check=False
        )
    first, _, second = ran.stdout.partition("first: ")
    shown = ran.stdout[-3000:] + ran.stderr[-1000:]
    assert second.startswith("3\n"), shown
    assert "No space left on device" in first, shown
    assert f"{disk}/.ralph" in first, shown
    assert "MB are free there." in first, shown
    assert "Traceback" not in ran.stdout + ran.stderr, shown
    assert "second: 0" in second, shown
    assert task_of(out, "a").status is TaskStatus.COMPLETE
