"""Lines 34-40, 44: every way a model or its service fails ends in the right state with the right words.

A killed CLI and a slow iteration are in tests/scenario/test_trouble.py.
"""

import asyncio
import contextlib
import json
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


def also_long(*faults: str) -> list[object]:
    """Faults that only the long run plays in a loop of their own."""
    return [pytest.param(fault, marks=pytest.mark.long) for fault in faults]


@pytest.mark.parametrize(
    "fault", ["cut", *also_long("malformed", "error_event", "reset", "status, status: 500")]
)
async def test_a_fault_that_passes_costs_nothing_but_time(tmp_path: Path, fault: str) -> None:
    project = make_project(tmp_path, [task("a")])
    async with serving(suffering(fault, times="1")) as server:
        run = await play(project, server)
    assert run.end.exit_code == 0, run.end
    assert len(run.of(ev.IterationStarted)) == 1
    assert run.of(ev.AgentFailed) == []
    assert len(run.of(ev.GateFinished)) == 1, "nothing was done twice"


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


SILENT = {"agent.idle_timeout_seconds": 2}


@pytest.mark.parametrize("fault", ["hang", *also_long("stall")])
@pytest.mark.long
async def test_a_silent_cli_is_noticed(tmp_path: Path, fault: str) -> None:
    project = make_project(tmp_path, [task("a")])
    async with serving(suffering(fault)) as server:
        run = await play(project, server, overrides={**SILENT, "phases.building.max_iterations": 1})
    (failure,) = run.of(ev.AgentFailed)
    assert failure.failure is FailureClass.CLI_SILENT
    assert "No output from the Claude Code CLI for 2 seconds" in failure.message
    assert task_of(project, "a").status.value == "pending"
    assert task_of(project, "a").retry_count == 0


@pytest.mark.costly
@pytest.mark.parametrize(
    ("fault", "failure", "exit_code"),
    [
        ("status, status: 400, message: Your credit balance is too low", FailureClass.BILLING, 3),
        pytest.param(
            "status, status: 400, message: nonsense",
            FailureClass.BAD_REQUEST,
            3,
            marks=pytest.mark.long,
        ),
        pytest.param("status, status: 413", FailureClass.BAD_REQUEST, 3, marks=pytest.mark.long),
        pytest.param(
            "status, status: 429, retry_after: 3600",
            FailureClass.USAGE_LIMIT,
            2,
            marks=pytest.mark.long,
        ),
    ],
)
async def test_what_only_a_person_can_put_right_ends_the_loop(
    tmp_path: Path, fault: str, failure: FailureClass, exit_code: int
) -> None:
    project = make_project(tmp_path, [task("a"), task("b")])
    async with serving(suffering(fault)) as server:
        run = await play(project, server, overrides={"agent.max_api_retries": 0})
    # One rejected session may be at fault itself. Two fresh ones are not.
    sessions = 2 if "nonsense" in fault else 1
    assert [e.failure for e in run.of(ev.AgentFailed)] == [failure] * sessions
    assert run.end.exit_code == exit_code
    assert run.end.hint
    assert len(run.of(ev.IterationStarted)) == sessions
    assert run.end.iterations == 1
    assert task_of(project, "a").retry_count == 0


SPOILS = {
    "messages.3.content.0.tool_result.content.0.image.source.base64: image exceeds 5 MB maximum": "Do not read",
    "messages.1.content.5: `thinking` blocks in the latest assistant message cannot be modified": "Read them",
    "messages.4: `tool_use` ids were found without `tool_result` blocks immediately after": "Read them",
}


@pytest.mark.costly
@pytest.mark.parametrize(
    "message", [m if "image" in m else pytest.param(m, marks=pytest.mark.long) for m in SPOILS]
)
async def test_a_session_that_the_api_rejects_after_good_turns_is_thrown_away(
    tmp_path: Path, message: str
) -> None:
    project = make_project(tmp_path, [task("a")])
    spoiled = f"""
    - name: reads something that spoils the session
      task: a
      times: 1
      turns:
        - bash: echo POISON
        - fault: {{kind: status, status: 400, times: forever, message: {json.dumps(message)}}}
          say: never
          repeat: 100
    """
    async with serving(scenario(spoiled, finishes("a"))) as server:
        run = await play(project, server)
        prompts = [json.dumps(request.body, ensure_ascii=False) for request in server.requests]
    assert run.end.exit_code == 0, run.end
    assert [e.failure for e in run.of(ev.AgentFailed)] == [FailureClass.SPOILED_SESSION]
    assert len(run.of(ev.IterationStarted)) == 2
    assert task_of(project, "a").retry_count == 0
    told = [p for p in prompts if "it was thrown away" in p]
    assert told
    assert SPOILS[message] in told[0]


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

ONCE: dict[str, object] = {"agent.max_api_retries": 0, "phases.building.max_iterations": 1}
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


@pytest.mark.long
async def test_a_prompt_that_does_not_fit_blocks_its_task_and_says_so(tmp_path: Path) -> None:
    project = make_project(tmp_path, [task("a"), task("b")])
    told = "'prompt is too long: 250000 tokens > 200000 maximum'"
    fault = f"status, status: 400, message: {told}"
    too_long = finishes("a").replace(
        "- say:", f"- fault: {{kind: {fault}, times: forever}}\n          say:", 1
    )
    async with serving(scenario(too_long, finishes("b"))) as server:
        run = await play(project, server)
    assert [e.failure for e in run.of(ev.AgentFailed)] == [FailureClass.CONTEXT_FULL] * 3
    assert "AGENTS.md" in run.of(ev.AgentFailed)[0].hint
    assert not run.of(ev.HandoffStarted), "there is nothing to hand off"
    assert task_of(project, "b").status.value == "complete"
    assert "a (3 attempts failed; the last: The prompt does not fit into" in run.end.reason


@pytest.mark.parametrize(
    ("turn", "outcome"),
    [
        ("{say: I will not., stop: refusal, repeat: 9}", "failed"),
        ("{say: '', repeat: 9}", "incomplete"),
        ("{say: And so, stop: max_tokens}", "complete"),
    ],
)
@pytest.mark.long
async def test_an_odd_end_of_a_turn_has_an_outcome_of_its_own(
    tmp_path: Path, turn: str, outcome: str
) -> None:
    project = make_project(tmp_path, [task("a")])
    script = finishes("a").replace("turns:\n", f"turns:\n        - {turn}\n", 1)
    async with serving(scenario(script)) as server:
        run = await play(project, server, overrides=ONCE)
    (finished,) = run.of(ev.IterationFinished)
    assert finished.outcome.value == outcome, finished
    failures = [e.failure for e in run.of(ev.AgentFailed)]
    assert failures == ([FailureClass.REFUSAL] if outcome == "failed" else [])
    assert finished.reason
