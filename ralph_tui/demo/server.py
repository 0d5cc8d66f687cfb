"""Serve a Messages API on loopback that plays a scenario to the real Claude Code CLI."""

import asyncio
import contextlib
import hashlib
import json
import math
import re
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from itertools import groupby, product
from pathlib import Path
from typing import Self

from pydantic import JsonValue

from ralph_tui.demo import messages
from ralph_tui.demo.http import BadRequestError, Reply, Request, read_request
from ralph_tui.demo.scenario import Either, Fault, Scenario, Turn, TurnScript, Usage

_REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>\s*", re.DOTALL)


@dataclass(frozen=True)
class Step:
    """The input that the model received before one of its turns."""

    prompts: tuple[str, ...]
    """The user's texts. There are several when a turn was interrupted or failed."""
    results: str
    """The results of the tool calls."""

    @property
    def user(self) -> str:
        return "\n".join(self.prompts)


@dataclass(frozen=True)
class Choice:
    """A selected turn, its script, and its index in the script."""

    script: TurnScript
    index: int
    turn: Turn


def read_steps(messages: Sequence[JsonValue]) -> tuple[Step, ...]:
    steps: list[Step] = []
    runs = groupby((m for m in messages if isinstance(m, dict)), lambda m: m.get("role"))
    received: list[Mapping[str, JsonValue]] = []
    for role, run in runs:
        if role == "assistant":
            steps.append(_step(received, first=not steps))
            received = []
        else:
            received.extend(run)
    return (*steps, _step(received, first=not steps))


def _step(received: Sequence[Mapping[str, JsonValue]], *, first: bool) -> Step:
    relevant = [m for m in received if not first or m.get("role") == "user"]
    blocks = [block for message in relevant for block in _blocks(message.get("content"))]
    user = [_REMINDER.sub("", text) for kind, text in blocks if kind == "text"]
    return Step(
        prompts=tuple(text for text in user if text.strip()),
        results="\n".join(text for kind, text in blocks if kind == "tool_result"),
    )


def _blocks(content: JsonValue) -> Iterator[tuple[str, str]]:
    if isinstance(content, str):
        yield "text", content
    elif isinstance(content, list):
        for block in content:
            if not isinstance(block, dict):
                continue
            if block.get("type") == "tool_result":
                inner = [text for _, text in _blocks(block.get("content"))]
                yield "tool_result", "\n".join(inner)
            elif isinstance(text := block.get("text"), str):
                yield "text", text


def choose(
    scenario: Scenario,
    steps: Sequence[Step],
    may_begin: Callable[[TurnScript], bool] = lambda _: True,
) -> Choice | None:
    """Return the turn for the last step, or None when no script covers it.

    A prompt that matches a new script starts it on top of the running one. When the new script ends, the one
    below continues.

    Args:
        may_begin: Returns whether a script may start in this conversation.
    """
    stack: list[_Cursor] = []
    begun: list[TurnScript] = []
    choice = None
    for step in steps:
        pairs = product(reversed(step.prompts), scenario.scripts)
        script = next((one for text, one in pairs if one.matches(text) and may_begin(one)), None)
        if script and script not in begun:
            begun.append(script)
            stack.append(_Cursor(script))
        choice = _next(stack, step)
    return choice


@dataclass
class _Cursor:
    """The position in a running script."""

    script: TurnScript
    index: int = 0
    played: int = 0

    def advance(self, step: Step) -> Choice | None:
        """Return the next turn that matches the step, or None at the script's end."""
        while self.index < len(self.script.turns):
            item = self.script.turns[self.index]
            turns = item.either if isinstance(item, Either) else (item,)
            fitting = (t for t in turns if t.fits(user=step.user, results=step.results))
            turn = next(fitting, None)
            if turn and self.played < turn.repeat:
                self.played += 1
                return Choice(script=self.script, index=self.index, turn=turn)
            self.index += 1
            self.played = 0
        return None


def _next(stack: list[_Cursor], step: Step) -> Choice | None:
    while stack:
        if choice := stack[-1].advance(step):
            return choice
        stack.pop()
    return None


