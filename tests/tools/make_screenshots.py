"""Makes `screenshots/*.svg` from recorded events: `uv run python -m tests.tools.make_screenshots`."""

import asyncio
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from ralph_tui.domain import events as ev
from ralph_tui.tui.app import RalphApp
from tests.tui import feed

FOLDER = Path(__file__).resolve().parents[2] / "screenshots"
ROOT = Path("/home/you/slug-demo")


@dataclass(frozen=True)
class Shot:
    """When in the run, how large, in which theme, and which keys were pressed."""

    until: Callable[[ev.Event], bool]
    size: tuple[int, int]
    theme: str = "ralph-dark"
    keys: tuple[str, ...] = ()


def _claim(event: ev.Event) -> bool:
    return isinstance(event, ev.GateStarted)


def _refusal(event: ev.Event) -> bool:
    return isinstance(event, ev.GateFinished) and not event.passed


def _end(event: ev.Event) -> bool:
    return isinstance(event, ev.LoopFinished)


SHOTS = {
    "working": Shot(_claim, (120, 40)),
    "working-light": Shot(_claim, (120, 40), "ralph-light"),
    "working-80x24": Shot(_claim, (80, 24)),
    "refused-160x50": Shot(_refusal, (160, 50)),
    "task": Shot(_refusal, (120, 40), keys=("1", "enter")),
    "help": Shot(_refusal, (120, 40), keys=("f1",)),
    "complete": Shot(_end, (120, 40)),
}


def up_to(events: Sequence[ev.Event], last: Callable[[ev.Event], bool]) -> list[ev.Event]:
    """The events up to and with the first that is meant; all of them when none is."""
    for index, event in enumerate(events):
        if last(event):
            return list(events[: index + 1])
    return list(events)


async def screenshots_from(events: Sequence[ev.Event]) -> dict[str, str]:
    """Every shot of one recorded run, by name; the same events give the same bytes."""
    return {name: await _shoot(shot, up_to(events, shot.until)) for name, shot in SHOTS.items()}


async def _shoot(shot: Shot, events: list[ev.Event]) -> str:
    times = [event.time for event in events if event.time]
    now: datetime = max(times) if len(times) > 1 else feed.NOW
    script = feed.Script(ROOT, events)
    app = RalphApp(script.launch, autostart=True, clock=lambda: now)
    app.animation_level = "none"
    async with app.run_test(size=shot.size) as pilot:
        app.theme = shot.theme
        while app.view.last_seq < max((e.seq for e in events), default=0) or not app.view.project:
            await pilot.pause()
            app.flush()
        for key in shot.keys:
            await pilot.press(key)
            await pilot.pause()
        while len(app.screen_stack) < 2 + ("enter" in shot.keys or "f1" in shot.keys):
            await pilot.pause()
        await pilot.pause()
        svg = app.export_screenshot(title="ralph")
    return re.sub(r"\bterminal-\d+-", "terminal-", svg)


def main() -> int:
    """Write the pictures of the scripted run."""
    FOLDER.mkdir(exist_ok=True)
    pictures = asyncio.run(screenshots_from(feed.story()))
    for name, svg in pictures.items():
        (FOLDER / f"{name}.svg").write_text(svg, encoding="utf-8")
    sys.stdout.write(f"{len(pictures)} pictures in {FOLDER}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
