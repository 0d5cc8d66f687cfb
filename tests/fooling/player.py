"""Plays rows of the tables (cheats and honest ways) on the real engine, from outside: files, a plan, what the agent does.

The agent is scripted: it runs the row's shell text, in the sandbox where there is one, and claims. The gate, the
baseline, the loop and the reviewer's session are the real ones. `played_on_cli` plays a row with the real CLI instead.
"""

import asyncio
import json
import os
import pwd
import re
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, JsonValue

from ralph_tui.config.load import load_settings
from ralph_tui.demo.demo_project import demo_environment
from ralph_tui.domain import events as ev
from ralph_tui.domain.errors import RalphError
from ralph_tui.domain.project_state import Phase
from ralph_tui.engine.control.request import RunRequest
from ralph_tui.engine.core.ports import AgentItem, SessionSpec, Supervisor, TurnEnded
from ralph_tui.engine.core.services import RunServices
from ralph_tui.engine.run.runner import run_loop
from ralph_tui.guard.sandbox.os_sandbox import SandboxAccess, sandbox_prefix
from tests.harness.model import serving
from tests.scenario.running import play

HERE = Path(__file__).parent
GOOD = {"cheats": ("refused", "stopped"), "honest": ("verified",)}
"""How the rows of each table should end."""
MODES = ("open", "sandbox")
SECONDS = 120
"""How long a row's shell text may take."""


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
    loop: bool = True
    """Whether a loop that runs the command accepts it."""
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


@dataclass(frozen=True)
class Outcome:
    """How a row ended: verified, reviewed, unverified, refused, or stopped before anything was spent."""

    word: str
    reason: str


def _read(name: str) -> Any:
    return yaml.safe_load((HERE / name).read_text(encoding="utf-8"))


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


def _full_environment(row: Row, more: Mapping[str, str] = {}) -> dict[str, str]:
    kept = {n: v for n, v in os.environ.items() if not n.startswith(("PYTEST", "COV", "VIRTUAL"))}
    return {**kept, **environment_of(row), **more}


def _shell(root: Path, text: str, environment: dict[str, str], *prefix: str) -> int:
    done = subprocess.run(
        [*prefix, "bash", "-c", text],
        cwd=root,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=SECONDS,
        check=False,
    )
    return done.returncode


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
    if _shell(project, f"{git}\n{base.prepare}", _full_environment(row)):
        raise AssertionError(f"the project {row.on} could not be prepared")
    return project


PLAN = "implementation_plan.json"


def _write_plan(project: Path, row: Row, first: int, upto: int) -> None:
    """Write the tasks that a run works on; those of an earlier run stay as they are."""
    base, path = bases()[row.on], project / ".ralph" / PLAN
    path.parent.mkdir(exist_ok=True)
    tasks = json.loads(path.read_text(encoding="utf-8"))["tasks"] if first else []
    for number, one in enumerate(row.tasks[first:upto], first):
        criteria = list(one.criteria or (f"$ {base.check}",))
        words = one.description or base.task
        task = {"id": f"t{number}", "description": words, "priority": number, "status": "pending"}
        tasks.append({**task, "verification_criteria": criteria, **one.marks})
    path.write_text(json.dumps({"tasks": tasks}), encoding="utf-8")


class ScriptedSession:
    """Does what the row says for the task of the prompt and claims it; a reviewer's session agrees with everything."""

    def __init__(self, row: Row, spec: SessionSpec, supervisor: Supervisor, scratch: Path) -> None:
        self._row, self._spec, self._supervisor = row, spec, supervisor
        self._scratch = scratch

    async def run_turn(self, prompt: str) -> AsyncIterator[AgentItem]:
        yield ev.SessionStarted(session_id="s", model="scripted", tools=("Bash",), cli_version="0")
        if any(tool.name == REVIEW for tool in self._spec.ralph_tools):
            await self._supervisor.call_tool(
                REVIEW, agreement(prompt, self._spec.cwd, self._words(prompt))
            )
        else:
            await self._work(prompt)
        yield TurnEnded(text="done", num_turns=1)

    def _words(self, prompt: str) -> str:
        """The longest part of the reviewed task's description that can stand in quotes."""
        told = [one.description or bases()[self._row.on].task for one in self._row.tasks]
        return max((part for text in told if text in prompt for part in text.split('"')), key=len)

    async def _work(self, prompt: str) -> None:
        (name,) = re.findall(r"^Task ID: *(\S+)", prompt, re.MULTILINE)[:1]
        task = self._row.tasks[int(name.removeprefix("t"))]
        environment = _full_environment(self._row, self._spec.environment)
        prefix: tuple[str, ...] = ()
        if self._spec.sandbox is not None:
            access = SandboxAccess(scratch=self._scratch, forwards={})
            prefix = sandbox_prefix(self._spec.sandbox, self._spec.cwd, access)
        text = text_of(self._row, task)
        await asyncio.to_thread(_shell, self._spec.cwd, text, environment, *prefix)
        claim = {"task_id": name, "verification_notes": "Done."}
        for _ in range(self._row.claims):
            await self._supervisor.call_tool("ralph_mark_task_complete", claim)

    async def steer(self, text: str) -> None:
        """Ignore the person."""

    async def interrupt(self) -> None:
        """Ignore the interrupt."""

    async def close(self) -> None:
        """Hold nothing open."""


