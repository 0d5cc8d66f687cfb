"""Translates SDK messages into events; ignores unknown messages."""

import json
import math
import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from itertools import accumulate
from typing import Any

from claude_agent_sdk import (
    AssistantMessage,
    Message,
    RateLimitEvent,
    ResultMessage,
    StreamEvent,
    SystemMessage,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserMessage,
)
from pydantic import JsonValue

from ralph_tui.agent.failures import ResultFacts, classify
from ralph_tui.domain import events as ev
from ralph_tui.domain.base import Model
from ralph_tui.domain.costs import dollars, micros
from ralph_tui.domain.outcomes import ToolOutcome
from ralph_tui.domain.redaction import unfinished
from ralph_tui.domain.run.context_budget import TokenUsage
from ralph_tui.domain.run.usage_quota import Allowance
from ralph_tui.domain.sanitize import head, inert
from ralph_tui.domain.tool_calls import ToolCall
from ralph_tui.engine.core.ports import AgentItem, RequestStarted, TurnEnded, TurnUsage


class Price(Model):
    """US dollars per million tokens."""

    input: float
    output: float
    cache_read: float
    cache_write: float


OPUS = Price(input=4.0, output=20.0, cache_read=0.2, cache_write=5.0)
SONNET = Price(input=2.0, output=10.0, cache_read=0.1, cache_write=2.5)
HAIKU = Price(input=0.1, output=0.5, cache_read=0.01, cache_write=0.125)

_FAMILIES = (("haiku", HAIKU), ("sonnet", SONNET))


def estimate(model: str, usage: TokenUsage) -> int:
    """Return the cost of a response in nano-dollars, in which all prices per token are whole numbers."""
    price = next((price for family, price in _FAMILIES if family in model), OPUS)
    counted = (
        (usage.input_tokens, price.input),
        (usage.output_tokens, price.output),
        (usage.cache_read_tokens, price.cache_read),
        (usage.cache_creation_tokens, price.cache_write),
    )
    return sum(tokens * round(usd_per_million * 1_000) for tokens, usd_per_million in counted)


class SessionUsage:
    """Sums up responses; the CLI's cumulative cost replaces the estimates."""

    def __init__(self) -> None:
        self._model = ""
        self._started: dict[str, Any] = {}
        self._last = TokenUsage()
        self._settled = 0
        """Micro-dollars, by the CLI's own figures."""
        self._estimated = 0
        """Nano-dollars since then, by list prices."""
        self._reported = 0
        """Micro-dollars; never decreases."""
        self._tokens = 0
        self._output = 0
        self.requests = 0
        self._window = 0
        self._sub_agent_messages: set[str] = set()

    def start_response(self, model: str, usage: Mapping[str, Any]) -> None:
        self._model = model or self._model
        self._started = dict(usage)
        self.requests += 1

    def finish_response(self, usage: Mapping[str, Any]) -> None:
        merged = self._started | {key: value for key, value in usage.items() if value is not None}
        self._last = token_usage(merged)
        self._count(self._model, self._last)
        self._started = {}

    def count_sub_agent(self, message_id: str, model: str, usage: Mapping[str, Any]) -> None:
        """Count a sub-agent's response once, even if several messages report it."""
        if message_id not in self._sub_agent_messages:
            self._sub_agent_messages.add(message_id)
            self.requests += 1
            self._count(model, token_usage(usage))

    def _count(self, model: str, usage: TokenUsage) -> None:
        self._estimated += estimate(model, usage)
        self._output += usage.output_tokens
        self._tokens += usage.input_tokens + usage.cache_creation_tokens + usage.output_tokens

    def settle(self, total_cost_usd: float | None, models: Mapping[str, Any]) -> None:
        """Replace the estimate with the CLI's figure; keep it if the figure is invalid or below the previous one."""
        exact = -1
        if total_cost_usd is not None and 0 <= total_cost_usd < math.inf:
            exact = micros(total_cost_usd)
        if exact >= self._settled:
            self._settled = exact
        else:
            self._settled += _rounded(self._estimated)
        self._estimated = 0
        windows = [int(m.get("contextWindow") or 0) for m in models.values()]
        self._window = max(windows, default=self._window)

    def report(self) -> TurnUsage:
        self._reported = max(self._reported, self._settled + _rounded(self._estimated))
        return TurnUsage(
            usage=self._last,
            session_cost_usd=dollars(self._reported),
            session_tokens=self._tokens,
            session_output_tokens=self._output,
            session_requests=self.requests,
            context_window=self._window,
        )


