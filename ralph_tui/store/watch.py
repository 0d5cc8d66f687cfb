"""Watch a project's files for changes by any program.

Notifications from the operating system only trigger a check. Changes are found by comparison, so lost or
duplicate notifications, editors that rename over a file, and files created later need no special handling.
"""

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from pathlib import Path

from ralph_tui.store.io.files import file_signature
from ralph_tui.store.io.wake_ups import wake_ups
from ralph_tui.store.layout import Layout
from ralph_tui.store.project import Project

Signature = tuple[tuple[str, int, int, int], ...]


def watch_project(project: Project) -> AsyncGenerator[frozenset[str], None]:
    """Yield the names of changed documents, from this call on until cancelled.

    Call this before you load the documents, so that no change is missed in between. Names are `state`, `plan`,
    `injections`, `config`, `breaker`, `budget`, `questions`, `steps`, `project`, `specs` and `memory`.
    """
    layout = project.layout
    watched = {
        "state": (layout.state,),
        "plan": (layout.plan,),
        "injections": (layout.injections,),
        "config": (layout.config,),
        "breaker": (layout.breaker,),
        "budget": (layout.budget,),
        "questions": (layout.questions,),
        "steps": (layout.steps,),
        "project": (layout.project,),
        "specs": (layout.specs,),
        "memory": (layout.memory, layout.active_memory),
    }
    return _changes(layout, watched, signatures(watched))


async def _changes(
    layout: Layout, watched: Mapping[str, tuple[Path, ...]], known: dict[str, Signature]
) -> AsyncGenerator[frozenset[str], None]:
    import asyncio

    names = frozenset(path.name for paths in watched.values() for path in paths)
    # `.ralph` and `specs` are included so that their creation is noticed.
    above = (layout.dot,) if layout.feature else ()
    wakes = wake_ups(
        layout.home,
        layout.root,
        layout.specs,
        *above,
        names=names | {layout.dot.name},
        suffix=".md",
    )
    async with aclosing(wakes):
        async for _ in wakes:
            now = await asyncio.to_thread(signatures, watched)
            changed = frozenset(name for name in watched if now[name] != known[name])
            known = now
            if changed:
                yield changed


def signatures(watched: Mapping[str, tuple[Path, ...]]) -> dict[str, Signature]:
    """Return a signature of each document's files, from their metadata. A directory represents its files."""
    return {
        name: tuple(entry for path in paths for entry in _signature(path))
        for name, paths in watched.items()
    }


def _signature(path: Path) -> Signature:
    files = sorted(path.glob("*.md")) if path.is_dir() else [path]
    found = []
    for file in files:
        try:
            found.append((file.name, *file_signature(file)))
        except OSError:
            continue
    return tuple(found)
