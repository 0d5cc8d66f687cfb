"""Lines 3, 31, 73 in the middle of a run: what it writes to is full, gone, or something else by now.

The run ends in order with one sentence, what was finished stays finished, nobody is left behind, and a
run after things were put right goes on from there.
"""

import resource
import shutil
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

import pytest

from ralph_tui.config.load import load_settings
from ralph_tui.domain import events as ev
from ralph_tui.domain.errors import StoreError
from ralph_tui.domain.plan.plan import TaskStatus
from ralph_tui.domain.project_state import Phase
from ralph_tui.domain.run.context_budget import TokenUsage
from ralph_tui.engine.control.request import RunRequest
from ralph_tui.engine.core.ports import AgentItem, SessionSpec, Supervisor, TurnEnded, TurnUsage
from ralph_tui.engine.core.services import RunServices
from ralph_tui.engine.run.runner import run_loop
from ralph_tui.store.journal.journal import JournalWriter
from tests.faults.test_long_runs import TalkingAgent, TalkingSession
from tests.harness.model import serving
from tests.harness.projects import ALLOWS, event_types, events_of, make_project, plan_of, task
from tests.harness.real_processes import marked_processes, ralph_running, run_ralph
from tests.harness.scenarios import finishes, scenario, works_forever
from tests.harness.waiting import until

pytestmark = pytest.mark.timeout(240)

Break = Callable[[Path, int], object]
"""Spoils a project under the process that runs its loop."""


def allows(pid: int, size: int) -> None:
    """Let no file of the process grow beyond `size` bytes: a full disk for a single process."""
    _, most = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (size, most))


def journal_is_full(project: Path, pid: int) -> None:
    """Documents are smaller than the journal, so only it cannot grow."""
    allows(pid, (project / ".ralph" / "events.jsonl").stat().st_size)


def nothing_can_be_written(_: Path, pid: int) -> None:
    allows(pid, 0)


def journal_was_replaced(project: Path, _: int) -> None:
    journal = project / ".ralph" / "events.jsonl"
    journal.rename(project.parent / "events.jsonl")
    journal.mkdir()


def directory_is_gone(project: Path, _: int) -> None:
    (project / ".ralph").rename(project.parent / "ralph")


def project_is_renamed(project: Path, _: int) -> None:
    project.rename(project.with_name("renamed"))


def put_right(project: Path) -> None:
    dot, outside = project / ".ralph", project.parent
    if (outside / "renamed").exists():
        assert not project.exists(), "nobody makes up an empty project"
        (outside / "renamed").rename(project)
    if (outside / "ralph").exists():
        assert not dot.exists(), "nobody makes up an empty .ralph"
        (outside / "ralph").rename(dot)
    if (outside / "events.jsonl").exists():
        journal = dot / "events.jsonl"
        if journal.is_dir():
            journal.rmdir()
        (outside / "events.jsonl").rename(journal)


CASES: dict[str, tuple[Break, str]] = {
    "journal full": (journal_is_full, "Cannot append to {dot}/events.jsonl: File too large."),
    "all full": (nothing_can_be_written, "File too large."),
    "journal replaced": (journal_was_replaced, "{dot}/events.jsonl was moved or replaced"),
    "gone": (directory_is_gone, "{dot} is missing. Ralph has a copy of its state"),
    "renamed": (project_is_renamed, "{dot} is missing. Ralph has a copy of its state"),
}


class EndlessSession(TalkingSession):
    """Works on while somebody takes the journal away, and counts what it is paid for."""

    def __init__(self, journal: Path) -> None:
        self.journal, self.paid = journal, 0

    async def run_turn(self, prompt: str) -> AsyncIterator[AgentItem]:
        assert prompt
        for self.paid in range(1, 200):
            if self.paid == 3:
                self.journal.rename(self.journal.with_name("elsewhere.jsonl"))
                self.journal.mkdir()
            yield ev.AssistantText(text="On it.")
            usage = TokenUsage(input_tokens=1_000, output_tokens=self.paid)
            yield TurnUsage(usage=usage, session_cost_usd=0.001 * self.paid)
        yield TurnEnded(text="done", num_turns=1)


class EndlessAgent(TalkingAgent):
    """Has only that session."""

    def __init__(self, session: EndlessSession) -> None:
        self.session = session

    async def open(self, spec: SessionSpec, supervisor: Supervisor) -> EndlessSession:
        del spec, supervisor
        return self.session


@pytest.mark.usefixtures("played_cli")
async def test_nothing_more_is_paid_for_once_the_journal_cannot_be_written(tmp_path: Path) -> None:
    project = make_project(tmp_path, [task("a")])
    journal = project / ".ralph" / "events.jsonl"
    session = EndlessSession(journal)
    services = RunServices(lambda: EndlessAgent(session), load_settings(project, environ={}))
    told: list[ev.Event] = []
    end = await run_loop(project, services, RunRequest(only=Phase.BUILDING), told.append)
    assert 3 <= session.paid <= 5, "the turn goes on only until the failure is known"
    assert (end.status.value, end.exit_code) == ("error", 3)
    assert end.reason == f"Cannot append to {journal}: Is a directory."
    assert plan_of(project).tasks[0].status is TaskStatus.PENDING
    assert journal.is_dir()
    assert isinstance(told[-1], ev.LoopFinished)


