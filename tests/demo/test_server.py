"""The Messages API over a plain HTTP client."""

import asyncio
import json
from pathlib import Path
from typing import cast

import pytest
from pydantic import JsonValue

from ralph_tui.demo.server import ModelServer
from tests.demo.client import Json, answer, events, exchange, exchange_blocking, prompt, text
from tests.harness.model import answered, scenario_of, serving, serving_in_process

HELLO = """
scripts:
  - name: hello
    when: "^hello"
    turns:
      - think: A greeting.
        say: Good day to you.
        write: {path: a.txt, content: "long enough to be sent in more than one piece of JSON"}
        context: 1000
        output: 50
      - say: Bye.
        context: 2000
"""


async def test_a_whole_answer() -> None:
    async with serving(HELLO) as server:
        message = await answer(server, prompt("hello"))
    content = message["content"]
    assert isinstance(content, list)
    assert [block["type"] for block in content if isinstance(block, dict)] == [
        "thinking",
        "text",
        "tool_use",
    ]
    assert (message["stop_reason"], message["model"]) == ("tool_use", "m")
    usage = message["usage"]
    assert isinstance(usage, dict)
    assert usage["output_tokens"] == 50
    assert usage["cache_read_input_tokens"] == 0
    assert usage["cache_creation_input_tokens"] == 996


async def test_a_stream_adds_up_to_the_whole_answer() -> None:
    async with serving(HELLO) as server:
        whole = await answer(server, prompt("hello"), session="other")
        status, headers, data = await exchange(server, prompt("hello", stream=True))
    assert status == 200
    assert headers["content-type"].startswith("text/event-stream")
    stream = events(data)
    assert [event["type"] for event in stream[:2]] == ["message_start", "ping"]
    assert stream[-1]["type"] == "message_stop"
    parts: dict[object, str] = {}
    for event in stream:
        if event["type"] == "content_block_delta":
            delta = cast("dict[str, str]", event["delta"])
            if delta["type"] != "signature_delta":
                [piece] = [value for key, value in delta.items() if key != "type"]
                parts[event["index"]] = parts.get(event["index"], "") + piece
    content = cast("list[dict[str, JsonValue]]", whole["content"])
    assert parts[0] == content[0]["thinking"]
    assert parts[1] == content[1]["text"]
    assert json.loads(parts[2]) == content[2]["input"]
    [ending] = [event for event in stream if event["type"] == "message_delta"]
    assert ending["usage"] == whole["usage"]
    assert cast("Json", ending["delta"])["stop_reason"] == "tool_use"


async def test_later_turns_read_most_of_their_context_from_the_cache() -> None:
    async with serving(HELLO) as server:
        usage = (await answer(server, prompt("hello", "Good day", "result")))["usage"]
    assert isinstance(usage, dict)
    assert (usage["cache_read_input_tokens"], usage["cache_creation_input_tokens"]) == (1800, 196)
    assert usage["input_tokens"] == 4


async def test_requests_are_kept_without_the_key() -> None:
    async with serving(HELLO) as server:
        await answer(server, prompt("hello"), **{"x-api-key": "secret", "x-other": "kept"})
        (request,) = server.requests
    assert (request.script, request.turn, request.attempt) == ("hello", 0, 0)
    assert request.headers["x-other"] == "kept"
    assert "secret" not in str(request)
    assert request.body["model"] == "m"
    assert request.size == len(json.dumps(prompt("hello")))


async def test_the_log_of_requests_is_bounded() -> None:
    async with ModelServer(scenario_of(HELLO), keep=2) as server:
        for _ in range(5):
            await answer(server, prompt("hello"))
        assert [request.attempt for request in server.requests] == [3, 4]


