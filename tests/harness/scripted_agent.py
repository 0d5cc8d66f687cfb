"""An agent that runs shell text for each task and claims; its reviewer agrees with everything. The rest of a run is real."""

import asyncio
import json
import os
import re
import subprocess
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import JsonValue

from ralph_tui.config.load import load_settings
from ralph_tui.domain import events as ev
from ralph_tui.domain.errors import RalphError
from ralph_tui.domain.project_state import Phase
from ralph_tui.engine.control.request import RunRequest
from ralph_tui.engine.core.ports import AgentItem, SessionSpec, Supervisor, TurnEnded
from ralph_tui.engine.core.services import RunServices
from ralph_tui.engine.run.runner import run_loop
from ralph_tui.guard.sandbox.os_sandbox import SandboxAccess, sandbox_prefix

PLAN = ".ralph/implementation_plan.json"
REVIEW = "ralph_submit_review"
SECONDS = 120
"""How long a shell text may take."""


@dataclass(frozen=True)
class Outcome:
    """How a task ended: verified, reviewed, unverified, refused, or stopped before anything was spent."""

    word: str
    reason: str


@dataclass(frozen=True)
class Script:
    """What the agent does for each task, by its ID."""

    texts: Mapping[str, str]
    told: Mapping[str, str]
    environment: Mapping[str, str]
    scratch: Path
    claims: int = 1


def with_own(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a person's shell: that of the tests without what pytest put there, and these variables."""
    kept = {n: v for n, v in os.environ.items() if not n.startswith(("PYTEST", "COV", "VIRTUAL"))}
    return {**kept, **environment}


def shell(root: Path, text: str, environment: Mapping[str, str], *prefix: str) -> int:
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


class ScriptedSession:
    """Does what the script says for the task of the prompt and claims it; a reviewer's session agrees with everything."""

    def __init__(self, script: Script, spec: SessionSpec, supervisor: Supervisor) -> None:
        self._script, self._spec, self._supervisor = script, spec, supervisor

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
        told = self._script.told.values()
        return max((part for text in told if text in prompt for part in text.split('"')), key=len)

    async def _work(self, prompt: str) -> None:
        (name,) = re.findall(r"^Task ID: *(\S+)", prompt, re.MULTILINE)[:1]
        environment = with_own({**self._script.environment, **self._spec.environment})
        prefix: tuple[str, ...] = ()
        if self._spec.sandbox is not None:
            access = SandboxAccess(scratch=self._script.scratch, forwards={})
            prefix = sandbox_prefix(self._spec.sandbox, self._spec.cwd, access)
        text = self._script.texts[name]
        await asyncio.to_thread(shell, self._spec.cwd, text, environment, *prefix)
        claim = {"task_id": name, "verification_notes": "Done."}
        for _ in range(self._script.claims):
            await self._supervisor.call_tool("ralph_mark_task_complete", claim)

    async def steer(self, text: str) -> None:
        """Ignore the person."""

    async def interrupt(self) -> None:
        """Ignore the interrupt."""

    async def close(self) -> None:
        """Hold nothing open."""


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

    script: Script

    async def open(self, spec: SessionSpec, supervisor: Supervisor) -> ScriptedSession:
        return ScriptedSession(self.script, spec, supervisor)

    def prepare(self, spec: SessionSpec) -> None:
        """Need no standby session."""

    async def close(self) -> None:
        """Hold nothing open."""


async def run_scripted(
    project: Path,
    script: Script,
    overrides: Mapping[str, object],
    told: list[ev.Event],
) -> str:
    """Build the plan; return why it stopped before anything was spent, or an empty string."""
    settings = load_settings(project, overrides=overrides, environ={})
    services = RunServices(lambda: ScriptedAgent(script), settings, environment=script.environment)
    try:
        await run_loop(project, services, RunRequest(only=Phase.BUILDING), told.append)
    except RalphError as error:
        return f"{error.message} {error.hint}"
    return ""


def outcome_of(project: Path, name: str, told: list[ev.Event], stopped: str) -> Outcome:
    """How a task ended, by what the disk and the events say."""
    plan = json.loads((project / PLAN).read_text(encoding="utf-8"))
    task = next(one for one in plan["tasks"] if one["id"] == name)
    if task["status"] == "complete":
        return Outcome(task["verification"]["outcome"], task["verification"]["reason"])
    gates = [one for one in told if isinstance(one, ev.GateFinished) and one.task_id == name]
    reasons = [r.reason or r.tail[-300:] for one in gates[-1:] for r in one.receipts if not r.ok]
    if gates:
        return Outcome("refused", "; ".join(reasons) or stopped)
    notices = [one.text for one in told if isinstance(one, ev.Notice)]
    return Outcome("stopped", stopped or "; ".join(notices))
