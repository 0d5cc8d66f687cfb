"""Plans of other tools in their usual places are found by name, and named for a shell: `foreign_files.txt`."""

from pathlib import Path

import pytest

from ralph_tui.store.foreign_files import foreign_plans, import_offer
from tests.harness.tables import Case, Line, each_case


def found(_: Line, root: Path) -> tuple[str, ...]:
    plans = foreign_plans(root)
    return (*plans, *filter(None, [import_offer(plans)]))


@each_case(__file__)
def test_plans(case: Case, tmp_path: Path, pytestconfig: pytest.Config) -> None:
    case.play({"found": found}, tmp_path, pytestconfig)
