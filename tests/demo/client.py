"""A plain HTTP client of the Messages API."""

import asyncio
import http.client
import json
from typing import cast

from pydantic import JsonValue

from ralph_tui.demo.server import ModelServer
from tests.harness.waiting import PATIENCE

Json = dict[str, JsonValue]


def exchange_blocking(
    port: int, method: str, path: str, body: bytes | None, headers: dict[str, str]
) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    try:
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        return response.status, dict(response.getheaders()), response.read()
    finally:
        connection.close()


async def exchange(
    server: ModelServer,
    body: JsonValue = None,
    *,
    method: str = "POST",
    path: str = "/v1/messages",
    headers: dict[str, str] | None = None,
    raw: bytes | None = None,
) -> tuple[int, dict[str, str], bytes]:
    data = raw if raw is not None else json.dumps(body).encode() if body is not None else None
    return await asyncio.to_thread(
        exchange_blocking, server.port, method, path, data, headers or {}
    )


def prompt(*texts: str, **more: JsonValue) -> Json:
    """A conversation in which user and model take turns."""
    messages: list[JsonValue] = [
        {"role": "assistant" if i % 2 else "user", "content": text} for i, text in enumerate(texts)
    ]
    tools: list[JsonValue] = [{"name": "Bash"}]
    return {"model": "m", "max_tokens": 100, "tools": tools, "messages": messages, **more}


async def answer(server: ModelServer, body: Json, **headers: str) -> Json:
    status, _, data = await exchange(server, body, headers=headers)
    assert status == 200, data
    return cast("Json", json.loads(data))


async def text(server: ModelServer, body: Json, **headers: str) -> str:
    content = (await answer(server, body, **headers))["content"]
    assert isinstance(content, list)
    block = content[0]
    assert isinstance(block, dict)
    return str(block["text"])


def events(data: bytes) -> list[Json]:
    found = []
    for event in data.decode().strip().split("\n\n"):
        name, payload = event.split("\n")
        parsed = json.loads(payload.removeprefix("data: "))
        assert name == f"event: {parsed['type']}"
        found.append(parsed)
    return found
