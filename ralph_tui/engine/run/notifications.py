"""Tell somebody who is not there that a run waits, stopped, is done or failed: by commands and a webhook.

What is sent goes out as JSON, on standard input and as the body of a request. No text of a model, a tool or a
file is ever part of a command line. A notification that does not arrive is a notice and stops nothing.
"""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import MappingProxyType

from pydantic import Field

from ralph_tui.config.settings import Happening, NotifySettings, Settings
from ralph_tui.domain import events as ev
from ralph_tui.domain.base import Model, Timestamp
from ralph_tui.domain.documents.questions import AskedQuestion
from ralph_tui.domain.errors import RalphError
from ralph_tui.domain.events import Event, EventSink, LoopFinished, LoopStatus
from ralph_tui.domain.formatting import duration, shortlist
from ralph_tui.domain.project_state import DECISIONS, Phase
from ralph_tui.domain.redaction import redact
from ralph_tui.domain.sanitize import one_line
from ralph_tui.engine.run.webhook import Webhook, WebhookError
from ralph_tui.engine.safety.command_sandbox import CommandSandbox
from ralph_tui.engine.session.spec import guard_policy
from ralph_tui.engine.verification.check_command import run_command
from ralph_tui.engine.verification.gate import gate_environment
from ralph_tui.guard.sandbox.environment import agent_environment
from ralph_tui.guard.sandbox.os_sandbox import Sandbox
from ralph_tui.store.io.files import utc_now
from ralph_tui.store.project import Project

SECONDS = 30.0
"""Longest a command may take."""

LONGEST = 500
"""Characters of one text."""

MOST_QUESTIONS = 10

_ENDS: Mapping[LoopStatus, Happening] = {
    LoopStatus.COMPLETE: "done",
    LoopStatus.STOPPED: "stopped",
    LoopStatus.USAGE_LIMIT: "stopped",
    LoopStatus.ERROR: "failed",
    LoopStatus.WAITING: "waiting",
}
"""What is sent about an end; who interrupts a run is there."""


class NotifiedTask(Model):
    """The task that is worked on."""

    id: str
    title: str


class NotifiedQuestion(Model):
    """A question that waits for an answer; `ralph answer ID` answers it."""

    id: str
    text: str
    options: tuple[str, ...] = ()


class Notification(Model):
    """What a command reads on standard input and a webhook gets as its body."""

    version: int = 1
    """Raised when a field changes its meaning; fields may be added."""
    event: str
    """waiting, stopped, done, failed or test."""
    text: str
    """All of it in one sentence, for a chat."""
    project: str
    feature: str = ""
    root: str
    run_id: str = ""
    time: Timestamp = Field(default_factory=utc_now)
    phase: str = ""
    task: NotifiedTask | None = None
    reason: str = ""
    hint: str = ""
    """What to do about it."""
    questions: tuple[NotifiedQuestion, ...] = ()
    approval: str = ""
    """specs, plan, validation, recovery, limit or unverified, where a decision is waited for."""
    iterations: int | None = None
    tasks_complete: int | None = None
    tasks_total: int | None = None
    cost_usd: float | None = None
    seconds: float | None = None
    exit_code: int | None = None
    """With the figures above it: set at the end of a run."""

    def body(self) -> bytes:
        """Return it as JSON in ASCII."""
        return json.dumps(self.model_dump(mode="json"), ensure_ascii=True).encode() + b"\n"


def shown(text: str) -> str:
    """Return a text for another program: on one line, inert, bounded, without secrets."""
    return one_line(redact(text), LONGEST)


def command_room(
    project: Project,
    settings: Settings,
    held: Sandbox | None,
    everything: Mapping[str, str],
    marks: Mapping[str, str] = MappingProxyType({}),
) -> "CommandRoom":
    """Return where the commands run: in the sandbox of steps, where they read the project and change nothing in it.

    Args:
        project: The project on disk.
        settings: Its settings.
        held: What holds commands; None where nothing does.
        everything: The environment that ralph has.
        marks: Variables that mark the processes of a run.
    """

    def sandbox() -> CommandSandbox:
        # A script of the project may be the agent's work, and what it changed now would count as the person's.
        own = os.path.realpath(project.root)
        closed = held and held.model_copy(update={"deny_write": (*held.deny_write, own)})
        return CommandSandbox(project.root, closed, settings.safety.sandbox_exceptions)

    def environment() -> Mapping[str, str]:
        policy = guard_policy(project, settings, Phase.BUILDING)
        return gate_environment(agent_environment(policy, everything), marks)

    return CommandRoom(project.root, sandbox, environment)


