"""What each command does: one method per name in `commands.py`.

Controls block for a disk transaction, so they run in threads; their errors are said in a toast and
in the stream, and never end the app.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from ralph_tui.domain.breaker import CircuitBreaker
from ralph_tui.domain.errors import RalphError
from ralph_tui.domain.events import Notice
from ralph_tui.domain.plan import Task
from ralph_tui.domain.text import one_line
from ralph_tui.domain.view import RunState
from ralph_tui.tui.bridge import Bridge
from ralph_tui.tui.deciding import Deciding
from ralph_tui.tui.exporting import write_export
from ralph_tui.tui.leaving import Leaving
from ralph_tui.tui.pages import Pages
from ralph_tui.tui.render.board import board_text
from ralph_tui.tui.render.breaker import breaker_parts
from ralph_tui.tui.render.parts import parts_text
from ralph_tui.tui.replanning import Replanning
from ralph_tui.tui.screens.breaker_detail import BreakerDetail
from ralph_tui.tui.screens.confirm import Choice, Confirm
from ralph_tui.tui.screens.help import Help
from ralph_tui.tui.screens.planning import PlanReview
from ralph_tui.tui.screens.task_detail import TaskDetail
from ralph_tui.tui.screens.tool_detail import ToolDetail
from ralph_tui.tui.screens.writing import Inject, Urge
from ralph_tui.tui.starting import Starting
from ralph_tui.tui.timeline.detail import detail_of
from ralph_tui.tui.timeline.lines import entries_text

if TYPE_CHECKING:
    from ralph_tui.tui.app import RalphApp

T = TypeVar("T")


class Steering:
    """Handlers of the commands."""

    def __init__(self, app: "RalphApp", bridge: Bridge) -> None:
        """Act on this app and its loop."""
        self._app = app
        self._bridge = bridge
        self._controls = app.launch.controls
        self._draft = ""
        self.leaving = Leaving(app, bridge, self._try)
        self.deciding = Deciding(app, self._try)
        self.starting = Starting(app)
        self._replanning = Replanning(app, self._try)
        self.pages = Pages(app)

    async def _try(self, request: Callable[[], T]) -> T | None:
        """A request to the controls, off the event loop; None when it failed and was said."""
        try:
            return await asyncio.to_thread(request)
        except RalphError as error:
            self.complain(str(error))
        except Exception as error:  # noqa: BLE001 - a bug in one control must not close the screen
            self.complain(f"That failed: {type(error).__name__}: {one_line(str(error))}")
        return None

    def complain(self, text: str) -> None:
        """Say it now, and keep it where it can be read later."""
        self._app.say(text, error=True)
        self._bridge.sink(Notice(level="error", text=text))

    # Loop.

    async def build(self) -> None:
        """Run the loop."""
        self._app.start_loop()

    async def request(self) -> None:
        """Begin with a new request."""
        await self.starting.request()

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
        answer = await self._app.push_screen_wait(
            Confirm(
                "stop the loop",
                "Nothing is lost either way: the task goes back to the board.",
                (
                    Choice("x", "Stop after this iteration", "after"),
                    Choice("n", "Stop now, interrupt the agent", "now", danger=True),
                    Choice("k", "Keep running", "keep"),
                ),
            )
        )
        if answer in ("after", "now"):
            await self._try(lambda: self._controls.stop(now=answer == "now"))

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

    # Task.

    async def skip(self) -> None:
        """Block a task, after asking."""
        task = self._app.situation().task
        if task is None:
            return
        answer = await self._app.push_screen_wait(
            Confirm(
                f"skip {task.id}",
                f"{one_line(task.title)}: the task is blocked and the loop goes on with the next. "
                "Tasks that wait for it keep waiting.",
                (
                    Choice("s", "Skip it", "skip", danger=True),
                    Choice("k", "Keep it", "keep"),
                ),
            )
        )
        if answer != "skip":
            return
        skipped = await self._try(lambda: self._controls.skip(task.id))
        if skipped is not None:
            self._app.say(f"{task.id} is blocked; t on the board tries it again.")

    async def retry(self) -> None:
        """Put a blocked task back."""
        task = self._app.situation().task
        if task is None:
            return
        back = await self._try(lambda: self._controls.retry(task.id))
        if back is not None:
            self._app.say(f"{task.id} is pending again.")

    async def edit(self) -> None:
        """Description and criteria."""
        await self._replanning.edit()

    async def split(self) -> None:
        """In parts."""
        await self._replanning.split()

    async def drop(self) -> None:
        """Out of the plan."""
        await self._replanning.drop()

    async def sooner(self) -> None:
        """Before the task above."""
        await self._replanning.move(-1)

    async def later(self) -> None:
        """After the task below."""
        await self._replanning.move(1)

    # Look.

    async def detail(self) -> None:
        """The selected task or entry in full."""
        chosen = self._app.selection()
        if chosen is None:
            self._app.say("Nothing is selected yet.")
        elif isinstance(chosen, Task):
            self._app.push_screen(TaskDetail(chosen, self._app.view, self.pages.library))
        elif isinstance(chosen, CircuitBreaker):
            self._app.push_screen(BreakerDetail(chosen))
        else:
            self._app.push_screen(ToolDetail(detail_of(chosen, self._app.glyphs)))

    async def plan(self) -> None:
        """The plan as graph or list."""
        self._app.push_screen(PlanReview())

    async def search(self) -> None:
        """Words in the tasks or the activity."""
        await self._app.dashboard.search()

    async def sift(self) -> None:
        """The next filter, round and round."""
        stream = self._app.dashboard.stream
        stream.sift(stream.sieve.next())
        self._app.say(f"The activity shows {stream.sieve}.")

    async def follow(self) -> None:
        """Follow the stream, or let go."""
        self._app.dashboard.stream.action_follow()

    async def copy(self) -> None:
        """Copy the selected task or entry."""
        chosen = self._app.selection()
        if chosen is None:
            self._app.say("Nothing is selected yet.")
            return
        if isinstance(chosen, Task):
            text = f"{chosen.id}  {chosen.description}"
        elif isinstance(chosen, CircuitBreaker):
            text = parts_text(breaker_parts(chosen, self._app.glyphs))
        else:
            text = detail_of(chosen, self._app.glyphs).text
        self._app.copy_to_clipboard(text)
        self._app.say("Copied.")

    async def export(self) -> None:
        """The pane in use as a file: the tasks, or the activity as it is filtered."""
        dashboard, app = self._app.dashboard, self._app
        if dashboard.board.has_focus:
            stem, work = "tasks", partial(board_text, dict(app.view.tasks), app.glyphs)
        else:
            stem, work = "activity", partial(entries_text, dashboard.stream.shown(), app.glyphs)
        root, now = app.launch.root, app.clock()
        path = await self._try(lambda: write_export(root, "txt", work(), now, stem=stem))
        if path is not None:
            app.say(f"Written: {path}")

    async def keep_theme(self, name: str) -> None:
        """For the next time, too."""
        from ralph_tui.engine.configuring import change_setting

        root = self._app.launch.root
        kept = await self._try(lambda: change_setting(root, "screen.theme", name))
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
        """Save the screen as SVG."""
        self._app.deliver_screenshot()

    async def quit(self) -> None:
        """Leave at once when nothing runs here; ask first when something does."""
        await self.leaving.quit()
