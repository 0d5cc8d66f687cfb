"""Die by kill -9 before each step of a commit, in a process that was forked for it, and let the next run finish.

Run as a program, because forking is safe only where no thread runs. Prints one JSON line for each step.
"""

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ralph_tui.config.settings import GitSettings
from ralph_tui.domain.events import Event, Notice
from ralph_tui.engine.commits.task_commits import HookSandbox, TaskCommits, WorkPlace
from ralph_tui.engine.core.project_state import ProjectState
from ralph_tui.engine.safety.command_sandbox import CommandSandbox
from ralph_tui.engine.safety.repository_guard import RepositoryGuard
from ralph_tui.store.project import Project
from ralph_tui.vcs.git import Git

SETTINGS = GitSettings(commit="task", protected_branches=())
PLAN = {
    "tasks": [
        {
            "id": "a",
            "description": "Do a",
            "status": "complete",
            "commit": {"pending": True, "run": "run-1", "iteration": 1},
        }
    ]
}


def make(project: Path) -> None:
    """A repository in which task a is complete and its commit is owed."""
    (project / ".ralph").mkdir(parents=True)
    (project / ".ralph/.gitignore").write_text("*\n")
    (project / ".ralph/implementation_plan.json").write_text(json.dumps(PLAN))
    (project / "kept.txt").write_text("1\n")
    for words in (
        ["init", "-q", "-b", "main"],
        ["config", "user.name", "Me"],
        ["config", "user.email", "me@example.org"],
        ["add", "-A"],
        ["commit", "-q", "-m", "Begin"],
    ):
        subprocess.run(["git", *words], cwd=project, check=True)
    (project / "kept.txt").write_text("2\n")
    (project / "new.txt").write_text("a\n")


async def commit(root: Path, *, dies_at: int | None) -> list[Event]:
    """What a run does: commit the completed task and die meanwhile, or finish what the run before owed."""
    told: list[Event] = []
    state = ProjectState(Project(root), told.append)
    await state.open()
    guard = RepositoryGuard(root, told.append)
    place = WorkPlace(SETTINGS, ("project",), builds=True, is_new_request=False, sandboxed=False)
    hooks = HookSandbox(CommandSandbox(root, None), dict, 60)
    commits = TaskCommits(state, place, told.append, run_id="run-2", guard=guard, hooks=hooks)
    await commits.begin()
    await guard.begin()
    if dies_at is not None:
        dying_before(dies_at)
    end = await (commits.finish_pending() if dies_at is None else commits.task_complete("a"))
    assert end is None, end
    changed = await guard.check()
    assert changed is None, changed
    return told


def dying_before(step: int) -> None:
    left = [step]

    def counted(call: Callable[..., Any]) -> Callable[..., Any]:
        def counting(*given: Any, **more: Any) -> Any:
            left[0] -= 1
            if left[0] < 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return call(*given, **more)

        return counting

    Git.ask = counted(Git.ask)  # type: ignore[method-assign]
    Project.transact = counted(Project.transact)  # type: ignore[method-assign]


def main(root: Path) -> None:
    """Die at each step until one attempt lives to its end."""
    original = root / "original"
    make(original)
    step, died = 0, True
    while died:
        project = root / f"step-{step}"
        shutil.copytree(original, project)
        child = os.fork()
        if child == 0:
            asyncio.run(commit(project, dies_at=step))
            os._exit(0)
        status = os.waitpid(child, 0)[1]
        died = os.WIFSIGNALED(status)
        assert died or status == 0, status
        told = asyncio.run(commit(project, dies_at=None))
        notices = [event.text for event in told if isinstance(event, Notice)]
        line = json.dumps({"project": str(project), "died": died, "notices": notices})
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
        step += 1


if __name__ == "__main__":
    main(Path(sys.argv[1]))
