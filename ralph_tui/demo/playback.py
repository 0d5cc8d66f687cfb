"""Send one turn over a connection, at its pace and with its fault."""

import json
from http import HTTPStatus

from pydantic import JsonValue

from ralph_tui.demo import messages
from ralph_tui.demo.http import Reply
from ralph_tui.demo.scenario import Fault, Usage

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