_BREAKS = frozenset({"stall", "cut", "malformed", "error_event"})
PADDING = "x"
_PORTAL = b"<!doctype html><html><body><h1>Sign in to use this network</h1></body></html>"
_BROKEN_EVENT = b'event: content_block_delta\ndata: {"type": "content_block_del\n\n'


async def play(
    answer: messages.Json,
    usage: Usage,
    fault: Fault | None,
    reply: Reply,
    *,
    streamed: bool,
    wait: float,
    pace: float,
) -> None:
    """Answer one request; `wait` and `pace` are in real seconds."""
    match fault.kind if fault else None:
        case "status":
            assert fault
            await _refuse(fault, reply)
        case "hang":
            await reply.hang()
        case "reset":
            reply.reset()
        case "portal":
            await reply.send(_PORTAL, "text/html")
        case _:
            await reply.pause(wait)
            if streamed:
                await _stream(answer, usage, fault, reply, pace)
            else:
                await _send_whole(answer, fault, reply)


async def _refuse(fault: Fault, reply: Reply) -> None:
    status = fault.status or HTTPStatus.INTERNAL_SERVER_ERROR
    headers = dict(fault.headers)
    if fault.retry_after is not None:
        headers["retry-after"] = f"{fault.retry_after:g}"
    text = fault.message or f"The scenario asked for status {status}."
    await reply.send_json(status, messages.error_json(status, text), headers)


async def _stream(
    answer: messages.Json, usage: Usage, fault: Fault | None, reply: Reply, pace: float
) -> None:
    events = list(messages.stream_events(answer, usage))
    breaks = fault is not None and fault.kind in _BREAKS
    await reply.begin_stream()
    for event in events[: len(events) // 2] if breaks else events:
        await reply.send_chunk(messages.encode_event(event))
        if event["type"] == "content_block_delta":
            await reply.pause(pace)
        if fault and fault.kind == "slow":
            await reply.pause(fault.seconds)
    if fault and breaks:
        await _break(fault, reply)
    else:
        await reply.end_stream()


async def _send_whole(answer: messages.Json, fault: Fault | None, reply: Reply) -> None:
    kind = fault.kind if fault else None
    if kind == "stall":
        await reply.hang()
    elif kind == "cut":
        reply.reset()
    elif kind == "malformed":
        await reply.send(json.dumps(answer).encode()[:-20], "application/json")
    elif kind == "error_event":
        await reply.send_json(529, messages.error_json(529, "Overloaded"))
    else:
        if fault and kind == "slow":
            await reply.pause(fault.seconds)
        await reply.send_json(HTTPStatus.OK, answer)


async def _break(fault: Fault, reply: Reply) -> None:
    match fault.kind:
        case "stall":
            await reply.hang()
        case "malformed":
            await reply.send_chunk(_BROKEN_EVENT)
            await reply.end_stream()
        case "error_event":
            text = fault.message or "Overloaded"
            await reply.send_chunk(messages.encode_event(messages.error_json(529, text)))
            await reply.end_stream()
        case _:
            reply.cut()


def side_answer(body: dict[str, JsonValue]) -> str | None:
    """Return a simple answer to the CLI's own small requests, or None for a turn of the agent.

    Requests of the agent always have tools. Quota probes and title requests have none.
    """
    if body.get("max_tokens") == 1:
        return "#"
    if not body.get("tools"):
        return '{"title": "Ralph", "isNewTopic": false}'
    return None


DUMMY_KEY = "sk-ant-ralph-demo-no-key"

_QUIET = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_BUG_COMMAND": "1",
    "DISABLE_COST_WARNINGS": "1",
    "DISABLE_FEEDBACK_COMMAND": "1",
    "CLAUDE_CODE_ENABLE_TELEMETRY": "0",
    "CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL": "1",
}
"""Variables that disable all traffic of the CLI except model turns."""

