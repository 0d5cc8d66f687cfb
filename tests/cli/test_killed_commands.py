"""A `kill -9` in the middle of a command on features or archives leaves the old state or the new one.

The command runs in a process of its own, which kills itself before its nth call that changes the disk. Then
other commands must see all of what it was to do, or nothing.
"""

import json
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ralph_tui.engine.control.feature_control import make_feature
from ralph_tui.store.layout import Layout
from ralph_tui.store.project import Project
from tests.cli.processes import inside
from tests.cli.test_feature import ids, said
from tests.harness.projects import make_project, plan_of, task

CALLS = ("open", "write", "fsync", "replace", "rename", "unlink", "mkdir")
STEP = 1 if os.environ.get("RALPH_LONG") else 29
"""Every call in the long run, some of them in the normal one."""


def is_killed(words: str, root: Path, nth: int) -> bool:
    return dies(lambda: inside(*words.split(), cwd=root).returncode, nth)


def dies(run: Callable[[], int], nth: int) -> bool:
    """Run a function in a child that dies before its nth call that changes the disk; whether it did."""
    child = os.fork()
    if child == 0:
        left = nth

        def dying(real: Callable[..., Any]) -> Callable[..., Any]:
            def call(*given: Any, **named: Any) -> Any:
                nonlocal left
                left -= 1
                if left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                return real(*given, **named)

            return call

        for name in CALLS:
            setattr(os, name, dying(getattr(os, name)))
        status = 1
        try:
            status = run()
        finally:
            os._exit(status)
    status = os.waitpid(child, 0)[1]
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, "the command failed by itself"
    return os.WIFSIGNALED(status)


def prepare(root: Path) -> None:
    """A plan with a complete and an open task, and two features with tasks, specs and a hand-off."""
    project = Project(make_project(root, [task("a", status="complete"), task("b")]))
    for name in ("login", "search"):
        make_feature(project.root, name)
        own = Project(project.root, name)
        own.transact(lambda docs: docs.replacing(plan=plan_of(project.root)))
        own.write_memory(f"hand-off of {name}\n")
        spec = Layout(project.root, name).specs / "spec.md"
        spec.write_text(f"# {name}\n", encoding="utf-8")


def state(root: Path) -> dict[str, object]:
    """Return what the project is now, as its commands and files say."""
    rows = json.loads(said("feature", "--json", cwd=root))["features"]
    archives = json.loads(said("archive", "--list", "--json", cwd=root))["archives"]
    names = [row["name"] for row in rows]
    return {
        "features": [(row["name"], row["active"], row["done"], row["total"]) for row in rows],
        "tasks": [ids("tasks", "-f", name or ".", cwd=root) for name in names],
        "memory": [Project(root, name).read_memory() for name in names],
        "specs": sorted(p.relative_to(root).as_posix() for p in (root / "specs").glob("*/*.md")),
        "archives": {
            (one["feature"], one["tasks_complete"], one["tasks_total"]) for one in archives
        },
    }


@pytest.mark.timeout(1800 if STEP == 1 else 180)
@pytest.mark.parametrize(
    "words",
    [
        pytest.param("feature new third", marks=pytest.mark.long),
        "feature use login",
        "archive login",
        pytest.param("archive --complete", marks=pytest.mark.long),
    ],
)
def test_what_a_killed_command_leaves_is_old_or_new(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "here/state"))
    prepare(tmp_path / "here")
    root = tmp_path / "here/project"
    old = state(root)
    shutil.copytree(tmp_path / "here", tmp_path / "before")
    seen: list[dict[str, object]] = []
    again: list[dict[str, object]] = []
    nth = 1
    while True:
        died = is_killed(words, root, nth)
        found = state(root)
        if found not in seen:
            seen.append(found)
        if not died:
            break
        inside(*words.split(), cwd=root)  # a person tries again; it may be refused, as it is done
        again.append(state(root))
        assert not list((root / ".ralph").glob("features/.*.tmp"))
        assert not (root / ".ralph/commit.json").exists()
        shutil.rmtree(tmp_path / "here")
        shutil.copytree(tmp_path / "before", tmp_path / "here")
        nth += STEP
    assert seen[0] == old
    assert len(seen) == 2, "there is nothing between the two"
    assert all(one == seen[-1] for one in again), "trying again finishes it"
