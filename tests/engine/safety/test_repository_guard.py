"""Who changed the repository is known from the looks around what the agent runs."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ralph_tui.domain import events as ev
from ralph_tui.domain.errors import ExitCode
from ralph_tui.domain.events import Event
from ralph_tui.domain.outcomes import ToolOutcome
from ralph_tui.engine.safety.processes import (
    RUN_MARK,
    SESSION_MARK,
    MarkedProcess,
    marked_descendants,
)
from ralph_tui.engine.safety.repository_guard import RepositoryGuard
from ralph_tui.guard.repository.changes import OwnCommit
from ralph_tui.store.backup.document_hold import DocumentHold
from ralph_tui.store.backup.mirror import is_held, mirror_of
from tests.guard.test_shims import make_repository
from tests.harness.waiting import until, wait_until

COMMIT = "git -c user.name=me -c user.email=me commit -q --allow-empty -m mine"


class Watched:
    """A repository under guard, with what was told about it."""

    def __init__(self, root: Path) -> None:
        make_repository(root)
        self.root = root
        self.told: list[Event] = []
        self.alive: set[MarkedProcess] = set()
        mirror_of(root).mkdir(parents=True)
        self.guard = RepositoryGuard(
            root,
            self.told.append,
            alive=lambda: frozenset(self.alive),
            documents=DocumentHold(root, lambda: None),
        )

    def does(self, command: str = COMMIT) -> str:
        shell = ["bash", "-c", command]
        done = subprocess.run(shell, cwd=self.root, check=True, capture_output=True, text=True)
        return done.stdout

    @property
    def changes(self) -> list[ev.RepositoryChanged]:
        return [event for event in self.told if isinstance(event, ev.RepositoryChanged)]


@pytest.fixture
def watched(tmp_path: Path) -> Watched:
    return Watched(tmp_path / "proj")


async def test_a_commit_between_two_commands_is_the_persons(watched: Watched) -> None:
    guard = watched.guard
    await guard.begin()
    for key in ("one", "two"):
        await guard.begin_command(key)
        await guard.end_command(key)
        watched.does()
    assert await guard.check() is None
    assert [len(told.commits) for told in watched.changes] == [1, 1]


async def test_where_the_sandbox_holds_the_repository_a_change_is_the_persons(
    watched: Watched,
) -> None:
    guard = RepositoryGuard(watched.root, watched.told.append, confined=True)
    await guard.begin()
    await guard.begin_command("one")
    watched.does(f"{COMMIT}; git config core.editor x; git branch new")
    await guard.end_command("one")
    assert await guard.check() is None
    (told,) = watched.changes
    assert len(told.commits) == 1
    assert told.summary == "branch new was created; the setting core.editor was changed"


async def test_what_moves_elsewhere_during_a_command_is_told_once(watched: Watched) -> None:
    guard = watched.guard
    await guard.begin()
    await guard.begin_command("one")
    for _ in range(2):
        watched.does(
            f"git checkout -q --detach; {COMMIT}; git branch -f away; git checkout -q main"
        )
        assert await guard.check() is None
    assert [told.summary for told in watched.changes] == ["branch away was created"]


async def test_a_commit_while_one_of_two_commands_runs_is_in_doubt(watched: Watched) -> None:
    guard = watched.guard
    await guard.begin()
    await guard.begin_command("one")
    await guard.begin_command("two")
    await guard.end_command("one")
    watched.does()
    await guard.end_command("two")
    await guard.begin_command("three")  # a later look forgets nothing
    await guard.end_command("three")
    end = await guard.check()
    assert end is not None
    assert end.exit_code is ExitCode.STOPPED
    assert watched.changes == []
    assert await guard.check() is None, "it is told once"


@pytest.mark.parametrize("session", ["working", ""])
async def test_what_happens_after_a_job_was_left_running_is_the_agents(
    watched: Watched, session: str
) -> None:
    guard = watched.guard
    await guard.begin()
    await guard.begin_command("one", session)
    watched.alive = {MarkedProcess(10**7, 1.0, session)}
    await guard.end_command("one")
    watched.does()
    watched.alive = set()  # the job ended after its commit
    assert await guard.check() is not None
    watched.does()
    assert await guard.check() is None, "nothing of the agent is left by now"
    assert len(watched.changes) == 1


async def test_once_the_last_job_has_ended_a_change_is_the_persons_again(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ralph_tui.engine.safety.repository_guard._REINSPECT_SECONDS", 0.01)
    guard = watched.guard
    await guard.begin()
    await guard.begin_command("one", is_confined=False)
    watched.alive = {MarkedProcess(10**7, 1.0, "")}
    await guard.end_command("one")
    assert is_held(watched.root), "a job that was left running may change ralph's documents, too"
    watched.alive = set()
    again = next(task for task in asyncio.all_tasks() if task.get_name() == "ralph-reinspect")
    await again
    assert not is_held(watched.root)
    watched.does()
    assert await guard.check() is None
    assert len(watched.changes) == 1


async def test_helpers_of_the_cli_leave_no_doubt(watched: Watched) -> None:
    guard = watched.guard
    proxy = MarkedProcess(10**7, 1.0, "working")
    watched.alive = {proxy}
    await guard.begin()
    await guard.begin_command("one", "working")
    watched.alive |= {MarkedProcess(10**7 + 1, 2.0, "standby")}
    await guard.end_command("one")
    watched.does()
    await guard.begin_command("two", "working")
    await guard.end_command("two")
    watched.does()
    assert await guard.check() is None
    assert len(watched.changes) == 2
    await guard.begin_command("three", "working")
    watched.alive |= {proxy._replace(started=3.0)}
    await guard.end_command("three")
    watched.does()
    assert await guard.check() is not None, "the same number, but another process"


async def test_a_command_whose_end_was_never_told_leaves_the_rest_in_doubt(
    watched: Watched,
) -> None:
    guard = watched.guard
    await guard.begin()
    await guard.begin_command("lost")
    watched.does()
    assert await guard.check() is not None


async def test_the_end_of_a_call_is_looked_at_once_and_strangers_are_ignored(
    watched: Watched,
) -> None:
    guard, key = watched.guard, "toolu_1"
    await guard.begin()
    await guard.begin_command(key)
    watched.does()
    for name in ("toolu_0", key):
        outcome = ToolOutcome.OK
        guard.note(ev.ToolFinished(tool_id=name, name="Bash", outcome=outcome))
    await until(lambda: any(isinstance(e, ev.Notice) for e in watched.told), what="the look")
    assert await guard.check() is not None
    watched.does()
    assert await guard.check() is None


async def test_what_a_hook_does_beside_ralphs_own_commit_stops_the_run(watched: Watched) -> None:
    guard = watched.guard
    await guard.begin()
    for hooked in ("", "; git config alias.from-a-hook x"):
        assert await guard.check() is None
        watched.does(COMMIT + hooked)
        commit, branch = watched.does("git rev-parse HEAD; git branch --show-current").split()
        made = OwnCommit(branch=branch, commit=commit, entries={})
        await guard.learn(made)
    end = await guard.check()
    assert end is not None
    assert "the setting alias.from-a-hook was changed" in end.reason
    assert watched.changes == []


async def test_a_repository_that_git_cannot_read_any_more_ends_the_run(watched: Watched) -> None:
    guard = watched.guard
    await guard.begin()
    (watched.root / ".git/config").write_text("[broken")
    await guard.begin_command("one")
    end = await guard.check()
    assert end is not None
    assert "git" in end.reason


def test_a_job_of_a_command_is_found_by_its_mark_and_own_children_are_not(tmp_path: Path) -> None:
    run, pid_file = str(tmp_path), tmp_path / "pid"
    environment = {**os.environ, RUN_MARK: run, SESSION_MARK: "s"}
    child = subprocess.Popen(["sleep", "60"], env=environment)
    job = f"import subprocess; print(subprocess.Popen(['sleep', '60']).pid, file=open({str(pid_file)!r}, 'w'))"
    try:
        assert marked_descendants(RUN_MARK, run) == frozenset()
        subprocess.run([sys.executable, "-c", job], env=environment, check=True)
        pid = int(pid_file.read_text())
        wait_until(lambda: marked_descendants(RUN_MARK, run))
        assert [(p.pid, p.session) for p in marked_descendants(RUN_MARK, run)] == [(pid, "s")]
        assert marked_descendants(RUN_MARK, f"{run}x") == frozenset()
        os.kill(pid, 9)
    finally:
        child.kill()
        child.wait()
