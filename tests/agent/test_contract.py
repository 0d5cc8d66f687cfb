"""What the pinned SDK and its CLI have; an SDK bump that moves anything fails here first."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest
from pydantic import JsonValue

from ralph_tui.agent.agent import ClaudeAgent
from ralph_tui.agent.session import tool_difference
from ralph_tui.domain import events as ev
from ralph_tui.domain.documents.questions import Permission, Question
from ralph_tui.domain.outcomes import ToolOutcome
from ralph_tui.domain.permissions import Ruling
from ralph_tui.domain.project_state import Phase
from ralph_tui.domain.tool_calls import ALLOW, ToolAnswer, ToolCall, Verdict
from ralph_tui.engine.core.ports import (
    AfterTool,
    AgentItem,
    AgentSession,
    QuestionReply,
    SessionSpec,
    TurnEnded,
    TurnUsage,
)
from ralph_tui.engine.prompts.tool_schemas import PHASE_RALPH_TOOLS, tool_specs
from ralph_tui.guard.core.policy import PHASE_TOOLS
from tests.harness.model import cli_environment, serving

CLI_VERSION = "2.1.330"

PLACEHOLDER = "DeferredToolPlaceholder"
"""The CLI puts it on the wire beside the real tools; it does nothing and is not in `init.tools`."""


class Recorder:
    """An overseer that writes down what it is asked."""

    def __init__(self) -> None:
        self.verdict: Verdict | Exception = ALLOW
        self.reviewed: list[ToolCall] = []
        self.after: list[ToolCall] = []
        self.stops: list[str] = []
        self.calls: list[tuple[str, Mapping[str, JsonValue]]] = []
        self.reply = AfterTool()
        self.wanted: list[Permission] = []
        self.ruling = Ruling(allowed=False, reason="Not on a Friday", by="screen")

    async def review_tool(self, call: ToolCall) -> Verdict:
        self.reviewed.append(call)
        if isinstance(self.verdict, Exception):
            raise self.verdict
        return self.verdict

    async def call_tool(self, name: str, arguments: Mapping[str, JsonValue]) -> ToolAnswer:
        self.calls.append((name, arguments))
        return ToolAnswer(text="ACCEPTED: yes")

    async def after_tool(self, call: ToolCall) -> AfterTool:
        self.after.append(call)
        return self.reply

    async def hold(self) -> None:
        return

    async def permit(self, call: ToolCall, wanted: Permission) -> Ruling:
        self.wanted.append(wanted)
        return self.ruling

    waiting_for_person = False

    async def ask(self, questions: tuple[Question, ...]) -> QuestionReply:
        return QuestionReply(answers={q.question: q.options[0].label for q in questions})

    async def on_stop(self, last_message: str) -> str | None:
        self.stops.append(last_message)
        return None


def spec(cwd: Path, phase: Phase = Phase.BUILDING) -> SessionSpec:
    return SessionSpec(
        phase=phase,
        cwd=cwd,
        system_prompt="Be brief.",
        tools=PHASE_TOOLS[phase],
        ralph_tools=tool_specs(*PHASE_RALPH_TOOLS[Phase.BUILDING]),
        model="sonnet",
        max_api_retries=1,
    )


async def turn(session: AgentSession, prompt: str) -> list[AgentItem]:
    return [item async for item in session.run_turn(prompt)]


def script(*turns: str) -> str:
    return "scripts:\n  - when: go\n    turns:\n" + "".join(f"      - {t}\n" for t in turns)


@pytest.mark.parametrize(
    "phase",
    [
        phase if phase is Phase.BUILDING else pytest.param(phase, marks=pytest.mark.long)
        for phase in Phase
    ],
)
async def test_the_cli_offers_exactly_the_tools_of_the_phase_and_tells_its_usage(
    phase: Phase, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    usage = "{say: hi, usage: {input: 7, output: 11, cache_read: 13, cache_creation: 17}}"
    async with serving(script(usage)) as server:
        environment = {**cli_environment(server, tmp_path), "DEBUG": "1"}
        agent = ClaudeAgent(environment, log=tmp_path / "cli.log")
        session = await agent.open(spec(tmp_path, phase), Recorder())
        items = await turn(session, "go")
        await asyncio.gather(session.close(), session.close())
        await agent.close()
        wire = server.requests[-1].body["tools"]
    assert capfd.readouterr() == ("", ""), "stderr goes to the log, not to ours"
    started = next(i for i in items if isinstance(i, ev.SessionStarted))
    assert started.cli_version == CLI_VERSION
    assert tool_difference(PHASE_TOOLS[phase], started.tools) == ""
    ended = items[-1]
    assert isinstance(ended, TurnEnded)
    assert ended.failure is None
    assert isinstance(wire, list)
    names = {t["name"] for t in wire if isinstance(t, dict)}
    expected = {("Agent" if n == "Task" else n) for n in PHASE_TOOLS[phase]}
    ours = {f"mcp__ralph__{t.name}" for t in tool_specs(*PHASE_RALPH_TOOLS[Phase.BUILDING])}
    assert names - {PLACEHOLDER} == expected | ours
    reports = [i for i in items if isinstance(i, TurnUsage)]
    assert reports[0].usage.context == 7 + 11 + 13 + 17
    assert reports[-1].session_cost_usd > 0
    assert reports[-1].session_cost_usd == pytest.approx(reports[0].session_cost_usd, rel=0.02)
    assert reports[-1].context_window >= 200_000


BROKEN = RuntimeError("the guard is on fire")
DENIED = Verdict(decision="deny", reason="No")
REWRITTEN = Verdict(decision="rewrite", rule="r", command="echo after")
ASKED_ABOUT = (".git/config", ".claude/settings.json")
SUPERVISED = """
scripts:
  - {when: break, turns: [{bash: touch ran}, {say: bye}]}
  - {when: deny, turns: [{bash: touch ran}, {say: bye}]}
  - {when: rewrite, turns: [{bash: echo before}, {say: bye}]}
  - when: change files
    turns:
      - read: f.txt
      - edit: {path: f.txt, old: line 30, new: line thirty}
      - write: {path: f.txt, content: "line 1\\n"}
      - write: {path: new.txt, content: "new\\n"}
      - say: bye
  - when: ask
    turns:
      - write: {path: .git/config, content: x}
      - write: {path: .claude/settings.json, content: x}
      - say: bye
  - {when: sleep, turns: [{bash: python3 -c 'import time; time.sleep(100)'}]}
  - {when: write, turns: [{write: [{path: a.txt, content: hello}]}]}
  - {when: resume, turns: [{say: back again}]}
  - name: claims
    when: claim
    turns:
      - ralph: {mark_task_complete: {task_id: a, verification_notes: done}}
      - say: never asked
