import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from ralph_tui.domain.errors import StoreError
from ralph_tui.store.project import Project
from ralph_tui.store.watch import watch_project
from tests.store.helpers import count_up, with_tasks


@asynccontextmanager
async def watching(project: Project) -> AsyncIterator["asyncio.Queue[frozenset[str]]"]:
    """Collects changes; ends when the watcher ended."""
    seen: asyncio.Queue[frozenset[str]] = asyncio.Queue()
    watch = watch_project(project)

    async def collect() -> None:
        async with aclosing(watch) as changes:
            async for names in changes:
                seen.put_nowait(names)

    task = asyncio.create_task(collect())
    try:
        async with asyncio.timeout(30):
            yield seen
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def test_nothing_changes_unseen_between_the_call_and_the_first_look(
    project: Project,
) -> None:
    watch = watch_project(project)
    project.layout.config.write_text("x")
    async with asyncio.timeout(20), aclosing(watch):
        assert await anext(watch) == {"config"}


def rename_over(path: Path, text: str) -> None:
    temp = path.with_name(f"{path.name}~")
    temp.write_text(text)
    temp.replace(path)


CHANGES: dict[str, Callable[[Project], object]] = {
    "state": lambda p: p.transact(count_up),
    "plan": lambda p: rename_over(p.layout.plan, '{"tasks": []}'),
    "injections": lambda p: p.queue_injection("x"),
    "config": lambda p: p.layout.config.write_text("model: x"),
    "breaker": lambda p: p.layout.breaker.write_text("{}"),
    "budget": lambda p: p.layout.budget.write_text("{}"),
    "questions": lambda p: p.layout.questions.write_text("{}"),
    "memory": lambda p: p.write_memory("x"),
    "specs": lambda p: (p.layout.specs / "a.md").write_text("x"),
}


async def test_every_change_is_named(project: Project) -> None:
    project.layout.specs.mkdir()
    async with watching(project) as seen:
        for name, change in CHANGES.items():
            change(project)
            assert await seen.get() == {name}


async def test_changes_at_once_come_together_or_apart_but_all_come(project: Project) -> None:
    with_tasks(project, "a")
    async with watching(project) as seen:
        project.transact(count_up)
        names: set[str] = set()
        while names != {"state", "plan"}:
            names |= await seen.get()


async def test_a_directory_made_later_is_watched(project: Project) -> None:
    async with watching(project) as seen:
        project.layout.specs.mkdir()
        (project.layout.specs / "a.md").write_text("x")
        assert await seen.get() == {"specs"}
        (project.layout.specs / "b.md").write_text("x")
        assert await seen.get() == {"specs"}
        (project.layout.specs / "a.md").unlink()
        assert await seen.get() == {"specs"}


async def test_a_project_made_or_made_again_later_is_watched(tmp_path: Path) -> None:
    project = Project(tmp_path)
    async with watching(project) as seen:
        project.create()
        project.layout.config.write_text("a")
        assert await seen.get() == {"config"}
        project.layout.dot.rename(tmp_path / "away")
        assert await seen.get() == {"config"}
        project.create()
        project.layout.config.write_text("b")
        assert await seen.get() == {"config"}


async def test_noise_is_not_a_change(project: Project) -> None:
    with_tasks(project, "a")
    async with watching(project) as seen:
        project.layout.events.write_text("x")
        (project.layout.dot / ".state.json.1-2.tmp").write_text("x")
        (project.layout.dot / "state.json.bak").write_text("x")
        (project.layout.logs / "state.json").write_text("x")
        (project.root / "notes.md").write_text("x")
        os.utime(project.layout.dot)
        project.load()
        project.layout.config.write_text("last")
        assert await seen.get() == {"config"}
        assert seen.empty()


async def test_watching_ends_at_once_when_cancelled(project: Project) -> None:
    async with watching(project) as seen:
        project.layout.config.write_text("x")
        await seen.get()
        started = asyncio.get_running_loop().time()
    assert asyncio.get_running_loop().time() - started < 1


@pytest.mark.parametrize("error", [OSError, RuntimeError])
async def test_without_notifications_it_looks_by_itself(
    project: Project, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    import watchfiles

    real, polled, polling = watchfiles.awatch, [], asyncio.Event()

    async def limited(*paths: Path, force_polling: bool | None, **rest: Any) -> AsyncIterator[Any]:
        polled.append(force_polling)
        if not force_polling:
            raise error("inotify watch limit reached")
        polling.set()
        async with aclosing(real(*paths, force_polling=True, **rest)) as changes:
            async for change in changes:
                yield change

    monkeypatch.setattr(watchfiles, "awatch", limited)
    async with watching(project) as seen:
        await polling.wait()
        project.layout.config.write_text("x")
        assert await seen.get() == {"config"}
    assert polled[:2] == [None, True]


async def test_a_place_that_cannot_be_watched_is_named(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    import watchfiles

    def broken(*_: Path, **__: object) -> None:
        raise PermissionError("not allowed")

    monkeypatch.setattr(watchfiles, "awatch", broken)
    with pytest.raises(StoreError, match=r"Cannot watch .*not allowed"):
        await anext(watch_project(project))


def test_reading_a_project_and_the_owner_of_its_loop_loads_nothing_slow(project: Project) -> None:
    code = (
        "import sys; from pathlib import Path; from ralph_tui.store.lock import LoopLock;"
        "import ralph_tui.store.journal.journal, ralph_tui.store.watch;"
        "from ralph_tui.store.project import Project; p = Project(Path(sys.argv[1])); p.load();"
        "slow = {'watchfiles', 'psutil', 'filelock', 'asyncio', 'anyio'};"
        "print(LoopLock(p.layout).owner(), slow & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(project.root)], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "None set()"
