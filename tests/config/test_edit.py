"""One setting changes; every comment, every other setting and every other line stays."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ralph_tui.config.edit import with_setting
from ralph_tui.config.setting_names import known_keys
from ralph_tui.config.template import template
from ralph_tui.config.yaml_reader import parse_entries
from ralph_tui.domain.errors import ConfigError

PATH = Path("config.yaml")

HAND_MADE = """\
# mine
models:   # which ones
    primary: haiku   # cheap
phases:
  building:
    backpressure:
      - uv run pytest   # the tests
      - "uv run mypy ."
    # how long
    max_iterations: 7
context: {budget_percent: 50}   # flow
safety:
git: {}
"""


def entries(text: str) -> dict[str, object]:
    return {entry.key: entry.value for entry in parse_entries(text, PATH)}


@pytest.mark.parametrize(
    ("key", "value", "line"),
    [
        ("models.primary", "opus", '    primary: "opus"   # cheap'),
        ("models.planning", "opus", 'models.planning: "opus"'),
        ("phases.building.max_iterations", 9, "    max_iterations: 9"),
        ("phases.building.gate_timeout_seconds", 2.5, "phases.building.gate_timeout_seconds: 2.5"),
        ("phases.discovery.max_questions", 3, "phases.discovery.max_questions: 3"),
        ("context.budget_percent", 55, "context: {budget_percent: 55}   # flow"),
        (
            "context.handoff_threshold_percent",
            70,
            "context.handoff_threshold_percent: 70",
        ),
        ("safety.cost_limits.total", 9.0, "safety.cost_limits.total: 9"),
        ("git.trailers", True, "git.trailers: true"),
        ("agent.max_turns", 5, "agent.max_turns: 5"),
        ("phases.building.backpressure", ("a", "b"), '    backpressure: ["a", "b"]'),
    ],
)
def test_it_is_written_where_it_belongs(key: str, value: object, line: str) -> None:
    changed = with_setting(HAND_MADE, key, value, PATH)
    assert line in changed.splitlines()
    left = {k: v for k, v in entries(changed).items() if k != key}
    assert left == {k: v for k, v in entries(HAND_MADE).items() if k != key}
    for comment in ("# mine", "# which ones", "# cheap", "# how long", "# flow"):
        assert comment in changed


VALUES = st.sampled_from((3, 2.25, True, "plain", 'a "b" \\ c: # d', ("x, y", "# z"), ()))
BASES = st.sampled_from(("", "# only a comment\n", template(), "# no end of line", HAND_MADE))
CHANGES = st.lists(st.tuples(st.sampled_from(sorted(known_keys())), VALUES), max_size=4)


@settings(max_examples=30, deadline=None)
@given(BASES, CHANGES)
def test_any_settings_one_after_the_other(base: str, wanted: list[tuple[str, object]]) -> None:
    text, expected = base, entries(base)
    for key, value in wanted:
        text = with_setting(text, key, value, PATH)
        expected[key] = value if isinstance(value, tuple) else scalar(value)
    assert entries(text) == expected
    comments = [line for line in base.splitlines() if line.lstrip().startswith("#")]
    assert [line for line in comments if line not in text.splitlines()] == []


def scalar(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def test_a_number_keeps_its_digits() -> None:
    text = with_setting("", "safety.cost_limits.total", 1234567.25, PATH)
    assert entries(text) == {"safety.cost_limits.total": "1234567.25"}


@pytest.mark.parametrize("value", ["two\nlines", "bell\x07"])
def test_a_value_that_would_not_come_back_is_not_written(value: str) -> None:
    with pytest.raises(ConfigError):
        with_setting(HAND_MADE, "models.primary", value, PATH)


@pytest.mark.parametrize("text", ["models: [", "modls:\n  primary: x\n", "models: {primary: a}: b"])
def test_a_file_that_is_wrong_already_is_left_alone(text: str) -> None:
    with pytest.raises(ConfigError):
        with_setting(text, "models.primary", "x", PATH)
