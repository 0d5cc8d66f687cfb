"""A scenario file that is wrong says where."""

from pathlib import Path

import pytest

from ralph_tui.demo.scenario import (
    Turn,
    load_scenario,
    parse_scenario,
    shipped_scenario,
    shipped_scenarios,
)
from ralph_tui.domain.errors import ConfigError

WRONG = (Path(__file__).with_name("wrong_scenarios.txt")).read_text(encoding="utf-8").split("---\n")
"""Scenarios, each below what is said of it."""


@pytest.mark.parametrize("text", WRONG, ids=lambda text: text.splitlines()[0])
def test_a_mistake_names_source_line_and_key(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_scenario(text, source="mine.yaml")
    assert caught.value.message.startswith("mine.yaml")
    assert text.splitlines()[0].removeprefix("# ") in caught.value.message


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere\.yaml cannot be read: No such file") as caught:
        load_scenario(tmp_path / "nowhere.yaml")
    assert "python" in caught.value.hint


def test_a_file_that_is_not_text(tmp_path: Path) -> None:
    path = tmp_path / "binary.yaml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="not UTF-8 text"):
        load_scenario(path)


def test_short_forms_are_tool_calls() -> None:
    turn = Turn.model_validate(
        {
            "tools": [{"name": "Grep", "input": {"pattern": "x"}}],
            "ralph": "get_next_task",
            "bash": {"command": "make", "timeout": 5},
            "edit": {"path": "a", "old": "1", "new": "2"},
            "write": [{"path": "b", "content": "text"}],
            "read": "c",
        }
    )
    assert [(call.name, call.input) for call in turn.calls] == [
        ("Read", {"file_path": "c"}),
        ("Write", {"file_path": "b", "content": "text"}),
        ("Edit", {"file_path": "a", "old_string": "1", "new_string": "2"}),
        ("Bash", {"command": "make", "timeout": 5}),
        ("mcp__ralph__ralph_get_next_task", {}),
        ("Grep", {"pattern": "x"}),
    ]


def test_faults_are_suffered_in_order_and_then_are_over() -> None:
    turn = Turn.model_validate({"fault": [{"status": 529, "times": 2}, "cut"]})
    faults = [turn.fault_for(attempt) for attempt in range(4)]
    assert [fault.kind if fault else None for fault in faults] == ["status", "status", "cut", None]
    forever = Turn.model_validate({"fault": {"status": 401, "times": "forever"}})
    assert forever.fault_for(10_000) is not None


@pytest.mark.parametrize("name", shipped_scenarios())
def test_what_is_shipped_loads(name: str) -> None:
    assert load_scenario(shipped_scenario(name)).scripts
