"""What is not read yet is not claimed; what cannot be read is said, and comes back."""

import pytest

from ralph_tui.domain.costs import CostMeter
from ralph_tui.domain.project_state import Phase
from ralph_tui.tui.screens import dashboard
from tests.tui import feed
from tests.tui.conftest import SIZE, Open, ralph, screen_text, script_of, toasts, until

CLAIMS = ("building", "discovery", "No plan", "$", "%", "closed", "no claim", "none changed")


@pytest.mark.parametrize("size", [(80, 24), SIZE, (160, 50)])
async def test_before_the_project_is_read_nothing_is_claimed(
    open_app: Open, size: tuple[int, int]
) -> None:
    script = script_of()
    script.idle = []
    async with open_app(script, autostart=False, size=size) as pilot:
        app = ralph(pilot)
        frame = screen_text(app)
        assert "opening" in frame
        assert not [claim for claim in CLAIMS if claim in frame]
        await until(pilot, lambda: "reading the project" in screen_text(app))
        await pilot.press("b")
        assert toasts(app) == ["The project is still loading."]
        panels = [p for p in app.dashboard.side.children if p is not app.dashboard.preview]
        tall = [panel.size for panel in panels]
        read = feed.read().model_copy(
            update={"phase": Phase.PLANNING, "costs": CostMeter(total=7.5)}
        )
        script.disk.put_nowait(read)
        script.disk.put_nowait(feed.plan())
        await until(pilot, lambda: "demo-02" in screen_text(app))
        shown = screen_text(app)
        assert "reading" not in shown
        assert ("planning" in shown) or ("2/4" in shown)
        assert [panel.size for panel in panels] == tall, "nothing jumps"
        await pilot.press("3")
        await until(pilot, lambda: "$7.50" in screen_text(app))


async def test_that_a_project_is_read_is_not_said_at_once(
    open_app: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dashboard, "SLOW_SECONDS", 3600.0)
    script = script_of()
    script.idle = []
    async with open_app(script, autostart=False) as pilot:
        frame = screen_text(ralph(pilot))
        assert "opening" in frame
        assert "reading" not in frame, "it would flicker"
