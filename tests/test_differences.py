"""The page of deliberate differences: every name of the specifications is there, or on the page with a reason."""

import re
from collections.abc import Iterator

import pytest
import yaml

from ralph_tui.cli.app import command_tree
from ralph_tui.config.load import VARIABLES
from ralph_tui.config.setting_names import known_keys
from ralph_tui.config.step_settings import BUILT_IN
from ralph_tui.domain.project_state import Phase
from ralph_tui.guard.core.policy import PHASE_TOOLS
from ralph_tui.store.layout import Layout
from tests.tools.house import ROOT

NAMES = yaml.load((ROOT / "tests/seed_names.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)
PAGE = (ROOT / "docs/differences.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| (`[^|]+`) \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)
EXPLAINED = {
    name: (instead.strip(), why.strip())
    for names, instead, why in ROW.findall(PAGE)
    for name in re.findall(r"`([^`]+)`", names)
}


def missing() -> Iterator[str]:
    for phase, tools in NAMES["tools"].items():
        there = set().union(*PHASE_TOOLS.values()) if phase == "any" else PHASE_TOOLS[Phase(phase)]
        where = "" if phase == "any" else f" ({phase})"
        yield from (f"{tool}{where}" for tool in tools if tool not in there)
    root = command_tree()
    for command, *options in NAMES["commands"]:
        if command not in root.commands:
            yield f"ralph {command}"
            continue
        taken = {name for one in root.commands[command].params for name in one.opts}
        yield from (f"ralph {command} {name}" for name in options if name not in taken)
    yield from (name for name in NAMES["variables"] if name not in VARIABLES)
    yield from (name for name in NAMES["settings"] if name not in known_keys())
    yield from (name for name in NAMES["steps"] if name not in BUILT_IN)
    layout = Layout(ROOT)
    paths = [getattr(layout, name) for name in dir(layout) if name not in ("prompt", "directories")]
    files = {path.name for path in paths if hasattr(path, "name")}
    files |= {layout.prompt(phase).name for phase in Phase}
    yield from (name for name in NAMES["files"] if name not in files)


def test_every_name_is_there_or_explained() -> None:
    assert set(missing()) == set(EXPLAINED)


@pytest.mark.parametrize("name", EXPLAINED)
def test_each_difference_has_a_replacement_and_a_reason(name: str) -> None:
    instead, why = EXPLAINED[name]
    assert len(instead) > 3
    assert len(why) > 15
