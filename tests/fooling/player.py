"""Plays rows of the tables (cheats and honest ways) on the real engine, from outside: files, a plan, what the agent does.

The agent is scripted: it runs the row's shell text, in the sandbox where there is one, and claims. The gate, the
baseline, the loop and the reviewer's session are the real ones. `played_on_cli` plays a row with the real CLI instead.
"""

import asyncio
import json
import os
import pwd
import shutil
import sys
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel

from ralph_tui.demo.demo_project import demo_environment
from ralph_tui.domain import events as ev
from ralph_tui.domain.errors import RalphError
from tests.harness.model import serving
from tests.harness.scripted_agent import (
    PLAN,
    SECONDS,
    Outcome,
    Script,
    outcome_of,
    run_scripted,
    shell,
    with_own,
)
from tests.scenario.running import play

HERE = Path(__file__).parent
GOOD = {"cheats": ("refused", "stopped"), "honest": ("verified",)}
"""How the rows of each table should end."""
MODES = ("open", "sandbox")


class TaskRow(BaseModel):
    """What the agent does for one task; the first task of a row needs no more than `does`."""

    does: str
    description: str = ""
    criteria: tuple[str, ...] = ()
    marks: dict[str, Any] = {}
    """More fields of the task, such as `shows` and `may_change_checks`."""
    new_run: bool = False
    """Whether the run before ended, so that this task is worked on by another one."""


class Row(BaseModel, extra="forbid"):
    """One way to make the check of a project pass; in the table its first key is the project."""

    what: str
    on: str
    """The name of the project."""
    kind: str = ""
    does: str = ""
    description: str = ""
    criteria: tuple[str, ...] = ()
    marks: dict[str, Any] = {}
    files: dict[str, str] = {}
    """Files of the project besides those of `on`."""
    earlier: tuple[TaskRow, ...] = ()
    """Tasks that come before this row's own."""
    environment: dict[str, str] = {}
    claims: int = 1
    loop: bool | None = True
    """Whether a loop that runs the command accepts it; null where that is a race."""
    quick: bool = False
    cli: bool = False
    needs: tuple[str, ...] = ()

    @property
    def tasks(self) -> tuple[TaskRow, ...]:
        own = TaskRow(
            does=self.does,
            description=self.description,
            criteria=self.criteria,
            marks=self.marks,
        )
        return (*self.earlier, own)


class Base(BaseModel):
    """A project with a red check."""

    language: str
    files: dict[str, str]
    check: str
    work: str
    """Shell text that does the work honestly; `@work` in a row stands for it."""
    task: str = "Make the check pass."
    prepare: str = ""
    """Shell text that a person ran before, such as the installation of packages."""
    config: dict[str, Any] = {}
    needs: tuple[str, ...] = ()


def _read(name: str) -> Any:
    return yaml.load((HERE / name).read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)


@cache
def bases() -> dict[str, Base]:
    return {name: Base.model_validate(one) for name, one in _read("projects.yaml").items()}


@cache
def rows(table: str) -> dict[str, Row]:
    found = {}
    for kind, listed in _read(f"{table}.yaml").items():
        for one in listed:
            on = next(key for key in one if key in bases())
            what = one.pop(on)
            row = Row.model_validate({**one, "on": on, "what": what, "kind": kind})
            assert f"{on}: {row.what}" not in found, row
            found[f"{on}: {row.what}"] = row
    return found


@cache
def falls(table: str, mode: str) -> dict[str, str]:
    """How the rows end that do not end as they should, by name; `mode` is open or sandbox."""
    listed = _read("falls.yaml").get(table, {})
    found = [*listed.get("both", {}).items(), *listed.get(mode, {}).items()]
    return {name: word for word, names in found for name in names}


def missing(row: Row) -> list[str]:
    """The programs and directories that a row needs and this machine lacks."""
    home = pwd.getpwuid(os.getuid()).pw_dir  # HOME is the test's
    needs = bases()[row.on].needs
    found = (Path(n.replace("~", home)).exists() if "/" in n else shutil.which(n) for n in needs)
    return [need for need, there in zip(needs, found, strict=True) if not there]


def environment_of(row: Row) -> dict[str, str]:
    """The person's environment: no network, caches of toolchains that outlive the test, the tests' own Python first."""
    own = Path(pwd.getpwuid(os.getuid()).pw_dir)
    homes = {"RUSTUP_HOME": own / ".rustup", "CARGO_HOME": own / ".cargo"}
    found = {name: str(path) for name, path in homes.items() if path.is_dir()}
    demo = {n: v for n, v in demo_environment().items() if n != "PYTHONDONTWRITEBYTECODE"}
    return {
        **demo,
        **found,
        "GOCACHE": str(own / ".cache" / "go-build"),
        "MAVEN_ARGS": f"-q -o -Dmaven.repo.local={own / '.m2' / 'repository'}",
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        **row.environment,
    }


