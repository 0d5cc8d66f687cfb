"""What the model said as Markdown in the stream, and what can be taken out of the dashboard."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from ralph_tui.config.load import load_settings
from ralph_tui.present.text.spans import Span, Tone, flow, width_of
from ralph_tui.store.project import Project
from tests.tui import feed
from tests.tui.conftest import Open, ralph, screen_text, toasts, until
from tests.tui.feed import Script

LINES = st.lists(
    st.builds(Span, st.text("ab 漢", max_size=12), st.sampled_from([Tone.TEXT, Tone.OK])),
    max_size=6,
)


@given(LINES, st.integers(2, 30), st.integers(0, 6))
def test_folding_keeps_every_letter_in_its_tone(line: list[Span], width: int, indent: int) -> None:
    folded = flow(line, width, indent)
    assert all(width_of(piece) <= width for piece in folded)

    def letters(lines: list[list[Span]]) -> list[tuple[str, Tone]]:
        return [(c, s.tone) for piece in lines for s in piece for c in s.text if not c.isspace()]

    assert letters(folded) == letters([line])


async def test_the_pane_in_use_is_saved(open_app: Open, tmp_path: Path) -> None:
    Project(tmp_path).create()
    async with open_app(Script(tmp_path, feed.failed_gate())) as pilot:
        app = ralph(pilot)
        await pilot.press("F", "F", "Y")
        exports = tmp_path / ".ralph" / "exports"
        await until(pilot, lambda: any("activity-" in t for t in toasts(app)))
        (activity,) = exports.glob("activity-*.txt")
        assert "rule git.write" in activity.read_text()
        assert "write   src/slugs.py" not in activity.read_text()
        await pilot.press("1", "Y")
        await until(pilot, lambda: any("tasks-" in t for t in toasts(app)))
        (tasks,) = exports.glob("tasks-*.txt")
        assert "needs an account that only a person can make" in tasks.read_text()
        assert f"Saved: .ralph/exports/{tasks.name}" in toasts(app)
        exports.rename(tmp_path / "elsewhere")
        exports.touch()
        await pilot.press("3", "Y")
        said = "txt: File exists. Another file is in the way. Move it elsewhere first."
        await until(pilot, lambda: any(t.endswith(said) for t in toasts(app)))


async def test_a_theme_chosen_in_the_palette_is_kept(open_app: Open, tmp_path: Path) -> None:
    Project(tmp_path).create()
    async with open_app(Script(tmp_path), autostart=False) as pilot:
        app = ralph(pilot)
        app.search_themes()
        await until(pilot, lambda: app.screen is not app.dashboard)
        await pilot.press(*"ralph-light")
        await until(pilot, lambda: "ralph-light" in screen_text(app))
        await pilot.press("down", "enter")
        await until(pilot, lambda: any("Saved the theme" in t for t in toasts(app)))
        assert app.theme == "ralph-light"
        assert load_settings(tmp_path).screen.theme == "ralph-light"