@dataclass(frozen=True)
class CommandRoom:
    """Where commands of notifications run: like those of steps, in the sandbox and without keys.

    Attributes:
        root: The project's directory.
        sandbox: Makes a sandbox of their own, since the run's is closed before its end is reported.
        environment: Makes their environment.
    """

    root: Path
    sandbox: Callable[[], CommandSandbox]
    environment: Callable[[], Mapping[str, str]]

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[CommandSandbox]:
        """Open the sandbox for some commands."""
        sandbox = self.sandbox()
        await sandbox.open()
        try:
            yield sandbox
        finally:
            await asyncio.shield(sandbox.close())


async def deliver(
    told: Notification, commands: Sequence[str], webhook: Webhook | None, room: CommandRoom
) -> dict[str, str]:
    """Send a notification everywhere at once; returns by target why it failed, empty where it arrived.

    Args:
        told: The notification.
        commands: The commands that get it on standard input.
        webhook: Where it is posted.
        room: Where the commands run.
    """
    body = told.body()
    targets = [f"`{one_line(command, 80)}`" for command in commands]
    async with asyncio.TaskGroup() as group:
        ran = group.create_task(_run_all(commands, body, room))
        posted = group.create_task(_post(webhook, body))
    failures = dict(zip(targets, ran.result(), strict=True))
    if webhook is not None:
        failures[f"the webhook at {webhook.host}"] = posted.result()
    return failures


async def _post(webhook: Webhook | None, body: bytes) -> str:
    if webhook is None:
        return ""
    try:
        await webhook.post(body)
    except WebhookError as error:
        return str(error)
    return ""


async def _run_all(commands: Sequence[str], body: bytes, room: CommandRoom) -> list[str]:
    """Run the commands side by side and return why each failed."""
    if not commands:
        return []
    try:
        async with room.opened() as sandbox:
            environment = await asyncio.to_thread(room.environment)
            return await asyncio.gather(
                *(_run_one(command, body, room.root, sandbox, environment) for command in commands)
            )
    except (RalphError, OSError) as error:
        return [str(error)] * len(commands)


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
        return f"no end after {duration(SECONDS)}"
    last = one_line(result.tail.strip().rpartition("\n")[2], 200)
    return f"exit status {result.exit_code}{f': {last}' if last else ''}"


