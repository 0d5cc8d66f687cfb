"""One form of a duration, wherever one is shown."""

import re
from pathlib import Path

import pytest

import ralph_tui
from ralph_tui.domain.formatting import duration, took


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        *((-3, "0s"), (0, "0s"), (0.4, "0s"), (4, "4s"), (59.4, "59s")),
        *((59.5, "1m 00s"), (65, "1m 05s"), (3_599, "59m 59s"), (3_599.9, "1h 00m")),
        *((7_380, "2h 03m"), (86_399, "23h 59m"), (86_400, "1d 00h"), (273_600, "3d 04h")),
    ],
)
def test_a_duration_is_short_and_names_its_units(seconds: float, shown: str) -> None:
    assert duration(seconds) == shown
    assert len(shown) <= 7


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(-1, "0.0s"), (0.04, "0.0s"), (9.94, "9.9s"), (9.96, "10s"), (75, "1m 15s")],
)
def test_of_what_is_over_in_a_moment_tenths_count(seconds: float, shown: str) -> None:
    assert took(seconds) == shown


def test_nobody_else_forms_durations() -> None:
    own = re.compile(r"\}\s?[smh]\b(?!\w)|\}:\{\w+:02d\}|:\.[01]f\} ?(?:s|min)\b")
    root = Path(ralph_tui.__file__).parent
    rooms = ("domain", "engine", "tui", "cli", "demo")
    found = [
        f"{path.relative_to(root)}: {line.strip()}"
        for room in rooms
        for path in (root / room).rglob("*.py")
        if path.name != "formatting.py"
        for line in path.read_text(encoding="utf-8").splitlines()
        if 'f"' in line and own.search(line) and "{noun}s" not in line
    ]
    assert found == []
