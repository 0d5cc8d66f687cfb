"""What the commands about looking do: detail, search, filter, copy, export, panes."""

import asyncio
from collections.abc import Callable
from functools import partial

from ralph_tui.domain.plan.plan import Task
from ralph_tui.domain.run.breaker import CircuitBreaker
from ralph_tui.present.board.board_groups import board_text
from ralph_tui.present.timeline.entry_detail import detail_of
from ralph_tui.present.timeline.entry_lines import entries_text
from ralph_tui.tui.handlers.command_host import Owner, Try
from ralph_tui.tui.handlers.page_opener import Pages
from ralph_tui.tui.host.saving import save
from ralph_tui.tui.screens.dialogs.details import BreakerDetail, TaskDetail, ToolDetail
from ralph_tui.tui.screens.dialogs.jump import Jump, targets
from ralph_tui.tui.screens.dialogs.plan_review import PlanReview
from ralph_tui.tui.theme.stylesheets import read_sheets


class Looking:
    """Handlers of the commands that change nothing in the loop."""

    def __init__(self, app: Owner, attempt: Try, pages: Pages) -> None:
        """Look at what this app shows."""
        self._app = app
        self._attempt = attempt
        self._pages = pages

    async def detail(self) -> None:
        """The selected task or entry in full."""
        chosen = self._app.selection()
        if chosen is None:
            self._app.say("Nothing is selected yet.")
        elif isinstance(chosen, Task):
            self._app.push_screen(TaskDetail(chosen, self._app.view, self._pages.library))
        elif isinstance(chosen, CircuitBreaker):
            self._app.push_screen(BreakerDetail(chosen))
        else:
            here = self._app.screen
            detail = await asyncio.to_thread(detail_of, chosen, self._app.glyphs)
            if self._app.screen is here:  # nobody opened something meanwhile, or this twice
                self._app.push_screen(ToolDetail(detail))

    async def jump(self) -> None:
        """Letters on whatever can be gone to."""
        places = targets(self._app.screen)
        letters = Jump([place.at for place in places])
        read_sheets(self._app, letters)
        chosen = await self._app.push_screen_wait(letters)
        if chosen is not None:
            places[chosen].go()

    async def plan(self) -> None:
        """The plan as graph or list."""
        self._app.push_screen(PlanReview())

    async def search(self) -> None:
        """Words in the tasks or the activity."""
        await self._app.dashboard.search()

    async def sift(self) -> None:
        """The next filter, round and round."""
        board, stream = self._app.dashboard.board, self._app.dashboard.stream
        if board.has_focus:
            self._app.say(f"The board shows tasks: {board.sift()}.")
            return
        stream.sift(stream.sieve.next())
        self._app.say(f"The activity shows {stream.sieve}.")

    async def follow(self) -> None:
        """Follow the stream, or let go."""
        self._app.dashboard.stream.action_follow()

    async def copy(self) -> None:
        """Copy what the mouse has marked, else the selected task or entry."""
        if marked := self._app.marked():
            self._app.copy_to_clipboard(marked)
            return
        chosen = self._app.selection()
        if chosen is None:
            self._app.say("Nothing is selected yet.")
            return
        if isinstance(chosen, Task):
            text = f"{chosen.id}  {chosen.description}"
        elif isinstance(chosen, CircuitBreaker):
            text = self._app.dashboard.side.text()
        else:
            text = detail_of(chosen, self._app.glyphs).text
        self._app.copy_to_clipboard(text)

    async def copy_all(self) -> None:
        """The pane in use, whole: tasks and activity as they are filtered."""
        _, work = self._exported()
        self._app.copy_to_clipboard(await asyncio.to_thread(work))

    async def export(self) -> None:
        """The pane in use as a file: tasks and activity as they are filtered."""
        stem, work = self._exported()
        await save(self._app, stem, await asyncio.to_thread(work))

    def _exported(self) -> tuple[str, Callable[[], str]]:
        """The file's name, and what makes its text off the event loop; widgets are asked here."""
        dashboard, app = self._app.dashboard, self._app
        if dashboard.board.has_focus:
            tasks, only = app.view.tasks, dashboard.board.only
            return "tasks", partial(board_text, tasks, app.glyphs, only)
        if dashboard.side.has_focus:
            return "status", partial(str, dashboard.side.text())
        return "activity", partial(entries_text, dashboard.activity(), app.glyphs)

    async def keep_theme(self, name: str) -> None:
        """For the next time, too."""
        from ralph_tui.engine.configuring import change_setting

        root = self._app.launch.root
        kept = await self._attempt(lambda: change_setting(root, "screen.theme", name))
        if kept is not None:
            stronger = f" {kept.stronger} is stronger." if kept.stronger else ""
            self._app.say(f"The theme {name} is kept for this project.{stronger}")

    async def tasks(self) -> None:
        """Focus the board."""
        self._app.dashboard.go_to("tasks")

    async def activity(self) -> None:
        """Focus the stream."""
        self._app.dashboard.go_to("activity")

    async def status(self) -> None:
        """Focus the panels."""
        self._app.dashboard.go_to("status")

    async def next_pane(self) -> None:
        """Focus the next pane."""
        self._app.dashboard.step_pane(1)

    async def previous_pane(self) -> None:
        """Focus the pane before."""
        self._app.dashboard.step_pane(-1)