_OTHER_WAYS_TO_A_MODEL = (
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_CUSTOM_HEADERS",
    "ANTHROPIC_UNIX_SOCKET",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_FOUNDRY",
    "CLAUDE_CODE_USE_VERTEX",
)
"""Variables of the person's environment that would bypass the loopback server. They are emptied."""


def cli_environment(base_url: str, config_dir: Path) -> dict[str, str]:
    return {
        **dict.fromkeys(_OTHER_WAYS_TO_A_MODEL, ""),
        **_QUIET,
        "ANTHROPIC_BASE_URL": base_url,
        "ANTHROPIC_API_KEY": DUMMY_KEY,
        "CLAUDE_CONFIG_DIR": str(config_dir),
        "NO_PROXY": "127.0.0.1,localhost",
        "no_proxy": "127.0.0.1,localhost",
    }


LOOPBACK = "127.0.0.1"
_LOOPBACK_HOSTS = frozenset({LOOPBACK, "localhost", "[::1]"})
_UNMATCHED_SHOWN = 200


_SECRET_HEADERS = frozenset({"x-api-key", "authorization", "cookie"})


@dataclass(frozen=True)
class RecordedRequest:
    """A request as it arrived, and the turn that answered it."""

    method: str
    path: str
    headers: Mapping[str, str]
    """Headers with lower-case names, without secrets."""
    body: dict[str, JsonValue]
    size: int
    """The size of the raw body in bytes."""
    script: str = ""
    turn: int | None = None
    attempt: int = 0
    """The number of earlier requests for the same turn."""

    @property
    def session(self) -> str:
        return self.headers.get("x-claude-code-session-id", "")


