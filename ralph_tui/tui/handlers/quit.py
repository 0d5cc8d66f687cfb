"""Commands that leave: at once when nothing runs here; else stop, detach, or stay."""

from collections.abc import Awaitable, Callable

from ralph_tui.domain.errors import ExitCode
from ralph_tui.domain.events import LoopStatus
from ralph_tui.domain.view.loop_view import RunState
from ralph_tui.engine.control.launch import RemainingWork
from ralph_tui.tui.handlers.command_host import CommandHost
from ralph_tui.tui.host.workers import attempt
from ralph_tui.tui.screens.dialogs.confirm import Confirm, ConfirmChoice

_AFTER = ConfirmChoice("x", "Stop after this iteration, then quit", "end")
_STAY = ConfirmChoice("k", "Keep running here", "keep")
_STOP = ConfirmChoice("s", "Stop now and quit; interrupts the iteration", "stop", danger=True)
_DETACH = (
    ConfirmChoice("t", "Detach after this iteration", "after"),
    ConfirmChoice("T", "Detach now; the iteration starts again", "detach"),
)
_QUESTION = "The loop runs in this terminal and ends with it."
_QUESTION_DETACH = "The loop runs in this terminal. Detached, it continues in the background; `ralph` shows it again."


class QuitHandlers:
    """Closes the screen."""

    def __init__(self, on: CommandHost) -> None:
        """Nobody wants to leave yet."""
        self._app = on.app
        self._bridge = on.app.bridge
        self._loop = on.loop
        self._stopping = False

    async def quit(self) -> None:
        """Leave at once when nothing runs here, else ask; asked again while the loop stops, do not wait."""
        if not self._bridge.running or self._stopping:
            self._leave()
            return
        if self._bridge.finished is not None:  # it is over and puts its things away: nothing to ask
            self._stopping = True
            self._app.say(self._app.keys.said("Closing. Press {quit} again to leave at once."))
            self._loop.exit_when_finished()
            return
        can_detach = self._app.launch.go_on is not None
        question = _QUESTION_DETACH if can_detach else _QUESTION
        # The first is chosen by Enter, so nothing is lost by it; what interrupts is the last.
        choices = (*(_DETACH if can_detach else ()), _AFTER, _STAY, _STOP)
        answer = await self._app.push_screen_wait(
            Confirm("quit", question, choices, moot=self._bridge.over)
        )
        if answer == "stop":
            await self.leave_now()
        elif answer == "end":
            await self._end_after()
        elif answer in ("detach", "after"):
            await self._detach(now=answer == "detach")

    async def leave_now(self, why: str = "") -> None:
        """Stop the loop at once and leave when it has ended; asked again, do not wait for it.

        `why` says what asks, if no person does.
        """
        if not self._bridge.running or self._stopping:
            self._leave()
            return
        self._stopping = True
        self._app.say(
            self._app.keys.said("Stopping, then quitting. Press {quit} again to leave at once.")
        )
        await attempt(self._app, lambda: self._app.launch.controls.stop(now=True, why=why))
        self._loop.exit_when_finished()

    async def run_elsewhere(self, request: str, *, replans: bool = False) -> None:
        """Run the loop in another process; the watcher shows it."""
        go_on = self._app.launch.go_on
        if go_on is not None:
            self._app.say("Starting the loop in the background.")
            left = RemainingWork(
                whole=bool(request) and not replans, replans=replans, request=request
            )
            await attempt(self._app, lambda: go_on(left))

    def _leave(self) -> None:
        found = self._app.view.elsewhere
        if found is not None:
            self._app.last_word = (
                f"The loop continues in process {found.pid}; `ralph` shows it again."
            )
        self._app.exit(self._bridge.exit_code)

    async def _detach(self, *, now: bool) -> None:
        """Stop the loop, and continue it in another process when it has ended."""
        when = "The turn is interrupted" if now else "After this iteration"
        self._app.say(f"{when}, then a process in the background continues.")
        await self._halt(self._hand_over, now=now)

    async def _end_after(self) -> None:
        """Stop after the iteration, then leave."""
        self._app.say("After this iteration the loop stops, and the screen closes.")
        if await self._halt(None, now=False):
            self._loop.exit_when_finished()

    async def _halt(self, then: Callable[[], Awaitable[bool]] | None, *, now: bool) -> bool:
        """Stop the loop; asking twice to stop after the iteration would mean now."""
        waits = self._loop.when_finished or self._app.view.run_state is RunState.STOPPING
        self._loop.when_finished = then
        if waits and not now:
            return True
        if await attempt(self._app, lambda: self._app.launch.controls.stop(now=now)) is not None:
            return True
        self._loop.when_finished = None
        return False

    async def _hand_over(self) -> bool:
        """Continue the loop in another process; return whether that worked, so that the screen may close."""
        finished, view = self._bridge.finished, self._app.view
        go_on = self._app.launch.go_on
        if go_on is None or finished is None or finished.status is not LoopStatus.INTERRUPTED:
            self._app.say("The loop has ended already, so there is nothing to continue.")
            return False
        spent, bound = finished.iterations, view.max_iterations
        left = RemainingWork(
            whole=self._bridge.whole,
            replans=self._bridge.feedback is not None,
            request=self._bridge.feedback or "",
            iterations=max(1, bound - spent) if bound else None,
            usd=max(0.01, per_run - finished.cost_usd)
            if (per_run := view.limits.per_session)
            else None,
        )
        self._app.say("Handing over to a process in the background.")
        pid = await attempt(self._app, lambda: go_on(left))
        if pid is None:
            return False
        self._app.last_word = (
            f"The loop continues in the background, in process {pid}. "
            "`ralph` shows it, `ralph stop` ends it."
        )
        self._app.exit(ExitCode.COMPLETE)
        return True
