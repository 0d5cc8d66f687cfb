"""One form of a duration, wherever one is shown."""

import pytest

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
