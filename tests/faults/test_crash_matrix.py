"""Lines 1-3, 5, 25, 63: a real run is recorded and then killed, or fails, at the calls that touch its state.

What `kill -9` leaves is what the calls before it did, so a recording cut after any of them is that death;
that the whole recording leads to the bytes of the real run shows that no call is missing in it. The
normal run cuts at a sample, and in the middle of writes; CI cuts at every call.
"""

import filecmp
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ralph_tui.store.documents import document_reader, multi_file_commit
from ralph_tui.store.journal.journal import JournalWriter, read_events
from ralph_tui.store.project import Project
from tests.faults.recorder import GITS, STATE, Entry, read_log
from tests.harness.model import serving_in_process
from tests.harness.projects import make_project, task
from tests.harness.real_processes import ralph_environment
from tests.harness.scenarios import finishes, scenario

pytestmark = pytest.mark.timeout(600)

SAMPLE = 40
"""Calls the normal run cuts at."""

FEWEST_CALLS = 200
"""Of a run of one task; it makes more."""

OWN_MODE = frozenset({"config.yaml", "implementation_plan.json", "injections.json"})
"""Files the person made, which keep the modes they were given."""

UNRECORDED = frozenset({"logs", "cli.log"}) | GITS
"""Logs are no state."""


class World:
    """A project with its mirror, the model, and a recorded run in it."""

    def __init__(self, root: Path) -> None:
        self.root, self.log = root / "world", root / "calls"
        self.root.mkdir()
        self.project = make_project(
            self.root,
            [task("a")],
            files={".ralph/injections.json": '{"guidance": "be careful"}\n'},
        )

    def run(self, full_from: int = 0) -> "subprocess.CompletedProcess[str]":
        self.log.unlink(missing_ok=True)
        where = self.root.parent / "model"
        where.mkdir(exist_ok=True)
        with serving_in_process(scenario(finishes("a")), where) as server:
            return subprocess.run(
                [
                    *(sys.executable, "-m", "tests.faults.recorder"),
                    *(str(self.log), str(self.root), str(full_from)),
                    *("build", "--headless", "--project-root", str(self.project)),
                ],
                env=ralph_environment(server, where),
                capture_output=True,
                text=True,
                umask=0,
                timeout=120,
                check=False,
            )


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "world" / "state"))
    monkeypatch.setattr(document_reader, "SETTLE_SECONDS", 0.0)
    return World(tmp_path)


class Replay:
    """Does recorded calls again, in another directory than that in which they were recorded."""

    def __init__(self, recorded: Path, live: Path) -> None:
        self._recorded, self._live = str(recorded), str(live)
        self._descriptors: dict[int, int] = {}

    def do(self, entry: Entry) -> Iterator[None]:
        """Do it; yields in the middle of a write, where a kill may come too."""
        name, (first, *rest), result = entry
        if isinstance(first, int):
            first = self._descriptors[first]
        else:
            first, *rest = (self._there(argument) for argument in (first, *rest))
        if name == "open":
            self._descriptors[result] = os.open(first, *rest)
        elif name == "write":
            half = len(rest[0]) // 2
            os.write(first, rest[0][:half])
            yield
            os.write(first, rest[0][half:result])
        elif name == "symlink":  # into the world that a fresh process is to look at
            Path(rest[0]).symlink_to(entry.arguments[0])
        elif name == "exchange":
            if result:
                assert multi_file_commit.exchange(Path(first), Path(rest[0]))
        elif name != "fsync":
            getattr(os, name)(first, *rest)

    def _there(self, argument: Any) -> Any:
        if isinstance(argument, int):
            return argument
        return str(Path(argument).absolute()).replace(self._recorded, self._live, 1)


def differing(one: Path, other: Path) -> list[str]:
    linked = [path.name for path in one.iterdir() if path.is_symlink()]
    compared = filecmp.dircmp(one, other, ignore=[*UNRECORDED, *linked])
    found = [*compared.left_only, *compared.right_only, *compared.funny_files]
    found += filecmp.cmpfiles(one, other, compared.common_files, shallow=False)[1]
    for name in compared.common_dirs:
        found += [f"{name}/{path}" for path in differing(one / name, other / name)]
    return found


def look(project: Path, allowed: list[str], whole: list[bytes]) -> None:
    """What a fresh process makes of a project after a death, and that it works on."""
    journal = project / ".ralph" / "events.jsonl"
    fresh = Project(project)
    assert fresh.load().model_dump_json() in allowed
    if journal.exists():
        JournalWriter(journal).close()
        lines = journal.read_bytes().splitlines()
        assert lines == whole[: len(lines)]
        seqs = [event.seq for _, event in read_events(journal)]
        assert seqs == list(range(1, len(seqs) + 1))
    fresh.transact(lambda documents: documents)
    assert [text for text in fresh.damage() if "damaged" in text] == []
    left = [p.name for p in (project / ".ralph").iterdir()]
    assert [name for name in left if name.endswith(".tmp") or ".corrupt-" in name] == []
    assert "commit.json" not in left
    assert len([name for name in left if ".partial-" in name]) <= 1


@pytest.mark.costly
@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.long)])
def test_killed_at_any_call_the_state_is_before_or_after(
    world: World, tmp_path: Path, *, every: bool
) -> None:
    live = tmp_path / "live"
    subprocess.run(["cp", "-a", world.root, live], check=True)
    states = [Project(world.project).load().model_dump_json()]
    ran = world.run()
    assert ran.returncode == 0, ran.stdout[-800:] + ran.stderr[-800:]
    ended = tmp_path / "ended"
    world.root.rename(ended)
    entries = list(read_log(world.log))
    states += [entry.result for entry in entries if entry.name == STATE]
    kept = [p for part in ("project/.ralph", "state") for p in (ended / part).rglob("*")]
    files = [p for p in kept if not p.is_symlink()]
    (judge,) = (ended / "state").rglob("judge")
    assert judge.stat().st_mode & 0o077 == 0, (
        "what checks run on has the project's modes, behind a private door"
    )
    readable = {p.name for p in files if p.stat().st_mode & 0o077 and judge not in p.parents}
    assert readable <= OWN_MODE, "private at any umask"
    (journal,) = (ended / "state").rglob("events.jsonl")
    whole = journal.read_bytes().splitlines()
    calls = [n for n, entry in enumerate(entries) if entry.name not in (STATE, "close")]
    chosen = {*calls} if every else {*calls[:: max(1, len(calls) // SAMPLE)]}
    assert len(calls) > FEWEST_CALLS
    assert len(states) > 6

    replay, reached = Replay(world.root, live), 0

    def dies(number: int) -> None:
        if number in chosen:
            shutil.rmtree(world.root, ignore_errors=True)
            subprocess.run(["cp", "-a", live, world.root], check=True)
            try:
                look(world.project, states[reached : reached + 2], whole)
            except AssertionError as error:
                error.add_note(f"killed at call {number}: {entries[number]!r:.200}")
                raise

    for number, entry in enumerate(entries):
        if entry.name == STATE:
            reached += 1
            continue
        for _ in replay.do(entry):
            dies(number)
        dies(number)
    for part in ("project/.ralph", "state"):
        assert differing(ended / part, live / part) == []
