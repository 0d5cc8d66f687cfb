"""Commands that start a run: a new request, or a new plan."""

import asyncio

from ralph_tui.domain.view.loop_view import RunState
from ralph_tui.engine.control.request import REPLAN
from ralph_tui.store.foreign_files import foreign_plans
from ralph_tui.tui.data.project_files import open_request
from ralph_tui.tui.handlers.command_host import CommandHost
from ralph_tui.tui.screens.dialogs.plan_review import PlanReview
from ralph_tui.tui.screens.dialogs.text_input import ReplanDialog, RequestDialog


class StartHandlers:
    """Starts a run for a new request, or to replan."""

    def __init__(self, host: CommandHost) -> None:
        self._app = host.app
        self._dashboard = host.dashboard
        self._loop = host.loop
        self._draft = ""
        self._sent = ""
        """The last request; offered again if its run failed before there was a plan, as without a login."""
        self._feedback = ""
        self._offered = False

    async def offer_request(self) -> None:
        """Ask for a request if no loop runs and the project has none; called when the plan was read."""
        app, dashboard = self._app, self._dashboard
        app.request = await asyncio.to_thread(open_request, app.launch.root)
        if app.view.is_known and not app.view.tasks and app.launch.importer is not None:
            app.foreign_plans = await asyncio.to_thread(foreign_plans, app.launch.root)
        if not dashboard.is_composed:
            return  # the screen has closed meanwhile
        dashboard.show_banner()
        dashboard.refresh_keys()
        free = app.screen is dashboard and not app.bridge.live
        # The banner shows why a run failed; no dialog may cover it.
        failed = app.view.run_state is RunState.FAILED
        begun = app.request or app.view.tasks or app.foreign_plans or self._offered or failed
        wanted = app.view.is_known and not begun
        if wanted and free and app.launch.run_request is not None:
            self._offered = True
            app.action_invoke("request")

    async def show_readiness(self) -> None:
        """Show the checks before a run and its maximum cost, unless a run has started or nothing is left to run."""
        look = self._app.launch.readiness
        if look is None or self._app.bridge.live:
            return
        found = await asyncio.to_thread(lambda: tuple(look()))
        if self._app.view.finished:
            return
        if not self._app.bridge.live:
            self._app.findings = found
            for notice in found:
                self._app.bridge.sink(notice)

    async def request(self) -> None:
        app = self._app
        if not (self._draft or app.view.tasks) and app.view.run_state is RunState.FAILED:
            self._draft = self._sent
        dialog = RequestDialog(self._draft)
        text = await app.push_screen_wait(dialog)
        self._draft = dialog.draft
        if text:
            self._draft, self._sent = "", text
            self._loop.start_loop(text)

    async def replan(self) -> None:
        """Ask what to change, close the review of the old plan, and replan."""
        dialog = ReplanDialog(self._feedback)
        text: str | None = await self._app.push_screen_wait(dialog)
        self._feedback = dialog.draft
        if text is None:
            return
        self._feedback = ""
        review: object = self._app.screen
        if isinstance(review, PlanReview):
            review.dismiss()
        self._loop.start_loop(text or REPLAN, replans=True)
