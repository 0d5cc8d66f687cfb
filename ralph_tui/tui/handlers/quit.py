"""Commands that quit: at once when no loop runs here; otherwise stop, detach or stay."""

from collections.abc import Awaitable, Callable

from ralph_tui.domain.errors import ExitCode
from ralph_tui.domain.outcomes import LoopStatus
from ralph_tui.domain.project_state import Adjusted, Phase
from ralph_tui.domain.view.loop_view import RunState
from ralph_tui.engine.control.request import RunRequest
from ralph_tui.tui.handlers.command_host import CommandHost
from ralph_tui.tui.host.widget_host import attempt
from ralph_tui.tui.screens.dialogs.confirm import Confirm, ConfirmChoice

_AFTER = ConfirmChoice("x", "Stop after this iteration, then quit", "end")
_STAY = ConfirmChoice("k", "Keep running here", "keep")
_STOP = ConfirmChoice("s", "Stop now and quit (interrupts the iteration)", "stop", danger=True)
_DETACH = (
    ConfirmChoice("t", "Detach after this iteration", "after"),
    ConfirmChoice("T", "Detach now (restarts the iteration)", "detach"),
)
_QUESTION = "The loop runs in this terminal. Quitting stops it."
_QUESTION_DETACH = "The loop runs in this terminal. Detach to keep it running in the background. Run `ralph` to return to it."


class QuitHandlers:
    """Closes the screen."""

    def __init__(self, host: CommandHost) -> None:
        self._app = host.app
        self._bridge = host.app.bridge
        self._loop = host.loop
        self._stopping = False

    async def quit(self) -> None:
        """Leave at once if no loop runs here, or on a second request while it stops; otherwise ask."""
        if not self._bridge.running or self._stopping:
            self._leave()
            return
        if (
            self._bridge.finished is not None
        ):  # the run has ended and is cleaning up: nothing to ask
            self._stopping = True
            self._app.show_message(
                self._app.keys.said("Closing. Press {quit} again to quit immediately.")
            )
            self._loop.exit_when_finished()
            return
        can_detach = self._app.launch.continue_in_background is not None
        question = _QUESTION_DETACH if can_detach else _QUESTION
        # Enter chooses the first, so it loses nothing; the one that interrupts comes last.
        choices = (*(_DETACH if can_detach else ()), _AFTER, _STAY, _STOP)
        answer = await self._app.push_screen_wait(
            Confirm("Quit", question, choices, moot=self._bridge.ended_message)
        )
        if answer == "stop":
            await self.leave_now()
        elif answer == "end":
            self._app.show_message("The loop stops after this iteration. Then the screen closes.")
            if await self._stop_loop(None, now=False):
                self._loop.exit_when_finished()
        elif answer in ("detach", "after"):
            await self._detach(now=answer == "detach")

    async def leave_now(self, why: str = "") -> None:
        """Stop the loop at once and leave when it has ended; on a second request, leave at once.

        `why` names the cause if it is not the person, such as a signal.
        """
        if not self._bridge.running or self._stopping:
            self._leave()
            return
        self._stopping = True
        self._app.show_message(
            self._app.keys.said("Stopping, then quitting. Press {quit} again to quit immediately.")
        )
        await attempt(self._app, lambda: self._app.launch.controls.stop(now=True, why=why))
        self._loop.exit_when_finished()

    async def run_in_background(self, request: str, *, replans: bool = False) -> None:
        """Run the loop in a background process; the watcher shows it."""
        continue_in_background = self._app.launch.continue_in_background
        if continue_in_background is not None:
            self._app.show_message("Starting the loop in the background.")
            asked = _request(request, whole=bool(request), replans=replans)
            await attempt(self._app, lambda: continue_in_background(asked, Adjusted()))

    def _leave(self) -> None:
        found = self._app.view.elsewhere
        if found is not None:
            self._app.exit_message = (
                f"The loop continues in process {found.pid}. Run `ralph` to return to it."
            )
        self._app.exit(self._bridge.exit_code)

    async def _detach(self, *, now: bool) -> None:
        message = (
            "Interrupting the turn. A background process then continues the loop."
            if now
            else "A background process continues the loop after this iteration."
        )
        self._app.show_message(message)
        await self._stop_loop(self._hand_over, now=now)

    async def _stop_loop(self, then: Callable[[], Awaitable[bool]] | None, *, now: bool) -> bool:
        """Stop the loop and call `then` when it has ended; return whether the loop stops.

        A second request to stop after the iteration is not sent, because it would mean now.
        """
        waits = self._loop.when_finished or self._app.view.run_state is RunState.STOPPING
        self._loop.when_finished = then
        if waits and not now:
            return True
        if await attempt(self._app, lambda: self._app.launch.controls.stop(now=now)) is not None:
            return True
        self._loop.when_finished = None
        return False

    async def _hand_over(self) -> bool:
        finished, view = self._bridge.finished, self._app.view
        start = self._app.launch.continue_in_background
        if not start or not finished or finished.status is not LoopStatus.INTERRUPTED:
            self._app.show_message("The loop has already ended, so there is nothing to continue.")
            return False
        spent, bound = finished.iterations, view.max_iterations
        feedback, per_run = self._bridge.feedback, view.limits.per_session
        asked = _request(feedback or "", whole=self._bridge.whole, replans=feedback is not None)
        left = Adjusted(
            max_iterations=max(1, bound - spent) if bound else None,
            per_session=max(0.01, per_run - finished.cost_usd) if per_run else None,
        )
        self._app.show_message("Handing over to a background process.")
        pid = await attempt(self._app, lambda: start(asked, left))
        if pid is None:
            return False
        self._app.exit_message = (
            f"The loop continues in background process {pid}. "
            "Run `ralph` to return to it, or `ralph stop` to stop it."
        )
        self._app.exit(ExitCode.COMPLETE)
        return True


def _request(text: str, *, whole: bool, replans: bool) -> RunRequest:
    only = Phase.PLANNING if replans else None if whole else Phase.BUILDING
    return RunRequest(text=text, only=only)
