"""Commands about the loop: build, pause, resume, stop, try now, and guidance for the agent."""

from ralph_tui.domain.view.loop_view import RunState
from ralph_tui.tui.commands.availability import no_loop
from ralph_tui.tui.handlers.command_host import CommandHost
from ralph_tui.tui.host.workers import attempt
from ralph_tui.tui.screens.dialogs.confirm import Confirm, ConfirmChoice
from ralph_tui.tui.screens.dialogs.text_input import GuidanceDialog, UrgentGuidanceDialog


class LoopHandlers:
    """Asks the running loop to do something."""

    def __init__(self, on: CommandHost) -> None:
        """Act on this app and its loop."""
        self._on = on
        self._app = on.app
        self._controls = on.app.launch.controls
        self._draft = ""

    async def build(self) -> None:
        """Run the loop."""
        self._on.loop.start_loop()

    async def hurry(self) -> None:
        """Retry now instead of waiting."""
        await attempt(self._app, self._controls.retry_now)

    async def pause(self) -> None:
        """Pause after the iteration, pause now, or resume."""
        if self._app.bridge.view.run_state is RunState.PAUSED:
            await attempt(self._app, self._controls.resume)
        else:
            await attempt(self._app, self._controls.pause)

    async def resume(self) -> None:
        """Resume, or withdraw a pause."""
        await attempt(self._app, self._controls.resume)

    async def stop(self) -> None:
        """Ask how soon to stop; when the loop is stopping already, stop at once."""
        if self._app.bridge.view.run_state is RunState.STOPPING:
            await attempt(self._app, lambda: self._controls.stop(now=True))
            return
        if self._app.bridge.view.run_state is RunState.LIMITED:
            await self._give_up()
            return
        answer = await self._app.push_screen_wait(
            Confirm(
                "stop the loop",
                "Nothing is lost. When it is interrupted, its task goes back to the board.",
                (
                    ConfirmChoice("x", "Stop after this iteration", "after"),
                    ConfirmChoice("s", "Stop now, interrupt the agent", "now", danger=True),
                    ConfirmChoice("k", "Keep running", "keep"),
                ),
                moot=self._app.bridge.over,
            )
        )
        if answer in ("after", "now"):
            await attempt(self._app, lambda: self._controls.stop(now=answer == "now"))

    async def _give_up(self) -> None:
        """Ask whether to end a run that waits for a limit: there is no iteration to finish first."""

        def over() -> str:
            waits = self._app.bridge.view.run_state is RunState.LIMITED
            return self._app.bridge.over() or ("" if waits else "The wait is over.")

        answer = await self._app.push_screen_wait(
            Confirm(
                "give up waiting",
                "Nothing is lost: the task is on the board for the next run.",
                (
                    ConfirmChoice("x", "Give up: end this run", "now"),
                    ConfirmChoice("k", "Keep waiting", "keep"),
                ),
                moot=over,
            )
        )
        if answer == "now":
            await attempt(self._app, lambda: self._controls.stop(now=True))

    async def inject(self) -> None:
        """Queue guidance for the next iteration; a draft survives Escape and a failed send."""
        await self._guide(GuidanceDialog(self._draft, runs=not no_loop(self._app.situation())))

    async def urge(self) -> None:
        """Send guidance to the agent now."""
        await self._guide(UrgentGuidanceDialog(self._draft))

    async def _guide(self, dialog: GuidanceDialog) -> None:
        text = await self._app.push_screen_wait(dialog)
        self._draft = dialog.draft
        if not text:
            return
        sent = await attempt(self._app, lambda: self._controls.inject(text, now=dialog.now))
        if sent is not None:
            self._draft = ""
            now = "Sent to the agent." if dialog.now else "Queued for the next iteration."
            self._app.say(now)
