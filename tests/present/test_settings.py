"""In the smallest terminal each thing keeps its own place."""

from functools import reduce as fold

from ralph_tui.config.load import EffectiveSetting
from ralph_tui.domain.view.loop_view import LoopView
from ralph_tui.domain.view.reducer import reduce
from ralph_tui.present.sections.settings_list import LIVE_LIMITS, live_blocks
from ralph_tui.present.text.spans import plain, width_of
from tests.tui import feed

ROOM = 54
"""Cells in the frame of a page at 60 columns."""


def test_a_limit_its_value_and_what_is_used_of_it_are_told_apart_at_60_columns() -> None:
    settings = {
        live.key: EffectiveSetting(live.key, "sonnet", "default", "") for live in LIVE_LIMITS
    }
    view = fold(reduce, feed.running(), LoopView())
    for running in (True, False):
        _, *blocks = live_blocks(settings, None, view, running=running)
        assert len(blocks) == len(LIVE_LIMITS)
        for live, block in zip(LIVE_LIMITS, blocks, strict=True):
            assert all(width_of(line) <= ROOM for line in block.lines), "nothing is folded"
            first, *more = [plain(line) for line in block.lines]
            assert first.index("sonnet") == plain(blocks[0].lines[0]).index("sonnet")
            assert first.startswith(live.title)
            assert not running or live.when in more[0]
