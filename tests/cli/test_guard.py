"""`ralph guard check`: verdicts without a run."""

import json
from pathlib import Path
from typing import get_args

import pytest

from ralph_tui.cli.commands.checking import PhaseName
from ralph_tui.domain.project_state import Phase
from tests.cli.processes import inside


def test_every_phase_can_be_named() -> None:
    assert set(get_args(PhaseName)) == {phase.value for phase in Phase}


@pytest.mark.parametrize("command", ["", " \n", "a b;" * 20_000])
def test_a_command_that_is_none_is_denied(tmp_path: Path, command: str) -> None:
    done = inside("guard", "check", "--json", command, cwd=tmp_path)
    found = json.loads(done.stdout)
    assert (found["verdict"], found["rule"]) == ("deny", "unreadable-command")
    assert len(done.stdout) < 2_000, "an answer is bounded"
