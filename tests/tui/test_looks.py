"""What is drawn can be read: on any background, at any width, and without half a word at the edges."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.color import Color
from textual.events import AppBlur, AppFocus
from textual.geometry import Region
from textual.strip import Strip

from ralph_tui.domain import events as ev
from ralph_tui.domain.outcomes import IterationOutcome, LoopStatus, ToolOutcome
from ralph_tui.domain.project_state import Phase
from ralph_tui.domain.run.breaker import CircuitBreaker
from ralph_tui.domain.view.forecast import Forecast
from ralph_tui.domain.view.loop_view import LoadState, LoopView, RunState
from ralph_tui.domain.view.reducer import reduce
from ralph_tui.domain.view.run_history import Iteration, RunHistory
from ralph_tui.present.board.board_rows import BoardRow, Group, board_line
from ralph_tui.present.sections.banner import banner_of
from ralph_tui.present.sections.bars import spark
from ralph_tui.present.sections.breaker_signals import breaker_lines
from ralph_tui.present.sections.header_lines import Facts, header_lines
from ralph_tui.present.sections.history_totals import totals
from ralph_tui.present.text.glyphs import ASCII, UNICODE
from ralph_tui.present.text.spans import (
    Span,
    Tone,
    crop_middle,
    crop_path,
    crop_words,
    plain,
    width_of,
)
from ralph_tui.present.text.status_labels import BUSY, look_of
from ralph_tui.present.timeline.changed_files import FileChange
from ralph_tui.present.timeline.timeline import Timeline
from ralph_tui.tui.app.app import RalphApp
from ralph_tui.tui.commands.registry import DEFAULT_KEYS
from ralph_tui.tui.screens.dashboard import Dashboard
from ralph_tui.tui.screens.dialogs.dialog import Dialog
from ralph_tui.tui.screens.pages.page import Page
from ralph_tui.tui.theme.themes import THEMES
from ralph_tui.tui.widgets.status_panels import forecast_line
from ralph_tui.tui.widgets.styled import SIGN_CONTRAST, TEXT_CONTRAST, contrast, readable
from ralph_tui.tui.widgets.text_view import TextView
from tests.tui import feed, waiting
from tests.tui.conftest import Moment, Open, asks, drained, ralph, screen_text, script_of, until
from tests.tui.pictures import MEDIUM, PICTURES
from tests.tui.test_pictures import staged

PART = st.integers(0, 255)
COLOURS = st.builds(Color, PART, PART, PART, a=st.just(1.0), ansi=st.none(), auto=st.just(False))


# Contrast.


@given(COLOURS, COLOURS)
def test_any_colour_is_made_readable_on_any_other(colour: Color, background: Color) -> None:
    assert contrast(readable(colour, background), background) >= TEXT_CONTRAST
    if contrast(colour, background) >= TEXT_CONTRAST:
        assert readable(colour, background) == colour, "a theme's own colours stay where they can"


def test_the_terminals_own_colours_are_left_to_it() -> None:
    blue, default = Color.parse("ansi_blue"), Color.parse("ansi_default")
    assert readable(blue, default) == blue


def _unreadable(app: RalphApp, *, frames: bool, within: Region | None = None) -> list[str]:
    """Text on the screen whose contrast is too low; keys that cannot be used now need less."""
    found = []
    strips = app.screen._compositor.render_strips()
    for y, whole in enumerate(strips):
        if within is not None and not within.y <= y < within.bottom:
            continue
        strip = whole if within is None else whole.crop(within.x, within.right)
        if not frames and "─" in strip.text:
            continue
        for text, style, _ in strip:
            if style is None or not re.search(r"\w", text):
                continue
            if style.color is None or style.bgcolor is None:
                continue
            front, back = Color.from_rich_color(style.color), Color.from_rich_color(style.bgcolor)
            least = SIGN_CONTRAST if y == len(strips) - 1 else TEXT_CONTRAST
            if contrast(front, back) < least:
                found.append(f"{text.strip()!r} in line {y}: {contrast(front, back):.1f}")
    return found


async def _all_readable(open_app: Open, theme: str, *, frames: bool) -> None:
    async with open_app(script_of(feed.stopped())) as pilot:
        app = ralph(pilot)
        app.theme = theme
        await pilot.press("1", "j")
        await drained(pilot)
        assert app.dashboard.board.selected is not None
        assert _unreadable(app, frames=frames) == []


@pytest.mark.parametrize("theme", [theme.name for theme in THEMES])
async def test_our_themes_can_be_read_everywhere(open_app: Open, theme: str) -> None:
    await _all_readable(open_app, theme, frames=True)


ASIDE = {"edit": "a placeholder", "call_searched": "a found word in an error"}
"""Where some words have less contrast, and which."""


@pytest.mark.long
@pytest.mark.parametrize("theme", [theme.name for theme in THEMES])
@pytest.mark.parametrize("name", [name for name in PICTURES if name not in ASIDE])
async def test_our_themes_can_be_read_on_every_screen(
    tmp_path: Path, name: str, theme: str
) -> None:
    app, look = staged(PICTURES[name], tmp_path, theme=theme)
    async with app.run_test(size=MEDIUM, notifications=True) as pilot:
        await look(pilot)
        frames = app.screen.query(".dialog")
        within = frames.first().region if frames else None  # what is beneath is dimmed
        if isinstance(app.screen, Dialog | Page | Dashboard):
            assert _unreadable(app, frames=True, within=within) == []


@pytest.mark.long
@pytest.mark.parametrize("theme", ["rose-pine", "nord", "textual-light", "solarized-dark"])
async def test_so_can_other_themes(open_app: Open, theme: str) -> None:
    await _all_readable(open_app, theme, frames=False)


@pytest.mark.parametrize("theme", ["ansi-dark", "ansi-light"])
async def test_without_colours_the_terminals_own_are_not_black_on_black(
    open_app: Open, monkeypatch: pytest.MonkeyPatch, theme: str
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with open_app(script_of(feed.stopped())) as pilot:
        app = ralph(pilot)
        app.theme = theme
        await pilot.press("1")
        await drained(pilot)
        behind = app.screen.background_colors[1]
        for strip in app.screen._compositor.render_strips():
            for line_filter in app._filters:
                if line_filter.enabled:
                    strip = strip.apply_filter(line_filter, behind)  # noqa: PLW2901 - one after the other
            for text, style, _ in strip:
                if style is None or not re.search(r"\w", text):
                    continue
                assert style.color is not None
                assert style.bgcolor is not None
                front, back = map(Color.from_rich_color, (style.color, style.bgcolor))
                assert contrast(front, back) > 1.5, text


# Words.


def test_lines_are_cut_between_words_and_paths_at_their_beginning() -> None:
    line = [Span("demo-02  "), Span("Turn titles into slugs: lower case")]
    assert plain(crop_words(line, 33)) == "demo-02  Turn titles into slugs…"
    assert plain(crop_words(line, 99)) == plain(line)
    assert plain(crop_words([Span("Donaudampfschiff")], 8)) == "Donauda…", "no word fits"
    assert crop_path("/home/dev/very/long/slug-demo", 20) == "…/long/slug-demo"
    assert crop_path("/home/dev", 20) == "/home/dev"


def test_a_title_is_cut_at_a_words_end_where_that_costs_little() -> None:
    line = [Span("  ○ "), Span("demo-02  "), Span("Turn titles into slugs: lower case")]
    assert plain(crop_words(line, 33)) == "  ○ demo-02  Turn titles into…"
    assert plain(crop_words(line, 18)) == "  ○ demo-02  Turn…"
    assert plain(crop_words([line[0], line[1], Span("Donaudampfschiffe fahren")], 24)) == (
        "  ○ demo-02  Donaudampf…"
    ), "a third of the width and more would be empty"
    task = feed.TASKS[1]
    for width in range(20, 60):
        text = plain(board_line(BoardRow(Group.READY, task), width, UNICODE)).rstrip()
        kept = text.removeprefix("  ○ demo-02  ").removesuffix("…")
        whole = task.title[len(kept) :][:1] in ("", " ", ":", ",")
        assert whole or len(task.title[: len(kept)].rpartition(" ")[0]) + 14 < width * 2 / 3
        assert len(text) <= width


STATES: dict[str, Callable[[], list[ev.Event]]] = {
    "running": feed.running,
    "paused": feed.paused,
    "stopped": feed.stopped,
    "limited": waiting.limited,
    "asking": lambda: waiting.asking(waiting.LANGUAGE, waiting.PARTS),
}


def view_of(events: list[ev.Event]) -> LoopView:
    view = LoopView()
    for event in events:
        view = reduce(view, event)
    return view


@pytest.mark.parametrize("state", STATES)
def test_the_header_drops_fields_and_cuts_no_word(state: str) -> None:
    facts = Facts(view_of(STATES[state]()), "demo", "/home/dev/slug-demo", 84, DEFAULT_KEYS, None)
    whole = {
        word.strip(",;:.")
        for line in header_lines(facts, 300, UNICODE)
        for word in plain(line).split()
    }
    for width in range(56, 200):
        first, second = header_lines(facts, width, UNICODE)
        assert width_of(first) <= width
        assert width_of(second) <= width
        assert "…" not in plain(first)
        assert "slug-demo" in plain(first)
        said = re.sub(r"\d/4", "", f"{plain(first)} {plain(second)}").replace("…", " ").split()
        assert {word.strip(",;:.") for word in said} <= whole, width
        assert not facts.view.tasks or "of 6 tasks done" in plain(second), width


async def test_header_and_footer_have_whole_words_at_every_size(open_app: Open) -> None:
    async with open_app(script_of(feed.failed_gate()), size=(200, 50)) as pilot:
        app = ralph(pilot)
        keys = set(screen_text(app).splitlines()[-1].split())
        for width, height in (
            *((60, 20), (79, 24), (99, 30), (100, 20)),
            *((100, 30), (139, 50), (140, 30)),
        ):
            await pilot.resize_terminal(width, height)
            await until(pilot, lambda w=width, h=height: app.dashboard.size == (w, h))  # type: ignore[misc]  # the defaults bind the loop's values
            await drained(pilot)
            lines = screen_text(app).splitlines()
            assert len(lines) == height
            assert set(lines[-1].split()) <= keys
            assert "p pause" in lines[-1]
            assert lines[-1].rstrip().endswith("^p commands  ? help")
            panes = [app.dashboard.pane_widget(name) for name in ("tasks", "activity", "status")]
            shown = [pane for pane in panes if pane.display]
            assert len(shown) == (1 if width < 100 else 3), width
            columns = {pane.region.x for pane in shown}
            assert len(columns) == (1 if width < 100 else 2 if width < 140 else 3), width
            assert all(pane.region.height >= 5 for pane in shown), (width, height)


async def test_a_page_at_sixty_columns_names_itself_and_numbers_the_others(
    open_app: Open,
) -> None:
    async with open_app(script_of(feed.failed_gate()), size=(60, 20)) as pilot:
        app = ralph(pilot)
        await pilot.press("7")
        await until(pilot, lambda: isinstance(app.screen, Page) and "why: now" in screen_text(app))
        head = screen_text(app).splitlines()[0]
        assert head.split()[:8] == ["esc", "back", "4", "5", "6", "▶7", "why", "8"]
        assert head.endswith("demo-02")


@pytest.mark.parametrize("state", ["running", "limited"])
async def test_a_page_of_eighty_columns_says_what_the_loop_does_beside_the_pages(
    open_app: Open, state: str
) -> None:
    async with open_app(script_of(STATES[state]()), size=(80, 24)) as pilot:
        app = ralph(pilot)
        await pilot.press("7")
        await until(pilot, lambda: isinstance(app.screen, Page) and "why: now" in screen_text(app))
        head = screen_text(app).splitlines()[0]
        look = look_of(app.view)
        assert f"{getattr(UNICODE, look.glyph)} {look.word}" in head
        assert "…" not in head
        assert re.search(r"\S +▶7 why( |$)", head), "the sign stands nearer to its own page"
        if state == "running":
            assert "6 memory" in head, "there is room for the names"


# Figures.


def test_the_forecast_fits_the_panel_and_says_what_it_is_based_on() -> None:
    pace = Forecast(open_tasks=12, finished=20, seconds=5_000, cost_usd=123.4)
    for width in (36, 38, 42, 60):
        text = plain(forecast_line(pace, width, UNICODE))
        assert width_of(forecast_line(pace, width, UNICODE)) <= width
        assert "$123" in text
        assert "from 20 tasks" in text
    assert "1h 23m" in plain(forecast_line(pace, 42, UNICODE))
    nothing = Forecast(open_tasks=3, finished=0)
    assert plain(forecast_line(nothing, 42, UNICODE)) == "to finish  estimating…"
    assert "every task is complete" in plain(
        forecast_line(Forecast(open_tasks=0, finished=3), 42, UNICODE)
    )


def test_history_says_of_nothing_that_it_is_complete_before_a_task_was_worked() -> None:
    spec = Iteration(number=1, run_id="r", task_id="", phase=Phase.DISCOVERY)
    task = Iteration(number=2, run_id="r", task_id="a")
    left = Forecast(open_tasks=0, finished=0)
    said = []
    for its in (spec,), (spec, task):
        lines = totals(RunHistory(iterations=its), left, 100, UNICODE, DEFAULT_KEYS)
        said.append(plain(lines[1]))
    assert said == ["estimating…", "nothing left  every task is complete"]


def ended(number: int, context: int, *, handoff: bool = False) -> ev.IterationFinished:
    return ev.IterationFinished(
        iteration=number,
        task_id="demo-02",
        outcome=IterationOutcome.COMPLETE,
        context_tokens=context,
        handoff=handoff,
    )


def test_the_last_iterations_are_small_bars_and_hand_offs_stand_out() -> None:
    past = [ended(1, 0), ended(2, 100_000), ended(3, 130_000, handoff=True), ended(4, 200_000)]
    spans = spark(past, 200_000, 10, UNICODE)
    assert plain(spans) == "▁▅▆█"
    assert [span.tone for span in spans].index(Tone.WARN) == 2
    assert plain(spark(past, 200_000, 2, UNICODE)) == "▆█", "the last ones"
    assert spark(past, 200_000, 0, UNICODE) == []
    assert plain(spark(past, 200_000, 10, ASCII)).isascii()


def test_files_are_counted_from_the_edits_and_anew_for_each_iteration() -> None:
    touched = Timeline(roots=("/p",))
    edit = {"file_path": "/p/a.py", "old_string": "x\ny\n", "new_string": "x\nz\nw\n"}
    write = {"file_path": "b.py", "content": "1\n2\n"}
    happened: list[ev.Event] = [
        ev.ToolStarted(tool_id="1", name="Edit", input=edit),
        ev.ToolFinished(tool_id="1", name="Edit", outcome=ToolOutcome.OK),
        ev.ToolStarted(tool_id="2", name="Write", input=write),
        ev.ToolFinished(tool_id="2", name="Write", outcome=ToolOutcome.DENIED),
        ev.ToolStarted(tool_id="3", name="Edit", input=edit),
        ev.ToolFinished(tool_id="3", name="Edit", outcome=ToolOutcome.OK),
        ev.IterationFinished(
            iteration=3,
            task_id="t",
            outcome=IterationOutcome.COMPLETE,
            files_changed=("a.py", "c.lock"),
        ),
    ]
    for event in happened:
        touched.feed(event)
    assert touched.changed_files == (FileChange("a.py", 4, 2), FileChange("c.lock"))
    touched.feed(ev.IterationStarted(iteration=4, task_id="t"))
    assert not touched.changed_files


async def test_preview_and_changed_files_are_seen_where_there_is_room(open_app: Open) -> None:
    async with open_app(script_of(feed.failed_gate()), size=(160, 50)) as pilot:
        app = ralph(pilot)
        text = screen_text(app)
        assert re.search(r"src/slugs\.py +\+3 -2", text)
        assert "1 file changed" in text
        preview = app.dashboard.preview
        await until(pilot, lambda: str(preview.border_title) == "Gate")
        await pilot.press("1", "j", "k")
        await until(pilot, lambda: str(preview.border_title).startswith("demo-02 Turn titles"))
        assert "Done when" in screen_text(app)
        await pilot.press("2", *"kkkk")
        await until(pilot, lambda: not str(preview.border_title).startswith("demo-02"))
        await pilot.resize_terminal(120, 40)
        await until(pilot, lambda: not preview.display and not app.dashboard.files.display)


def test_a_command_too_long_keeps_both_its_ends() -> None:
    command = "uv run python -m unittest tests.test_streaks"
    assert crop_middle(command, 60) == command
    shown = crop_middle(command, 27)
    assert len(shown) == 27
    assert shown.startswith("uv run")
    assert shown.endswith("test_streaks")
    assert width_of([Span(crop_middle("見" * 30, 11))]) <= 11


def test_when_all_is_done_every_phase_is() -> None:
    view = view_of(feed.complete())
    facts = Facts(view, "", "/p", 0, DEFAULT_KEYS, None)
    shown = plain(header_lines(facts, 140, UNICODE)[0])
    assert "✓ building" in shown
    assert "▶" not in shown


def test_a_state_that_comes_and_goes_moves_nothing() -> None:
    starts = set()
    for state in BUSY:
        view = LoopView(run_state=state, sight=LoadState.ALL, project="slug-demo")
        facts = Facts(view, "", "/p", 0, DEFAULT_KEYS, None)
        starts.add(plain(header_lines(facts, 120, UNICODE)[0]).index("slug-demo"))
    assert len(starts) == 1


def test_money_is_a_signal_of_the_breaker_when_it_is_near_only() -> None:
    quiet = CircuitBreaker(total_cost=20.0, max_cost_usd=200.0)
    near = quiet.model_copy(update={"total_cost": 170.0})
    assert not [line for line in breaker_lines(quiet, 40, UNICODE) if "cost" in plain(line)]
    assert [line for line in breaker_lines(near, 40, UNICODE) if "cost" in plain(line)]


def test_an_outcome_is_a_sentence() -> None:
    for reason, headline in (
        ("stopped on request", "Stopped on request."),
        ("Done.", "Done."),
    ):
        end = ev.LoopFinished(status=LoopStatus.STOPPED, reason=reason, exit_code=1)
        banner = banner_of(LoopView(), end, "", glyphs=UNICODE, keys=DEFAULT_KEYS)
        assert banner is not None
        assert banner.headline == headline


def test_the_header_says_the_first_sentence_of_what_waits() -> None:
    view = view_of(waiting.cooling())
    second = plain(header_lines(Facts(view, "", "/p", 0, DEFAULT_KEYS, None), 140, UNICODE)[1])
    assert "try one more iteration? (Failures 3/3, refused claims 2/2)" in second


def test_an_iteration_is_numbered_in_the_project_and_limited_in_the_run() -> None:
    for begun, shown in (
        (0, "iteration 33/50"),
        (33, "iteration 33/50"),
        (3, "iteration 33 (3/50)"),
    ):
        view = LoopView(
            run_state=RunState.RUNNING,
            sight=LoadState.ALL,
            iteration=33,
            run_iterations=begun,
            max_iterations=50,
        )
        facts = Facts(view, "", "/p", 0, DEFAULT_KEYS, None)
        assert shown in plain(header_lines(facts, 140, UNICODE)[0])


@pytest.mark.drawn
async def test_a_text_is_folded_before_it_is_seen_and_stays_where_it_is_when_one_comes_back(
    open_app: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[bool] = []
    draw = TextView.content_lines

    def noted(self: TextView, ys: range) -> list[Strip]:
        strips = draw(self, ys)
        cut = [self.row_line(y, self.row_width) for y in range(self.row_count())]
        drawn.append(all(width_of(line) <= self.row_width for line in cut))
        return strips

    monkeypatch.setattr(TextView, "content_lines", noted)
    async with open_app(script_of(waiting.cooling()), size=(80, 24), clock=Moment()) as pilot:
        app = await asks(pilot, Moment())
        assert drawn
        assert all(drawn), "wider than there is room"
        assert "Summary" in screen_text(app)
        for looks in (AppBlur, AppFocus):
            app.post_message(looks())
            await pilot.pause()
        assert "Summary" in screen_text(app), "the first line scrolled away by itself"
