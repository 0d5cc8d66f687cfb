"""Fixtures for tests of the command line."""

import pytest


@pytest.fixture
def no_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests of what doctor finds after the guard's layers, which start eight processes."""
    monkeypatch.setattr("ralph_tui.cli.doctor.checks.check_layers", lambda *_: ())
