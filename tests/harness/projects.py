"""Projects as a person would write them by hand, and what the loop wrote into them."""

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import yaml
from pydantic import JsonValue

from ralph_tui.config.settings import Settings
from ralph_tui.domain.events import EVENT, Event
from ralph_tui.domain.plan.plan import ImplementationPlan, Task

PYPROJECT = """\
[project]
name = "sample"
version = "0.1.0"
requires-python = ">=3.11"

[tool.uv]
package = false
"""

ALWAYS_GREEN = "test -f pyproject.toml"
"""A gate that is satisfied with anything."""

HAS_FILE = "uv run python -c 'open(\"{name}\").close()'"
"""A gate that wants a file; fill in its name with `format`."""


ALLOWS = {"phases": {"building": {"allow_unverified": True, "baseline": False}}}
"""In a project's settings: a task needs no check."""

ALLOWING = Settings.model_validate({**ALLOWS, "agent": {"standby_session": False}})
"""The same as settings, for a loop without an agent."""


def git(root: Path, *words: str) -> str:
    return subprocess.run(
        ["git", *words], cwd=root, check=True, capture_output=True, text=True
    ).stdout


def task(task_id: str, **fields: JsonValue) -> dict[str, JsonValue]:
    return {"id": task_id, "description": f"Do {task_id}", "status": "pending", **fields}


def make_project(
    root: Path,
    tasks: Sequence[Mapping[str, JsonValue]] = (),
    backpressure: Sequence[str] = (ALWAYS_GREEN,),
    config: Mapping[str, object] | None = None,
    files: Mapping[str, str] | None = None,
) -> Path:
    """Write a uv project with a plan and settings into `root / "project"` and return it."""
    project = root / "project"
    ralph = project / ".ralph"
    ralph.mkdir(parents=True)
    # Where there is a sandbox it takes a second at every connect; tests/scenario/test_sandbox is about it.
    # A baseline runs each check once more; tests/scenario/runs/before-the-run.txt is about it.
    gate = {
        # What a reviewer says is up to tests/scenario/test_review.
        "phases": {
            "building": {"backpressure": list(backpressure), "review": "off", "baseline": False}
        },
        "safety": {"sandbox": "off"},
    }
    settings = laid_over(gate, config or {})
    written = {
        "pyproject.toml": PYPROJECT,
        ".ralph/config.yaml": yaml.safe_dump(settings, sort_keys=False),
        ".ralph/implementation_plan.json": json.dumps({"tasks": list(tasks)}, indent=2),
        **(files or {}),
    }
    for name, text in written.items():
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return project


def laid_over(base: Mapping[str, object], over: Mapping[str, object]) -> dict[str, object]:
    merged = dict(base)
    for key, value in over.items():
        below = merged.get(key)
        if isinstance(below, Mapping) and isinstance(value, Mapping):
            merged[key] = laid_over(below, value)
        else:
            merged[key] = value
    return merged


def repository(project: Path) -> None:
    """A repository on main with everything committed and an identity. Like most people's, it ignores .ralph."""
    (project / ".gitignore").write_text(".ralph/\n")
    (project / ".ralph/.gitignore").write_text("*\n")
    git(project, "init", "-q", "-b", "main")
    git(project, "config", "user.name", "Me")
    git(project, "config", "user.email", "me@example.org")
    git(project, "add", "-A")
    git(project, "commit", "-q", "-m", "Begin")


def committing(root: Path, *tasks: Mapping[str, JsonValue]) -> Path:
    """A repository whose settings commit each task on a branch of the plan."""
    config = {"git": {"branch": "feature", "commit": "task"}}
    project = make_project(root, tasks, ["test -f {}.txt".format(tasks[0]["id"])], config)
    repository(project)
    return project


def plan_of(project: Path) -> ImplementationPlan:
    text = (project / ".ralph" / "implementation_plan.json").read_text(encoding="utf-8")
    return ImplementationPlan.model_validate_json(text)


def task_of(project: Path, task_id: str) -> Task:
    """One task as it stands on disk."""
    found = plan_of(project).task(task_id)
    if found is None:
        raise KeyError(task_id)
    return found


def events_of(project: Path) -> list[Event]:
    """The journal; a last line that is still being written is left out."""
    path = project / ".ralph" / "events.jsonl"
    if not path.exists():
        return []
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    return [EVENT.validate_json(line) for line in lines if line.endswith("\n")]


def event_types(project: Path) -> list[str]:
    return [event.type for event in events_of(project)]
