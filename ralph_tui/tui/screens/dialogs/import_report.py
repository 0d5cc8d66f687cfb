"""Shows what an import would do, and asks whether to do it."""

from ralph_tui.domain.plan.import_preview import ImportPreview
from ralph_tui.present.sections.import_parts import import_heading, import_parts
from ralph_tui.tui.screens.dialogs.preview import PreviewDialog
from ralph_tui.tui.screens.dialogs.text_input import ValueDialog

MOST_ROWS = 1_000


class ImportFileDialog(ValueDialog):
    """Asks which file to import."""

    KEYS = "enter preview, esc cancel"

    def __init__(self, hint: str, value: str) -> None:
        super().__init__("Import a plan", hint, value)


class ImportDialog(PreviewDialog):
    """Shows what an import would change."""

    KEYS = "ctrl+y import, esc cancel; {search} search, {copy} copy, {share} export"
    STEM = "import"

    def __init__(self, preview: ImportPreview) -> None:
        super().__init__(
            f"Import {import_heading(preview)}",
            import_parts(preview, MOST_ROWS),
            does_something=preview.changes_plan,
        )
