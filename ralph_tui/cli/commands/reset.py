"""`ralph reset`, `restore` and `undo`: start over, take that back, or take back one task; each says what it changes."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from ralph_tui.cli.completion import every_task
from ralph_tui.cli.console import note, out, out_json
from ralph_tui.cli.options import AsJson, ProjectRoot, examples
from ralph_tui.cli.project_lookup import controls_of, find_project, start_directory
from ralph_tui.domain.errors import ExitCode, RalphError

if TYPE_CHECKING:
    from ralph_tui.domain.run.undo_result import Undone, UndoPreview
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
    """Remove plan, state, memory and journal, to start over.

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


MOST_LISTED = 30


@app.command(epilog=examples("ralph undo task-003", "ralph undo 12 --yes"))
def undo(
    wanted: Annotated[
        str,
        typer.Argument(
            metavar="TASK|ITERATION",
            help="The id of a task, or the number of an iteration.",
            autocompletion=every_task,
        ),
    ],
    *,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: AsJson = False,
    project_root: ProjectRoot = None,
) -> None:
    """Restore the files from before a task.

    Or from before one iteration. Shows what will change, then asks. The task becomes pending again. Files that somebody changed since are
    never overwritten. Where ralph committed the work, a new commit undoes it.
    """
    from ralph_tui.present.sections.undo_parts import undone_told

    controls = controls_of(project_root)
    preview = controls.undo_preview(wanted)
    if not as_json:
        _show_undo(preview)
    if not yes:
        _ask_undo(preview, as_json=as_json)
    undone = controls.undo(preview)
    if as_json:
        _print_json(preview, undone)
    else:
        out(undone_told(undone))


def _show_undo(preview: "UndoPreview") -> None:
    from ralph_tui.present.sections.undo_parts import undo_effect, undo_heading, undo_lines
    from ralph_tui.present.text.spans import plain

    out(undo_heading(preview))
    for line in undo_lines(preview, MOST_LISTED):
        out(f"  {plain(line)}")
    out(undo_effect(preview))


def _ask_undo(preview: "UndoPreview", *, as_json: bool) -> None:
    """Ask whether to undo; where nobody can answer, leave with the status that says so."""
    here = sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()
    if as_json or not here:
        if as_json:
            _print_json(preview, None)
        note("Nothing was changed: there is nobody to ask. Give --yes to undo this.")
        raise typer.Exit(int(ExitCode.WAITING_FOR_APPROVAL))
    if not typer.confirm("\nUndo this?", default=False):
        raise RalphError("Nothing was changed.", "The project is as it was.")


def _print_json(preview: "UndoPreview", undone: "Undone | None") -> None:
    shown = preview.model_dump(mode="json", exclude={"current", "target", "wanted"})
    commit = undone.commit if undone is not None else ""
    out_json({**shown, "undone": undone is not None, "commit": commit})
