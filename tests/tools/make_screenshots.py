"""Makes `screenshots/*.svg`: `uv run python -m tests.tools.make_screenshots`.

The dashboard is taken from the demo as it really runs, at high speed on the loopback model, and so is
the moving picture; what the demo does not reach is taken from scripted events.
"""

import asyncio
import contextlib
import os
import re
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from ralph_tui.cli.composition import launch_demo
from ralph_tui.domain import events as ev
from ralph_tui.domain.project_state import ApprovalKind
from ralph_tui.tui.app.app import RalphApp
from ralph_tui.tui.data import project_files
from ralph_tui.tui.handlers import decisions
from ralph_tui.tui.screens.dashboard import Dashboard
from ralph_tui.tui.theme.themes import RALPH_DARK
from tests.tools.animation import Film
from tests.tui import feed, waiting

FOLDER = Path(__file__).resolve().parents[2] / "screenshots"
ROOT = Path("/home/you/habits")
SPEED = 300.0

Events = Sequence[ev.Event]


@dataclass(frozen=True)
class Shot:
    """Which events, how large, in which theme, and which keys were pressed."""

    events: Callable[[Events], Events]
    size: tuple[int, int] = (120, 40)
    theme: str = "ralph-dark"
    keys: tuple[str, ...] = ()
    dialog: bool = False
    shows: tuple[str, ...] = ()
    """What the picture must show to be of the screen as it is now."""


def _refusal(demo: Events) -> Events:
    refused = next(
        (i for i, e in enumerate(demo) if isinstance(e, ev.GateFinished) and not e.passed),
        len(demo),
    )
    return demo[: refused + 6]


def _whole(demo: Events) -> Events:
    return demo


def _scripted(events: Callable[[], Events]) -> Callable[[Events], Events]:
    return lambda _: events()


PANES = ("tasks", "activity", "context", "cost", "breaker", "gate")
FOOTER = ("p pause", "i guide", "enter detail", "^p commands", "? help")

SHOTS = {
    "dashboard": Shot(_refusal, shows=(*PANES, *FOOTER)),
    "dashboard-light": Shot(_refusal, theme="ralph-light", shows=(*PANES, *FOOTER)),
    "dashboard-80x24": Shot(_refusal, (80, 24), shows=("1 tasks", "2 activity", "3 status")),
    "dashboard-160x50": Shot(_refusal, (160, 50), shows=(*PANES, *FOOTER)),
    "complete": Shot(_whole, shows=("complete", "5 of 5 tasks", "4 iterations")),
    "help": Shot(_refusal, keys=("f1",), dialog=True, shows=("help", "Run the loop until")),
    "question": Shot(
        _scripted(lambda: waiting.asking(waiting.LANGUAGE, waiting.PARTS)),
        dialog=True,
        shows=("discovery asks", "In my own words", "Decline", "review", "esc later"),
    ),
    "approval": Shot(
        _scripted(lambda: waiting.approving(ApprovalKind.PLAN, "5 tasks, about 120k tokens")),
        dialog=True,
        shows=("Review the plan", "ctrl+y approve", "v graph"),
    ),
}


MOVING = "demo"
MOVING_SIZE = (110, 38)
MOVING_SHOWS = ("discovery asks", "Review the", "rejected", "accepted", "complete")
MOVING_HIDES = ("No report", "cannot be read")

SECONDS: dict[type[ev.Event], float] = {
    ev.QuestionAsked: 2.0,
    ev.ApprovalRequested: 2.0,
    ev.IterationStarted: 0.5,
    ev.AssistantText: 0.5,
    ev.ToolDenied: 0.8,
    ev.ToolFinished: 0.25,
    ev.GateChecked: 0.25,
    ev.GateFinished: 1.2,
    ev.LoopFinished: 4.0,
}
"""How long the screen is shown after an event; after others it is not."""


async def film(demo: Events, project: Path) -> str:
    """Film the demo from start to end; what the screen reads from disk comes from `project`."""
    script, moment = feed.Script(ROOT), demo[0].time or feed.NOW
    width, height = MOVING_SIZE
    made = Film(width, height, str(RALPH_DARK.foreground), str(RALPH_DARK.background), (44,))
    app = RalphApp(script.launch, autostart=True, clock=lambda: moment)
    app.animation_level = "none"
    async with _reading(project), app.run_test(size=MOVING_SIZE, notifications=False) as pilot:
        app.theme = RALPH_DARK.name  # whatever this terminal can show
        while not script.runs:
            await pilot.pause()
        for event in demo:
            moment = event.time or moment
            script.news.put_nowait(event)
            if type(event) not in SECONDS:
                continue
            for _ in range(2):
                while not script.news.empty() or app.bridge._queue:
                    await pilot.pause()
                    app.lifecycle.flush()
                await pilot.pause()
            made.add(app.screen._compositor.render_strips(), SECONDS[type(event)])
    return made.svg("ralph demo, from the request to the end")


@contextlib.asynccontextmanager
async def _reading(project: Path) -> AsyncIterator[None]:
    with (
        patch.object(decisions, "read_report", lambda _: project_files.read_report(project)),
        patch.object(decisions, "read_specs", lambda _: project_files.read_specs(project)),
    ):
        yield


async def record_demo(root: Path) -> Events:
    """Run the demo in `root` and return its events, with the project where a person would have it."""
    told: list[ev.Event] = []
    await launch_demo(speed=SPEED, keep_at=root).run(told.append)
    return [
        _moved(event, _places(root)) for event in told if not (event.transient or _hurried(event))
    ]


def _places(root: Path) -> set[str]:
    return {str(root), os.path.realpath(root)}


def _hurried(event: ev.Event) -> bool:
    return isinstance(event, ev.Notice) and "The demo answers" in event.text


def _moved(event: ev.Event, places: set[str]) -> ev.Event:
    text = event.model_dump_json()
    for place in places:
        text = text.replace(place, str(ROOT))
    return ev.EVENT.validate_json(text)


async def shoot(shot: Shot, demo: Events) -> str:
    events = list(shot.events(demo))
    times = [event.time for event in events if event.time]
    now: datetime = max(times) if len(times) > 1 else feed.NOW
    script = feed.Script(ROOT, events)
    app = RalphApp(script.launch, autostart=True, clock=lambda: now)
    app.animation_level = "none"
    async with app.run_test(size=shot.size) as pilot:
        app.theme = shot.theme
        while not (app.view.project and not app.bridge._queue):
            await pilot.pause()
            app.lifecycle.flush()
        for key in shot.keys:
            await pilot.press(key)
        while isinstance(app.screen, Dashboard) is shot.dialog:
            await pilot.pause()
        now += timedelta(seconds=1)
        for _ in range(3):
            await pilot.pause()
        svg = app.export_screenshot(title="ralph")
    return re.sub(r"\bterminal-\d+-", "terminal-", svg)


def words(svg: str) -> str:
    texts = re.findall(r"<text[^>]*>([^<]*)</text>", svg)
    return " ".join("".join(texts).replace("&#160;", " ").split())


async def main() -> int:
    FOLDER.mkdir(exist_ok=True)
    with TemporaryDirectory() as directory:
        project = Path(directory) / "habits"
        demo = await record_demo(project)
        for name, shot in SHOTS.items():
            (FOLDER / f"{name}.svg").write_text(await shoot(shot, demo), encoding="utf-8")
        (FOLDER / f"{MOVING}.svg").write_text(await film(demo, project), encoding="utf-8")
    sys.stdout.write(f"{len(SHOTS) + 1} pictures in {FOLDER}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(asyncio.run(main()))
