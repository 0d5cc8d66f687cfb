"""Prints the preview of an import, asks about it, and prints the result."""

from ralph_tui.cli.console import agreed, out, out_json
from ralph_tui.domain.plan.import_preview import ImportPreview
from ralph_tui.present.sections.import_parts import import_done, import_parts
from ralph_tui.present.text.spans import plain

MOST_LISTED = 60


def show(preview: ImportPreview) -> None:
    out(f"{preview.source} ({preview.format})")
    for part in import_parts(preview, MOST_LISTED):
        out()
        out(part.title)
        for line in part.lines:
            out(f"  {plain(line)}")


def ask(preview: ImportPreview, *, as_json: bool) -> None:
    if as_json:
        finish(preview, as_json=True, written=False)
    kept = "The plan is as it was."
    agreed("Import this?", nothing="Nothing was written", kept=kept, can_ask=not as_json)


def finish(preview: ImportPreview, *, as_json: bool, written: bool) -> None:
    if as_json:
        out_json(
            {
                **preview.model_dump(mode="json"),
                "changes_plan": preview.changes_plan,
                "written": written,
            }
        )
        return
    out()
    if written:
        out(
            f"Imported {import_done(preview)}. `ralph tasks` lists the plan, `ralph build` builds it."
        )
    elif preview.changes_plan:
        out("Nothing was written, because this is a dry run.")
    else:
        out("Nothing to import: the plan is up to date.")
