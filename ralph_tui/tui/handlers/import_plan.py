"""The command that imports another tool's plan: asks for the file, previews the changes, and imports it."""

import asyncio
from functools import partial

from ralph_tui.domain.errors import RalphError
from ralph_tui.domain.plan.import_preview import ImportPreview
from ralph_tui.domain.sanitize import one_line
from ralph_tui.engine.control.launch import PlanImporter
from ralph_tui.present.sections.import_parts import import_done, import_heading, import_parts
from ralph_tui.present.text.key_hints import commands_as_key_text
from ralph_tui.store.foreign_files import foreign_plans
from ralph_tui.tui.handlers.command_host import CommandHost
from ralph_tui.tui.host.widget_host import attempt
from ralph_tui.tui.screens.dialogs.preview import PreviewDialog
from ralph_tui.tui.screens.dialogs.text_input import ValueDialog

MOST_ROWS = 1_000
MOST_NAMED = 5

_WHICH = "A plan file of another tool, or a directory of such files, relative to the project. You see a preview first."


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


class ImportHandler:
    """Imports another tool's plan into the project's plan."""

    def __init__(self, host: CommandHost) -> None:
        self._app = host.app

    async def import_plan(self) -> None:
        """Ask for a file until one can be read or the person leaves, preview its changes, and import it."""
        make, app = self._app.launch.importer, self._app
        if make is None:
            return
        found = await asyncio.to_thread(foreign_plans, app.launch.root)
        typed: str | None = found[0] if found else ""
        hint = f"{_WHICH}{_named(found)}"
        while (
            typed := await app.push_screen_wait(ImportFileDialog(hint, typed or ""))
        ) is not None:
            if not (name := typed.strip()):
                app.show_message("Enter a file name first, or press esc to cancel.")
                continue
            importer = await asyncio.to_thread(make)
            try:
                preview = await asyncio.to_thread(importer.look, name)
            except RalphError as error:
                message = commands_as_key_text(app.keys, str(error))
                app.show_message(message, error=True)
                hint = message  # a toast disappears, but the person needs the sentence while correcting the name
                continue
            if await app.push_screen_wait(ImportDialog(preview)):
                await self._write(importer, preview)
            return

    async def _write(self, importer: PlanImporter, preview: ImportPreview) -> None:
        done = await attempt(self._app, partial(importer.write, preview))
        if done is not None:
            self._app.foreign_plans = ()
            self._app.show_message(f"Imported {import_done(done)}.")


def _named(found: tuple[str, ...]) -> str:
    if len(found) < 2:
        return ""
    names = ", ".join(one_line(name, 80) for name in found[:MOST_NAMED])
    more = f" and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
    return f" Found here: {names}{more}."
