"""Line mode: runs a launch without a screen, for CI, pipes and screen readers."""

import asyncio
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from ralph_tui.cli.output import Output, json_printer, line_printer
from ralph_tui.cli.say import note
from ralph_tui.domain.errors import RalphError
from ralph_tui.domain.events import LoopFinished, LoopStatus
from ralph_tui.engine.launch import Launch


def run_lines(launch: Launch, *, as_json: bool) -> int:
    """Run the loop and print what happens; the exit status of the run."""
    try:
        return asyncio.run(_run(launch, as_json=as_json))
    except asyncio.CancelledError as error:
        raise KeyboardInterrupt from error


def print_failure(error: RalphError) -> None:
    """Tell a reader of JSON that a run could not start, in the form every run ends in."""
    reason = f"{error.message} {error.hint}".strip()
    json_printer(sys.stdout)(
        LoopFinished(status=LoopStatus.ERROR, reason=reason, exit_code=int(error.exit_code))
    )


class _Stopper:
    """Turns signals and a closed pipe into requests to the loop, each firmer than the last."""

    def __init__(self, launch: Launch) -> None:
        self._launch = launch
        self._asked = 0
        self._requests: set[asyncio.Task[None]] = set()
        self._main = asyncio.current_task()

    def interrupt(self) -> None:
        """Ctrl+C: after this iteration, then at once, then without the loop's help."""
        self._asked += 1
        if self._asked == 1:
            self._ask("stopping after this iteration; Ctrl+C again stops at once.", now=False)
        elif self._asked == 2:
            self._ask("stopping now.", now=True)
        elif self._main is not None:
            self._main.cancel()

    def stop_now(self, why: str) -> None:
        """Stop at once because `why`."""
        self._asked = max(self._asked, 2)
        self._ask(f"{why}, so the loop stops now.", now=True)

    def _ask(self, message: str, *, now: bool) -> None:
        note(message)
        request = asyncio.ensure_future(self._request(now=now))
        self._requests.add(request)
        request.add_done_callback(self._requests.discard)

    async def _request(self, *, now: bool) -> None:
        try:
            await asyncio.to_thread(self._launch.controls.stop, now=now)
        except RalphError as error:
            # The request could not be written (a full disk): end the run without it.
            note(f"{error} The run is cut off.")
            if self._main is not None:
                self._main.cancel()


@contextmanager
def _signals(stopper: _Stopper) -> Iterator[None]:
    loop = asyncio.get_running_loop()
    handlers = {
        signal.SIGINT: stopper.interrupt,
        signal.SIGTERM: lambda: stopper.stop_now("asked to end (SIGTERM)"),
        signal.SIGHUP: lambda: stopper.stop_now("the terminal is gone (SIGHUP)"),
    }
    for number, handler in handlers.items():
        loop.add_signal_handler(number, handler)
    try:
        yield
    finally:
        for number in handlers:
            loop.remove_signal_handler(number)


async def _run(launch: Launch, *, as_json: bool) -> int:
    stopper = _Stopper(launch)
    output = Output(
        json_printer(sys.stdout) if as_json else line_printer(sys.stdout),
        lambda: stopper.stop_now("standard output was closed"),
    )
    with _signals(stopper):
        finished = await launch.run(output.sink)
        output.sink(finished)  # ignored when the engine sent it already
        await output.finish()
    return finished.exit_code
