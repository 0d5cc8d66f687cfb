"""Defines `ClaudeSession`, one fresh context on the real Claude Code CLI.

A task always drains the SDK's messages into a queue, because unread messages deadlock hooks and interrupts.
A turn reads from that queue.
"""

import asyncio
import inspect
import logging
import os
import uuid
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path
from typing import cast

from claude_agent_sdk import (
    ClaudeSDKClient,
    ClaudeSDKError,
    CLINotFoundError,
    Message,
    ResultMessage,
)
from pydantic import JsonValue

from ralph_tui.agent import address_check
from ralph_tui.agent.failures import exit_reason, failure, silence_failure
from ralph_tui.agent.hooks import Hooks
from ralph_tui.agent.login import address_hint, rejected_login_hint
from ralph_tui.agent.process import connect_cli, continue_when_stopped, end_cli
from ralph_tui.agent.session_options import (
    SERVER_NAME,
    Log,
    key_hiding,
    session_options,
    tool_server,
)
from ralph_tui.agent.translate import Translator
from ralph_tui.domain import events as ev
from ralph_tui.domain.base import Model, Record
from ralph_tui.domain.errors import CliStartError, SetupError, StoreError
from ralph_tui.domain.outcomes import FailureClass, ToolOutcome
from ralph_tui.domain.sanitize import one_line
from ralph_tui.domain.tool_calls import ToolAnswer, ToolCall
from ralph_tui.engine.core.outcome import failed_end
from ralph_tui.engine.core.ports import (
    AgentItem,
    Failure,
    SessionSpec,
    Supervisor,
    TurnEnded,
    TurnUsage,
)
from ralph_tui.engine.safety.processes import SESSION_MARK, end_marked
from ralph_tui.guard.sandbox.os_sandbox import GONE, SANDBOX_LOST_HINT, lost, sandbox_problem


def tool_difference(
    expected: tuple[str, ...], offered: tuple[str, ...], servers: tuple[str, ...] = ()
) -> str:
    """Return a sentence on how the offered tools differ from the phase's; ignore tools of MCP servers."""
    wanted = {"Task" if name == "Agent" else name for name in expected}
    prefixes = tuple(f"mcp__{name}__" for name in (SERVER_NAME, *servers))
    have = {n for n in offered if not n.startswith(prefixes)}
    missing, extra = sorted(wanted - have), sorted(have - wanted)
    parts = []
    if missing:
        parts.append(f"the CLI does not offer {', '.join(missing)}")
    if extra:
        parts.append(f"the CLI offers {', '.join(extra)} that this phase does not allow")
    return f"The tools of the session are wrong: {'; '.join(parts)}." if parts else ""


_SANDBOX_ERRORS = (
    "Sandbox is required but failed to initialize",
    "Sandbox is enabled but failed to initialize",
    "Linux sandbox HTTP bridge socket is missing",
    "Linux sandbox SOCKS bridge socket is missing",
    GONE,
)
"""Errors after which every further command of the session fails too."""
LOGIN_TRIES = 2
"""How often the API must reject the first request; the CLI renews its login before the second."""

_BWRAP_ERROR = "bwrap: "
"""An error that may come from the command itself, so the sandbox must be tested."""


def sandbox_error(items: list[AgentItem]) -> str:
    for item in items:
        if isinstance(item, ev.ToolFinished) and item.outcome is ToolOutcome.ERROR:
            first, _, rest = item.output.partition("\n")
            output = rest if first.startswith("Exit code ") else item.output
            if output.startswith((*_SANDBOX_ERRORS, _BWRAP_ERROR)):
                return output
    return ""


CATCH_UP_SECONDS = 5.0
"""How long a hook waits for the reader of the turn; between turns there is none."""

INTERRUPT_SECONDS = 10.0
"""Time for an interrupted turn to end; after that the session counts as lost."""

START_SECONDS = 55.0
"""Time for the CLI to start; the SDK gives up after 60 seconds, with a less clear error."""

MAX_STDERR_CHARS = 300

QUIET_TOOL_SECONDS = 3600.0
"""How long a tool may be silent; the CLI's own limit for a command is far lower."""

