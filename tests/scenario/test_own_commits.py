"""What a person does to the repository while a run works, on the real CLI with real second processes."""

import asyncio
import subprocess
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from ralph_tui.demo import server
from ralph_tui.demo.http import Reply
from ralph_tui.demo.messages import Json
from ralph_tui.demo.scenario import Fault, Usage
from ralph_tui.domain import events as ev
from ralph_tui.domain.outcomes import LoopStatus
from ralph_tui.domain.plan.plan import TaskStatus
from ralph_tui.engine.safety.repository_guard import RepositoryGuard
from tests.harness.model import serving
from tests.harness.projects import make_project, task, task_of
from tests.harness.scenarios import finishes, scenario
from tests.harness.waiting import until
from tests.scenario.running import Run, play

COMMIT = "git -c user.name=me -c user.email=me@example.org commit -q --allow-empty -m"
THINKS = "Let me think."


@dataclass
class Pause:
    """The model thinks until the test lets it go on, while nothing of the agent runs."""

    begun: asyncio.Event = field(default_factory=asyncio.Event)
    over: asyncio.Event = field(default_factory=asyncio.Event)
    looked: list[str] = field(default_factory=list)
    """The tool calls after which the repository was looked at."""
    guard: RepositoryGuard | None = None


@pytest.fixture
def pause(monkeypatch: pytest.MonkeyPatch) -> Pause:
    found = Pause()
    performed, ended = server.play, RepositoryGuard.end_command

    async def play_later(
        answer: Json, usage: Usage, fault: Fault | None, reply: Reply, **rest: float
    ) -> None:
        if THINKS in str(answer["content"]):
            found.begun.set()
            await found.over.wait()
        streamed, wait, pace = rest["streamed"], rest["wait"], rest["pace"]
        await performed(answer, usage, fault, reply, streamed=bool(streamed), wait=wait, pace=pace)

    async def end_and_note(self: RepositoryGuard, key: str) -> None:
        await ended(self, key)
        found.looked.append(key)
        found.guard = self

    monkeypatch.setattr(server, "play", play_later)
    monkeypatch.setattr(RepositoryGuard, "end_command", end_and_note)
    return found


def thinks_after(tool: str) -> str:
    return f"""
    - name: thinks between two calls
      task: a
      turns:
        - {tool}
        - say: {THINKS}
          write: {{path: a.txt, content: "done"}}
        - ralph: {{mark_task_complete: {{task_id: a, verification_notes: Done.}}}}
        - when: {{last_result: "ACCEPTED:"}}
          say: Done.
    """


def in_repository(tmp_path: Path) -> Path:
    project = make_project(tmp_path, [task("a"), task("b")])
    shell(f"git init -q -b main && git add -A && {COMMIT} first", project)
    return project


def shell(command: str, project: Path) -> str:
    done = subprocess.run(
        ["bash", "-c", command], cwd=project, check=True, capture_output=True, text=True
    )
    return done.stdout


Acts = Callable[[Path], Awaitable[None]]


async def played(
    project: Path,
    pause: Pause,
    act: Acts,
    tool: str,
    overrides: Mapping[str, object] | None = None,
) -> Run:
    """Play a run in which somebody acts while the model thinks after its first tool call."""

    async def person(run: Run) -> None:
        await until(pause.begun.is_set, what="the pause between two calls")
        first = await run.until_told(ev.ToolFinished)
        await until(lambda: first.tool_id in pause.looked, what="the look after the call")
        guard = pause.guard
        assert guard is not None
        await until(lambda: not guard._left_running, what="the end of what the CLI started")
        await act(project)
        pause.over.set()

    async with serving(scenario(thinks_after(tool), finishes("b"))) as server:
        return await play(project, server, meanwhile=person, overrides=overrides)


WRITES = "write: {path: half.txt, content: half}"
SHELL = "bash: echo half > half.txt"


@pytest.mark.long
@pytest.mark.parametrize(
    ("sandbox", "tool"),
    [
        ("off", WRITES),
        ("off", SHELL),
        pytest.param("auto", SHELL, marks=pytest.mark.needs("sandbox")),
    ],
)
async def test_a_persons_commit_between_two_calls_is_told_and_the_run_goes_on(
    tmp_path: Path, pause: Pause, sandbox: str, tool: str
) -> None:
    project = in_repository(tmp_path)

    async def commits(root: Path) -> None:
        shell(f"git add half.txt && {COMMIT} 'my work' && git tag mine", root)

    run = await played(project, pause, commits, tool, {"safety.sandbox": sandbox})
    assert (run.end.status, run.end.exit_code) == (LoopStatus.COMPLETE, 0), run.end
    (told,) = run.of(ev.RepositoryChanged)
    head = shell("git rev-parse --short HEAD", project).strip()
    assert (told.branch, told.commits) == ("main", (f"{head} my work",))
    assert told.summary == "tag mine was created"


