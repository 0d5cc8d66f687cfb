"""What README and CONTRIBUTING show is true."""

import re
from pathlib import Path

from ralph_tui.config.setting_names import description
from ralph_tui.demo.scenario_loader import parse_scenario
from ralph_tui.domain.errors import ExitCode
from ralph_tui.domain.plan.plan import ImplementationPlan
from ralph_tui.tui.commands.custom_keys import NAMES
from ralph_tui.tui.commands.registry import key_table
from tests.cli.processes import REPOSITORY, inside

README = (REPOSITORY / "README.md").read_text(encoding="utf-8")
CONTRIBUTING = (REPOSITORY / "CONTRIBUTING.md").read_text(encoding="utf-8")


def block(text: str, language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", text, re.DOTALL)
    assert found
    return found[1]


def test_the_plan_in_the_readme_can_be_worked() -> None:
    plan = ImplementationPlan.model_validate_json(block(README, "json"))
    assert plan.problems() == ()
    assert plan.get_next_task() == plan.tasks[0]


def test_the_scenarios_in_contributing_load() -> None:
    blocks = re.findall(r"```yaml\n(.*?)```", CONTRIBUTING, re.DOTALL)
    assert len(blocks) == 2
    assert all(parse_scenario(text).scripts for text in blocks)


def test_the_table_of_keys_is_fresh() -> None:
    assert f"<!-- keys -->\n{key_table()}\n<!-- /keys -->" in README


def test_the_names_that_the_settings_know_stand_beside_the_keys() -> None:
    assert "names as in the README" in description("screen.keys")
    assert [name for name in NAMES if f"| `{name}` |" not in README] == []


def test_every_picture_is_there() -> None:
    pictures = re.findall(r"!\[[^]]*\]\(([^)]+)\)", README + CONTRIBUTING)
    assert pictures
    assert [path for path in pictures if not (REPOSITORY / path).is_file()] == []


def test_every_command_the_readme_names_exists(tmp_path: Path) -> None:
    named = set(re.findall(r"(?:^|`)ralph ([a-z]+(?:-[a-z]+)?)", README, re.MULTILINE))
    listed = inside("--help", cwd=tmp_path).stdout
    assert [name for name in named if f"\n  {name} " not in listed] == []
    assert {"init", "doctor", "build", "inject", "skip", "retry", "stop", "status"} <= named


def test_every_exit_status_is_documented() -> None:
    rows = {int(status) for status in re.findall(r"^\| (\d+) \|", README, re.MULTILINE)}
    assert rows == set(ExitCode)