class ModelServer:
    """Plays one scenario. Use it as an async context manager.

    Args:
        speed: The divisor of every wait and pace. Infinity plays without waiting.
        keep: The number of requests to keep.
        on_request: Called with every request as it arrives.
    """

    def __init__(
        self,
        scenario: Scenario,
        *,
        speed: float = math.inf,
        keep: int = 500,
        on_request: Callable[[RecordedRequest], None] | None = None,
    ) -> None:
        """Prepare the server. Entering the context binds the port."""
        self.scenario = scenario
        self.speed = speed
        self.port = 0
        self._requests: deque[RecordedRequest] = deque(maxlen=keep)
        self._on_request = on_request
        self.unmatched: list[str] = []
        """Sentences about requests that no script covered. Tests assert that there are none."""
        self._attempts: Counter[str] = Counter()
        self._conversations: dict[str, set[str]] = {}
        self._connections: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, LOOPBACK, 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop listening, and close every connection, including hanging ones."""
        if self._server:
            self._server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    @property
    def url(self) -> str:
        return f"http://{LOOPBACK}:{self.port}"

    @property
    def requests(self) -> tuple[RecordedRequest, ...]:
        return tuple(self._requests)

    def environment(self, config_dir: Path) -> dict[str, str]:
        return cli_environment(self.url, config_dir)

    def _record(
        self,
        request: Request,
        body: dict[str, JsonValue],
        *,
        script: str = "",
        turn: int | None = None,
        attempt: int = 0,
    ) -> None:
        recorded = RecordedRequest(
            method=request.method,
            path=request.path,
            headers={k: v for k, v in request.headers.items() if k not in _SECRET_HEADERS},
            body=body,
            size=len(request.body),
            script=script,
            turn=turn,
            attempt=attempt,
        )
        if self._on_request:
            self._on_request(recorded)
        self._requests.append(recorded)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self._connections.add(task)
        reply = Reply(reader, writer)
        try:
            with contextlib.suppress(ConnectionError, asyncio.CancelledError):
                while request := await read_request(reader):
                    await self._answer(request, reply)
                    closes = request.headers.get("connection", "").lower() == "close"
                    if closes or reply.is_over:
                        break
        except BadRequestError as error:
            await reply.send_json(error.status, messages.error_json(error.status, str(error)))
        finally:
            self._connections.discard(task)
            writer.close()

    async def _answer(self, request: Request, reply: Reply) -> None:
        if request.host not in _LOOPBACK_HOSTS:
            text = f"This server answers loopback only, not {request.host!r}."
            await reply.send_json(
                HTTPStatus.MISDIRECTED_REQUEST, messages.error_json(HTTPStatus.BAD_REQUEST, text)
            )
            return
        match request.method, request.path:
            case "POST", "/v1/messages":
                await self._messages(request, reply)
            case "POST", "/v1/messages/count_tokens":
                self._record(request, _parsed(request))
                count = len(request.body) // messages.BYTES_PER_TOKEN
                await reply.send_json(HTTPStatus.OK, {"input_tokens": count})
            case "HEAD" | "GET", "/" | "/api/hello":
                self._record(request, {})
                await reply.send_json(
                    HTTPStatus.OK, {"ok": True}, with_body=request.method != "HEAD"
                )
            case _:
                self._record(request, {})
                text = f"{request.method} {request.path} is not served here."
                await reply.send_json(
                    HTTPStatus.NOT_FOUND,
                    messages.error_json(HTTPStatus.NOT_FOUND, text),
                    with_body=request.method != "HEAD",
                )

    async def _messages(self, request: Request, reply: Reply) -> None:
        body = _parsed(request)
        sent = body.get("messages")
        if not isinstance(sent, list) or not sent:
            self._record(request, body)
            text = "messages: a list with at least one message is required."
            await reply.send_json(
                HTTPStatus.BAD_REQUEST, messages.error_json(HTTPStatus.BAD_REQUEST, text)
            )
            return
        steps = read_steps(sent)
        opening = next(iter(steps[0].prompts), "")
        conversation = _digest(request.headers.get("x-claude-code-session-id", ""), opening)
        choice = choose(self.scenario, steps, lambda script: self._may_begin(script, conversation))
        if choice:
            label = choice.script.label
            key = _digest(f"{conversation}{len(steps)}", label, str(choice.index))
            attempt = self._attempts[key]
            self._attempts[key] += 1
            self._record(request, body, script=label, turn=choice.index, attempt=attempt)
            await self._send(choice.turn, request, body, reply, _digest(key, str(attempt)), attempt)
            return
        self._record(request, body)
        said = side_answer(body)
        if said is None:
            asked = steps[-1].results or steps[-1].user
            said = f"No script covers: {asked[:_UNMATCHED_SHOWN]}"
            self.unmatched.append(said)
        await self._send(
            Turn(say=said), request, body, reply, _digest(conversation, str(len(steps)))
        )

    async def _send(
        self,
        turn: Turn,
        request: Request,
        body: dict[str, JsonValue],
        reply: Reply,
        key: str,
        attempt: int = 0,
    ) -> None:
        sent = body.get("messages")
        usage = messages.turn_usage(
            turn,
            self.scenario,
            body_bytes=len(request.body),
            first=isinstance(sent, list)
            and not any(isinstance(m, dict) and m.get("role") == "assistant" for m in sent),
        )
        fault = turn.fault_for(attempt)
        if fault and fault.kind == "huge":
            turn = turn.model_copy(update={"say": turn.say + PADDING * fault.size})
        await play(
            messages.message(turn, key=key, model=str(body.get("model", "")), usage=usage),
            usage,
            fault,
            reply,
            streamed=body.get("stream") is True,
            wait=(self.scenario.wait if turn.wait is None else turn.wait) / self.speed,
            pace=(self.scenario.pace if turn.pace is None else turn.pace) / self.speed,
        )

    def _may_begin(self, script: TurnScript, conversation: str) -> bool:
        if script.times is None:
            return True
        taken = self._conversations.setdefault(script.label, set())
        if len(taken) < script.times:
            taken.add(conversation)
        return conversation in taken


def _parsed(request: Request) -> dict[str, JsonValue]:
    try:
        body = json.loads(request.body)
    except ValueError as error:
        raise BadRequestError(HTTPStatus.BAD_REQUEST, f"the body is not JSON: {error}") from error
    if not isinstance(body, dict):
        raise BadRequestError(HTTPStatus.BAD_REQUEST, "the body is not a JSON object")
    return body


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