class ClaimingSession(TalkingSession):
    """Does its task and claims it."""

    def __init__(self, root: Path, supervisor: Supervisor) -> None:
        self.root, self.supervisor = root, supervisor

    async def run_turn(self, prompt: str) -> AsyncIterator[AgentItem]:
        assert prompt
        (self.root / "a.txt").write_text("done")
        claim = {"task_id": "a", "verification_notes": "Done."}
        answer = await self.supervisor.call_tool("ralph_mark_task_complete", claim)
        yield ev.AssistantText(text=answer.text)
        yield TurnEnded(text="done", num_turns=1)


class ClaimingAgent(TalkingAgent):
    """Makes such sessions."""

    def __init__(self, root: Path) -> None:
        self.root = root

    async def open(self, spec: SessionSpec, supervisor: Supervisor) -> ClaimingSession:
        del spec
        return ClaimingSession(self.root, supervisor)


@pytest.mark.usefixtures("played_cli")
@pytest.mark.parametrize("lost", ["", "iteration_finished", "task_changed"])
async def test_a_run_that_lost_events_has_failed_although_its_plan_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lost: str
) -> None:
    project = make_project(tmp_path, [task("a")], [], ALLOWS)
    write = JournalWriter.write

    def broken(self: JournalWriter, events: Sequence[ev.Event]) -> None:
        if any(event.type == lost for event in events):
            raise StoreError("The disk is broken.", "Buy another one.")
        write(self, events)

    monkeypatch.setattr(JournalWriter, "write", broken)
    services = RunServices(lambda: ClaimingAgent(project), load_settings(project, environ={}))
    end = await run_loop(project, services, RunRequest(only=Phase.BUILDING), lambda _: None)
    assert plan_of(project).tasks[0].status is TaskStatus.COMPLETE
    if not lost:
        assert (end.status.value, end.exit_code) == ("complete", 0)
        return
    assert (end.status.value, end.exit_code) == ("error", 3)
    assert (end.reason, end.hint) == ("The disk is broken.", "Buy another one.")


@pytest.mark.parametrize("name", CASES)
@pytest.mark.long
async def test_a_run_that_can_no_longer_write_ends_in_order(tmp_path: Path, name: str) -> None:
    project = make_project(tmp_path, [task("a"), task("b", dependencies=["a"])])
    endless = works_forever("b").replace("turns:", "times: 1\n      turns:", 1)
    spoil, told = CASES[name]
    async with serving(scenario(finishes("a"), endless, finishes("b"))) as server:
        async with ralph_running(["build", "--headless"], project, server) as ralph:
            await until(
                lambda: (
                    ralph.process.returncode is not None
                    or (server.requests and server.requests[-1].script == "never finishes b")
                ),
                what="work on the second task",
            )
            spoil(project, ralph.process.pid)
            ran = await ralph.finished()
            left = [process.cmdline() for process in marked_processes(ralph.mark)]
        shown = ran.stdout[-1500:] + ran.stderr[-1500:]
        assert ran.status == 3, shown
        assert told.format(dot=project / ".ralph") in ran.stdout, shown
        assert ran.last_line.startswith("ralph: failed: "), shown
        assert "Traceback" not in ran.stdout + ran.stderr, shown
        assert left == []

        put_right(project)
        assert plan_of(project).tasks[0].status is TaskStatus.COMPLETE
        assert plan_of(project).tasks[1].status is not TaskStatus.COMPLETE
        before = events_of(project)
        again = await run_ralph(["build", "--headless"], project, server)
    assert again.status == 0, again.stdout[-800:] + again.stderr[-800:]
    assert {t.status for t in plan_of(project).tasks} == {TaskStatus.COMPLETE}
    events = events_of(project)
    assert events[: len(before)] == before
    assert [e.seq for e in events] == list(range(1, len(events) + 1))
    begun = [e.task_id for e in events[len(before) :] if isinstance(e, ev.IterationStarted)]
    assert begun == ["b"]


@pytest.mark.long
async def test_a_run_whose_project_is_deleted_ends_and_makes_up_none(tmp_path: Path) -> None:
    project = make_project(tmp_path, [task("a")])
    async with (
        serving(scenario(works_forever("a"))) as server,
        ralph_running(["build", "--headless"], project, server) as ralph,
    ):
        await until(lambda: "tool_finished" in event_types(project), what="work on the task")
        while project.exists():  # the agent's commands go on making files until they end
            shutil.rmtree(project, ignore_errors=True)
        ran = await ralph.finished()
        left = [process.cmdline() for process in marked_processes(ralph.mark)]
    shown = ran.stdout[-1500:] + ran.stderr[-1500:]
    assert ran.status == 3, shown
    assert f"{project}/.ralph is missing. Ralph has a copy of its state" in ran.last_line, shown
    assert "Traceback" not in ran.stdout + ran.stderr, shown
    assert left == []
    assert not (project / ".ralph").exists()
