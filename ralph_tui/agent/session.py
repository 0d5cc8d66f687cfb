"""`ClaudeSession`: one fresh context on the real Claude Code CLI.

It has one task that always drains the SDK's messages into its own queue (unread ones deadlock
hooks and interrupts, SDK-FACTS section 12.1); whoever runs a turn reads from that queue.
"""

import asyncio
import logging
import os
import uuid
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from claude_agent_sdk import (
    ClaudeSDKClient,
    ClaudeSDKError,
    CLINotFoundError,
    Message,
    ResultMessage,
)
from pydantic import JsonValue

from ralph_tui.agent import tls_check
from ralph_tui.agent.failures import failure, silence, why_lost
from ralph_tui.agent.hooks import Hooks
from ralph_tui.agent.mcp_server import SERVER_NAME, tool_server
from ralph_tui.agent.process import connect_cli, continue_when_stopped, end_cli
from ralph_tui.agent.session_options import key_hiding, session_options
from ralph_tui.agent.translate import Translator
from ralph_tui.domain import events as ev
from ralph_tui.domain.errors import CliStartError, SetupError, StoreError
from ralph_tui.domain.events import FailureClass, ToolOutcome
from ralph_tui.domain.sanitize import one_line
from ralph_tui.domain.tool_calls import ToolAnswer, ToolCall
from ralph_tui.engine.core.ports import AgentItem, Failure, SessionSpec, Supervisor, TurnEnded
from ralph_tui.engine.safety.processes import SESSION_MARK, end_marked
from ralph_tui.guard.sandbox.os_sandbox import GONE, LOST_HINT, lost, why_no_sandbox


def tool_difference(
    expected: tuple[str, ...], offered: tuple[str, ...], servers: tuple[str, ...] = ()
) -> str:
    """Return which tools differ from the phase's, as a sentence; tools of MCP servers may vary."""
    wanted = {"Task" if name == "Agent" else name for name in expected}
    prefixes = tuple(f"mcp__{name}__" for name in (SERVER_NAME, *servers))
    have = {n for n in offered if not n.startswith(prefixes)}
    missing, extra = sorted(wanted - have), sorted(have - wanted)
    parts = []
    if missing:
        parts.append(f"the CLI does not offer {', '.join(missing)}")
    if extra:
        parts.append(f"the CLI offers {', '.join(extra)} outside the phase")
    return f"Tools differ from the plan: {'; '.join(parts)}." if parts else ""


_SESSION_LOST = (
    "Sandbox is required but failed to initialize",
    "Sandbox is enabled but failed to initialize",
    "Linux sandbox HTTP bridge socket is missing",
    "Linux sandbox SOCKS bridge socket is missing",
    GONE,
)
"""Every further command of the session will fail, too."""
_ONE_FAILED = "bwrap: "
"""The command itself may have said this, so it only gives reason to look."""


def sandbox_complaint(items: list[AgentItem]) -> str:
    """Return a failed command's message about the sandbox, or an empty string."""
    for item in items:
        if isinstance(item, ev.ToolFinished) and item.outcome is ToolOutcome.ERROR:
            said = _said(item)
            if said.startswith((*_SESSION_LOST, _ONE_FAILED)):
                return said
    return ""


async def lost_sandbox(said: str) -> Failure | None:
    """Return why the turn ends after such a message, or None when the sandbox works after all."""
    reason = await asyncio.to_thread(why_no_sandbox)
    if reason:
        return Failure(kind=FailureClass.SETUP, message=lost(reason), hint=LOST_HINT)
    if said.startswith(_SESSION_LOST):
        return failure(FailureClass.CLI_DIED, "The Claude Code CLI lost its sandbox.")
    return None


def _said(item: ev.ToolFinished) -> str:
    """Return the output of a command without the line of its exit status."""
    first, _, rest = item.output.partition("\n")
    return rest if first.startswith("Exit code ") else item.output


CATCH_UP_SECONDS = 5.0
"""Seconds for which a hook waits for the turn's reader; there is none between turns."""

INTERRUPT_SECONDS = 10.0
"""Seconds for an interrupted turn to report its end before the session counts as lost."""

START_SECONDS = 55.0
"""Seconds for the CLI to say its first word; the SDK gives up after 60, with a less clear error."""

LAST_WORDS_CHARS = 300
"""The most characters of stderr that are reported when the CLI does not start."""

QUIET_TOOL_SECONDS = 3600.0
"""Seconds for which a tool may be silent; the CLI's own limit for a command is far lower."""

Log = Callable[[str], None]

# Unhandled log records would go to stderr, across the screen; ralph gets all of them as errors, too.
logging.getLogger("claude_agent_sdk").addHandler(logging.NullHandler())


@dataclass(frozen=True)
class _Lost:
    """The CLI's stream ended; `reason` says how."""

    reason: str


@dataclass(frozen=True)
class _Own:
    """An item from a hook, in order with the SDK's messages."""

    item: AgentItem


