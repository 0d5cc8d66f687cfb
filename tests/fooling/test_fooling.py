"""Play the tables of cheats and honest ways, with the sandbox on and off.

`falls.yaml` names the rows that do not end as they should, with how they end. It can only shrink: a row that ends well
must leave it. `uv run python -m tests.fooling.measure` plays all rows and writes it anew.
"""

from pathlib import Path

import pytest

from tests.conftest import LONG
from tests.fooling.player import GOOD, MODES, accepted_by_loop, falls, missing, played, rows
from tests.harness.suite import need


def played_rows() -> list[object]:
    """Every row in both modes; the normal run has the quick ones without a sandbox, as collecting all takes a second."""
    return [
        pytest.param(table, name, mode, id=f"{table} {mode} {name}")
        for table in GOOD
        for name, row in rows(table).items()
        for mode in MODES
        if LONG or (row.quick and mode == "open")
    ]


def require(name: str, table: str = "cheats") -> None:
    for wanted in missing(rows(table)[name]):
        if "/" in wanted:
            pytest.skip(f"{wanted}: not there")
        need(wanted)


@pytest.mark.parametrize(("table", "name", "mode"), played_rows())
async def test_a_row_ends_as_it_should(tmp_path: Path, table: str, name: str, mode: str) -> None:
    require(name, table)
    outcome = await played(tmp_path, rows(table)[name], sandbox=mode == "sandbox")
    known = falls(table, mode).get(name)
    assert outcome.word in ((known,) if known else GOOD[table]), f"{outcome.word}: {outcome.reason}"


@pytest.mark.long
@pytest.mark.parametrize(
    ("table", "name"),
    [(table, name) for table in GOOD for name, row in rows(table).items() if row.cli],
)
async def test_a_row_ends_the_same_on_the_real_cli(tmp_path: Path, table: str, name: str) -> None:
    require(name, table)
    outcome = await played(tmp_path, rows(table)[name], cli=True)
    known = falls(table, "open").get(name)
    good = GOOD[table] if known is None else (known, *GOOD[table])
    assert outcome.word in good, f"{outcome.word}: {outcome.reason}"


@pytest.mark.long
@pytest.mark.parametrize("name", rows("cheats") if LONG else ())
def test_a_loop_that_runs_the_check_accepts_a_cheat(tmp_path: Path, name: str) -> None:
    """What is said of the other loops on the page; `loop: false` names what they refuse, too, `null` a race."""
    require(name)
    row = rows("cheats")[name]
    assert row.loop in (None, accepted_by_loop(tmp_path, row))


def test_the_page_tells_these_tables() -> None:
    from tests.tools.fooling_table import PAGE, page

    assert len(rows("cheats")) >= 120
    assert len(rows("honest")) >= 60
    named = {table: {n for mode in MODES for n in falls(table, mode)} for table in GOOD}
    assert all(names <= set(rows(table)) for table, names in named.items())
    again = "run `uv run python -m tests.tools.fooling_table`"
    assert PAGE.read_text(encoding="utf-8") == page(), again
