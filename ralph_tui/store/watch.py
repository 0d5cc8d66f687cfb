"""Watch a project's files for changes by any program.

Notifications from the operating system only trigger a check. Changes are found by comparison, so lost or
duplicate notifications, editors that rename over a file, and files created later need no special handling.
"""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path

from ralph_tui.store.io.files import file_signature
from ralph_tui.store.io.wake_ups import wake_ups
from ralph_tui.store.layout import Layout
from ralph_tui.store.project import Project

_WATCHED = (
    *("state", "plan", "injections", "config", "breaker", "budget", "questions", "steps"),
    *("project", "specs", "memory", "active_memory"),
)

Signature = tuple[tuple[str, int, int, int], ...]


def watch_project(project: Project) -> AsyncGenerator[frozenset[str], None]:
    """Yield the names of changed documents, from this call on until cancelled.

    Call this before you load the documents, so that no change is missed in between.
    """
    return _changes(project.layout, _signatures(project.layout))


async def _changes(
    layout: Layout, known: dict[str, Signature]
) -> AsyncGenerator[frozenset[str], None]:
    import asyncio

    # `.ralph` and `specs` are included so that their creation is noticed.
    above = (layout.dot,) if layout.feature else ()
    wakes = wake_ups(
        layout.home,
        layout.root,
        layout.specs,
        *above,
        names=frozenset(layout.document(name).name for name in _WATCHED) | {layout.dot.name},
        suffix=".md",
    )
    async with aclosing(wakes):
        async for _ in wakes:
            now = await asyncio.to_thread(_signatures, layout)
            changed = frozenset(name for name in _WATCHED if now[name] != known[name])
            known = now
            if changed:
                yield changed


def _signatures(layout: Layout) -> dict[str, Signature]:
    """Return a signature of each document, from its metadata. A directory represents its files."""
    return {name: tuple(_signature(layout.document(name))) for name in _WATCHED}


def _signature(path: Path) -> list[tuple[str, int, int, int]]:
    files = sorted(path.glob("*.md")) if path.is_dir() else [path]
    found = []
    for file in files:
        try:
            found.append((file.name, *file_signature(file)))
        except OSError:
            continue
    return found
