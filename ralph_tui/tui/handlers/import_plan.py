"""The command that imports a plan of another tool: which file, what it would change, and then the change."""

import asyncio
from functools import partial
from typing import TYPE_CHECKING

from ralph_tui.domain.errors import RalphError
from ralph_tui.domain.sanitize import one_line
from ralph_tui.engine.control.launch import PlanImporter
from ralph_tui.present.text.key_hints import commands_as_key_text
from ralph_tui.store.foreign_files import foreign_plans
from ralph_tui.tui.handlers.command_host import CommandHost
from ralph_tui.tui.host.workers import attempt

if TYPE_CHECKING:
    from ralph_tui.domain.plan.import_preview import ImportPreview

MOST_NAMED = 5

_WHICH = "A file of another tool's plan, or a directory of them, relative to the project. Nothing is changed yet."


class ImportHandler:
    """Imports into the plan of the project."""

    def __init__(self, on: CommandHost) -> None:
        """Nothing was typed yet."""
        self._app = on.app

    async def import_plan(self) -> None:
        """Ask for a file until one can be read or the person leaves, show what it would change, and do it."""
        # Not before the first paint.
        from ralph_tui.tui.screens.dialogs.import_report import ImportDialog, ImportFileDialog

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
                app.say("Name a file first, or press esc to leave.")
                continue
            importer = await asyncio.to_thread(make)
            try:
                preview = await asyncio.to_thread(importer.look, name)
            except RalphError as error:
                said = commands_as_key_text(app.keys, str(error))
                app.say(said, error=True)
                hint = said  # a toast goes away, and the whole sentence is wanted while one corrects the name
                continue
            if await app.push_screen_wait(ImportDialog(preview)):
                await self._write(importer, preview)
            return

    async def _write(self, importer: PlanImporter, preview: "ImportPreview") -> None:
        from ralph_tui.present.sections.import_parts import import_done

        done = await attempt(self._app, partial(importer.write, preview))
        if done is not None:
            self._app.foreign_plans = ()
            self._app.say(f"Imported {import_done(done)}.")


def _named(found: tuple[str, ...]) -> str:
    """Name the files that are there, for who wants another one than the first."""
    if len(found) < 2:
        return ""
    names = ", ".join(one_line(name, 80) for name in found[:MOST_NAMED])
    more = f" and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
    return f" Found here: {names}{more}."