async def test_other_hosts_are_refused() -> None:
    async with serving(HELLO) as server:
        status, _, data = await exchange(server, prompt("hello"), headers={"Host": "evil.example"})
        assert (status, b"loopback only" in data) == (421, True)
        for host in (f"localhost:{server.port}", f"[::1]:{server.port}", "127.0.0.1"):
            status, _, _ = await exchange(server, prompt("hello"), headers={"Host": host})
            assert status == 200
        assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"{", b"not JSON"),
        (b"\xff\xfe", b"not JSON"),
        (b"[]", b"not a JSON object"),
        (b"{}", b"messages: a list"),
        (b'{"messages": []}', b"messages: a list"),
    ],
)
async def test_a_bad_body_is_refused_and_the_server_goes_on(raw: bytes, message: bytes) -> None:
    async with serving(HELLO) as server:
        status, _, data = await exchange(server, raw=raw)
        assert status == 400
        assert message in data
        assert await text(server, prompt("hello", "x", "y")) == "Bye."


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"nonsense\r\n\r\n", b"400"),
        (b"POST / HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n", b"411"),
        (b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: x\r\n\r\n", b"400"),
        (b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 999999999999\r\n\r\n", b"413"),
        (b"GET / HTTP/1.1\r\nx: " + b"y" * 100_000 + b"\r\n\r\n", b"431"),
        (b"POST / HTTP/1.1\r\ncontent-length: 5\r\n\r\nab", b""),
    ],
)
async def test_what_is_not_http_is_refused(sent: bytes, status: bytes) -> None:
    async with serving(HELLO) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(sent)
        writer.write_eof()
        assert (await reader.read())[9:12] == status
        writer.close()


async def test_small_things_are_answered() -> None:
    async with serving(HELLO) as server:
        status, _, data = await exchange(server, method="HEAD", path="/")
        assert (status, data) == (200, b"")
        status, _, data = await exchange(
            server, prompt("x" * 400), path="/v1/messages/count_tokens"
        )
        assert status == 200
        assert json.loads(data)["input_tokens"] > 100
        status, _, data = await exchange(server, method="GET", path="/v1/models?limit=1")
        assert (status, json.loads(data)["error"]["type"]) == (404, "not_found_error")


async def test_side_requests_are_harmless_and_unmatched_ones_are_listed() -> None:
    async with serving(HELLO) as server:
        assert await text(server, prompt("quota", max_tokens=1)) == "#"
        title = await text(server, prompt("Write a title", tools=[]))
        assert json.loads(title)["title"]
        assert server.unmatched == []
        assert await text(server, prompt("what?")) == "No script covers: what?"
        assert server.unmatched == ["No script covers: what?"]
        assert answered(server) == ()


async def test_a_script_with_times_gives_way_to_the_next() -> None:
    scenario = (
        "scripts: [{name: a, when: go, times: 1, turns: [{say: first}, {say: more}]},"
        " {name: b, when: go, turns: [{say: later}]}]"
    )
    async with serving(scenario) as server:
        one = {"x-claude-code-session-id": "1"}
        two = {"x-claude-code-session-id": "2"}
        assert await text(server, prompt("go"), **one) == "first"
        assert await text(server, prompt("go"), **two) == "later"
        assert await text(server, prompt("go"), **one) == "first"
        assert await text(server, prompt("go", "first", "go on"), **one) == "more"
        assert server.requests[-1].session == "1"


PACED = """
wait: 1
pace: 1
scripts: [{when: go, turns: [{say: a long answer to the point}]}]
"""


async def test_pace_is_divided_by_the_speed() -> None:
    loop = asyncio.get_running_loop()
    scenario = scenario_of(PACED)
    async with ModelServer(scenario, speed=100) as server:
        began = loop.time()
        await exchange(server, prompt("go", stream=True))
        assert 0.07 <= loop.time() - began < 1  # one wait and six words


def test_in_a_process_of_its_own(tmp_path: Path) -> None:
    with serving_in_process(HELLO, tmp_path) as server:
        port = int(server.url.rpartition(":")[2])
        body = json.dumps(prompt("hello")).encode()
        assert exchange_blocking(port, "POST", "/v1/messages", body, {"x-api-key": "k"})[0] == 200
        [request] = server.requests()
        assert (request["script"], request["size"]) == ("hello", len(body))
        assert server.environment(tmp_path)["ANTHROPIC_BASE_URL"] == server.url
