"""`ralph schema`: what ralph reads and writes fits its own schemas, and what it refuses does not."""

import functools
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from ralph_tui.cli.json_schemas import NAMES, json_schema
from ralph_tui.config.load import load_settings
from ralph_tui.config.setting_names import known_keys
from ralph_tui.config.template import template
from ralph_tui.domain import events as ev
from ralph_tui.domain.errors import RalphError
from ralph_tui.domain.plan.plan import Task
from ralph_tui.domain.project_state import Phase
from ralph_tui.store.io.strict_json import json_text
from tests.cli.processes import inside
from tests.harness.projects import make_project, plan_of
from tests.tools.write_schemas import FOLDER


@functools.cache
def validator(name: str) -> Draft202012Validator:
    """A schema as something that judges values; the one of events takes half a second to make."""
    return Draft202012Validator(json_schema(name))


def errors(name: str, value: object) -> list[str]:
    return [error.message for error in validator(name).iter_errors(value)]


def descriptions(node: Any) -> list[str]:
    if isinstance(node, dict):
        own = [node["description"]] if isinstance(node.get("description"), str) else []
        return own + [text for part in node.values() for text in descriptions(part)]
    return [text for part in node for text in descriptions(part)] if isinstance(node, list) else []


@pytest.mark.parametrize("name", NAMES)
def test_the_command_prints_the_file_in_docs(name: str, tmp_path: Path) -> None:
    done = inside("schema", name, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    written = (FOLDER / f"{name}.schema.json").read_text(encoding="utf-8")
    assert done.stdout == written, "run `uv run python -m tests.tools.write_schemas`"
    Draft202012Validator.check_schema(json.loads(done.stdout))


def uncommented(text: str) -> str:
    lines = (line for line in text.splitlines() if not line.startswith("## "))
    return "\n".join(line.removeprefix("# ") for line in lines)


def test_every_default_fits_the_schema_of_the_settings() -> None:
    _, _, settings = template().partition("\n\n")
    given = yaml.safe_load(uncommented(settings))
    assert list(given) == list(known_keys())
    assert set(given) < set(json_schema("config")["properties"])
    assert errors("config", given) == []


@pytest.mark.parametrize(
    "text",
    [
        "phases: {building: {backpressure: detected}}",
        "phases: {building: {max_iterations: '${MOST:-7}', recheck_finished: '${RECHECK:-true}'}}",
        "safety: {sandbox: '${SANDBOX:-off}', cost_limits: {per_session: '${COST:-5}'}}",
        "phases.building.max_iterations: 7",
        "steps: {work: , docs: {type: command, run: make, when: run_end, breaker: {threshold: 2}}}",
    ],
)
def test_what_ralph_accepts_the_schema_accepts(text: str, tmp_path: Path) -> None:
    project = make_project(tmp_path)
    (project / ".ralph" / "config.yaml").write_text(text)
    load_settings(project, environ={}, home=tmp_path / "nobody")
    assert errors("config", yaml.safe_load(text)) == []


@pytest.mark.parametrize(
    "text",
    [
        "phases: {building: {max_iteration: 7}}",
        "phases.building.max_iterations: 0",
        "phases.building.max_iteration: 7",
        "phases: {building: {max_iterations: 0}}",
        "safety: {sandbox: sometimes}",
        "steps: {work: {}, docs: {type: command, run: make, when: never}}",
        "context: {budget_percent: 99}",
        "git: {commit: yes please}",
    ],
)
def test_what_the_schema_refuses_ralph_refuses(text: str, tmp_path: Path) -> None:
    project = make_project(tmp_path)
    (project / ".ralph" / "config.yaml").write_text(text)
    with pytest.raises(RalphError):
        load_settings(project, environ={}, home=tmp_path / "nobody")
    assert errors("config", yaml.safe_load(text)) != []


def test_a_plan_keeps_its_schema_and_fits_it(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    path = project / ".ralph" / "implementation_plan.json"
    begun = {"$schema": "plan.schema.json", "tasks": [{"id": "a", "description": "Do it"}]}
    path.write_text(json.dumps(begun))
    assert errors("plan", begun) == []
    done = inside("edit", "a", "--priority", "4", "--criterion", "$ true", cwd=project)
    assert done.returncode == 0, done.stderr
    written = json.loads(path.read_text())
    assert written["$schema"] == "plan.schema.json"
    assert written["tasks"][0]["priority"] == 4
    assert errors("plan", written) == []
    assert plan_of(project).tasks[0].id == "a"
    assert errors("plan", {"tasks": [{"id": "a", "description": "x", "status": "done"}]}) != []


def test_events_fit_their_schema_and_name_their_type() -> None:
    told: list[ev.Event] = [
        ev.LoopStarted(project="x", phase=Phase.BUILDING, run_id="r"),
        ev.PlanLoaded(tasks=(Task(id="a", description="x"),)),
    ]
    for event in told:
        assert errors("events", json.loads(json_text(event))) == []
    assert errors("events", {"seq": 1, "run_id": "r", "project": "x", "phase": "building"}) != []
    kinds = validator("events").schema["discriminator"]["mapping"]
    assert {"loop_started", "step_finished", "task_changed"} <= set(kinds)


def test_docstrings_are_the_descriptions() -> None:
    plan = json_schema("plan")
    about = plan["$defs"]["Task"]["properties"]
    assert [name for name, field in about.items() if "title" in field] == []
    shown = descriptions(plan)
    assert any(text == " ".join((Task.__doc__ or "").split("\n\n")[0].split()) for text in shown)
    assert [text for text in shown if "Attributes:" in text or "\n " in text] == []


def test_a_new_settings_file_names_no_schema_that_is_not_there() -> None:
    # An editor takes such a comment from any line, and complains when it finds no file.
    lines = template().splitlines()
    assert [line for line in lines if re.match(r"#\s+yaml-language-server\s*:", line)] == []
    assert any("`# yaml-language-server: $schema=config.schema.json`" in line for line in lines)
