"""Notices changes of a project's files, whoever makes them.

Notifications of the operating system only wake us; what changed is found by comparing, so a lost or
doubled notification, an editor that renames over a file, or a file made later are all the same.
"""

import stat
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from pathlib import Path

from ralph_tui.domain.errors import StoreError
from ralph_tui.store.layout import Layout
from ralph_tui.store.project import Project

DEBOUNCE_MS = 50
STEP_MS = 50
POLL_MS = 500
"""How often we look without having been woken: for file systems that do not tell of changes, and for
a change in the moment before the watch began. With 20 and 250 ms a screen at rest took 1.3 % of a core, so 0.8 %."""

FORCED_POLL_MS = 200

Signature = tuple[tuple[str, int, int, int], ...]


def watch_project(project: Project) -> AsyncGenerator[frozenset[str], None]:
    """The names of documents that changed since this call, each time some did, until cancelled.

    Call it before you load, and nothing can change unseen between the two. Names are `state`, `plan`,
    `injections`, `config`, `breaker`, `budget`, `questions`, `specs` and `memory`.
    """
    watched = watched_files(project.layout)
    return _changes(project.layout, watched, signatures(watched))


async def _changes(
    layout: Layout, watched: Mapping[str, tuple[Path, ...]], known: dict[str, Signature]
) -> AsyncGenerator[frozenset[str], None]:
    import asyncio

    names = frozenset(path.name for paths in watched.values() for path in paths)
    # `.ralph` and `specs` are in it so that we notice when they appear.
    wakes = wake_ups(
        layout.dot, layout.root, layout.specs, names=names | {layout.dot.name}, suffix=".md"
    )
    async with aclosing(wakes):
        async for _ in wakes:
            now = await asyncio.to_thread(signatures, watched)
            changed = frozenset(name for name in watched if now[name] != known[name])
            known = now
            if changed:
                yield changed


def watched_files(layout: Layout) -> Mapping[str, tuple[Path, ...]]:
    """The files behind each document name."""
    return {
        "state": (layout.state,),
        "plan": (layout.plan,),
        "injections": (layout.injections,),
        "config": (layout.config,),
        "breaker": (layout.breaker,),
        "budget": (layout.budget,),
        "questions": (layout.questions,),
        "specs": (layout.specs,),
        "memory": (layout.memory, layout.active_memory),
    }


def signatures(watched: Mapping[str, tuple[Path, ...]]) -> dict[str, Signature]:
    """What tells a file's content from another, without reading it; a directory's is its files'."""
    return {
        name: tuple(entry for path in paths for entry in _signature(path))
        for name, paths in watched.items()
    }


def _signature(path: Path) -> Signature:
    files = sorted(path.glob("*.md")) if path.is_dir() else [path]
    found = []
    for file in files:
        try:
            info = file.stat()
        except OSError:
            continue
        found.append((file.name, info.st_ino, info.st_mtime_ns, info.st_size))
    return tuple(found)


async def wake_ups(
    *directories: Path, names: frozenset[str], suffix: str | None = None
) -> AsyncGenerator[None, None]:
    """A turn at once, and one whenever something with one of `names` (or the suffix) may have changed.

    Directories that do not exist yet are watched from when they appear; the first may be missing with
    its parents.
    """
    import asyncio

    yield
    while True:
        existing = await asyncio.to_thread(_existing, directories)
        watch = _watch(existing, names | {d.name for d in directories}, suffix)
        async with aclosing(watch):
            async for _ in watch:
                yield
                if await asyncio.to_thread(_existing, directories) != existing:
                    break


async def _watch(
    directories: tuple[tuple[Path, int], ...],
    names: frozenset[str],
    suffix: str | None,
) -> AsyncGenerator[None, None]:
    import asyncio

    from watchfiles import Change, awatch

    def relevant(_: Change, path: str) -> bool:
        name = Path(path).name
        return name in names or (suffix is not None and name.endswith(suffix))

    for force_polling in (None, True):
        try:
            changes = awatch(
                *(path for path, _ in directories),
                watch_filter=relevant,
                debounce=DEBOUNCE_MS,
                step=STEP_MS,
                rust_timeout=POLL_MS,
                yield_on_timeout=True,
                force_polling=force_polling,
                poll_delay_ms=FORCED_POLL_MS,
                recursive=False,
            )
            async with aclosing(changes):
                async for _ in changes:
                    yield
        except FileNotFoundError:
            # A directory went away while we looked; the caller looks again, but not in a spin.
            await asyncio.sleep(POLL_MS / 1000)
            return
        except (OSError, RuntimeError) as error:
            # No notifications here, or no more of them for this user; then we look ourselves.
            if force_polling:
                places = ", ".join(str(path) for path, _ in directories)
                raise StoreError(
                    f"Cannot watch {places}: {error}.", "Changes show after a restart."
                ) from error
        else:
            return


def _existing(directories: tuple[Path, ...]) -> tuple[tuple[Path, int], ...]:
    """The directories that exist, with their identity; the nearest parent of the first at least."""
    nearest = next(path for path in (directories[0], *directories[0].parents) if path.is_dir())
    found: dict[Path, int] = {}
    for path in (*directories, nearest):
        try:
            info = path.stat()
        except OSError:
            continue  # not there, or gone since we asked
        if stat.S_ISDIR(info.st_mode):
            found[path] = info.st_ino
    return tuple(found.items())