BESIDE = (
    "git fetch -q origin && git config --add branch.main.vscode-merge-base origin/main && git tag mine"
    " && cd ../wb && echo w >> half.txt && git add . && git stash -q"
)
MINE = f"echo m > mine.txt && git add mine.txt && {COMMIT} 'my work'"


@pytest.mark.usefixtures("played_cli")
@pytest.mark.parametrize(
    ("sandbox", "command"),
    [
        pytest.param("off", BESIDE, marks=pytest.mark.long),
        pytest.param(
            "auto",
            f"{MINE} && git config core.pager less && {BESIDE}",
            marks=pytest.mark.needs("sandbox"),
        ),
    ],
)
async def test_what_an_editor_and_a_person_do_during_a_check_ends_no_run(
    tmp_path: Path, sandbox: str, command: str
) -> None:
    # The judge tree has a .git of its own, so that only the check in place waits.
    waits = "touch going; while [ -e .git/hold ]; do sleep 0.02; done; test -f a.txt"
    tasks = [task("a", verification_criteria=[f"$ {waits}"]), task("b")]
    project = make_project(tmp_path, tasks, ["true"])
    shell(f"git init -q -b main && git add -A && {COMMIT} first", project)
    shell(
        f"git clone -q --bare . ../o.git && git remote add origin ../o.git && git fetch -q &&"
        f" git worktree add -q ../wb && git clone -q ../o.git ../c && cd ../c && {COMMIT} theirs && git push -q",
        project,
    )
    hold = project / ".git/hold"
    hold.touch()
    places = "find .git -not -path '*/objects/??*' -not -path '*/refs/*' -not -path '*/logs/*'"
    before = shell(f"{places} -o -path '*/objects/info*'", project)

    async def person(run: Run) -> None:
        await run.until_told(ev.GateStarted)
        await until((project / "going").exists, what="the check")
        shell(f"git config user.name me; git config user.email me@example.org; {command}", project)
        hold.unlink()

    async with serving(scenario(finishes("a"), finishes("b"))) as server:
        run = await play(project, server, meanwhile=person, overrides={"safety.sandbox": sandbox})
    assert (run.end.status, run.end.exit_code) == (LoopStatus.COMPLETE, 0), run.end
    (told,) = run.of(ev.RepositoryChanged)
    assert "origin/main was moved" in told.summary
    assert len(told.commits) == (sandbox == "auto")
    left = set(shell(f"{places} -o -path '*/objects/info*'", project).split()) - set(before.split())
    assert left <= {".git/FETCH_HEAD", ".git/COMMIT_EDITMSG"}, "nothing of the sandbox stays"


DISTURBS = {
    "git checkout -q -b elsewhere": "HEAD was moved from branch main to branch elsewhere",
    "git reset -q --soft HEAD~1": "branch main was moved",
    "git stash -q -u": "a stash",
}


@pytest.mark.long
@pytest.mark.parametrize("command", DISTURBS)
async def test_what_a_person_takes_from_under_the_agent_stops_the_run_and_says_why(
    tmp_path: Path, pause: Pause, command: str
) -> None:
    project = in_repository(tmp_path)
    shell(f"{COMMIT} second", project)

    async def disturbs(root: Path) -> None:
        shell(command, root)

    run = await played(project, pause, disturbs, WRITES)
    assert (run.end.status, run.end.exit_code) == (LoopStatus.STOPPED, 1)
    assert f"you changed what the agent is working on: {DISTURBS[command]}" in run.end.reason
    assert "Pause the run before" in run.end.hint


@pytest.mark.long
async def test_ralph_commits_on_top_of_the_persons_commit(tmp_path: Path, pause: Pause) -> None:
    project = in_repository(tmp_path)
    shell(
        "git config user.name me; git config user.email me@example.org; git switch -q -c x", project
    )

    async def commits(root: Path) -> None:
        shell(f"git add half.txt && {COMMIT} 'my work'", root)

    run = await played(project, pause, commits, WRITES, {"git.commit": "task"})
    assert run.end.status is LoopStatus.COMPLETE, run.end
    subjects = shell("git log --format=%s", project).splitlines()
    assert subjects == ["feat: b - Do b", "feat: a - Do a", "my work", "first"]
    assert [e.commits[0].split(" ", 1)[1] for e in run.of(ev.RepositoryChanged)] == ["my work"]
    assert len(run.of(ev.WorkCommitted)) == 2
    assert task_of(project, "b").status is TaskStatus.COMPLETE
