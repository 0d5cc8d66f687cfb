"""A person's own MCP client steers a loop that runs, over the standard streams of `ralph mcp`."""

import contextlib
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.types import TextContent

from ralph_tui.demo.demo_project import demo_environment
from ralph_tui.domain import events as ev
from ralph_tui.domain.outcomes import LoopStatus
from ralph_tui.domain.plan.plan import TaskStatus
from tests.cli.processes import beside
from tests.harness.model import serving
from tests.harness.projects import make_project, task, task_of
from tests.harness.scenarios import finishes, scenario, works_forever
from tests.harness.waiting import until
from tests.scenario.running import WAITS_FOR_GO, Run, let_go, play
from tests.scenario.test_trouble import once


@contextlib.asynccontextmanager
async def client(project: Path) -> AsyncIterator[ClientSession]:
    started = StdioServerParameters(
        command=sys.executable,
        args=["-m", "ralph_tui", "mcp"],
        cwd=project,
        env=dict(demo_environment()),
    )
    async with stdio_client(started) as streams, ClientSession(*streams) as session:
        await session.initialize()
        yield session


async def ask(session: ClientSession, name: str, *, fails: bool = False, **given: Any) -> str:
    answer = await session.call_tool(name, given)
    (content,) = answer.content
    assert isinstance(content, TextContent)
    assert answer.isError is fails, content.text
    return content.text


@pytest.mark.usefixtures("played_cli")
async def test_a_client_sees_pauses_resumes_adds_injects_and_stops(tmp_path: Path) -> None:
    project = make_project(tmp_path, [task("a"), task("b")], [WAITS_FOR_GO])
    words = "Prefer the standard library."

    async def person(run: Run) -> None:
        await run.until_told(ev.ToolFinished)
        async with client(project) as mcp:
            offered = (await mcp.list_tools()).tools
            reads = {
                tool.name for tool in offered if tool.annotations and tool.annotations.readOnlyHint
            }
            assert reads == {"status", "tasks"}
            shown = json.loads(await ask(mcp, "status"))
            assert shown["current_task"] == "a"
            assert shown["running"]["run_id"]
            assert "after this iteration" in await ask(mcp, "pause")
            await run.until_told(ev.PauseRequested)
            paused = await beside("pause", cwd=project)
            assert (paused.returncode, "now" in paused.stdout) == (0, True), paused
            await run.until_told(ev.LoopPaused)
            assert task_of(project, "a").status is TaskStatus.PENDING
            assert "Added task-" in await ask(
                mcp, "add", text="Write the guide", criterion=["$ true"], after=["b"]
            )
            assert "Queued for the next iteration" in await ask(mcp, "inject", text=words)
            await ask(mcp, "resume")
            await run.until_told(ev.InjectionConsumed)
            let_go(project)
            await run.until_told(
                ev.TaskChanged, lambda e: (e.task.id, e.task.status) == ("a", TaskStatus.COMPLETE)
            )
            _, *listed = (await ask(mcp, "tasks", pending=True)).splitlines()
            assert "a" not in [line.split()[1] for line in listed]
            assert "waits for b" in listed[-1]
            await run.until_told(ev.IterationStarted, lambda e: e.task_id == "b")
            seen = len(run.of(ev.ToolFinished))
            await until(lambda: len(run.of(ev.ToolFinished)) > seen, what="work on b")
            assert "stops now" in await ask(mcp, "stop", now=True)

    async with serving(
        scenario(once(works_forever("a")), finishes("a"), works_forever("b"))
    ) as server:
        run = await play(project, server, meanwhile=person)
        prompts = {r.script: json.dumps(r.body["messages"]) for r in server.requests if r.turn == 0}
    assert words in prompts["finishes a"]
    assert [e.now for e in run.of(ev.PauseRequested)] == [False, True]
    assert [e.outcome.value for e in run.of(ev.IterationFinished)] == [
        "interrupted", "complete", "interrupted",
    ]  # fmt: skip
    ended = (run.end.status, run.end.exit_code, run.end.reason)
    assert ended == (LoopStatus.INTERRUPTED, 130, "stopped on request")
    done, left = task_of(project, "a"), task_of(project, "b")
    assert (done.status, done.retry_count) == (TaskStatus.COMPLETE, 0)
    assert left.status is TaskStatus.PENDING


@pytest.mark.long
async def test_a_phase_cannot_be_given_the_server(tmp_path: Path) -> None:
    own = {"command": sys.executable, "args": ["-m", "ralph_tui", "mcp"]}
    config = {"phases": {"building": {"mcp_servers": {"own": own}}}}
    project = make_project(tmp_path, [task("a")], config=config)
    async with serving(scenario(works_forever("a"))) as server:
        run = await play(project, server)
    assert (run.end.status, run.end.exit_code) == (LoopStatus.ERROR, 3)
    assert run.end.reason == "An MCP server of this phase did not start: own (failed)."