# Unhandled log records would go to stderr and garble the screen; ralph gets them as errors anyway.
logging.getLogger("claude_agent_sdk").addHandler(logging.NullHandler())
logging.getLogger("asyncio").addFilter(
    lambda record: not (record.exc_info and isinstance(record.exc_info[1], ClaudeSDKError))
)

_Queued = Message | AgentItem | asyncio.Event | str
"""A message of the SDK, an item from a hook, a marker to set once all before it is handled, or why the stream ended."""


class _Watched:
    """A supervisor whose errors are also reported, whatever is made of them then."""

    def __init__(self, supervisor: Supervisor, report: Callable[[Exception], None]) -> None:
        self._supervisor, self._report = supervisor, report

    def __getattr__(self, name: str) -> object:
        found = getattr(self._supervisor, name)
        if not inspect.iscoroutinefunction(found):
            return found

        async def watched(*given: object) -> object:
            try:
                return await found(*given)
            except Exception as error:
                self._report(error)
                raise

        return watched


class ClaudeSession:
    """One fresh context on a connected CLI."""

    def __init__(
        self,
        spec: SessionSpec,
        environment: Mapping[str, str],
        log: Log,
        cli_path: Path | None = None,
        plugin: Path | None = None,
    ) -> None:
        self.spec = spec
        self._log = log
        self._mark = uuid.uuid4().hex
        self._environment = {**os.environ, **spec.environment, **environment}
        self._inbox: asyncio.Queue[_Queued] = asyncio.Queue()
        self._emit: Callable[[AgentItem], None] = self._inbox.put_nowait
        self._translator = Translator()
        self._hooks = Hooks(
            self._emit,
            self._tool_started,
            self._translator.denied.add,
            self._wait_for_messages,
            session=self._mark,
        )
        hiding = key_hiding(spec, self._environment)
        self._client = ClaudeSDKClient(
            session_options(
                spec,
                environment={**environment, SESSION_MARK: self._mark, **hiding},
                hooks=self._hooks,
                server=tool_server(spec.ralph_tools, self._call_tool),
                log=self._keep_stderr,
                cli_path=cli_path,
                plugin=plugin,
            )
        )
        self._reader: asyncio.Task[None] | None = None
        self._watcher: asyncio.Task[None] | None = None
        self._closing: asyncio.Task[None] | None = None
        self._answered = False
        self._lost: str | None = None
        self._log_failed = False
        self._last_stderr: deque[str] = deque(maxlen=3)
        self._unanswered: set[str] = set()
        self._interrupts = 0
        """The number of unanswered interrupts."""

    async def connect(self) -> None:
        """Start the CLI and the reader.

        Raises:
            CliStartError: The CLI died or stayed silent while it started.
            SetupError: The CLI is missing.
        """
        try:
            await connect_cli(self._client, self._mark, START_SECONDS)
        except CLINotFoundError as error:
            message = "The Claude Code CLI is missing."
            raise SetupError(message, "Reinstall ralph-tui, which includes the CLI.") from error
        except TimeoutError as error:
            raise await self._not_started(f"no response in {START_SECONDS:g} seconds") from error
        except Exception as error:
            # The SDK raises a bare `Exception`, too.
            raise await self._not_started(exit_reason(error)) from error
        self._reader = asyncio.create_task(self._drain(), name="ralph-sdk-reader")
        self._watcher = asyncio.create_task(
            continue_when_stopped(self._mark, self._emit, self._inbox.put_nowait),
            name="ralph-cli-watch",
        )

    async def _not_started(self, why: str) -> CliStartError:
        await asyncio.to_thread(end_marked, SESSION_MARK, self._mark)
        stderr = one_line(" / ".join(self._last_stderr), MAX_STDERR_CHARS)
        words = f' Last output: "{stderr}"' if stderr else ""
        hint = "See .ralph/logs/claude-cli.log, and run `ralph doctor`."
        return CliStartError(f"The Claude Code CLI did not start: {why}.{words}", hint)

    def oversee(self, supervisor: Supervisor) -> None:
        self._hooks.supervisor = cast("Supervisor", _Watched(supervisor, self._end_by))

    @property
    def alive(self) -> bool:
        return self._lost is None and self._closing is None

    async def run_turn(self, prompt: str) -> AsyncIterator[AgentItem]:
        ended = await self._send(prompt)
        while ended is None:
            for item in await self._next_items():
                if isinstance(item, TurnEnded):
                    ended = item
                else:
                    yield item
        yield ended

    async def steer(self, text: str) -> None:
        await self._send(text)

    async def _send(self, text: str) -> TurnEnded | None:
        if self._lost is not None:
            return self._turn_after_loss(self._lost)
        message_id = str(uuid.uuid4())
        self._unanswered.add(message_id)

        async def messages() -> AsyncIterator[dict[str, object]]:
            yield {
                "type": "user",
                "uuid": message_id,
                "message": {"role": "user", "content": text},
                "parent_tool_use_id": None,
            }

        try:
            await self._client.query(messages())
        except (ClaudeSDKError, OSError) as error:
            return self._turn_after_loss(exit_reason(error))
        return None

    async def _next_items(self) -> list[AgentItem]:
        idle = float(self.spec.idle_timeout_seconds)
        limit = QUIET_TOOL_SECONDS if self._translator.tools_running else idle
        try:
            message = await self._next_message(limit)
        except TimeoutError:
            self._lost = "it stopped responding"
            problem, _ = await asyncio.to_thread(address_check.address_problem, self._environment)
            quiet = TurnEnded(failure=silence_failure(limit, problem))
            return [*self._translator.abandon(), quiet]
        if isinstance(message, str):
            return [*self._translator.abandon(), self._turn_after_loss(message)]
        if isinstance(message, ResultMessage):
            return self._result_items(message)
        if isinstance(message, Model | Record):
            return [message]
        if isinstance(message, asyncio.Event):
            message.set()
            return []
        items = self._check_login(self._translator.translate(message))
        return await self._check_sandbox(self._check_tools(items))

    async def _next_message(self, limit: float) -> _Queued:
        while True:
            try:
                return await asyncio.wait_for(self._inbox.get(), limit)
            except TimeoutError:
                supervisor = self._hooks.supervisor
                waits = supervisor is not None and supervisor.waiting_for_person
                if not (waits or self._hooks.judging_turn_end):
                    raise

    def _result_items(self, message: ResultMessage) -> list[AgentItem]:
        items = [
            item.model_copy(update={"failure": self._named(item.failure)})
            if isinstance(item, TurnEnded) and item.failure is not None
            else item
            for item in self._translator.translate(message)
        ]
        answered = message.user_message_uuids or []
        self._unanswered.difference_update(answered)
        if not answered or not self._unanswered or message.is_error:
            self._unanswered.clear()
            return items
        return [item for item in items if not isinstance(item, TurnEnded)]

    def _check_login(self, items: list[AgentItem]) -> list[AgentItem]:
        self._answered = self._answered or any(isinstance(item, TurnUsage) for item in items)
        retry = next((item for item in items if isinstance(item, ev.ApiRetry)), None)
        if (
            self._answered
            or retry is None
            or retry.status not in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
            or retry.attempt < LOGIN_TRIES
        ):
            return items
        message = f"The API rejects the login (HTTP {retry.status}): {retry.error or 'no reason'}"
        rejected = failure(FailureClass.AUTHENTICATION, message)
        self._lost = rejected.message
        return [*items, *self._translator.abandon(), TurnEnded(failure=self._named(rejected))]

    def _named(self, found: Failure) -> Failure:
        environ, hint = {**os.environ, **self._environment}, ""
        if found.kind is FailureClass.AUTHENTICATION:
            hint = rejected_login_hint(environ)
        elif found.kind is FailureClass.NETWORK:
            hint = address_hint(environ)
        is_general = found.hint == failure(found.kind, "").hint
        return found.model_copy(update={"hint": hint}) if hint and is_general else found

    def _check_tools(self, items: list[AgentItem]) -> list[AgentItem]:
        offered = self._translator.tools
        starting = any(getattr(item, "type", "") == "session_started" for item in items)
        if not starting or offered is None:
            return items
        problem = tool_difference(self.spec.tools, offered, tuple(self.spec.mcp_servers))
        problem = problem or self._translator.failed_servers(tuple(self.spec.mcp_servers))
        if not problem:
            return items
        self._lost = problem
        return [*items, TurnEnded(failure=failure(FailureClass.SETUP, problem))]

    async def _check_sandbox(self, items: list[AgentItem]) -> list[AgentItem]:
        error = sandbox_error(items) if self.spec.sandbox is not None else ""
        if not error:
            return items
        if reason := await asyncio.to_thread(sandbox_problem):
            found = Failure(kind=FailureClass.SETUP, message=lost(reason), hint=SANDBOX_LOST_HINT)
        elif error.startswith(_SANDBOX_ERRORS):
            found = failure(FailureClass.CLI_DIED, "The Claude Code CLI lost its sandbox.")
        else:  # the command's own error
            return items
        self._lost = found.message
        return [*items, *self._translator.abandon(), TurnEnded(failure=found)]

    def _turn_after_loss(self, reason: str) -> TurnEnded:
        self._lost = reason
        text = f"The Claude Code CLI ended unexpectedly ({reason})."
        return TurnEnded(failure=failure(FailureClass.CLI_DIED, text))

    async def interrupt(self) -> None:
        """See `AgentSession.interrupt`. A CLI that does not respond counts as lost."""
        if not self.alive:
            return
        self._translator.interrupt()
        self._interrupts += 1
        try:
            await asyncio.wait_for(self._client.interrupt(), INTERRUPT_SECONDS)
        except TimeoutError:
            why = f"no response to an interrupt in {INTERRUPT_SECONDS:g} seconds"
            self._inbox.put_nowait(why)
        except (ClaudeSDKError, OSError) as error:
            self._inbox.put_nowait(f"it cannot be interrupted: {exit_reason(error)}")
        else:
            self._interrupts -= 1

    async def close(self) -> None:
        """See `AgentSession.close`. Shielded, because a cancelled shutdown would leave the CLI running."""
        if self._closing is None:
            self._closing = asyncio.create_task(self._shut_down(), name="ralph-session-close")
        await asyncio.shield(self._closing)

    async def _shut_down(self) -> None:
        responsive = self._reader is not None and self._lost is None
        tools_running = self._translator.tools_running
        self._inbox.put_nowait("it was closed")  # ends a running turn
        await end_cli(self._client, self._mark, responsive=responsive, tools_running=tools_running)
        running = [task for task in (self._reader, self._watcher) if task is not None]
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running)

    async def _drain(self) -> None:
        try:
            async for message in self._client.receive_messages():
                self._inbox.put_nowait(message)
        except Exception as error:  # noqa: BLE001 - the turn must end, whatever the reason
            self._inbox.put_nowait(exit_reason(error))
        else:
            self._inbox.put_nowait("its output ended")

    def _keep_stderr(self, line: str) -> None:
        if line.strip():
            self._last_stderr.append(line.strip())
        try:
            self._log(line)
        except StoreError as error:
            if not self._log_failed:
                self._log_failed = True
                text = f"The log of the Claude Code CLI cannot be written: {error.message}"
                self._emit(ev.Notice(level="warning", text=text))

    async def _wait_for_messages(self) -> None:
        """Wait until earlier messages are handled, because a hook may overtake their usage reports."""
        reached = asyncio.Event()  # set once all earlier items are handled
        self._inbox.put_nowait(reached)
        with suppress(TimeoutError):
            await asyncio.wait_for(reached.wait(), CATCH_UP_SECONDS)

    def _tool_started(self, call: ToolCall) -> None:
        if call.agent_id is not None:
            return  # the message reports it, with the owner of the sub-agent
        for item in self._translator.start_tool(call):
            self._emit(item)

    async def _call_tool(self, name: str, arguments: dict[str, JsonValue]) -> ToolAnswer:
        supervisor = self._hooks.supervisor
        if supervisor is None:
            return ToolAnswer(text="No task is running.", is_error=True)
        return await supervisor.call_tool(name, arguments)

    def _end_by(self, error: Exception) -> None:
        """End the turn by an error that no model can fix: the setup, or an exhausted resource."""
        if isinstance(error, SetupError | OSError) and self.alive:
            with suppress(OSError):  # one of another cause
                end = failed_end(error)
                found = Failure(kind=FailureClass.SETUP, message=end.reason, hint=end.hint)
                self._emit(TurnEnded(failure=found))
                self._lost = end.reason
