"""What each command does: one method per name in `commands.py`, here, in `replanning.py` or `looking.py`.

Controls block for a disk transaction, so they run in threads; their errors are said in a toast and
in the stream, and never end the app.
"""

import asyncio
from collections.abc import Callable, Coroutine
from typing import TypeVar

from ralph_tui.domain.errors import RalphError
from ralph_tui.domain.view.loop_view import RunState
from ralph_tui.present.text.key_hints import said_by_key
from ralph_tui.tui.handlers.command_host import Owner
from ralph_tui.tui.handlers.decisions import Deciding
from ralph_tui.tui.handlers.page_opener import Pages
from ralph_tui.tui.handlers.plan import Replanning
from ralph_tui.tui.handlers.quit import Leaving
from ralph_tui.tui.handlers.start import Starting
from ralph_tui.tui.handlers.view import Looking
from ralph_tui.tui.host.bridge import Bridge
from ralph_tui.tui.host.saving import save
from ralph_tui.tui.screens.dialogs.confirm import Choice, Confirm
from ralph_tui.tui.screens.dialogs.help import Help
from ralph_tui.tui.screens.dialogs.text_input import Inject, Urge

T = TypeVar("T")


class Steering:
    """Handlers of the commands that are about the loop, the pages and the app; knows who has the others."""

    def __init__(self, app: Owner, bridge: Bridge) -> None:
        """Act on this app and its loop."""
        self._app = app
        self._bridge = bridge
        self._controls = app.launch.controls
        self._draft = ""
        self.leaving = Leaving(app, bridge, self._try)
        self.deciding = Deciding(app, self._try)
        self.starting = Starting(app)
        self.pages = Pages(app)
        self.looking = Looking(app, self._try, self.pages)
        self._rooms = (self, Replanning(app, self._try), self.looking)

    def handler(self, name: str) -> Callable[[], Coroutine[None, None, None]]:
        """What does the command with this name."""
        room = next(room for room in self._rooms if hasattr(room, name))
        found: Callable[[], Coroutine[None, None, None]] = getattr(room, name)
        return found

    async def _try(self, request: Callable[[], T]) -> T | None:
        """A request to the controls, off the event loop; None when it failed and was said."""
        try:
            return await asyncio.to_thread(request)
        except RalphError as error:
            self._app.complain(said_by_key(self._app.keys, str(error)))
        except Exception as error:  # noqa: BLE001 - a bug in one control must not close the screen
            await self._app.failed(error)
        return None

    # Loop.

    async def build(self) -> None:
        """Run the loop."""
        self._app.start_loop()

    async def request(self) -> None:
        """Begin with a new request."""
        await self.starting.request()

    async def replan(self) -> None:
        """Make the plan anew."""
        await self.starting.replan()

    async def answer(self) -> None:
        """What waits for the person."""
        await self.deciding.answer()

    async def hurry(self) -> None:
        """Wait no longer."""
        await self._try(self._controls.retry_now)

    async def pause(self) -> None:
        """Pause, pause now, or resume."""
        if self._bridge.view.run_state is RunState.PAUSED:
            await self._try(self._controls.resume)
        else:
            await self._try(self._controls.pause)

    async def resume(self) -> None:
        """Go on, or withdraw a pause."""
        await self._try(self._controls.resume)

    async def stop(self) -> None:
        """Ask how soon; when it is stopping already, at once."""
        if self._bridge.view.run_state is RunState.STOPPING:
            await self._try(lambda: self._controls.stop(now=True))
            return
        if self._bridge.view.run_state is RunState.LIMITED:
            await self._give_up()
            return
        answer = await self._app.push_screen_wait(
            Confirm(
                "stop the loop",
                "Nothing is lost. When it is interrupted, its task goes back to the board.",
                (
                    Choice("x", "Stop after this iteration", "after"),
                    Choice("n", "Stop now, interrupt the agent", "now", danger=True),
                    Choice("k", "Keep running", "keep"),
                ),
                moot=self._bridge.over,
            )
        )
        if answer in ("after", "now"):
            await self._try(lambda: self._controls.stop(now=answer == "now"))

    async def _give_up(self) -> None:
        """Ask whether to wait no longer and end; nothing is worked on that could be finished first."""

        def over() -> str:
            waits = self._bridge.view.run_state is RunState.LIMITED
            return self._bridge.over() or ("" if waits else "The wait is over.")

        answer = await self._app.push_screen_wait(
            Confirm(
                "give up waiting",
                "Nothing is lost: the task is on the board for the next run.",
                (
                    Choice("x", "Give up: end this run", "now"),
                    Choice("k", "Keep waiting", "keep"),
                ),
                moot=over,
            )
        )
        if answer == "now":
            await self._try(lambda: self._controls.stop(now=True))

    async def inject(self) -> None:
        """Guidance for the next iteration; a draft survives Escape and a failed send."""
        dialog = Inject(self._draft)
        text = await self._app.push_screen_wait(dialog)
        self._draft = dialog.draft
        if not text:
            return
        queued = await self._try(lambda: self._controls.inject(text))
        if queued is not None:
            self._draft = ""
            self._app.say("Queued for the next iteration.")

    async def urge(self) -> None:
        """Words for the turn that runs."""
        dialog = Urge(self._draft)
        text = await self._app.push_screen_wait(dialog)
        self._draft = dialog.draft
        if text and await self._try(lambda: self._controls.inject(text, now=True)) is not None:
            self._draft = ""
            self._app.say("Said to the running turn, or to the next when none runs.")

    # Pages.

    async def iterations(self) -> None:
        """Past iterations."""
        await self.pages.open("iterations")

    async def history(self) -> None:
        """Sessions, plots, metrics."""
        await self.pages.open("history")

    async def memory(self) -> None:
        """What the model is given."""
        await self.pages.open("memory")

    async def why(self) -> None:
        """The reasons."""
        await self.pages.open("why")

    async def settings(self) -> None:
        """The settings."""
        await self.pages.open("settings")

    # App.

    async def help(self) -> None:
        """Every key."""
        self._app.push_screen(Help())

    async def palette(self) -> None:
        """Textual's palette with our commands in it."""
        self._app.action_command_palette()

    async def screenshot(self) -> None:
        """Save the screen as SVG, where exports go."""
        await save(self._app, "screen", self._app.export_screenshot(), form="svg")

    async def quit(self) -> None:
        """Leave at once when nothing runs here; ask first when something does."""
        await self.leaving.quit()
