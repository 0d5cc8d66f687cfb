"""Shows what an import would do, and asks whether to do it."""

from ralph_tui.domain.plan.import_preview import ImportPreview
from ralph_tui.present.sections.import_parts import import_heading, import_parts
from ralph_tui.tui.screens.dialogs.preview import PreviewDialog
from ralph_tui.tui.screens.dialogs.text_input import ValueDialog

MOST_ROWS = 1_000
"""Tasks of each kind that are listed; nobody reads more of them."""


class ImportFileDialog(ValueDialog):
    """Asks which file to import."""

    KEYS = "enter look at it, esc leave"

    def __init__(self, hint: str, value: str) -> None:
        """Begin with the likeliest file."""
        super().__init__("import a plan", hint, value)


class ImportDialog(PreviewDialog):
    """Shows what an import would change."""

    KEYS = (
        "ctrl+y import, esc leave the plan as it is; {search} search, {copy} copy, {share} export"
    )
    STEM = "import"

    def __init__(self, preview: ImportPreview) -> None:
        """Show this preview."""
        super().__init__(
            f"import {import_heading(preview)}",
            import_parts(preview, MOST_ROWS),
            does_something=preview.changes_plan,
        )
