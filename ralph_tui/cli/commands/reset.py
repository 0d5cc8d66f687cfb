"""`ralph reset` and `restore`: start over, and undo that; both say what they change."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from ralph_tui.cli.console import note, out
from ralph_tui.cli.options import ProjectRoot, examples
from ralph_tui.cli.project_lookup import find_project, start_directory
from ralph_tui.domain.errors import RalphError

if TYPE_CHECKING:
    from ralph_tui.store.layout import Layout

app = typer.Typer()


@app.command(epilog=examples("ralph restore"))
def restore(*, project_root: ProjectRoot = None) -> None:
    """Put back a .ralph that is gone or was reset.

    Its copy is kept outside the project, for a `git clean -fdx` or a slip. Nothing that is there is overwritten.
    """
    from ralph_tui.store.backup.restore import restore_from_mirror

    for name in restore_from_mirror(start_directory(project_root)):
        out(f"put back  {name}")


@app.command(epilog=examples("ralph reset --keep-specs"))
def reset(
    *,
    keep_specs: Annotated[
        bool, typer.Option("--keep-specs", help="Leave specs/ as it is.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    project_root: ProjectRoot = None,
) -> None:
    """Remove plan, state, memory and journal, to begin anew.

    Your code, settings, prompts, AGENTS.md and files of other tools stay. `ralph restore` brings the plan,
    the state and the specs back. It is refused while a loop runs.
    """
    from ralph_tui.store.lock import LoopLock

    project = find_project(project_root)
    lock = LoopLock(project.layout)
    lock.acquire("reset")  # held until the end, so that no loop begins between question and deed
    try:
        told = _reset(project.layout, keep_specs=keep_specs, yes=yes)
    finally:
        lock.release()
    project.create()
    # Only now: where nobody reads the words, as with `| head`, they end the program.
    for line in told:
        out(line)


def _reset(layout: "Layout", *, keep_specs: bool, yes: bool) -> list[str]:
    """Remove what ralph made; return what to print about it."""
    from ralph_tui.store.reset import left_in_dot, made_by_ralph
    from ralph_tui.store.reset import reset as remove

    found = made_by_ralph(layout, keep_specs=keep_specs)
    if not found:
        return ["There is nothing to remove."]
    names = [str(path.relative_to(layout.root)) for path in found]
    if not yes:
        _ask(names)
    is_kept = remove(layout, found, note)
    others = [str(path.relative_to(layout.root)) for path in left_in_dot(layout)]
    return [
        *(f"removed  {name}" for name in names),
        *(f"not ralph's, kept  {name}" for name in others),
        "Kept: settings, prompts, AGENTS.md and your code.",
        *(["`ralph restore` brings the plan, the state and the specs back."] if is_kept else []),
    ]


def _ask(names: list[str]) -> None:
    for name in names:
        note(f"removes {name}")
    if sys.stdin is None or not sys.stdin.isatty():
        raise RalphError("Nothing was removed: there is nobody to ask.", "Give --yes to do it.")
    if not typer.confirm("Remove all this?", default=False, err=True):
        raise RalphError("Nothing was removed.", "Your project is as it was.")