"""


async def test_a_session_obeys_its_supervisor(tmp_path: Path) -> None:
    """One session, because a CLI takes a second to start."""
    supervisor = Recorder()
    async with serving(SUPERVISED) as server:
        agent = ClaudeAgent(cli_environment(server, tmp_path))
        session = await agent.open(spec(tmp_path), supervisor)
        await run_only_what_is_allowed(session, supervisor, tmp_path)
        await tell_changed_lines(session, tmp_path)
        await run_nothing_the_cli_asks_about(session, supervisor, tmp_path)
        for slow in ("sleep", "write"):
            await interrupt(session, slow)
        supervisor.reply = AfterTool(end_turn=True)
        ended = (await turn(session, "claim"))[-1]
        await session.close()
        await agent.close()
        assert [r.turn for r in server.requests if r.script == "claims"] == [0]
    assert isinstance(ended, TurnEnded)
    assert ended.failure is None
    assert supervisor.calls == [
        ("ralph_mark_task_complete", {"task_id": "a", "verification_notes": "done"})
    ]


async def run_only_what_is_allowed(
    session: AgentSession, supervisor: Recorder, place: Path
) -> None:
    for prompt, verdict in (("break", BROKEN), ("deny", DENIED)):
        supervisor.verdict = verdict
        items = await turn(session, prompt)
        assert not (place / "ran").exists()
        outcomes = [i.outcome for i in items if isinstance(i, ev.ToolFinished)]
        assert outcomes == [ToolOutcome.DENIED]
        assert any(isinstance(i, ev.ToolDenied) for i in items)
    supervisor.verdict = REWRITTEN
    items = await turn(session, "rewrite")
    finished = next(i for i in items if isinstance(i, ev.ToolFinished))
    assert (finished.outcome, finished.output) == (ToolOutcome.OK, "after")
    rewritten = next(i for i in items if isinstance(i, ev.ToolRewritten))
    assert (rewritten.before, rewritten.after) == ("echo before", "echo after")
    assert [c.input["command"] for c in supervisor.reviewed][-1] == "echo before"
    assert supervisor.stops == ["bye"] * 3
    supervisor.verdict = ALLOW


async def tell_changed_lines(session: AgentSession, place: Path) -> None:
    (place / "f.txt").write_text("".join(f"line {n}\n" for n in range(1, 41)))
    ended = [i for i in await turn(session, "change files") if isinstance(i, ev.ToolFinished)]
    assert {i.outcome for i in ended} == {ToolOutcome.OK}
    read, edited, written, new = (item.patch for item in ended)
    assert (read, new) == ("", ""), "neither is a change of a file that was there"
    assert edited.splitlines()[0] == "@@ -27,7 +27,7 @@"
    assert {"-line 30", "+line thirty", " line 29"} <= set(edited.splitlines())
    assert "-line thirty" in written.splitlines()


async def run_nothing_the_cli_asks_about(
    session: AgentSession, supervisor: Recorder, place: Path
) -> None:
    items = await turn(session, "ask")
    assert [path for path in ASKED_ABOUT if (place / path).exists()] == []
    denied = [i.rule for i in items if isinstance(i, ev.ToolDenied)]
    assert denied == ["cli-permission"] * 2
    for path, wanted in zip(ASKED_ABOUT, supervisor.wanted, strict=True):
        assert "Claude requested permissions to" in wanted.reason
        assert path in wanted.argument


async def interrupt(session: AgentSession, slow: str) -> None:
    """Interrupt a tool; the session can go on."""
    heard: list[AgentItem] = []
    async for item in session.run_turn(slow):
        heard.append(item)
        if isinstance(item, ev.ToolStarted):
            await session.interrupt()
    ended = heard[-1]
    assert isinstance(ended, TurnEnded)
    assert ended.interrupted
    assert ended.failure is None
    finished = [i.outcome for i in heard if isinstance(i, ev.ToolFinished)]
    assert finished == [ToolOutcome.INTERRUPTED], "nothing of its own failed"
    assert any(isinstance(i, ev.AssistantText) for i in await turn(session, "resume"))


@pytest.mark.long
async def test_a_standby_session_is_used_when_it_fits(tmp_path: Path) -> None:
    async with serving(script("say: hi")) as server:
        agent = ClaudeAgent(cli_environment(server, tmp_path))
        agent.prepare(spec(tmp_path))
        first = await agent.open(spec(tmp_path), Recorder())
        agent.prepare(spec(tmp_path, Phase.VALIDATION))
        second = await agent.open(spec(tmp_path), Recorder())
        for session in (first, second):
            ended = (await turn(session, "go"))[-1]
            assert isinstance(ended, TurnEnded)
            assert ended.failure is None
            await session.close()
        await agent.close()
