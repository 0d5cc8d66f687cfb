"""Commands for the loop: build, a request, a new plan, pause, resume, stop, retry now, and guidance for the agent."""

import asyncio

from ralph_tui.domain.view.loop_view import RunState
from ralph_tui.engine.control.request import REPLAN
from ralph_tui.store.foreign_files import foreign_plans
from ralph_tui.tui.commands.availability import no_loop
from ralph_tui.tui.data.project_files import open_request
from ralph_tui.tui.handlers.command_host import CommandHost
from ralph_tui.tui.host.widget_host import attempt
from ralph_tui.tui.screens.dialogs.confirm import Confirm, ConfirmChoice
from ralph_tui.tui.screens.dialogs.plan_review import PlanReview
from ralph_tui.tui.screens.dialogs.text_input import GuidanceDialog, ReplanDialog, RequestDialog


class LoopHandlers:
    """Controls the loop."""

    def __init__(self, host: CommandHost) -> None:
        self._host = host
        self._app = host.app
        self._controls = host.app.launch.controls
        self._draft = ""

    async def build(self) -> None:
        self._host.loop.start_loop()

    async def hurry(self) -> None:
        await attempt(self._app, self._controls.retry_now)

    async def pause(self) -> None:
        """Resume when paused; otherwise pause after the iteration, or at once when asked again."""
        if self._app.bridge.view.run_state is RunState.PAUSED:
            await attempt(self._app, self._controls.resume)
        else:
            await attempt(self._app, self._controls.pause)

    async def resume(self) -> None:
        await attempt(self._app, self._controls.resume)

    async def stop(self) -> None:
        """Ask how soon to stop; if the loop is already stopping, stop at once."""
        if self._app.bridge.view.run_state is RunState.STOPPING:
            await attempt(self._app, lambda: self._controls.stop(now=True))
            return
        if self._app.bridge.view.run_state is RunState.LIMITED:
            await self._ask_to_give_up()
            return
        answer = await self._app.push_screen_wait(
            Confirm(
                "Stop the loop",
                "No progress is lost. An interrupted task returns to the queue.",
                (
                    ConfirmChoice("x", "Stop after this iteration", "after"),
                    ConfirmChoice("s", "Stop now and interrupt the agent", "now", danger=True),
                    ConfirmChoice("k", "Keep running", "keep"),
                ),
                moot=self._app.bridge.ended_message,
            )
        )
        if answer in ("after", "now"):
            await attempt(self._app, lambda: self._controls.stop(now=answer == "now"))

    async def _ask_to_give_up(self) -> None:
        def ended() -> str:
            waits = self._app.bridge.view.run_state is RunState.LIMITED
            return self._app.bridge.ended_message() or ("" if waits else "The wait is over.")

        answer = await self._app.push_screen_wait(
            Confirm(
                "Stop waiting",
                "No progress is lost. The task stays in the queue for the next run.",
                (
                    ConfirmChoice("x", "End this run", "now"),
                    ConfirmChoice("k", "Keep waiting", "keep"),
                ),
                moot=ended,
            )
        )
        if answer == "now":
            await attempt(self._app, lambda: self._controls.stop(now=True))

    async def inject(self) -> None:
        dialog = GuidanceDialog(self._draft, runs=not no_loop(self._app.command_context()))
        text = await self._app.push_screen_wait(dialog)
        self._draft = dialog.draft
        if not text:
            return
        sent = await attempt(self._app, lambda: self._controls.inject(text, now=dialog.now))
        if sent is not None:
            self._draft = ""
            now = "Sent to the agent." if dialog.now else "Queued for the next iteration."
            self._app.show_message(now)


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
