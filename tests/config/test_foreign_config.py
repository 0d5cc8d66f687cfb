"""Settings of other loops: whose they are, what they mean here, and that nothing is dropped in silence."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_tui.config.edit import with_setting
from ralph_tui.config.foreign_config import (
    ForeignTool,
    seconds,
    tool_of,
    translate_hybrid,
    translate_wiggum,
)
from ralph_tui.config.load import load_settings
from ralph_tui.config.settings import Settings
from ralph_tui.config.yaml_reader import parse_entries, parse_yaml
from ralph_tui.domain.errors import ConfigError

PATH = Path("config.yaml")
DOUBLED = "a0: &a0 [1]\n" + "".join(f"a{n + 1}: &a{n + 1} [*a{n}, *a{n}]\n" for n in range(40))

AGENT = {"type": "agent", "name": "run", "config": {"prompt_file": "LOOP.md"}}
names = st.text("abcdefgh", min_size=9, max_size=12)
"""Of keys that no loop has."""


@given(names, names, names)
def test_what_nobody_documents_is_left_out_with_its_place(top: str, step: str, inside: str) -> None:
    command = {"type": "command", "config": {"command": "make", inside: 1}, step: True}
    made = translate_wiggum({"steps": [AGENT, command], top: "x"})
    left = {key.key for key in made.left_out}
    assert {top, f"steps[1].{step}", f"steps[1].config.{inside}"} <= left
    assert list(made.steps) == ["work", "command"]


@pytest.mark.parametrize(
    ("step", "inside", "seconds", "left"),
    [
        ({"timeout": "5m"}, {}, 300, ""),
        ({}, {"timeout": "20s"}, 20, ""),
        ({"timeout": ""}, {"timeout": "20s"}, 20, ""),
        ({"timeout": "5m"}, {"timeout": "20s"}, 300, "config.timeout"),
        ({"timeout": "soon"}, {}, None, "timeout"),
        ({}, {"timeout": "soon"}, None, "config.timeout"),
        ({"retry_delay": "5s"}, {}, None, "retry_delay"),
        ({"retry_delay": "5s", "max_retries": 0}, {}, None, "retry_delay"),
        ({"retry_delay": "5s", "max_retries": 2}, {}, None, ""),
    ],
)
@pytest.mark.parametrize("kind", ["command", "agent"])
def test_a_time_of_a_step_that_does_not_apply_is_left_out_with_its_place(
    kind: str, step: dict[str, object], inside: dict[str, object], seconds: int | None, left: str
) -> None:
    config = {**({"command": "make"} if kind == "command" else {}), **inside}
    made = translate_wiggum({"steps": [AGENT, {"type": kind, "config": config, **step}]})
    assert made.steps[kind].get("timeout_seconds") == seconds
    of_the_step = [key.key for key in made.left_out if key.key.startswith("steps[1].")]
    assert of_the_step == ([f"steps[1].{left}"] if left else [])


@given(st.lists(st.one_of(st.none(), st.text(), st.dictionaries(st.text(), st.integers()))))
def test_any_list_of_steps_has_the_work_once(steps: list[Any]) -> None:
    made = translate_wiggum({"steps": [{"type": "noop", "config": steps}, *steps]})
    assert list(made.steps).count("work") == 1
    Settings.model_validate({"steps": made.steps})


@given(st.integers(0, 99), st.integers(0, 59), st.integers(0, 59))
def test_durations_add_up(hours: int, minutes: int, rest: int) -> None:
    assert seconds(f"{hours}h{minutes}m{rest}s") == 3600 * hours + 60 * minutes + rest


@pytest.mark.parametrize("given", ["", "20", "20 minutes", "m", "-5m", "${LIMIT}", "5m x"])
def test_what_is_no_duration_is_said(given: str) -> None:
    with pytest.raises(ValueError, match=r"duration|variable"):
        seconds(given)


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ('{"steps": [{"type": "agent"}]}', ForeignTool.WIGGUM),
        ('{\n\t"steps": [\n\t\t{"type": "agent"}\n\t]\n}', ForeignTool.WIGGUM),
        ("steps:\n  - type: agent\n", ForeignTool.WIGGUM),
        ("defaults:\n  max_iterations: 3\n", ForeignTool.HYBRID),
        ("quality_checks:\n  all: just check\n", ForeignTool.HYBRID),
        ("circuit_breaker:\n  no_progress_threshold: 3\n", ForeignTool.HYBRID),
        ("circuit_breaker:\n  max_same_error: 3\n", None),
        ("steps:\n  work: {}\n", None),
        ("defaults:\n  other: 3\n", None),
        ("", None),
    ],
)
def test_whose_settings_they_are(text: str, form: ForeignTool | None) -> None:
    assert tool_of(parse_yaml(text, PATH)[0]) is form


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"steps": [', "this is not valid YAML"),
        ('{"a": 1, "a": 2}', "'a' is set twice"),
        ("a:\n  b: 1\n  b: 2\n", "config.yaml:3: 'a.b' is set twice, first in line 2"),
        ("a: [\n", "config.yaml:2: this is not valid YAML"),
        ("a: &a\n  b: *a\n", "nested too deeply"),
        (DOUBLED, "too many values"),
        ("[" * 3000 + "]" * 3000, "nested too deeply"),
        ('{"a":' * 200_000 + "1" + "}" * 200_000, "nested too deeply"),
    ],
)
def test_a_broken_file_is_one_sentence(text: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_yaml(text, PATH)
    assert said in caught.value.message
    assert caught.value.hint


def test_variables_of_their_shell_stay_the_shells(tmp_path: Path) -> None:
    value, lines = parse_yaml("quality_checks: 'test -n \"${X}\"'\n", PATH)
    assert isinstance(value, dict)
    settings = translate_hybrid(value, lines).settings
    (tmp_path / ".ralph").mkdir()
    key = "phases.building.backpressure"
    text = with_setting("", key, settings[key], PATH)
    (tmp_path / ".ralph" / "config.yaml").write_text(text, encoding="utf-8")
    loaded = load_settings(tmp_path, environ={}, home=tmp_path / "nobody")
    assert loaded.phases.building.backpressure == ('test -n "${X}"',)
    wiggum = {"type": "command", "config": {"command": "echo ${X}"}}
    assert "An unset variable is an error here" in translate_wiggum({"steps": [wiggum]}).remarks[0]


steps = st.dictionaries(
    st.text("abc-", min_size=1, max_size=4),
    st.fixed_dictionaries(
        {"type": st.just("command"), "run": st.text(min_size=1).filter(str.isprintable)},
        optional={"retries": st.integers(1, 5), "once": st.booleans()},
    ),
    min_size=1,
    max_size=4,
)


@given(
    st.sampled_from(["", "# mine\nmodels:\n  primary: x  # why\n", "steps: {}  # none\n"]), steps
)
def test_steps_are_written_as_they_are_read(text: str, wanted: dict[str, Any]) -> None:
    changed = with_setting(text, "steps", wanted, PATH)
    (found,) = (e.value for e in parse_entries(changed, PATH) if e.key == "steps")
    assert isinstance(found, dict)
    assert list(found) == list(wanted), "the order is the order"
    assert {n: s["run"] for n, s in found.items()} == {n: s["run"] for n, s in wanted.items()}
    assert [line for line in text.splitlines() if "#" in line and "steps" not in line] == [
        line for line in changed.splitlines() if line in text.splitlines() and "#" in line
    ]
    again = with_setting(changed, "steps", {"work": {}}, PATH)
    assert json.dumps([e.value for e in parse_entries(again, PATH) if e.key == "steps"]) == (
        '[{"work": {}}]'
    )


def test_checks_may_have_names(tmp_path: Path) -> None:
    (tmp_path / ".ralph").mkdir()
    text = "phases:\n  building:\n    backpressure:\n      unit: uv run pytest\n      lint: just lint\n"
    (tmp_path / ".ralph" / "config.yaml").write_text(text, encoding="utf-8")
    loaded = load_settings(tmp_path, environ={}, home=tmp_path / "nobody")
    assert loaded.phases.building.backpressure == ("uv run pytest", "just lint")


@given(st.dictionaries(names, st.text()), st.sampled_from([None, 2, "\t"]))
def test_json_is_read_as_it_is_written(value: dict[str, str], indent: int | str | None) -> None:
    assert parse_yaml(json.dumps(value, indent=indent), PATH)[0] == value
