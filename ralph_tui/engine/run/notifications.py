"""Notify an absent person that a run is waiting, stopped, done or failed, with the person's own commands.

A notification is JSON on a command's standard input. Text from a model, a tool or a file never becomes part of
a command line. A failed notification is reported and stops nothing.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import Field

from ralph_tui.config.settings import NotifyEvent, Settings
from ralph_tui.domain import events as ev
from ralph_tui.domain.base import Model, Timestamp
from ralph_tui.domain.documents.questions import AskedQuestion
from ralph_tui.domain.errors import RalphError
from ralph_tui.domain.events import Event, EventSink, LoopFinished
from ralph_tui.domain.formatting import duration, shortlist
from ralph_tui.domain.outcomes import LoopStatus
from ralph_tui.domain.project_state import DECISIONS, Phase
from ralph_tui.domain.redaction import redact
from ralph_tui.domain.sanitize import one_line
from ralph_tui.engine.safety.command_sandbox import CommandSandbox
from ralph_tui.engine.session.spec import guard_policy
from ralph_tui.engine.verification.check_command import run_command
from ralph_tui.engine.verification.gate import gate_environment
from ralph_tui.guard.sandbox.environment import agent_environment
from ralph_tui.guard.sandbox.os_sandbox import Sandbox
from ralph_tui.store.io.files import utc_now
from ralph_tui.store.project import Project

SECONDS = 30.0

MAX_TEXT_CHARS = 500

MAX_QUESTIONS = 10

_END_EVENTS: Mapping[LoopStatus, NotifyEvent] = {
    LoopStatus.COMPLETE: "done",
    LoopStatus.STOPPED: "stopped",
    LoopStatus.USAGE_LIMIT: "stopped",
    LoopStatus.ERROR: "failed",
    LoopStatus.WAITING: "waiting",
}
"""The event for each status of a finished run; an interrupted run has none, since the person is there."""


class NotifiedTask(Model):
    """The current task."""

    id: str
    title: str


class NotifiedQuestion(Model):
    """A question that waits for an answer; `ralph answer ID` answers it."""

    id: str
    text: str
    options: tuple[str, ...] = ()


class Notification(Model):
    """The JSON that a command reads on standard input."""

    version: int = 1
    """Raised when a field changes its meaning, but not when fields are added."""
    event: str
    """waiting, stopped, done, failed or test."""
    text: str
    """The whole notification in one sentence, for a chat."""
    project: str
    feature: str = ""
    root: str
    run_id: str = ""
    time: Timestamp = Field(default_factory=utc_now)
    phase: str = ""
    task: NotifiedTask | None = None
    reason: str = ""
    hint: str = ""
    questions: tuple[NotifiedQuestion, ...] = ()
    approval: str = ""
    """specs, plan, validation, recovery, limit or unverified, if the run waits for a decision."""
    iterations: int | None = None
    tasks_complete: int | None = None
    tasks_total: int | None = None
    cost_usd: float | None = None
    seconds: float | None = None
    exit_code: int | None = None
    """Set at the end of a run, like the figures above."""

    def body(self) -> bytes:
        return json.dumps(self.model_dump(mode="json"), ensure_ascii=True).encode() + b"\n"


Waiting = Sequence[AskedQuestion | ev.ApprovalRequested]


def shown(text: str) -> str:
    return one_line(redact(text), MAX_TEXT_CHARS)


@dataclass(frozen=True)
class NotificationTargets:
    """The person's commands. They run like steps, in a sandbox and without keys, with the project read-only."""

    project: Project
    settings: Settings
    held: Sandbox | None
    everything: Mapping[str, str]
    marks: Mapping[str, str] = field(default_factory=dict)

    @property
    def project_name(self) -> str:
        return shown(self.settings.project.name or self.project.root.name)

    async def deliver(self, notification: Notification) -> dict[str, str]:
        """Run all commands in parallel; return the error of each, empty on success."""
        body, commands = notification.body(), self.settings.notify.commands
        targets = [f"`{one_line(command, 80)}`" for command in commands]
        return dict(zip(targets, await self._run_all(commands, body), strict=True))

    async def _run_all(self, commands: Sequence[str], body: bytes) -> list[str]:
        root, held = self.project.root, self.held
        # The agent may have written the command's script, and its changes would now count as the person's.
        closed = held and held.model_copy(update={"deny_write": (*held.deny_write, str(root))})
        # The run's own sandbox is closed before the end of the run is reported.
        sandbox = CommandSandbox(root, closed, self.settings.safety.sandbox_exceptions)
        try:
            await sandbox.open()
            try:
                environment = await asyncio.to_thread(self._environment)
                return await asyncio.gather(
                    *(_run_one(command, body, root, sandbox, environment) for command in commands)
                )
            finally:
                await asyncio.shield(sandbox.close())
        except (RalphError, OSError) as error:
            return [str(error)] * len(commands)

    def _environment(self) -> Mapping[str, str]:
        policy = guard_policy(self.project, self.settings, Phase.BUILDING)
        return gate_environment(agent_environment(policy, self.everything), self.marks)


async def _run_one(
    command: str, body: bytes, root: Path, sandbox: CommandSandbox, environment: Mapping[str, str]
) -> str:
    result = await run_command(
        command,
        cwd=root,
        environment=environment,
        limit_seconds=SECONDS,
        prefix=await asyncio.to_thread(sandbox.prefix, command),
        given=body,
    )
    if result.exit_code == 0:
        return ""
    if result.exit_code is None:
        return f"timed out after {duration(SECONDS)}"
    last = one_line(result.tail.strip().rpartition("\n")[2], 200)
    return f"exit status {result.exit_code}{f': {last}' if last else ''}"