@dataclass(frozen=True)
class _Reached:
    """A place in the inbox; the event is set when all earlier items are handled."""

    event: asyncio.Event


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
        """Prepare the client; `connect` starts the CLI.

        Args:
            spec: What the engine asked for.
            environment: Variables to add to the CLI's environment.
            log: Takes a line of the CLI's stderr.
            cli_path: The CLI to start instead of the bundled one.
            plugin: The directory with the spec's skills.
        """
        self.spec = spec
        self._log = log
        self._mark = uuid.uuid4().hex
        self._told_environment = {**os.environ, **spec.environment, **environment}
        self._inbox: asyncio.Queue[Message | _Own | _Reached | _Lost] = asyncio.Queue()
        self._translator = Translator()
        self._hooks = Hooks(
            self._emit,
            self._tool_started,
            self._translator.deny_tool,
            self._end_failed,
            self._caught_up,
            session=self._mark,
        )
        hiding = key_hiding(spec, self._told_environment)
        self._client = ClaudeSDKClient(
            session_options(
                spec,
                environment={**environment, SESSION_MARK: self._mark, **hiding},
                hooks=self._hooks,
                server=tool_server(spec.ralph_tools, self._call_tool),
                log=self._told,
                cli_path=cli_path,
                plugin=plugin,
            )
        )
        self._reader: asyncio.Task[None] | None = None
        self._watch: asyncio.Task[None] | None = None
        self._closing: asyncio.Task[None] | None = None
        self._lost: str | None = None
        self._log_failed = False
        self._last_words: deque[str] = deque(maxlen=3)
        self._unanswered: set[str] = set()
        self._interrupts = 0
        """How many interrupts were not answered yet."""

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
            raise SetupError(message, "Reinstall ralph-tui: the CLI comes with it.") from error
        except TimeoutError as error:
            raise await self._not_started(f"no answer in {START_SECONDS:g} seconds") from error
        except Exception as error:
            # A bare `Exception` is among what the SDK raises.
            raise await self._not_started(why_lost(error)) from error
        self._reader = asyncio.create_task(self._drain(), name="ralph-sdk-reader")
        self._watch = asyncio.create_task(
            continue_when_stopped(self._mark, self._emit, self._give_up), name="ralph-cli-watch"
        )

    async def _not_started(self, why: str) -> CliStartError:
        """End whatever did start, and return the error to raise."""
        await asyncio.to_thread(end_marked, SESSION_MARK, self._mark)
        said = one_line(" / ".join(self._last_words), LAST_WORDS_CHARS)
        words = f' Its last words: "{said}"' if said else ""
        hint = "See .ralph/logs/claude-cli.log, and run `ralph doctor`."
        return CliStartError(f"The Claude Code CLI did not start: {why}.{words}", hint)

    def oversee(self, supervisor: Supervisor) -> None:
        """Let `supervisor` answer hooks and tools from now on."""
        self._hooks.permits.supervisor = supervisor

    @property
    def alive(self) -> bool:
        """Whether the CLI still responds."""
        return self._lost is None and self._closing is None

    async def run_turn(self, prompt: str) -> AsyncIterator[AgentItem]:
        """See `AgentSession.run_turn`."""
        ended = await self._say(prompt)
        while ended is None:
            for item in await self._next_items():
                if isinstance(item, TurnEnded):
                    ended = item
                else:
                    yield item
        yield ended

    async def steer(self, text: str) -> None:
        """See `AgentSession.steer`."""
        await self._say(text)

    async def _say(self, text: str) -> TurnEnded | None:
        """Send a user message; a lost CLI ends the turn instead of raising."""
        if self._lost is not None:
            return self._lost_turn(self._lost)
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
            return self._lost_turn(why_lost(error))
        return None

    async def _next_items(self) -> list[AgentItem]:
        """Wait for the next message and return what it means."""
        limit = (
            QUIET_TOOL_SECONDS
            if self._translator.tools_running
            else float(self.spec.idle_timeout_seconds)
        )
        try:
            message = await self._patiently(limit)
        except TimeoutError:
            self._lost = "it fell silent"
            wrong = await asyncio.to_thread(tls_check.trouble, self._told_environment)
            quiet = TurnEnded(failure=silence(limit, wrong))
            return [*self._translator.abandon(), quiet]
        if isinstance(message, _Lost):
            return [*self._translator.abandon(), self._lost_turn(message.reason)]
        if isinstance(message, ResultMessage):
            return self._result_items(message)
        if isinstance(message, _Own):
            return [message.item]
        if isinstance(message, _Reached):
            message.event.set()
            return []
        return await self._held(self._checked(self._translator.translate(message)))

    async def _patiently(self, limit: float) -> Message | _Own | _Reached | _Lost:
        """Return the next message; a person who is asked may take any time."""
        while True:
            try:
                return await asyncio.wait_for(self._inbox.get(), limit)
            except TimeoutError:
                supervisor = self._hooks.supervisor
                waits = supervisor is not None and supervisor.waiting_for_person
                if not (waits or self._hooks.judging_end):
                    raise

    def _result_items(self, message: ResultMessage) -> list[AgentItem]:
        """Translate a result, which ends our turn only when nothing we said is unanswered (SDK-FACTS 6.2)."""
        items = self._translator.translate(message)
        answered = message.user_message_uuids or []
        self._unanswered.difference_update(answered)
        over = not answered or not self._unanswered or message.is_error
        if over:
            self._unanswered.clear()
            return items
        return [item for item in items if not isinstance(item, TurnEnded)]

    def _checked(self, items: list[AgentItem]) -> list[AgentItem]:
        """Fail closed when the CLI offers other tools than the phase allows."""
        offered = self._translator.tools
        starting = any(getattr(item, "type", "") == "session_started" for item in items)
        if not starting or offered is None:
            return items
        wrong = tool_difference(self.spec.tools, offered, tuple(self.spec.mcp_servers))
        wrong = wrong or self._translator.lost_servers(tuple(self.spec.mcp_servers))
        if not wrong:
            return items
        self._lost = wrong
        return [*items, TurnEnded(failure=failure(FailureClass.SETUP, wrong))]

    async def _held(self, items: list[AgentItem]) -> list[AgentItem]:
        """End the turn when commands no longer run in the sandbox."""
        said = sandbox_complaint(items) if self.spec.sandbox is not None else ""
        found = await lost_sandbox(said) if said else None
        if found is None:
            return items
        self._lost = found.message
        return [*items, *self._translator.abandon(), TurnEnded(failure=found)]

    def _lost_turn(self, reason: str) -> TurnEnded:
        self._lost = reason
        text = f"The Claude Code CLI ended unexpectedly ({reason})."
        return TurnEnded(failure=failure(FailureClass.CLI_DIED, text))

    async def interrupt(self) -> None:
        """See `AgentSession.interrupt`. A CLI that does not react counts as lost."""
        if not self.alive:
            return
        self._translator.interrupt()
        self._interrupts += 1
        try:
            await asyncio.wait_for(self._client.interrupt(), INTERRUPT_SECONDS)
        except TimeoutError:
            why = f"no answer to an interrupt in {INTERRUPT_SECONDS:g} seconds"
            self._inbox.put_nowait(_Lost(why))
        except (ClaudeSDKError, OSError) as error:
            self._inbox.put_nowait(_Lost(f"it takes no interrupt: {why_lost(error)}"))
        else:
            self._interrupts -= 1

    async def close(self) -> None:
        """See `AgentSession.close`. Shielded, because a cancelled shutdown leaves the CLI running."""
        if self._closing is None:
            self._closing = asyncio.create_task(self._shut_down(), name="ralph-session-close")
        await asyncio.shield(self._closing)

    async def _shut_down(self) -> None:
        well, tools = (
            self._reader is not None and self._lost is None,
            self._translator.tools_running,
        )
        self._inbox.put_nowait(_Lost("it was closed"))  # a turn that still runs ends
        await end_cli(self._client, self._mark, well=well, tools_running=bool(tools))
        running = [task for task in (self._reader, self._watch) if task is not None]
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running)

    async def _drain(self) -> None:
        try:
            async for message in self._client.receive_messages():
                self._inbox.put_nowait(message)
        except Exception as error:  # noqa: BLE001 - whatever ended the stream, the turn must learn it
            self._inbox.put_nowait(_Lost(why_lost(error)))
        else:
            self._inbox.put_nowait(_Lost("its output ended"))

    def _told(self, line: str) -> None:
        """Keep a line of the CLI's stderr."""
        if line.strip():
            self._last_words.append(line.strip())
        try:
            self._log(line)
        except StoreError as error:
            if not self._log_failed:
                self._log_failed = True
                text = f"What the CLI writes to its log is lost: {error.message}"
                self._emit(ev.Notice(level="warning", text=text))

    def _give_up(self, reason: str) -> None:
        self._inbox.put_nowait(_Lost(reason))

    def _emit(self, item: AgentItem) -> None:
        self._inbox.put_nowait(_Own(item))

    async def _caught_up(self) -> None:
        """Wait until the earlier messages are handled, because a hook can be faster than their report of usage."""
        reached = _Reached(asyncio.Event())
        self._inbox.put_nowait(reached)
        with suppress(TimeoutError):
            await asyncio.wait_for(reached.event.wait(), CATCH_UP_SECONDS)

    def _tool_started(self, call: ToolCall) -> None:
        if call.agent_id is not None:
            return  # only the message of a sub-agent's call names its owner
        for item in self._translator.start_tool(call):
            self._emit(item)

    async def _call_tool(self, name: str, arguments: dict[str, JsonValue]) -> ToolAnswer:
        supervisor = self._hooks.supervisor
        if supervisor is None:
            return ToolAnswer(text="No task is running.", is_error=True)
        try:
            return await supervisor.call_tool(name, arguments)
        except SetupError as error:  # no response of the model passes it
            self._end_failed(error)
            raise

    def _end_failed(self, error: Exception) -> None:
        """Tell why a claim could not be judged; what no response of the model passes ends the turn."""
        if isinstance(error, SetupError):
            found = Failure(kind=FailureClass.SETUP, message=error.message, hint=error.hint)
            self._emit(TurnEnded(failure=found))
            self._lost = error.message
            return
        text = f"What the model said at its end could not be judged: {one_line(str(error), 300)}"
        self._emit(ev.Notice(level="error", text=text))
