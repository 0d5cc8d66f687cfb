"""Show what an undo would change or has changed, for the command line and the screen."""

from rich.cells import cell_len

from ralph_tui.domain.formatting import plural
from ralph_tui.domain.run.undo_result import Undone, UndoneHow, UndoPreview
from ralph_tui.domain.sanitize import one_line
from ralph_tui.present.text.parts import Part
from ralph_tui.present.text.spans import Line, Span, Tone

_TONES = {UndoneHow.RESTORE: Tone.INFO, UndoneHow.REMOVE: Tone.BAD, UndoneHow.BRING_BACK: Tone.OK}

_WIDEST_PATH = 60


def undo_heading(preview: UndoPreview) -> str:
    numbers = ", ".join(map(str, preview.iterations))
    word = "iteration" if len(preview.iterations) == 1 else "iterations"
    title = one_line(preview.title, 80)
    about = "" if title == preview.task_id else f": {title}"
    return f"{preview.task_id}{about} ({word} {numbers})"


def undo_lines(preview: UndoPreview, most: int) -> list[Line]:
    shown = preview.files[:most]
    paths = [one_line(file.path, _WIDEST_PATH) for file in shown]
    width = max(map(cell_len, paths), default=0)
    lines: list[Line] = [
        [
            Span(f"{file.how.value:<12}", _TONES[file.how]),
            Span(path + " " * (width - cell_len(path) + 2)),
            Span(f"+{file.additions} -{file.deletions}", Tone.MUTED),
        ]
        for file, path in zip(shown, paths, strict=True)
    ]
    if (more := len(preview.files) - len(shown)) > 0:
        lines.append([Span(f"and {more} more", Tone.MUTED)])
    return lines


def undo_effect(preview: UndoPreview) -> str:
    if not preview.files:
        changes = "No file changes."
    else:
        size = f"+{preview.additions} -{preview.deletions}"
        changes = f"{plural(len(preview.files), 'file')} will change ({size})."
    if preview.commits_to and preview.files:
        changes += f" Ralph commits this to {one_line(preview.commits_to, 60)} as a new commit. No history is rewritten."
    rest = "" if preview.whole else " Other iterations of the task stay."
    return f"{changes} {preview.task_id} becomes pending again.{rest}"


def undo_parts(preview: UndoPreview, most: int) -> list[Part]:
    title = one_line(preview.title, 200)
    task: Line = [Span(f"{preview.task_id}  ", Tone.TITLE), Span(title)]
    numbers = ", ".join(map(str, preview.iterations))
    files = undo_lines(preview, most) or [[Span("none", Tone.MUTED)]]
    return [
        Part("Task", [task, [Span("iterations  ", Tone.MUTED), Span(numbers)]]),
        Part(f"Files that change ({len(preview.files)})", files),
        Part("Effect", [[Span(undo_effect(preview))]]),
    ]


def undone_text(undone: Undone) -> str:
    preview = undone.preview
    files = f"{plural(len(preview.files), 'file')} as before"
    what = files if preview.files else "no file changed"
    commit = f", commit {undone.commit[:10]} on {preview.commits_to}" if undone.commit else ""
    return f"{preview.task_id} is undone and pending again ({what}{commit})."