REVIEW = "ralph_submit_review"


def agreement(prompt: str, directory: Path, words: str) -> dict[str, JsonValue]:
    """The review of one who agrees with everything, and quotes the task and the first line there is."""
    listed = re.findall(r"^(\d+)\. ", prompt, re.MULTILINE)
    names = (p for p in sorted(directory.rglob("*")) if p.is_file() and ".git" not in p.parts)
    lines: Iterator[dict[str, JsonValue]] = (
        {"file": path.relative_to(directory).as_posix(), "line": 1, "text": text}
        for path in names
        for text in path.read_text("utf-8", "replace").splitlines()
        if text.strip()
    )
    quote: JsonValue = [next(lines, {})]
    verdicts: list[JsonValue] = [
        {
            "number": int(number),
            "met": True,
            "reason": f'The task says "{words}".',
            "evidence": quote,
        }
        for number in dict.fromkeys(listed)
    ]
    return {"criteria": verdicts, "summary": "Fine."}


@dataclass
class ScriptedAgent:
    """Opens scripted sessions."""

    row: Row
    scratch: Path

    async def open(self, spec: SessionSpec, supervisor: Supervisor) -> ScriptedSession:
        return ScriptedSession(self.row, spec, supervisor, self.scratch)

    def prepare(self, spec: SessionSpec) -> None:
        """Need no standby session."""

    async def close(self) -> None:
        """Hold nothing open."""


async def played(root: Path, row: Row, *, sandbox: bool = False, cli: bool = False) -> Outcome:
    """Play a row to its end.

    Args:
        root: An empty directory.
        row: The row.
        sandbox: Whether the agent's commands and the checks are confined.
        cli: Whether the real CLI plays the agent, against a model that gives one command.
    """
    project = await asyncio.to_thread(make, root, row)
    (scratch := root / "scratch").mkdir()
    bounds = [n for n, one in enumerate(row.tasks) if one.new_run] + [len(row.tasks)]
    first, told, stopped = 0, list[ev.Event](), ""
    for upto in bounds:
        _write_plan(project, row, first, upto)
        overrides = {
            "phases.building.max_iterations": upto - first,
            "phases.building.gate_timeout_seconds": SECONDS,
            "safety.sandbox": "auto" if sandbox else "off",
            "agent.standby_session": False,
            # The real CLI also meets the checks that ralph detects; the same command twice costs only time.
            **({} if cli else {"phases.building.backpressure": []}),
            **bases()[row.on].config,
        }
        request = RunRequest(only=Phase.BUILDING)
        try:
            if cli:
                async with serving(_scenario(row)) as server:
                    run = await play(
                        project,
                        server,
                        overrides=overrides,
                        request=request,
                        environ=environment_of(row),
                    )
                    told += run.events
            else:
                settings = load_settings(project, overrides=overrides, environ={})
                services = RunServices(
                    lambda: ScriptedAgent(row, scratch), settings, environment=environment_of(row)
                )
                await run_loop(project, services, request, told.append)
        except RalphError as error:
            stopped = f"{error.message} {error.hint}"
        first = upto
    return _outcome(project, row, told, stopped)


def _outcome(project: Path, row: Row, told: list[ev.Event], stopped: str) -> Outcome:
    plan = json.loads((project / ".ralph" / PLAN).read_text(encoding="utf-8"))
    task = next(one for one in plan["tasks"] if one["id"] == f"t{len(row.tasks) - 1}")
    if task["status"] == "complete":
        return Outcome(task["verification"]["outcome"], task["verification"]["reason"])
    gates = [one for one in told if isinstance(one, ev.GateFinished)]
    reasons = [r.reason or r.tail[-300:] for one in gates[-1:] for r in one.receipts if not r.ok]
    if gates:
        return Outcome("refused", "; ".join(reasons) or stopped)
    notices = [one.text for one in told if isinstance(one, ev.Notice)]
    return Outcome("stopped", stopped or "; ".join(notices))


def accepted_by_loop(root: Path, row: Row) -> bool:
    """Whether a loop that runs the check after the agent would accept: the agent does the same there, task by task."""
    project, environment = make(root, row), _full_environment(row)
    for task in row.tasks:
        _shell(project, text_of(row, task), environment)
    commands = row.tasks[-1].criteria or (bases()[row.on].check,)
    return not any(_shell(project, command.removeprefix("$ "), environment) for command in commands)


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
