"""The features page: the plans of a project, to choose one or to make another."""

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
from ralph_tui.present.text.parts import LineBlock
from ralph_tui.present.text.spans import Span, Tone
from ralph_tui.store.feature_choice import keep_to
from ralph_tui.store.feature_folders import Features
from ralph_tui.store.io.files import utc_now
from ralph_tui.store.journal.journal_library import JournalLibrary
from ralph_tui.store.project import Project
from ralph_tui.tui.screens.dialogs.text_input import ValueDialog
from ralph_tui.tui.screens.pages.page import Handler, Page
from ralph_tui.tui.widgets.text_view import TextView

REREAD_SECONDS = 2.0


class FeaturesPage(Page):
    """Shows one row for each feature."""

    NAME = "features"
    AUTO_FOCUS = "#features"

    rows = getters.query_one("#features", TextView)

    def __init__(self, library: JournalLibrary) -> None:
        """Read nothing yet."""
        super().__init__()
        del library  # nothing here is in the journal
        self._found: Sequence[FeatureSummary] | None = None
        self._shown = ""

    def body(self) -> Iterable[Widget]:
        """Yield the list."""
        yield TextView(id="features")

    # Reading.

    def opened(self) -> None:
        """Read the features now and every so often: other terminals make and change them."""
        self.rows.border_title = "features"
        self._say("reading")
        self._read()
        self.set_interval(REREAD_SECONDS, self._read)

    def changed(self, view: LoopView) -> None:
        """Mark another row when another feature is shown."""
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
            self._say(text, Tone.BAD)

    def _say(self, text: str, tone: Tone = Tone.MUTED) -> None:
        self.rows.show_blocks([LineBlock(None, [[Span(text, tone)]])])

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
            self._say(self.app.keys.said(ONE_PLAN))
        self.search_again()
        self.refresh_keys()

    # Commands.

    def searched_in(self) -> TextView:
        """Return the list."""
        return self.rows

    def chosen_text(self) -> str:
        """Return the row under the cursor."""
        return self.rows.chosen_text()

    def shown_text(self) -> str:
        """Return all rows."""
        return self.rows.text()

    def not_now(self, name: str) -> str:
        """Refuse what needs a feature where there is none."""
        if name in ("choose", "archive") and not self._found:
            return self.app.keys.said(ONE_PLAN)
        return super().not_now(name)

    def handlers(self) -> dict[str, Handler]:
        """Add the page's own commands."""
        return {
            **super().handlers(),
            "choose": self.do_choose,
            "new": self.do_new,
            "archive": self.do_archive,
        }

    def on_row_list_opened(self) -> None:
        """Treat a double click as Enter."""
        self.action_invoke("choose")

    async def do_choose(self) -> None:
        """Choose the feature under the cursor, and show it."""
        name = self.rows.cursor
        if not isinstance(name, str):
            return
        if name == self.app.view.feature:
            self.app.say(f"{shown_name(name)} is the one you see.")
            return
        try:
            await asyncio.to_thread(choose_feature, self.app.launch.root, name)
        except RalphError as error:
            self.app.say(str(error), error=True)
            return
        self._turn_to(name)

    async def do_new(self) -> None:
        """Ask for a name, and make a feature."""
        typed = await self.app.push_screen_wait(ValueDialog("new feature", NAME_RULE, ""))
        if typed is None or not typed.strip():
            return
        name = typed.strip()
        try:
            chosen = await asyncio.to_thread(make_feature, self.app.launch.root, name)
        except RalphError as error:
            self.app.say(str(error), error=True)
            return
        if chosen:
            self._turn_to(name)
        else:
            self.app.say(f"Made the feature {name}. It can be chosen once no loop runs.")
            self._read()

    async def do_archive(self) -> None:
        """Archive the plan of the feature under the cursor."""
        from ralph_tui.engine.control.archiving import archive_by_hand  # imports the formats

        name = self.rows.cursor
        if not isinstance(name, str):
            return
        project = Project(self.app.launch.root, name)
        try:
            made = await asyncio.to_thread(archive_by_hand, project, utc_now())
        except RalphError as error:
            self.app.say(str(error), error=True)
            return
        tasks = plural(made.tasks_total, "task")
        said = f"Archived {tasks} in .ralph/archive/{made.name}. "
        self.app.say(said + self.app.keys.said("{memory} shows it."))

    def _turn_to(self, name: str) -> None:
        """Show another feature, which was chosen."""
        keep_to(name)
        self.app.launch.controls.keep_to(name)
        self.app.watch_again()
        self.app.say(f"Commands work on {shown_name(name)} from now on.")
        self._read()
