"""One process and one table: `uv run pytest tests/bench`."""

import pytest

from tests.bench.report import Row, table

ROWS: list[Row] = []


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Benchmarks beside each other would measure each other, so no workers here."""
    config.option.numprocesses = 0
    config.option.dist = "no"


@pytest.fixture
def rows() -> list[Row]:
    return ROWS


@pytest.fixture(autouse=True)
def bytecode(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where Python may not keep bytecode, every start would pay for compiling us, and only us."""
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print it where nothing captures it."""
    if ROWS:
        terminalreporter.write_line("")
        terminalreporter.write_line(table(ROWS))
