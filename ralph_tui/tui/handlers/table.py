"""Maps each command to its handler."""

from collections.abc import Callable, Coroutine, Mapping
from functools import partial

from ralph_tui.domain.plan.plan import Task
from ralph_tui.tui.commands.registry import PAGES
from ralph_tui.tui.handlers.command_host import CommandHost
from ralph_tui.tui.handlers.decisions import DecisionHandlers
from ralph_tui.tui.handlers.loop import LoopHandlers, StartHandlers
from ralph_tui.tui.handlers.plan import ImportHandler, PlanHandlers
from ralph_tui.tui.handlers.quit import QuitHandlers
from ralph_tui.tui.handlers.view import PageOpener, ViewHandlers

Handler = Callable[[], Coroutine[None, None, None]]


class Handlers:
    """The handlers of one app, by command name."""

    def __init__(self, host: CommandHost) -> None:
        self.pages = PageOpener(host.app)
        self.quit = QuitHandlers(host)
        self.decisions = DecisionHandlers(host)
        self.start = StartHandlers(host)
        loop, plan, view = LoopHandlers(host), PlanHandlers(host), ViewHandlers(host, self.pages)

        def on_task(handler: Callable[[Task], Coroutine[None, None, None]]) -> Handler:
            async def handle() -> None:
                task = host.app.command_context().task
                if task is not None:
                    await handler(task)

            return handle

        self.by_command: Mapping[str, Handler] = {
            "answer": self.decisions.answer,
            "hurry": loop.hurry,
            "build": loop.build,
            "request": self.start.request,
            "pause": loop.pause,
            "resume": loop.resume,
            "stop": loop.stop,
            "inject": loop.inject,
            "skip": on_task(plan.skip),
            "retry": on_task(plan.retry),
            "hold": on_task(plan.hold),
            "model": on_task(plan.model),
            "edit": on_task(plan.edit),
            "add": plan.add,
            "import_plan": ImportHandler(host).import_plan,
            "split": on_task(plan.split),
            "replan": self.start.replan,
            "sooner": on_task(partial(plan.move, -1)),
            "later": on_task(partial(plan.move, 1)),
            "drop": on_task(plan.drop),
            "undo": on_task(plan.undo),
            "detail": view.detail,
            "plan": view.plan,
            "search": view.search,
            "sift": view.sift,
            "fold": view.fold,
            "zoom": view.zoom,
            "follow": view.follow,
            "copy": view.copy,
            "share": view.share,
            "tasks": partial(view.pane, "tasks"),
            "activity": partial(view.pane, "activity"),
            "status": partial(view.pane, "status"),
            "next_pane": partial(view.step_pane, 1),
            "previous_pane": partial(view.step_pane, -1),
            **{name: partial(self.pages.open, name) for name in PAGES},
            "help": view.help,
            "palette": view.palette,
            "screenshot": view.screenshot,
            "quit": self.quit.quit,
        }
