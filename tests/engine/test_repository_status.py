"""How the repository stands before a run, in a real one of each kind."""

import asyncio
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from ralph_tui.cli.doctor import checks
from ralph_tui.domain import events as ev
from ralph_tui.domain.events import Event
from ralph_tui.engine.safety.repository_guard import RepositoryGuard, repository_notices

SETUP = """
git init -q -b main; git config user.name me; git config user.email me@example.org
echo 1 >a.txt; git add a.txt; git commit -qm one
git checkout -q -b other; echo 2 >a.txt; git commit -qam two
git checkout -q main; echo 3 >a.txt; git commit -qam three
"""
TOLD_ONLY = ("dirty", "no commit")
MERGE, REBASE = "a merge is not finished (1 file in conflict)", "a rebase is not finished"
STATES: dict[str, tuple[str, Sequence[str]]] = {
    "clean": (SETUP, ()),
    "merge": (f"{SETUP} git merge -q other", (MERGE,)),
    "rebase": (f"{SETUP} git rebase -q other", (REBASE,)),
    "cherry-pick": (f"{SETUP} git cherry-pick other", ("a cherry-pick is not finished",)),
    "detached": (f"{SETUP} git checkout -q --detach", ("HEAD is detached",)),
    "lock": (f"{SETUP} touch .git/index.lock", ("index.lock exists",)),
    "dirty": (f"{SETUP} echo 4 >a.txt; >progress.txt; git add .", ("Uncommitted changes in 1",)),
    "worktree": (f"{SETUP} git worktree add -q w other; cd w; git merge -q main", (MERGE,)),
    "no commit": ("git init -q", ("no commit yet",)),
    "bare": ("git init -q --bare", ()),
    "no repository": ("true", ()),
}


def made(tmp_path: Path, commands: str) -> Path:
    subprocess.run(["sh", "-c", commands], cwd=tmp_path, capture_output=True, check=False)
    return tmp_path / "w" if (tmp_path / "w").is_dir() else tmp_path


@pytest.mark.parametrize("name", STATES)
def test_how_the_person_left_the_repository_is_told(tmp_path: Path, name: str) -> None:
    commands, told = STATES[name]
    notices = repository_notices(made(tmp_path, commands))
    assert len(notices) == len(told), notices
    for notice, words in zip(notices, told, strict=True):
        assert words in notice.text
        assert notice.level == ("info" if name in TOLD_ONLY else "warning")


def test_it_is_told_before_anything_is_spent_and_by_doctor(tmp_path: Path) -> None:
    root = made(tmp_path, STATES["merge"][0])
    events: list[Event] = []
    asyncio.run(RepositoryGuard(root, events.append).begin())
    assert [MERGE in event.text for event in events if isinstance(event, ev.Notice)] == [True]
    finding = next(f for f in checks.examine(root) if f.name == "git")
    assert (finding.ok, finding.needed) == (False, False)
    assert MERGE in finding.text
