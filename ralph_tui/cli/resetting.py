"""`ralph reset`: back to a project that has not begun; says what it will remove before it asks."""

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ralph_tui.cli.here import find_project, start_directory
from ralph_tui.cli.options import ProjectRoot, examples
from ralph_tui.cli.say import note, out
from ralph_tui.domain.errors import RalphError

if TYPE_CHECKING:
    from ralph_tui.store.layout import Layout


def reset(
    *,
    keep_specs: Annotated[
        bool, typer.Option("--keep-specs", help="Leave specs/ as it is.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    project_root: ProjectRoot = None,
) -> None:
    """Remove plan, state, memory and journal, to begin anew.

    Your code, settings, prompts and AGENTS.md stay. It is refused while a loop runs.
    """
    from ralph_tui.store.lock import LoopLock

    project = find_project(project_root)
    lock = LoopLock(project.layout)
    lock.acquire("reset")  # held until the end, so that no loop begins between question and deed
    try:
        _reset(project.layout, keep_specs=keep_specs, yes=yes)
    finally:
        lock.release()
    project.create()


def _reset(layout: "Layout", *, keep_specs: bool, yes: bool) -> None:
    found = _found(layout, keep_specs=keep_specs)
    if not found:
        out("There is nothing to remove.")
        return
    if not yes:
        _ask([str(path.relative_to(layout.root)) for path in found])
    from ralph_tui.store.lock import write_lock

    with write_lock(layout):  # a command in another terminal may be changing a document
        for path in found:
            _remove(path)
            out(f"removed  {path.relative_to(layout.root)}")
    _set_copy_aside(layout)
    out("Kept: settings, prompts, AGENTS.md and your code.")


def _set_copy_aside(layout: "Layout") -> None:
    """The copy outside the project must not bring back what was removed from it."""
    from ralph_tui.store.mirror import Mirror, mirror_of

    copy = mirror_of(layout.root)
    if copy.is_dir():
        Mirror(layout, note).renew()
        out(f"renamed  {copy} (the copy for emergencies) to {copy.name}.previous")


def _found(layout: "Layout", *, keep_specs: bool) -> list[Path]:
    """What is there to remove: ralph's own files but settings and locks, and what it wrote beside them."""
    kept = {layout.config, layout.lock, layout.write_lock, layout.gitignore}
    inside = [path for path in sorted(layout.dot.iterdir()) if path not in kept]
    beside = [layout.memory, layout.progress, *([] if keep_specs else [layout.specs])]
    return [*inside, *(path for path in beside if path.exists() or path.is_symlink())]


def _ask(names: list[str]) -> None:
    for name in names:
        note(f"removes {name}")
    if sys.stdin is None or not sys.stdin.isatty():
        raise RalphError("Nothing was removed: there is nobody to ask.", "Give --yes to do it.")
    if not typer.confirm("Remove all this for good?", default=False, err=True):
        raise RalphError("Nothing was removed.", "Your project is as it was.")


def _remove(path: Path) -> None:
    from ralph_tui.store.files import explained

    with explained("remove", path):
        # A link is removed, not what it points to.
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def restore(*, project_root: ProjectRoot = None) -> None:
    """Put back a .ralph that is gone.

    Its copy is kept outside the project, for a `git clean -fdx` or a slip. Nothing that is there is overwritten.
    """
    from ralph_tui.store.restoring import restore_from_mirror

    for name in restore_from_mirror(start_directory(project_root)):
        out(f"put back  {name}")


def register(app: typer.Typer) -> None:
    """Add these commands."""
    app.command(epilog=examples("ralph restore"))(restore)
    app.command(epilog=examples("ralph reset --keep-specs"))(reset)
