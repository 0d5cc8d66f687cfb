"""Play one turn over one connection, at its pace and with its fault."""

import json
from dataclasses import dataclass
from http import HTTPStatus

from pydantic import JsonValue

from ralph_tui.demo import messages
from ralph_tui.demo.http import Reply
from ralph_tui.demo.scenario import Fault, Turn, Usage

_BREAKS = frozenset({"stall", "cut", "malformed", "error_event"})
PADDING = "x"
_PORTAL = b"<!doctype html><html><body><h1>Sign in to use this network</h1></body></html>"
_BROKEN_EVENT = b'event: content_block_delta\ndata: {"type": "content_block_del\n\n'


@dataclass(frozen=True)
class Performance:
    """Everything needed to answer one request; times are in real seconds."""

    turn: Turn
    fault: Fault | None
    usage: Usage
    key: str
    model: str
    streamed: bool
    wait: float
    pace: float


async def play(performance: Performance, reply: Reply) -> None:
    """Answer a request with a turn, or with its fault."""
    fault = performance.fault
    match fault.kind if fault else None:
        case "status":
            assert fault
            await _refuse(fault, reply)
        case "hang":
            await reply.hang_until_gone()
        case "reset":
            reply.reset()
        case "portal":
            await reply.whole(_PORTAL, "text/html")
        case _:
            await reply.rest(performance.wait)
            await _perform(performance, reply)


async def _refuse(fault: Fault, reply: Reply) -> None:
    status = fault.status or HTTPStatus.INTERNAL_SERVER_ERROR
    headers = dict(fault.headers)
    if fault.retry_after is not None:
        headers["retry-after"] = f"{fault.retry_after:g}"
    text = fault.message or f"The scenario asked for status {status}."
    await reply.json(status, messages.error_json(status, text), headers)


async def _perform(performance: Performance, reply: Reply) -> None:
    turn, fault = performance.turn, performance.fault
    if fault and fault.kind == "huge":
        turn = turn.model_copy(update={"say": turn.say + PADDING * fault.size})
    answer = messages.message(
        turn, key=performance.key, model=performance.model, usage=performance.usage
    )
    if not performance.streamed:
        await _send_whole(answer, fault, reply)
        return
    events = list(messages.stream_events(answer, performance.usage))
    breaks = fault is not None and fault.kind in _BREAKS
    await reply.begin()
    for event in events[: len(events) // 2] if breaks else events:
        await reply.chunk(messages.encode_event(event))
        if event["type"] == "content_block_delta":
            await reply.rest(performance.pace)
        if fault and fault.kind == "slow":
            await reply.rest(fault.seconds)
    if fault and breaks:
        await _break(fault, reply)
    else:
        await reply.end()


async def _send_whole(answer: messages.Json, fault: Fault | None, reply: Reply) -> None:
    """Send the faults of a stream to a client that asked for a whole response."""
    kind = fault.kind if fault else None
    if kind == "stall":
        await reply.hang_until_gone()
    elif kind == "cut":
        reply.reset()
    elif kind == "malformed":
        await reply.whole(json.dumps(answer).encode()[:-20], "application/json")
    elif kind == "error_event":
        await reply.json(529, messages.error_json(529, "Overloaded"))
    else:
        if fault and kind == "slow":
            await reply.rest(fault.seconds)
        await reply.json(HTTPStatus.OK, answer)


async def _break(fault: Fault, reply: Reply) -> None:
    match fault.kind:
        case "stall":
            await reply.hang_until_gone()
        case "malformed":
            await reply.chunk(_BROKEN_EVENT)
            await reply.end()
        case "error_event":
            text = fault.message or "Overloaded"
            await reply.chunk(messages.encode_event(messages.error_json(529, text)))
            await reply.end()
        case _:
            reply.cut()


def side_answer(body: dict[str, JsonValue]) -> str | None:
    """Return a harmless answer to the CLI's own small requests, or None for the agent's turn.

    The agent always brings tools; quota probes and title requests bring none.
    """
    if body.get("max_tokens") == 1:
        return "#"
    if not body.get("tools"):
        return '{"title": "Ralph", "isNewTopic": false}'
    return None
