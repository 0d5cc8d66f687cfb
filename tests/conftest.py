"""Isolation for every test: no personal settings, no terminal quirks, no animation."""

import gc
import itertools
import os
import re
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from pytest_textual_snapshot import SVGImageExtension

from tests.harness.in_process import spare_compiling, spare_processes

pytest_plugins = ["tests.harness.suite"]

# A sandbox may forbid writing bytecode; then every program the tests start would compile everything anew.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

LONG = "RALPH_LONG" in os.environ
"""Play the tests marked `long` too; the normal run has to stay under six minutes."""

THOROUGH = "RALPH_THOROUGH" in os.environ
"""A night's run draws many more examples."""

# As Hypothesis' own profile for CI: the same examples each time, and no verdict from a clock.
settings.register_profile(
    "ralph",
    max_examples=300 if THOROUGH else 30,
    deadline=None,
    derandomize=not THOROUGH,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("ralph")

_serialize = SVGImageExtension.serialize

# syrupy 5 renamed the attribute, and ids like terminal-123- change with every run.
SVGImageExtension.file_extension = "svg"
SVGImageExtension.serialize = lambda self, data, **kw: re.sub(
    r"\bterminal-\d+-", "terminal-", _serialize(self, data, **kw)
)

_PERSONAL = ("NO_COLOR", "FORCE_COLOR", "COLORTERM", "PYTEST_ADDOPTS")
_PREFIXES = ("TEXTUAL", "RALPH_", "ANTHROPIC_", "CLAUDE", "GIT_")


def pytest_configure(config: pytest.Config) -> None:
    """A picture whose test is left out is not one that nobody needs; that fails the long run only."""
    if not LONG:
        config.option.disable_unused_snapshots = True


def pytest_xdist_auto_num_workers() -> int:
    return (os.cpu_count() or 1) + 2  # many wait for other processes


_SWEEP_EVERY = 250
"""Tests of a worker between two sweeps. Each takes half a second, and 100 tests of the screen leave 40 MB."""

_ended = 0


def pytest_runtest_teardown() -> None:
    """Collect what ended apps left: each froze all objects, as it may where it lives as long as its process."""
    global _ended  # noqa: PLW0603 - a hook has no object to keep it in
    _ended += 1
    if _ended % _SWEEP_EVERY == 0:
        gc.unfreeze()
        gc.collect()
        gc.freeze()


@pytest.fixture(scope="session")
def homes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where each test has its home; pytest's own numbers would take a look at all directories each time."""
    return tmp_path_factory.mktemp("homes")


_numbers = itertools.count()


@pytest.fixture(autouse=True)
def isolated(homes: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home, UTC, and none of the developer's own environment."""
    for name in list(os.environ):
        if name in _PERSONAL or name.startswith(_PREFIXES):
            monkeypatch.delenv(name)
    home = homes / str(next(_numbers))
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / ".config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(home / ".local" / "state"))
    # A check that runs pytest removes its user's older test directories, and with them the project it works on.
    monkeypatch.setenv("LOGNAME", "someone")
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.setenv("TEXTUAL_ANIMATIONS", "none")
    return home


@pytest.fixture
def own_processes() -> None:
    """Start the guard's child and a run's watchdog, as each `ralph` in a process of its own does."""


@pytest.fixture(autouse=True)
def in_process(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, homes: Path
) -> None:
    if not LONG and "own_processes" not in request.fixturenames:
        spare_processes(monkeypatch)
        spare_compiling(monkeypatch, homes.parent / "compiled")


@pytest.fixture
def played_cli(monkeypatch: pytest.MonkeyPatch) -> None:
    """Play the CLI's part in this process; the long run plays the real one in these tests, too."""
    if not LONG:
        from ralph_tui.agent import session  # slow to import
        from tests.harness.played_cli import PlayedCli

        monkeypatch.setattr(session, "ClaudeSDKClient", PlayedCli)
