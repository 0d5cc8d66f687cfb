"""Build Messages API responses from turns, as whole JSON messages or server-sent events."""

import json
import re
from collections.abc import Iterator

from pydantic import JsonValue

from ralph_tui.demo.scenario import Scenario, Turn, Usage

BYTES_PER_TOKEN = 4
CACHED_SHARE = 0.9
"""The share of the context that requests after the first report as read from the prompt cache."""

_PIECE = re.compile(r"\S+\s*|\s+")
_JSON_PIECE = 48
_LARGE_PIECE = 65_536

Json = dict[str, JsonValue]


def message(turn: Turn, *, key: str, model: str, usage: Usage) -> Json:
    return {
        "id": f"msg_{key}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": _content(turn, key),
        "stop_reason": turn.stop or ("tool_use" if turn.calls else "end_turn"),
        "stop_sequence": None,
        "usage": usage_json(usage),
    }


def _content(turn: Turn, key: str) -> list[JsonValue]:
    blocks: list[JsonValue] = []
    if turn.think:
        blocks.append({"type": "thinking", "thinking": turn.think, "signature": f"sig_{key}"})
    if turn.say:
        blocks.append({"type": "text", "text": turn.say})
    blocks.extend(
        {"type": "tool_use", "id": f"toolu_{key}_{i}", "name": call.name, "input": call.input}
        for i, call in enumerate(turn.calls)
    )
    return blocks


def turn_usage(turn: Turn, scenario: Scenario, *, body_bytes: int, first: bool) -> Usage:
    """Return a turn's usage: the turn's own numbers, the scenario's, or an estimate.

    Args:
        first: Whether this is the first request of a conversation, when the cache is empty.
    """
    if turn.usage:
        return turn.usage
    context = next(
        n for n in (turn.context, scenario.context, body_bytes // BYTES_PER_TOKEN) if n is not None
    )
    chars = len(turn.say) + len(turn.think) + sum(len(json.dumps(c.input)) for c in turn.calls)
    output = next(
        n for n in (turn.output, scenario.output, chars // BYTES_PER_TOKEN + 1) if n is not None
    )
    cached = 0 if first else int(context * CACHED_SHARE)
    fresh = min(context, 4)
    created = max(context - cached - fresh, 0)
    return Usage(
        input=context - cached - created, cache_read=cached, cache_creation=created, output=output
    )


def usage_json(usage: Usage) -> Json:
    return {
        "input_tokens": usage.input,
        "cache_creation_input_tokens": usage.cache_creation,
        "cache_read_input_tokens": usage.cache_read,
        "cache_creation": {
            "ephemeral_5m_input_tokens": usage.cache_creation,
            "ephemeral_1h_input_tokens": 0,
        },
        "output_tokens": usage.output,
        "service_tier": "standard",
    }


def stream_events(answer: Json, usage: Usage) -> Iterator[Json]:
    opening = usage_json(usage) | {"output_tokens": 1}
    start: Json = answer | {"content": [], "stop_reason": None, "usage": opening}
    yield {"type": "message_start", "message": start}
    yield {"type": "ping"}
    blocks = answer["content"]
    assert isinstance(blocks, list)
    for index, block in enumerate(blocks):
        assert isinstance(block, dict)
        yield {"type": "content_block_start", "index": index, "content_block": _opened(block)}
        for delta in _deltas(block):
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    ending: Json = {"stop_reason": answer["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": ending, "usage": usage_json(usage)}
    yield {"type": "message_stop"}


def _opened(block: Json) -> Json:
    empty: dict[str, Json] = {
        "text": {"text": ""},
        "thinking": {"thinking": "", "signature": ""},
        "tool_use": {"input": {}},
    }
    return block | empty[str(block["type"])]


def _deltas(block: Json) -> Iterator[Json]:
    if block["type"] == "text":
        for piece in _pieces(str(block["text"])):
            yield {"type": "text_delta", "text": piece}
    elif block["type"] == "thinking":
        for piece in _pieces(str(block["thinking"])):
            yield {"type": "thinking_delta", "thinking": piece}
        yield {"type": "signature_delta", "signature": block["signature"]}
    else:
        text = json.dumps(block["input"])
        size = _JSON_PIECE if len(text) < _LARGE_PIECE else _LARGE_PIECE
        for start in range(0, len(text), size):
            yield {"type": "input_json_delta", "partial_json": text[start : start + size]}


def _pieces(text: str) -> Iterator[str]:
    if len(text) < _LARGE_PIECE:
        yield from _PIECE.findall(text)
    else:
        for start in range(0, len(text), _LARGE_PIECE):
            yield text[start : start + _LARGE_PIECE]


def encode_event(event: Json) -> bytes:
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()


_ERROR_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}


def error_json(status: int, text: str) -> Json:
    kind = _ERROR_TYPES.get(status, "api_error" if status >= 500 else "invalid_request_error")
    return {"type": "error", "error": {"type": kind, "message": text}}
