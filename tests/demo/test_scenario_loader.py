"""A scenario file that is wrong says where."""

from pathlib import Path
from textwrap import dedent

import pytest

from ralph_tui.demo.scenario import Turn
from ralph_tui.demo.scenario_loader import (
    load_scenario,
    parse_scenario,
    shipped_scenario,
    shipped_scenarios,
)
from ralph_tui.domain.errors import ConfigError

WRONG = {
    "unknown key": (
        """
        scripts:
          - when: hello
            turns:
              - say: hi
              - sya: typo
        """,
        "line 6, `scripts[0].turns[1].sya`: this key does not exist here.",
    ),
    "missing key": (
        """
        scripts:
          - when: hello
            turns:
              - write: {path: a.txt}
        """,
        "line 5, `scripts[0].turns[0].write`: `content` is missing.",
    ),
    "bad pattern": (
        """
        scripts:
          - when: "(hello"
            turns: [{say: hi}]
        """,
        "line 3, `scripts[0].when`: not a regular expression",
    ),
    "bad status": (
        """
        scripts:
          - when: hello
            turns:
              - say: hi
                fault: {status: 200}
        """,
        "line 6, `scripts[0].turns[0].fault.status`: input should be greater than or equal to 400.",
    ),
    "unknown fault": (
        """
        scripts:
          - when: hello
            turns:
              - fault: earthquake
        """,
        "line 5, `scripts[0].turns[0].fault`: input should be 'status', 'hang'",
    ),
    "status without a number": (
        """
        scripts:
          - when: hello
            turns:
              - fault: status
        """,
        "line 5, `scripts[0].turns[0].fault`: `status` goes with kind `status`, and only with it.",
    ),
    "inside alternatives": (
        """
        scripts:
          - when: hello
            turns:
              - either:
                  - say: hi
                  - say: 7
        """,
        "line 7, `scripts[0].turns[0].either[1].say`: input should be a valid string.",
    ),
    "empty condition": (
        """
        scripts:
          - when: hello
            turns:
              - when: {}
        """,
        "line 5, `scripts[0].turns[0].when`: needs `last_result` or `user`.",
    ),
    "no beginning": (
        """
        scripts:
          - turns: [{say: hi}]
        """,
        "line 3, `scripts[0]`: needs `phase`, `task` or `when`.",
    ),
    "no turns": ("scripts: [{when: hello, turns: []}]", "line 1, `scripts[0].turns`: "),
    "duplicate key": (
        """
        scripts:
          - when: hello
            turns:
              - bash: ls
                bash: pwd
        """,
        "line 6: `bash` occurs twice.",
    ),
    "not yaml": ("name: x\nscripts: ]", "line 2: not valid YAML"),
    "not a mapping": ("- scripts", "a scenario must be a mapping with `scripts`."),
    "empty": ("", "a scenario must be a mapping with `scripts`."),
    "alias to itself": ("scripts: &a [*a]", "`scripts[0]`"),
    "key that is a list": ("{[1, 2]: 3}", "line 1: a key must be a plain word."),
}


@pytest.mark.parametrize(("text", "message"), WRONG.values(), ids=WRONG.keys())
def test_a_mistake_names_source_line_and_key(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_scenario(dedent(text), source="mine.yaml")
    assert caught.value.message.startswith("mine.yaml")
    assert message in caught.value.message


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