def _rounded(nanos: int) -> int:
    return (nanos + 500) // 1_000


def token_usage(usage: Mapping[str, Any]) -> TokenUsage:

    def figure(name: str) -> int:
        value = usage.get(name)
        if isinstance(value, int | float) and math.isfinite(value):
            return max(0, int(value))
        return 0

    return TokenUsage(
        input_tokens=figure("input_tokens"),
        output_tokens=figure("output_tokens"),
        cache_read_tokens=figure("cache_read_input_tokens"),
        cache_creation_tokens=figure("cache_creation_input_tokens"),
    )


MAX_HELD_BACK = 8_192
"""The most characters to hold back; a longer word cannot be a secret."""


class StreamRedaction:
    """Holds back the end of each speaker's streamed text if it may be the beginning of a secret."""

    def __init__(self) -> None:
        self._waiting: dict[str | None, str] = {}

    def add(self, speaker: str | None, piece: str) -> str:
        text = self._waiting.pop(speaker, "") + piece
        at = unfinished(text)
        if len(text) - at > MAX_HELD_BACK:
            at = len(text)
        if at < len(text):
            self._waiting[speaker] = text[at:]
        return inert(text[:at])

    def rest(self, speaker: str | None) -> str:
        return inert(self._waiting.pop(speaker, ""))


TEXT_LIMIT = 20_000
"""The most characters of a text, input value or output in an event."""


