"""`ralph reset`, `restore` and `undo`: start over, undo a reset, or undo one task."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from ralph_tui.cli.completion import every_task
from ralph_tui.cli.console import agreed, note, out, out_json
from ralph_tui.cli.options import AsJson, app, argument, examples, flag, whole
from ralph_tui.cli.project_lookup import find_project, open_controls, start_directory
from ralph_tui.domain.errors import RalphError
from ralph_tui.domain.formatting import plural

if TYPE_CHECKING:
    from ralph_tui.domain.run.undo_result import Undone, UndoPreview
    from ralph_tui.store.layout import Layout


@whole.command(epilog=examples("ralph restore"))
def restore() -> None:
    """Restore a .ralph that is missing or was reset.

    The copy is stored outside the project, so it survives `git clean -fdx`. Existing files are never overwritten.
    """
    from ralph_tui.store.restore import restore_from_mirror

    for name in restore_from_mirror(start_directory()):
        out(f"restored  {name}")


@app.command(epilog=examples("ralph reset --keep-specs"))
def reset(
    *,
    keep_specs: Annotated[bool, flag("Keep the specs that ralph wrote.")] = False,
    yes: Annotated[bool, flag("Do not ask before removing.", "-y")] = False,
) -> None:
    """Remove the plan, state, memory and journal to start over.

    Your code, settings, prompts, AGENTS.md and the files of other tools stay. `ralph restore` brings back the
    plan, the state and the specs. Refused while a loop runs.
    """
    from ralph_tui.store.lock import LoopLock

    project = find_project()
    lock = LoopLock(project.layout)
    lock.acquire("reset")  # held until the end, so that no loop starts while the person decides
    try:
        _reset(project.layout, project.look().state.specs, keep_specs=keep_specs, yes=yes)
    finally:
        lock.release()
    project.create()


def _reset(layout: "Layout", written: tuple[str, ...], *, keep_specs: bool, yes: bool) -> None:
    from ralph_tui.store.reset import foreign_entries, made_by_ralph
    from ralph_tui.store.reset import reset as remove

    found = made_by_ralph(layout, written, keep_specs=keep_specs)
    if not found:
        out("There is nothing to remove.")
        return
    names = [str(path.relative_to(layout.root)) for path in found]
    if not yes:
        _ask(names)
    is_kept = remove(layout, found, note)
    for name in names:
        out(f"removed  {name}")
    for path in foreign_entries(layout):
        out(f"not ralph's, kept  {path.relative_to(layout.root)}")
    if left := list(layout.specs.glob("*.md")):
        shown = layout.specs.relative_to(layout.root)
        out(f"yours, kept  {shown}/ ({plural(len(left), 'file')})")
    out("Kept: settings, prompts, AGENTS.md and your code.")
    if is_kept:
        out("`ralph restore` brings the plan, the state and the specs back.")


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
        argument(
            "TASK|ITERATION",
            "The ID of a task, or the number of an iteration.",
            autocompletion=every_task,
        ),
    ],
    *,
    yes: Annotated[bool, flag("Do not ask before undoing.", "-y")] = False,
    as_json: AsJson = False,
) -> None:
    """Restore the files from before a task or an iteration.

    First shows what will change, then asks. The task becomes pending again. Files that somebody changed since are
    never overwritten. Work that ralph committed is undone by a new commit.
    """
    from ralph_tui.present.sections.undo_parts import undone_text

    controls = open_controls()
    preview = controls.undo_preview(wanted)
    if not as_json:
        _show_undo(preview)
    if not yes:
        if as_json:
            _print_json(preview, None)
        kept, can_ask = "The project is as it was.", not as_json
        agreed(
            "Undo this?", nothing="Nothing was changed", kept=kept, default=False, can_ask=can_ask
        )
    undone = controls.undo(preview)
    if as_json:
        _print_json(preview, undone)
    else:
        out(undone_text(undone))


def _show_undo(preview: "UndoPreview") -> None:
    from ralph_tui.present.sections.undo_parts import undo_effect, undo_heading, undo_lines
    from ralph_tui.present.text.spans import plain

    out(undo_heading(preview))
    for line in undo_lines(preview, MOST_LISTED):
        out(f"  {plain(line)}")
    out(undo_effect(preview))


def _print_json(preview: "UndoPreview", undone: "Undone | None") -> None:
    shown = preview.model_dump(mode="json", exclude={"current", "target", "wanted"})
    commit = undone.commit if undone is not None else ""
    out_json({**shown, "undone": undone is not None, "commit": commit})
