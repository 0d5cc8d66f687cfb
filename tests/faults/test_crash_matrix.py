"""Lines 1, 5, 25, 63: killed at every single call that touches the disk, state is before or after."""

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from tests.faults.crasher import STEPS, TOLD

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """Every death, as `tests.faults.crasher` tells them; the first line is the reference."""
    directory = tmp_path_factory.mktemp("matrix")
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults.crasher", str(directory)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"HOME": str(directory), "XDG_STATE_HOME": str(directory / "state")},
        timeout=280,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_state_is_exactly_before_or_after_at_every_call(history: list[dict[str, Any]]) -> None:
    states, deaths = history[0]["states"], history[1:]
    assert len(deaths) > 150
    assert {death["step"] for death in deaths} == set(range(1, len(STEPS) + 1))
    for death in deaths:
        before, after = states[death["step"] - 1], states[death["step"]]
        # Before anything was written an empty project says the same as none.
        allowed = [before, after] if before is not None else [None, after]
        assert death["documents"] in allowed, death
    assert not deaths[-1]["died"], "the last run is the one without a fault"
    assert deaths[-1]["documents"] == states[-1]


def test_the_journal_is_a_prefix_and_at_most_one_line_is_set_aside(
    history: list[dict[str, Any]],
) -> None:
    for death in history[1:]:
        assert death["told"] == TOLD[: len(death["told"])], death
        assert death.get("seqs", []) == list(range(1, len(death["told"]) + 1))
        assert death.get("partial", 0) <= 1
        # A step that was over before the death lost nothing of what it told.
        finished = 3 if death["step"] > 7 else 2 if death["step"] > 4 else 0
        assert len(death["told"]) >= finished, death
    assert any(death.get("partial") for death in history[1:]), "a line was cut somewhere"


def test_nothing_is_left_lying_about_and_nothing_was_damaged(
    history: list[dict[str, Any]],
) -> None:
    for death in history[1:]:
        assert death["left"] == [], death
        assert not [text for text in death["damage"] if "damaged" in text], death
