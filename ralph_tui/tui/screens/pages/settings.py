"""The settings page: settings with their sources, and the limits of the running loop."""

from collections.abc import Iterable
from typing import NamedTuple

from textual import getters
from textual.content import Content
from textual.widget import Widget
from textual.worker import Worker

from ralph_tui.config.load import EffectiveSetting
from ralph_tui.domain.errors import RalphError
from ralph_tui.domain.project_state import Adjusted
from ralph_tui.domain.view.loop_view import LoopView
from ralph_tui.engine.control.run_settings import SettingChange, adjust, change_setting, effective
from ralph_tui.present.sections.settings_list import (
    LIVE_LIMITS,
    LiveLimit,
    live_blocks,
    parsed,
    setting_blocks,
    with_words,
)
from ralph_tui.present.text.parts import LineBlock
from ralph_tui.present.text.spans import Span, Tone
from ralph_tui.store.journal.journal_library import JournalLibrary
from ralph_tui.store.project import Project
from ralph_tui.tui.commands.command import Command
from ralph_tui.tui.screens.dialogs.text_input import ValueDialog
from ralph_tui.tui.screens.pages.page import Page
from ralph_tui.tui.widgets.tabs import ViewTabs
from ralph_tui.tui.widgets.text_view import TextView

VIEWS = ("this run", "all settings")
THEME = "screen.theme"

REREAD_SECONDS = 2.0
"""Seconds between two readings of the settings files, which may be edited elsewhere."""


class _OnDisk(NamedTuple):
    """What was read from disk."""

    settings: tuple[EffectiveSetting, ...]
    adjusted: Adjusted | None


class SettingsPage(Page):
    """Shows two lists of values; Enter changes the one under the cursor."""

    NAME = "settings"
    AUTO_FOCUS = "#text"

    tabs = getters.query_one(ViewTabs)
    text = getters.query_one("#text", TextView)

    def __init__(self, library: JournalLibrary) -> None:
        super().__init__()
        del library  # this page shows nothing of the journal
        self._on_disk: _OnDisk | None = None
        self._reading: Worker[None] | None = None
        self._error_text = ""
        self._drawn: list[LineBlock] = []
        self._shown: object = None
        self._filter = ""

    def body(self) -> Iterable[Widget]:
        yield ViewTabs(VIEWS)
        yield TextView(id="text")

    # Reading.

    def opened(self) -> None:
        self._read()
        self.set_interval(REREAD_SECONDS, self._reread)

    def view_changed(self, view: LoopView) -> None:
        shown = (view.costs, view.run_iterations, view.limits, view.max_iterations, view.run_state)
        if shown != self._shown:
            before, self._shown = self._shown, shown
            if isinstance(before, tuple) and before[2:] != shown[2:]:
                self._read()
            elif self.tabs.active == "this run":
                self._show()

    def _read(self) -> None:
        root = self.app.launch.root

        def known(_: object) -> _OnDisk:
            return _OnDisk(effective(root), Project(root).look().state.adjusted)

        self._reading = self.read(known, self._take, group="settings", failed=self._failed)

    def _reread(self) -> None:
        if self._reading is None or self._reading.is_finished:
            self._read()

    def _take(self, known: _OnDisk) -> None:
        self._on_disk, self._error_text = known, ""
        self._show()

    def _failed(self, text: str) -> None:
        self._error_text = text
        self._show()

    # Showing.

    @property
    def _by_key(self) -> dict[str, EffectiveSetting]:
        known = self._on_disk
        return {setting.key: setting for setting in known.settings} if known is not None else {}

    def _blocks(self) -> list[LineBlock]:
        if self._error_text:
            return [LineBlock(None, [[Span(self._error_text, Tone.BAD)]])]
        if self._on_disk is None:
            return [LineBlock(None, [[Span("loading", Tone.MUTED)]])]
        if self.tabs.active == "all settings":
            return setting_blocks(with_words(self._on_disk.settings, self._filter))
        running = self.app.bridge.live
        return live_blocks(self._by_key, self._on_disk.adjusted, self.app.view, running=running)

    def _show(self) -> None:
        if not self.is_attached:
            return
        blocks = self._blocks()
        self.text.border_title = Content(self.tabs.active)
        if blocks != self._drawn:
            self._drawn = blocks
            self.text.show_blocks(blocks)
            self.search_again()

    def on_view_tabs_chosen(self) -> None:
        self.text.cursor = None
        self._filter = ""
        self.leave_search()
        self._show()
        self.text.focus()

    # Searching, which filters the list of all settings.

    @property
    def _filters(self) -> bool:
        return self.tabs.active == "all settings"

    def label(self, command: Command) -> str:
        return "filter" if command.name == "search" and self._filters else super().label(command)

    def search_for(self, words: str) -> None:
        """Show only the settings that contain these words; in the other lists, go to the next match."""
        if not self._filters:
            self._filter = ""
            super().search_for(words)
            return
        self._filter = words
        self._show()
        if not self.is_search_open:
            self.text.focus()

    def search_again(self) -> None:
        """Search again, or show the number of filtered settings, because the list has changed."""
        if not self._filters:
            super().search_again()
        elif self.search_line is not None and self._on_disk is not None and self._filter:
            settings = self._on_disk.settings
            self.search_line.show_message(
                f"{len(with_words(settings, self._filter))} of {len(settings)}"
            )

    # Changing.

    async def do_open(self) -> None:
        key = self.text.cursor
        if not isinstance(key, str) or self._on_disk is None:
            return
        if key == THEME:
            self.app.search_themes()
        elif self.tabs.active == "all settings":
            await self._change_setting(key)
        else:
            await self._change_limit(next(live for live in LIVE_LIMITS if live.name == key))

    def on_row_list_opened(self) -> None:
        self.action_invoke("open")

    async def _change_setting(self, key: str) -> None:
        setting = self._by_key[key]
        typed = await self.app.push_screen_wait(ValueDialog(key, setting.help, setting.value))
        if typed is not None and typed != setting.value:
            self._write(key, typed)

    def _write(self, key: str, typed: str) -> None:
        root = self.app.launch.root
        self.read(
            lambda _: change_setting(root, key, typed),
            self._setting_changed,
            group="write",
        )

    def _setting_changed(self, changed: SettingChange) -> None:
        stronger = f" {changed.stronger} overrides it." if changed.stronger else ""
        self.app.show_message(f"Saved {changed.value} for the next run.{stronger}")
        self._read()

    async def _change_limit(self, live: LiveLimit) -> None:
        if not self.app.bridge.live:
            await self._change_setting(live.key)
            return
        now = (
            getattr(self._on_disk.adjusted, live.name, None) if self._on_disk is not None else None
        )
        value = str(now) if now is not None else self._by_key[live.key].value
        hint = f"Applies to this run only, {live.when}."
        typed = await self.app.push_screen_wait(ValueDialog(live.title, hint, value))
        if typed is None or typed == value:
            return
        try:
            wanted = parsed(live, typed)
        except RalphError as error:
            self.app.show_message(str(error), error=True)
            return
        root = self.app.launch.root
        self.read(lambda _: adjust(root, wanted), self._adjusted, group="adjust")

    def _adjusted(self, adjusted: Adjusted) -> None:
        self.app.show_message(f"Changed for this run: {adjusted.summary}.")
        self._read()

    def shown_text(self) -> str:
        settings = self._on_disk.settings if self._on_disk is not None else ()
        return "\n".join(f"{s.key} = {s.value}  ({s.source})" for s in settings)
