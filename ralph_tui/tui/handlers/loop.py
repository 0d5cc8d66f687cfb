"""Commands for the loop: build, pause, resume, stop, retry now, and guidance for the agent."""

from ralph_tui.domain.view.loop_view import RunState
from ralph_tui.tui.commands.availability import no_loop
from ralph_tui.tui.handlers.command_host import CommandHost
from ralph_tui.tui.host.widget_host import attempt
from ralph_tui.tui.screens.dialogs.confirm import Confirm, ConfirmChoice
from ralph_tui.tui.screens.dialogs.text_input import GuidanceDialog


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
