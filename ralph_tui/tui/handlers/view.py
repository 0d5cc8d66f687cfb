"""Commands that show something: detail, search, filter, copy, panes, help; and the pages."""

import asyncio
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

from ralph_tui.domain.plan.plan import Task
from ralph_tui.domain.run.breaker import CircuitBreaker
from ralph_tui.present.board.board_groups import board_text
from ralph_tui.present.timeline.entry_detail import detail_of
from ralph_tui.present.timeline.entry_lines import entries_text
from ralph_tui.store.journal.journal_library import JournalLibrary
from ralph_tui.tui.handlers.command_host import CommandHost
from ralph_tui.tui.host.saving import save, share
from ralph_tui.tui.host.widget_host import Host
from ralph_tui.tui.screens.dialogs.command_palette import open_palette
from ralph_tui.tui.screens.dialogs.confirm import DETAILS, TaskMenu
from ralph_tui.tui.screens.dialogs.help import HelpDialog
from ralph_tui.tui.screens.dialogs.plan_review import PlanReview
from ralph_tui.tui.screens.dialogs.text_reader import TaskDetail, ToolDetail
from ralph_tui.tui.theme.themes import read_sheets

_ALONE = "This terminal shows one pane at a time. Press {tasks}, {activity} or {status} to switch."


class PageOpener:
    """Opens the pages of one app, one at a time."""

    def __init__(self, app: Host) -> None:
        self._app = app
        self.library = JournalLibrary(
            app.launch.root,
            lambda: app.bridge.live,
            lambda: app.view.feature if app.view.features else None,
        )

    async def open(self, name: str, **wanted: Any) -> None:
        """Open a page; it replaces a page that is open."""
        module = await asyncio.to_thread(import_module, f"ralph_tui.tui.screens.pages.{name}")
        from ralph_tui.tui.screens.pages.page import Page

        page: Page = getattr(module, f"{name.capitalize()}Page")(self.library, **wanted)
        read_sheets(self._app, page)
        if isinstance(self._app.screen, Page):
            if name == self._app.screen.NAME and not wanted:
                return
            self._app.switch_screen(page)
        else:
            self._app.push_screen(page)


class ViewHandlers:
    """Shows, searches and copies; changes nothing in the loop."""

    def __init__(self, host: CommandHost, pages: PageOpener) -> None:
        self._host = host
        self._app = host.app
        self._pages = pages

    async def detail(self) -> None:
        """Show the selected task or entry in full."""
        chosen = self._host.selection()
        if chosen is None:
            board = self._host.dashboard.board
            if not (
                board.has_focus and board.fold()
            ):  # on a heading, Enter folds or unfolds its group
                self._app.show_message("Nothing is selected.")
        elif isinstance(chosen, Task):
            await self._task(chosen)
        elif isinstance(chosen, CircuitBreaker):
            await self._pages.open("why", view="breaker")
        else:
            here = self._app.screen
            detail = await asyncio.to_thread(detail_of, chosen, self._app.glyphs)
            if self._app.screen is here:  # no other screen was opened meanwhile
                self._app.push_screen(ToolDetail(detail))

    async def _task(self, task: Task) -> None:
        chosen = await self._app.push_screen_wait(TaskMenu(task, self._app.command_context()))
        if chosen == DETAILS:
            shown = self._app.view.tasks.get(task.id, task)
            self._app.push_screen(TaskDetail(shown, self._app.view, self._pages.library))
        elif chosen:
            self._app.action_invoke(chosen)

    async def plan(self) -> None:
        self._app.push_screen(PlanReview())

    async def search(self) -> None:
        await self._host.dashboard.search()

    async def sift(self) -> None:
        board, stream = self._host.dashboard.board, self._host.dashboard.stream
        if board.has_focus:
            self._app.show_message(f"Task filter: {board.sift()}.")
            return
        stream.filter_entries(stream.entry_filter.next())
        self._app.show_message(f"Activity filter: {stream.entry_filter}.")

    async def fold(self) -> None:
        """Hide or show the tasks of a group, or the checks of a rejected claim."""
        dashboard = self._host.dashboard
        if dashboard.stream.has_focus:
            if not dashboard.stream.fold():
                self._app.show_message("Only rejected claims can be folded here. Select one first.")
        elif not dashboard.board.fold():
            self._app.show_message("Select a task on the board first.")

    async def zoom(self) -> None:
        if not self._host.dashboard.zoom():
            self._app.show_message(self._app.keys.said(_ALONE))

    async def follow(self) -> None:
        self._host.dashboard.stream.action_follow()

    async def copy(self) -> None:
        """Copy the mouse selection, or else the selected task, group of tasks or entry."""
        if marked := self._app.mouse_selection():
            self._app.copy_to_clipboard(marked)
            return
        board = self._host.dashboard.board
        if board.has_focus and board.folded_group is not None:
            self._app.copy_to_clipboard(
                board_text(self._app.view.tasks, self._app.glyphs, board.folded_group)
            )
            return
        chosen = self._host.selection()
        if chosen is None:
            self._app.show_message("Nothing is selected.")
            return
        if isinstance(chosen, Task):
            text = f"{chosen.id}  {chosen.description}"
        elif isinstance(chosen, CircuitBreaker):
            text = self._host.dashboard.side.text()
        else:
            text = detail_of(chosen, self._app.glyphs).text
        self._app.copy_to_clipboard(text)

    async def share(self) -> None:
        name, work = self._shown()
        await share(self._app, name, await asyncio.to_thread(work))

    def _shown(self) -> tuple[str, Callable[[], str]]:
        """Return the name of the focused pane and a function that returns its text.

        Widgets are read here, so that the function may run in a thread.
        """
        dashboard, app = self._host.dashboard, self._app
        if dashboard.board.has_focus:
            tasks, only = app.view.tasks, dashboard.board.only
            return "tasks", partial(board_text, tasks, app.glyphs, only)
        if dashboard.side.has_focus:
            return "status", partial(str, dashboard.side.text())
        return "activity", partial(entries_text, dashboard.activity(), app.glyphs)

    async def pane(self, name: str) -> None:
        self._host.dashboard.go_to(name)

    async def step_pane(self, step: int) -> None:
        self._host.dashboard.step_pane(step)

    async def help(self) -> None:
        self._app.push_screen(HelpDialog())

    async def palette(self) -> None:
        open_palette(self._app)

    async def screenshot(self) -> None:
        await save(self._app, "screen", self._app.export_screenshot(), form="svg")