class Translator:
    """Translates the messages of one session and tracks its tool calls; no I/O."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._running: dict[str, tuple[str, float, str | None]] = {}
        self._seen: set[str] = set()
        self.denied: set[str] = set()
        """The denied calls, so that their error results become denials."""
        self._interrupted: set[str] = set()
        self._started_session = False
        self._assistant_error = ""
        self._rejected_until: int | None = None
        self._usage = SessionUsage()
        self._redaction = StreamRedaction()
        self.tools: tuple[str, ...] | None = None
        self._servers: dict[str, str] = {}
        self._reported_allowances: dict[str, int] = {}

    @property
    def tools_running(self) -> bool:
        return bool(self._running)

    def failed_servers(self, wanted: tuple[str, ...]) -> str:
        gone = [
            n for n in wanted if self._servers.get(n, "missing") not in ("connected", "pending")
        ]
        states = ", ".join(f"{name} ({self._servers.get(name, 'missing')})" for name in gone)
        return f"An MCP server of this phase did not start: {states}." if gone else ""

    def translate(self, message: Message) -> list[AgentItem]:
        match message:
            case StreamEvent():
                return self._stream(message)
            case AssistantMessage():
                return self._assistant(message)
            case UserMessage():
                if isinstance(message.content, str):
                    return []
                results = [block for block in message.content if isinstance(block, ToolResultBlock)]
                patch = patch_text(message.tool_use_result) if len(results) == 1 else ""
                return [
                    self._finish(
                        block.tool_use_id, self._outcome(block), result_text(block.content), patch
                    )
                    for block in results
                ]
            case ResultMessage():
                return self._result(message)
            case RateLimitEvent():
                info = message.rate_limit_info
                self._rejected_until = info.resets_at if info.status == "rejected" else None
                return self._quota_reports(info.raw)
            case SystemMessage():
                return self._system(message)
            case _:
                return []

    def start_tool(self, call: ToolCall, parent_id: str | None = None) -> list[AgentItem]:
        if call.tool_id in self._seen:
            return []
        self._seen.add(call.tool_id)
        self._running[call.tool_id] = (call.name, self._clock(), parent_id)
        return [
            ev.ToolStarted(
                tool_id=call.tool_id,
                name=call.name,
                input={inert(key): _bounded(value) for key, value in call.input.items()},
                parent_id=parent_id,
            )
        ]

    def interrupt(self) -> None:
        self._interrupted |= set(self._running)

    def abandon(self) -> list[AgentItem]:
        running = list(self._running)
        return [self._finish(tool_id, ToolOutcome.INTERRUPTED, "") for tool_id in running]

    def _stream(self, message: StreamEvent) -> list[AgentItem]:
        event = message.event
        parent = message.parent_tool_use_id
        match event.get("type"):
            case "content_block_delta":
                piece = event.get("delta", {}).get("text", "")
                text = self._redaction.add(parent, piece) if piece else ""
                return [ev.TextDelta(text=text, parent_id=parent)] if text else []
            case "content_block_stop":
                text = self._redaction.rest(parent)
                return [ev.TextDelta(text=text, parent_id=parent)] if text else []
            case "message_start" if parent is None:
                body = event.get("message", {})
                self._usage.start_response(body.get("model", ""), body.get("usage") or {})
                return [RequestStarted()]
            case "message_delta" if parent is None:
                self._usage.finish_response(event.get("usage") or {})
                return [self._usage.report()]
        return []

    def _assistant(self, message: AssistantMessage) -> list[AgentItem]:
        items: list[AgentItem] = []
        parent = message.parent_tool_use_id
        if message.error:
            self._assistant_error = message.error
        if parent is not None and message.message_id and message.usage:
            self._usage.count_sub_agent(message.message_id, message.model, message.usage)
        failed = message.error is not None and parent is None
        for block in message.content:
            if isinstance(block, TextBlock) and failed:
                continue  # the failure of the turn has the same text
            if isinstance(block, TextBlock) and block.text.strip():
                # The whole message arrives before its stream ends, and includes the held-back text.
                self._redaction.rest(parent)
                items.append(ev.AssistantText(text=head(block.text, TEXT_LIMIT), parent_id=parent))
            elif isinstance(block, ToolUseBlock):
                call = ToolCall(tool_id=block.id, name=block.name, input=block.input)
                items += self.start_tool(call, parent)
        return items

    def _outcome(self, block: ToolResultBlock) -> ToolOutcome:
        if block.tool_use_id in self.denied:
            return ToolOutcome.DENIED
        ended = block.tool_use_id in self._interrupted
        failed = ToolOutcome.INTERRUPTED if ended else ToolOutcome.ERROR
        return failed if block.is_error else ToolOutcome.OK

    def _finish(
        self, tool_id: str, outcome: ToolOutcome, output: str, patch: str = ""
    ) -> ev.ToolFinished:
        name, started, parent = self._running.pop(tool_id, ("", self._clock(), None))
        return ev.ToolFinished(
            tool_id=tool_id,
            name=name,
            outcome=outcome,
            seconds=max(0.0, self._clock() - started),
            output=head(output, TEXT_LIMIT),
            patch=patch,
            parent_id=parent,
        )

    def _system(self, message: SystemMessage) -> list[AgentItem]:
        data = message.data
        if message.subtype == "api_retry":
            self._usage.requests += 1
            status = data.get("error_status")
            return [
                ev.ApiRetry(
                    attempt=int(data.get("attempt") or 0),
                    max_attempts=int(data.get("max_retries") or 0),
                    delay_seconds=float(data.get("retry_delay_ms") or 0) / 1000,
                    status=int(status) if status else None,
                    error=inert(str(data.get("error") or "")),
                )
            ]
        if message.subtype != "init" or self._started_session:
            return []
        self._started_session = True
        self.tools = tuple(str(name) for name in data.get("tools", ()))
        self._servers = {
            str(server.get("name")): str(server.get("status"))
            for server in data.get("mcp_servers", ())
        }
        return [
            ev.SessionStarted(
                session_id=str(data.get("session_id", "")),
                model=str(data.get("model", "")),
                tools=self.tools,
                cli_version=str(data.get("claude_code_version", "")),
            )
        ]

    def _quota_reports(self, raw: Mapping[str, Any]) -> list[AgentItem]:
        windows = raw.get("unifiedWindows")
        reports: list[AgentItem] = []
        for name, window in windows.items() if isinstance(windows, dict) else ():
            used = window.get("utilization") if isinstance(window, dict) else None
            if not isinstance(used, int | float) or not 0 <= used <= 100:
                continue
            resets = window.get("resetsAt")
            when = datetime.fromtimestamp(resets, UTC) if isinstance(resets, int) else None
            found = Allowance(window=inert(str(name)), percent=100 * used, resets_at=when)
            if self._reported_allowances.get(found.window) != int(found.percent):
                self._reported_allowances[found.window] = int(found.percent)
                reports.append(ev.AllowanceReported(allowance=found))
        return reports

    def _result(self, message: ResultMessage) -> list[AgentItem]:
        self._usage.settle(message.total_cost_usd, message.model_usage or {})
        facts = ResultFacts(
            subtype=message.subtype,
            is_error=message.is_error,
            text=message.result or "; ".join(message.errors or ()),
            api_status=message.api_error_status,
            terminal_reason=message.terminal_reason or "",
            stop_reason=message.stop_reason or "",
            assistant_error=self._assistant_error if message.is_error else "",
            rejected_until=self._rejected_until if message.is_error else None,
        )
        ended = TurnEnded(
            text=head(message.result or "", TEXT_LIMIT),
            failure=classify(facts),
            interrupted=facts.terminal_reason.startswith("aborted"),
            num_turns=message.num_turns,
            session_id=message.session_id,
        )
        self._assistant_error = ""
        return [*self.abandon(), self._usage.report(), ended]


def _bounded(value: JsonValue) -> JsonValue:
    if isinstance(value, str):
        return head(value, TEXT_LIMIT)
    if isinstance(value, list | dict):
        text = json.dumps(value, ensure_ascii=False)
        return json.loads(inert(text)) if len(text) <= TEXT_LIMIT else head(text, TEXT_LIMIT)
    return value


def patch_text(result: Mapping[str, Any] | None) -> str:
    """Return a call's change to a file as a unified diff, or an empty string if the CLI reports none.

    The result for the model has no line numbers, so this uses the hunks of the structured result.

    Args:
        result: The `tool_use_result` of the message: `{"type"?, "structuredPatch": [{"oldStart", "lines", …}], …}`.
    """
    hunks = result.get("structuredPatch") if isinstance(result, Mapping) else None
    if not isinstance(hunks, list):
        return ""
    if not hunks:
        return "@@ nothing changed @@" if result and result.get("type") == "update" else ""
    lines: list[str] = []
    for hunk in hunks:
        if isinstance(hunk, Mapping) and isinstance(hunk.get("lines"), list):
            numbers = [hunk.get(name) for name in _HUNK_FIELDS]
            known = all(isinstance(number, int) for number in numbers)
            lines.append("@@ -{},{} +{},{} @@".format(*numbers) if known else "@@")
            lines += (inert(str(line).rstrip("\r")).replace("\n", " ") for line in hunk["lines"])
    ends = list(accumulate(len(line) + 1 for line in lines))
    kept = bisect_right(ends, TEXT_LIMIT)
    rest = [line[:1] for line in lines[kept:]]
    more = [f"@@ +{rest.count('+')} -{rest.count('-')} more @@"] if rest else []
    return "\n".join([*lines[:kept], *more])


_HUNK_FIELDS = ("oldStart", "oldLines", "newStart", "newLines")


def result_text(content: str | Iterable[Mapping[str, Any]] | None) -> str:
    """Return a tool result's text, without the CLI's tag for the model; other blocks appear as `[type]`."""
    if content is None or isinstance(content, str):
        return (content or "").removeprefix("<tool_use_error>").removesuffix("</tool_use_error>")
    return "\n".join(
        str(block.get("text", "")) if block.get("type") == "text" else f"[{block.get('type')}]"
        for block in content
    )
