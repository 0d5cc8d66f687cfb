"""Lines 34-40, 44: every way a model or its service fails ends in the right state with the right words.

Most of them are in tests/scenario/runs/model-faults.txt. A killed CLI is in tests/scenario/test_trouble.py.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest

from ralph_tui.agent import process
from ralph_tui.domain import events as ev
from ralph_tui.domain.outcomes import FailureClass
from tests.harness.model import serving
from tests.harness.projects import make_project, task, task_of
from tests.harness.scenarios import finishes, scenario, works_forever
from tests.scenario.running import Run, play


def suffering(fault: str, times: str = "forever") -> str:
    """A task whose first request suffers a fault and is answered afterwards."""
    fault = f"- fault: {{kind: {fault}, times: {times}}}\n          say:"
    return scenario(finishes("a").replace("- say:", fault, 1))


@pytest.mark.long
async def test_a_message_larger_than_the_sdk_reads_by_default_ends_nothing(tmp_path: Path) -> None:
    project = make_project(tmp_path, [task("a")])
    script = finishes("a").replace(
        "- say:", "- fault: {kind: huge, size: 3000000}\n          say:", 1
    )
    async with serving(scenario(script)) as server:
        run = await play(project, server)
    assert run.end.exit_code == 0, run.end
    assert run.of(ev.AgentFailed) == []
    journal = project / ".ralph" / "events.jsonl"
    assert max(map(len, journal.read_text().splitlines())) < 100_000, "what is kept is bounded"


@contextlib.asynccontextmanager
async def portal() -> AsyncIterator[str]:
    """The page where one signs in to a network, which answers whatever is asked; its address."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        page = b"<html><body>Sign in to the network</body></html>"
        head = b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close\r\n"
        writer.write(head + b"content-length: %d\r\n\r\n" % len(page) + page)
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


@pytest.mark.long
async def test_a_cli_that_obeys_no_signal_is_killed_and_the_loop_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "MAX_STOPS", 0)  # else it is continued, which it obeys
    project = make_project(tmp_path, [task("a")])
    stopped: list[psutil.Process] = []

    async def suspend(run: Run) -> None:
        await run.until_told(ev.ToolFinished)
        for child in psutil.Process().children(recursive=True):
            if "claude" in child.name():
                child.suspend()  # it hears nothing but SIGKILL from now on
                stopped.append(child)

    first = works_forever("a").replace("turns:", "times: 1\n      turns:", 1)
    overrides = {"agent.idle_timeout_seconds": 2}
    async with serving(scenario(first, finishes("a"))) as server:
        run = await play(project, server, overrides=overrides, meanwhile=suspend)
    assert [e.failure for e in run.of(ev.AgentFailed)] == [FailureClass.CLI_SILENT]
    assert run.end.exit_code == 0, run.end
    assert stopped
    assert not [p for p in stopped if p.is_running() and p.status() != psutil.STATUS_ZOMBIE]


NOWHERE: dict[str, dict[str, str]] = {
    "refused": {"ANTHROPIC_BASE_URL": "http://127.0.0.1:9"},  # where nobody listens
    "no such host": {"ANTHROPIC_BASE_URL": "http://api.invalid"},
    "proxy": {
        "ANTHROPIC_BASE_URL": "http://api.invalid",
        "HTTP_PROXY": "http://127.0.0.1:9",
        "NO_PROXY": "",
    },
}

NOT_WAITED_FOR: dict[str, object] = {"agent.max_api_retries": 0, "limits.max_outage_minutes": 0}


@pytest.mark.parametrize("fault", ["reset", *NOWHERE, "portal", "status, status: 502"])
@pytest.mark.long
async def test_a_service_that_stays_away_is_the_network_and_not_the_task(
    tmp_path: Path, fault: str
) -> None:
    project = make_project(tmp_path, [task("a")])
    away = fault == "portal" or fault in NOWHERE
    script = scenario(finishes("a")) if away else suffering(fault)
    async with serving(script) as server, portal() as page:
        at_portal = {"ANTHROPIC_BASE_URL": page} if fault == "portal" else {}
        environ = NOWHERE.get(fault, at_portal)
        run = await play(project, server, overrides=NOT_WAITED_FOR, environ=environ)
    (failure,) = run.of(ev.AgentFailed)
    kind = FailureClass.OVERLOADED if "502" in fault else FailureClass.NETWORK
    assert failure.failure is kind
    assert (run.end.exit_code, bool(run.end.hint)) == (3, True)
    assert task_of(project, "a").status.value == "pending"
    assert task_of(project, "a").retry_count == 0
