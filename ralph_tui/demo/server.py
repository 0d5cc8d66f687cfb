"""Serve a Messages API on loopback that plays a scenario to the real Claude Code CLI."""

import asyncio
import contextlib
import hashlib
import json
import math
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Self

from pydantic import JsonValue

from ralph_tui.demo import messages, playback
from ralph_tui.demo.http import BadRequestError, Reply, Request, read_request
from ralph_tui.demo.scenario import Scenario, Turn, TurnScript
from ralph_tui.demo.turn_selection import choose, read_steps

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
        said = playback.side_answer(body)
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
            turn = turn.model_copy(update={"say": turn.say + playback.PADDING * fault.size})
        await playback.play(
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