def text_of(row: Row, task: TaskRow) -> str:
    return task.does.replace("@work", bases()[row.on].work.strip())


def make(root: Path, row: Row) -> Path:
    project, base = root / "project", bases()[row.on]
    for name, text in {**base.files, **row.files}.items():
        path = project / name.removeprefix("+x ")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        if name.startswith("+x "):
            path.chmod(0o755)
    git = "git init -qb main && git add -A && git -c user.name=A -c user.email=a@b.c commit -qm a"
    if shell(project, f"{git}\n{base.prepare}", with_own(environment_of(row))):
        raise AssertionError(f"the project {row.on} could not be prepared")
    return project


def _write_plan(project: Path, row: Row, first: int, upto: int) -> None:
    """Write the tasks that a run works on; those of an earlier run stay as they are."""
    base, path = bases()[row.on], project / PLAN
    path.parent.mkdir(exist_ok=True)
    tasks = json.loads(path.read_text(encoding="utf-8"))["tasks"] if first else []
    for number, one in enumerate(row.tasks[first:upto], first):
        criteria = list(one.criteria or (f"$ {base.check}",))
        words = one.description or base.task
        task = {"id": f"t{number}", "description": words, "priority": number, "status": "pending"}
        tasks.append({**task, "verification_criteria": criteria, **one.marks})
    path.write_text(json.dumps({"tasks": tasks}), encoding="utf-8")


async def played(root: Path, row: Row, *, sandbox: bool = False, cli: bool = False) -> Outcome:
    """Play a row to its end."""
    os.environ.pop("PYTEST_CURRENT_TEST", None)  # a person's ralph runs under no pytest
    project = await asyncio.to_thread(make, root, row)
    (scratch := root / "scratch").mkdir()
    script = Script(
        texts={f"t{n}": text_of(row, one) for n, one in enumerate(row.tasks)},
        told={f"t{n}": one.description or bases()[row.on].task for n, one in enumerate(row.tasks)},
        environment=environment_of(row),
        scratch=scratch,
        claims=row.claims,
    )
    bounds = [n for n, one in enumerate(row.tasks) if one.new_run] + [len(row.tasks)]
    first, told, stopped = 0, list[ev.Event](), ""
    for upto in bounds:
        _write_plan(project, row, first, upto)
        overrides = {
            "phases.building.max_iterations": upto - first,
            "phases.building.gate_timeout_seconds": SECONDS,
            "safety.sandbox": "auto" if sandbox else "off",
            "agent.standby_session": False,
            # What ralph detects may have to be downloaded first, as with `uv run --with pytest`.
            "build.test_command": bases()[row.on].check,
            **({} if cli else {"phases.building.backpressure": []}),
            **bases()[row.on].config,
        }
        if not cli:
            stopped = await run_scripted(project, script, overrides, told)
        else:
            try:
                async with serving(_scenario(row)) as server:
                    run = await play(
                        project,
                        server,
                        overrides=overrides,
                        environ=environment_of(row),
                    )
                    told += run.events
            except RalphError as error:
                stopped = f"{error.message} {error.hint}"
        first = upto
    return outcome_of(project, f"t{len(row.tasks) - 1}", told, stopped)


def accepted_by_loop(root: Path, row: Row) -> bool:
    """Whether a loop that runs the check after the agent would accept: the agent does the same there, task by task."""
    project, environment = make(root, row), with_own(environment_of(row))
    for task in row.tasks:
        shell(project, text_of(row, task), environment)
    commands = row.tasks[-1].criteria or (bases()[row.on].check,)
    return not any(shell(project, command.removeprefix("$ "), environment) for command in commands)


def _scenario(row: Row) -> str:
    """A model that gives the row's text as one command for each task, then claims."""
    scripts = [
        {
            "task": f"t{number}",
            "turns": [
                {"bash": text_of(row, task)},
                {"ralph": {"mark_task_complete": {"task_id": f"t{number}", "verification_notes": "Done."}}},
                {"say": "That is all."},
                {"say": "Nothing more."},
            ],
        }
        for number, task in enumerate(row.tasks)
    ]  # fmt: skip
    return yaml.safe_dump({"scripts": scripts}, sort_keys=False)