class Notifier:
    """Listens to a run and sends the notifications that the settings ask for."""

    def __init__(
        self, targets: NotificationTargets, emit: EventSink, *, waits: bool = True
    ) -> None:
        """Report failures to `emit`; `waits` is False for a run whose end reports the open questions."""
        notify = targets.settings.notify
        self._wanted = frozenset(notify.on) if notify.commands else frozenset()
        self._targets = targets
        self._waits = waits
        self._progress: dict[str, object] = {}
        self._waiting: list[AskedQuestion | ev.ApprovalRequested] = []
        self._wait_reported = False
        """Whether a wait was reported that nobody has answered yet."""
        self._emit = emit
        self._sending: asyncio.Task[None] | None = None

    def note(self, event: Event) -> None:
        if not self._wanted:
            return
        match event:
            case ev.LoopStarted():
                self._progress |= {"run_id": event.run_id, "phase": event.phase.value}
            case ev.PhaseChanged():
                self._progress |= {"phase": event.phase.value, "task": None}
            case ev.IterationStarted() if event.task_id != self._progress.get("phase"):
                task = NotifiedTask(id=shown(event.task_id), title=shown(event.title))
                self._progress["task"] = task
            case ev.IterationFinished():
                self._progress["task"] = None
            case ev.QuestionAsked() if event.question.is_open:
                self._wait_for(event.question)
            case ev.ApprovalRequested():
                self._wait_for(event)
            case ev.QuestionAnswered() | ev.ApprovalGiven() | ev.NobodyAnswered():
                self._waiting.clear()
                self._wait_reported = False
            case _:
                return

    def _wait_for(self, asked: AskedQuestion | ev.ApprovalRequested) -> None:
        if "waiting" in self._wanted:
            self._waiting.append(asked)
            if self._waits and self._sending is None:
                self._sending = asyncio.create_task(self._report_waits(), name="ralph-notify")

    async def finish(self, finished: LoopFinished) -> None:
        """Report the end of the run, and wait until all targets have it or have timed out."""
        happening = _END_EVENTS.get(finished.status)
        pending = tuple(self._waiting)
        await self.close()
        again = happening == "waiting" and self._wait_reported
        if happening is None or happening not in self._wanted or again:
            return
        reason, hint = shown(finished.reason), shown(finished.hint)
        figures = finished.model_dump(include=_FIGURES)
        await self._send(self._notification(happening, pending, reason, hint=hint, **figures))

    async def close(self) -> None:
        """Stop notifying, after the notification that is being sent."""
        self._waiting = []
        if self._sending is not None:
            await asyncio.wait([self._sending])

    async def _report_waits(self) -> None:
        """Report what waits; the questions of one call arrive one by one and are reported together."""
        while self._waiting:
            asked, self._waiting = tuple(self._waiting), []
            self._wait_reported = True
            await self._send(self._wait_notification(asked))
        self._sending = None

    async def _send(self, notification: Notification) -> None:
        failures = await self._targets.deliver(notification)
        for target, why in failures.items():
            if why:
                text = (
                    f"Sending the notification {notification.event!r} with {target} failed: {why}."
                )
                self._emit(ev.Notice(level="warning", text=one_line(text, MAX_TEXT_CHARS)))

    def _wait_notification(self, waiting: Waiting) -> Notification:
        approvals = [one for one in waiting if isinstance(one, ev.ApprovalRequested)]
        questions = [one for one in waiting if isinstance(one, AskedQuestion)]
        if approvals:
            asked = approvals[-1]
            reason = f"approval of {DECISIONS[asked.kind]}. {asked.summary}"
            hint = "ralph approve, or ralph reject --reason TEXT"
        else:
            reason = shortlist([shown(one.question.question) for one in questions], 3)
            hint = f"ralph answer {questions[0].id} TEXT"
        return self._notification("waiting", waiting, shown(reason), hint=hint)

    def _notification(
        self, event: NotifyEvent, waiting: Waiting, reason: str, **more: object
    ) -> Notification:
        name, feature = self._targets.project_name, self._targets.project.layout.feature
        asked = [_question(one) for one in waiting if isinstance(one, AskedQuestion)]
        kinds = [one.kind.value for one in waiting if isinstance(one, ev.ApprovalRequested)]
        whose = f"{name} ({feature})" if feature else name
        facts = {
            "event": event,
            "text": one_line(f"{whose} {_VERBS[event]}: {reason}", MAX_TEXT_CHARS),
            "project": name,
            "feature": feature,
            "root": str(self._targets.project.root),
            "reason": reason,
            "questions": tuple(asked[:MAX_QUESTIONS]),
            "approval": kinds[-1] if kinds else "",
        }
        return Notification.model_validate({**facts, **self._progress, **more})


_FIGURES = {"iterations", "tasks_complete", "tasks_total", "cost_usd", "seconds", "exit_code"}

_VERBS: Mapping[NotifyEvent, str] = {
    "waiting": "is waiting for you",
    "stopped": "stopped",
    "done": "is done",
    "failed": "failed",
}


def _question(asked: AskedQuestion) -> NotifiedQuestion:
    options = tuple(shown(option.label) for option in asked.question.options[:MAX_QUESTIONS])
    return NotifiedQuestion(id=asked.id, text=shown(asked.question.question), options=options)
