"""The faults a scenario can ask for, as a plain HTTP client meets them."""

import asyncio
import http.client
import json

import pytest

from tests.demo.client import answer, events, exchange, prompt, text
from tests.harness.model import answered, serving
from tests.harness.waiting import until

FAULTY = "scripts: [{{when: go, turns: [{{say: a long answer to the point, fault: {fault}}}]}}]"


async def test_a_status_with_headers_is_over_after_its_times() -> None:
    fault = (
        "{status: 429, times: 2, retry_after: 1.5, message: Slow down., headers: {x-limit: low}}"
    )
    async with serving(FAULTY.format(fault=fault)) as server:
        for _ in range(2):
            status, headers, data = await exchange(server, prompt("go"))
            assert (status, headers["retry-after"], headers["x-limit"]) == (429, "1.5", "low")
            error = {"type": "rate_limit_error", "message": "Slow down."}
            assert json.loads(data) == {"type": "error", "error": error}
        assert await text(server, prompt("go")) == "a long answer to the point"
        assert [request.attempt for request in server.requests] == [0, 1, 2]


@pytest.mark.parametrize("kind", ["cut", "reset"])
async def test_a_broken_connection(kind: str) -> None:
    async with serving(FAULTY.format(fault=kind)) as server:
        with pytest.raises((http.client.IncompleteRead, ConnectionError)):
            await exchange(server, prompt("go", stream=True))
        assert (await exchange(server, prompt("go", stream=True)))[0] == 200


async def test_a_malformed_stream_and_an_error_event() -> None:
    async with serving(FAULTY.format(fault="[malformed, error_event]")) as server:
        _, _, data = await exchange(server, prompt("go", stream=True))
        with pytest.raises(json.JSONDecodeError):
            events(data)
        _, _, data = await exchange(server, prompt("go", stream=True))
        assert events(data)[-1]["error"] == {"type": "overloaded_error", "message": "Overloaded"}


async def test_a_portal_answers_every_request_with_its_page() -> None:
    async with serving(FAULTY.format(fault="{kind: portal, times: 2}")) as server:
        for stream in (True, False):
            status, headers, data = await exchange(server, prompt("go", stream=stream))
            assert (status, headers["content-type"]) == (200, "text/html")
            assert b"Sign in" in data


async def test_the_server_ends_although_an_answer_hangs() -> None:
    async with asyncio.timeout(60):
        async with serving(FAULTY.format(fault="hang")) as server:
            asking = asyncio.create_task(exchange(server, prompt("go")))
            await until(lambda: answered(server))
        with pytest.raises((http.client.RemoteDisconnected, ConnectionError)):
            await asking


async def test_stall_says_half_and_then_nothing() -> None:
    async with serving(FAULTY.format(fault="stall")) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        body = json.dumps(prompt("go", stream=True)).encode()
        head = f"POST /v1/messages HTTP/1.1\r\nhost: localhost\r\ncontent-length: {len(body)}"
        writer.write(head.encode() + b"\r\n\r\n" + body)
        half = await reader.readuntil(b"answer ")
        assert b"message_stop" not in half
        rest = asyncio.create_task(reader.read())
        ended, _ = await asyncio.wait({rest}, timeout=0.1)
        assert not ended
        rest.cancel()
        writer.close()


async def test_faults_of_a_stream_look_alike_to_a_client_that_wants_none() -> None:
    faults = "[cut, malformed, error_event, {kind: slow, seconds: 0.01}, {kind: huge, size: 10}]"
    async with serving(FAULTY.format(fault=faults)) as server:
        with pytest.raises((http.client.HTTPException, ConnectionError)):
            await exchange(server, prompt("go"))
        with pytest.raises(json.JSONDecodeError):
            await answer(server, prompt("go"))
        assert (await exchange(server, prompt("go")))[0] == 529
        assert (await answer(server, prompt("go")))["stop_reason"] == "end_turn"
        assert (await text(server, prompt("go"))).endswith("x" * 10)
