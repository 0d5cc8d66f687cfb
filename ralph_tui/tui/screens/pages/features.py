"""The features page: the plans of a project, to choose one or create another."""

import asyncio
from collections.abc import Iterable, Sequence

from textual import getters
from textual.widget import Widget

from ralph_tui.domain.errors import RalphError
from ralph_tui.domain.features import NAME_RULE, FeatureSummary, shown_name
from ralph_tui.domain.formatting import plural
from ralph_tui.domain.view.loop_view import LoopView
from ralph_tui.engine.control.feature_control import choose_feature, make_feature
from ralph_tui.present.sections.feature_rows import ONE_PLAN, feature_blocks
from ralph_tui.present.text.spans import Tone
from ralph_tui.store.feature_choice import pin_feature
from ralph_tui.store.feature_folders import Features
from ralph_tui.store.io.files import utc_now
from ralph_tui.store.journal.journal_library import JournalLibrary
from ralph_tui.store.project import Project
from ralph_tui.tui.screens.dialogs.text_input import ValueDialog
from ralph_tui.tui.screens.pages.page import Handler, Page
from ralph_tui.tui.widgets.text_view import TextView

REREAD_SECONDS = 2.0


class FeaturesPage(Page):
    """Shows a row for each feature."""

    NAME = "features"
    AUTO_FOCUS = "#features"

    rows = getters.query_one("#features", TextView)

    def __init__(self, library: JournalLibrary) -> None:
        super().__init__()
        del library  # this page shows nothing of the journal
        self._found: Sequence[FeatureSummary] | None = None
        self._shown = ""

    def body(self) -> Iterable[Widget]:
        yield TextView(id="features")

    # Reading.

    def opened(self) -> None:
        """Read the features now and periodically, because other terminals may change them."""
        self.rows.border_title = "features"
        self.rows.show_message("loading")
        self._read()
        self.set_interval(REREAD_SECONDS, self._read)

    def view_changed(self, view: LoopView) -> None:
        if view.feature != self._shown and self._found:
            self._show(self._found)

    def _read(self) -> None:
        root = self.app.launch.root
        self.read(
            lambda _: Features(root).summaries(), self._take, group="features", failed=self._failed
        )

    def _failed(self, text: str) -> None:
        if self.is_attached:
            self._found = None
            self.rows.show_message(text, Tone.BAD)

    def _take(self, found: Sequence[FeatureSummary]) -> None:
        if self.is_attached and found != self._found:
            self._show(found)

    def _show(self, found: Sequence[FeatureSummary]) -> None:
        first = not self._found
        self._found, self._shown = found, self.app.view.feature
        if found:
            shown, glyphs = self._shown, self.app.glyphs
            self.rows.show_made(lambda width: feature_blocks(found, shown, width, glyphs))
            if first:
                self.rows.move_cursor(shown)
        else:
            self.rows.show_message(self.app.keys.said(ONE_PLAN))
        self.search_again()
        self.refresh_keys()

    # Commands.

    def search_target(self) -> TextView:
        return self.rows

    def chosen_text(self) -> str:
        return self.rows.chosen_text()

    def shown_text(self) -> str:
        return self.rows.text()

    def not_now(self, name: str) -> str:
        if name in ("choose", "archive") and not self._found:
            return self.app.keys.said(ONE_PLAN)
        return super().not_now(name)

    def handlers(self) -> dict[str, Handler]:
        return {
            **super().handlers(),
            "choose": self.do_choose,
            "new": self.do_new,
            "archive": self.do_archive,
        }

    def on_row_list_opened(self) -> None:
        self.action_invoke("choose")

    async def do_choose(self) -> None:
        name = self.rows.cursor
        if not isinstance(name, str):
            return
        if name == self.app.view.feature:
            self.app.show_message(f"{shown_name(name)} is already chosen.")
            return
        try:
            await asyncio.to_thread(choose_feature, self.app.launch.root, name)
        except RalphError as error:
            self.app.show_message(str(error), error=True)
            return
        self._switch_to(name)

    async def do_new(self) -> None:
        typed = await self.app.push_screen_wait(ValueDialog("New feature", NAME_RULE, ""))
        if typed is None or not typed.strip():
            return
        name = typed.strip()
        try:
            chosen = await asyncio.to_thread(make_feature, self.app.launch.root, name)
        except RalphError as error:
            self.app.show_message(str(error), error=True)
            return
        if chosen:
            self._switch_to(name)
        else:
            self.app.show_message(f"Created the feature {name}. Choose it when no loop is running.")
            self._read()

    async def do_archive(self) -> None:
        from ralph_tui.engine.control.archiving import archive_by_hand  # imports the formats

        name = self.rows.cursor
        if not isinstance(name, str):
            return
        project = Project(self.app.launch.root, name)
        try:
            made = await asyncio.to_thread(archive_by_hand, project, utc_now())
        except RalphError as error:
            self.app.show_message(str(error), error=True)
            return
        tasks = plural(made.tasks_total, "task")
        message = f"Archived {tasks} in .ralph/archive/{made.name}. "
        self.app.show_message(message + self.app.keys.said("Press {memory} to see it."))

    def _switch_to(self, name: str) -> None:
        pin_feature(name)
        self.app.launch.controls.pin_feature(name)
        self.app.watch_again()
        self.app.show_message(f"Now working on {shown_name(name)}.")
        self._read()