class Notifier:
    """Listens to a run and tells somebody what the settings want to be told."""

    def __init__(
        self,
        settings: NotifySettings,
        webhook: Webhook | None,
        room: CommandRoom,
        *,
        project: str,
        feature: str = "",
        waits: bool = True,
        clock: Callable[[], datetime] = utc_now,
    ) -> None:
        """Tell nobody until `begin`.

        Args:
            settings: What is sent, and to whom.
            webhook: The address of the settings, with its variables filled in.
            room: Where commands run.
            project: What the project is called.
            feature: The feature that is worked on; empty for the plan without a name.
            waits: Whether the run waits for an answer; else its end tells what was asked.
            clock: Tells the time, in UTC.
        """
        self._wanted = frozenset(settings.on) if settings.commands or webhook else frozenset()
        self._settings = settings
        self._webhook = webhook
        self._room = room
        self._waits = waits
        self._clock = clock
        self._about = {"project": shown(project), "feature": feature, "root": str(room.root)}
        self._where: dict[str, object] = {}
        self._waiting: list[AskedQuestion | ev.ApprovalRequested] = []
        self._is_told = False
        """Whether somebody was notified that it waits, and nothing was answered since."""
        self._due = asyncio.Event()
        self._emit: EventSink = lambda _: None
        self._task: asyncio.Task[None] | None = None

    def begin(self, emit: EventSink) -> None:
        """Tell from now on; `emit` hears of notifications that did not arrive."""
        self._emit = emit
        if self._wanted:
            self._task = asyncio.create_task(self._tell_forever(), name="ralph-notify")

    def note(self, event: Event) -> None:
        """Take in what an event says; never blocks."""
        if not self._wanted:
            return
        match event:
            case ev.LoopStarted():
                self._where |= {"run_id": event.run_id, "phase": event.phase.value}
            case ev.PhaseChanged():
                self._where |= {"phase": event.phase.value, "task": None}
            case ev.IterationStarted() if event.task_id != self._where.get("phase"):
                task = NotifiedTask(id=shown(event.task_id), title=shown(event.title))
                self._where["task"] = task
            case ev.IterationFinished():
                self._where["task"] = None
            case ev.QuestionAsked() if event.question.is_open:
                self._wait_for(event.question)
            case ev.ApprovalRequested():
                self._wait_for(event)
            case ev.QuestionAnswered() | ev.ApprovalGiven() | ev.NobodyAnswered():
                self._waiting.clear()
                self._is_told = False
            case _:
                return

    def _wait_for(self, asked: AskedQuestion | ev.ApprovalRequested) -> None:
        if "waiting" in self._wanted:
            self._waiting.append(asked)
            if self._waits:
                self._due.set()

    async def finish(self, finished: LoopFinished) -> None:
        """Tell the end of the run and wait until that is done, or until its time is over."""
        happening = _ENDS.get(finished.status)
        pending, self._waiting = tuple(self._waiting), []
        await self.close()
        again = happening == "waiting" and self._is_told
        if happening is None or happening not in self._wanted or again:
            return
        await self._send(self._of_end(happening, finished, pending))

    async def close(self) -> None:
        """Stop telling; what is under way ends first."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
            self._task = None

    async def _tell_forever(self) -> None:
        sending: asyncio.Task[None] | None = None
        try:
            while True:
                await self._due.wait()
                self._due.clear()
                # The questions of one call come one after the other; they are reported together.
                asked, self._waiting = tuple(self._waiting), []
                if asked:
                    self._is_told = True
                    sending = asyncio.create_task(self._send(self._of_wait(asked)))
                    await asyncio.shield(sending)
        finally:
            if sending is not None:
                await asyncio.wait([sending])

    async def _send(self, told: Notification) -> None:
        failures = await deliver(told, self._settings.commands, self._webhook, self._room)
        for target, why in failures.items():
            if why:
                text = f"The notification of {told.event!r} by {target} failed: {why}."
                self._emit(ev.Notice(level="warning", text=one_line(text, LONGEST)))

    def _made(self, event: Happening, reason: str, **more: object) -> Notification:
        name = self._about["project"] + (
            f" ({self._about['feature']})" if self._about["feature"] else ""
        )
        facts = {**self._about, **self._where, "time": self._clock(), **more}
        text = one_line(f"{name} {_SAID[event]}: {reason}", LONGEST)
        return Notification.model_validate(
            {"event": event, "text": text, "reason": reason, **facts}
        )

    def _of_wait(self, waiting: Sequence[AskedQuestion | ev.ApprovalRequested]) -> Notification:
        questions = [_question(one) for one in waiting if isinstance(one, AskedQuestion)]
        approvals = [one for one in waiting if isinstance(one, ev.ApprovalRequested)]
        if approvals:
            asked = approvals[-1]
            reason = shown(f"approval of {DECISIONS[asked.kind]} is needed. {asked.summary}")
            hint = "ralph approve, or ralph reject --reason TEXT"
            return self._made("waiting", reason, hint=hint, approval=asked.kind.value)
        reason = shown(shortlist([question.text for question in questions], 3))
        hint = f"ralph answer {questions[0].id} TEXT"
        return self._made("waiting", reason, hint=hint, questions=tuple(questions[:MOST_QUESTIONS]))

    def _of_end(
        self,
        happening: Happening,
        end: LoopFinished,
        pending: Sequence[AskedQuestion | ev.ApprovalRequested],
    ) -> Notification:
        asked = [_question(one) for one in pending if isinstance(one, AskedQuestion)]
        kinds = [one.kind.value for one in pending if isinstance(one, ev.ApprovalRequested)]
        figures = end.model_dump(
            include={
                "iterations",
                "tasks_complete",
                "tasks_total",
                "cost_usd",
                "seconds",
                "exit_code",
            }
        )
        return self._made(
            happening,
            shown(end.reason),
            hint=shown(end.hint),
            questions=tuple(asked[:MOST_QUESTIONS]),
            approval=kinds[-1] if kinds else "",
            **figures,
        )


_SAID: Mapping[Happening, str] = {
    "waiting": "waits for you",
    "stopped": "stopped",
    "done": "is done",
    "failed": "failed",
}


def _question(asked: AskedQuestion) -> NotifiedQuestion:
    options = tuple(shown(option.label) for option in asked.question.options[:MOST_QUESTIONS])
    return NotifiedQuestion(id=asked.id, text=shown(asked.question.question), options=options)
