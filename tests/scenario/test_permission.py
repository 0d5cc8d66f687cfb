"""Calls that run only when a person allows it, on the real CLI: once, for the session, or not and why."""

import asyncio
import json
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ralph_tui.domain import events as ev
from ralph_tui.domain.documents.questions import AskedQuestion, Question, parse_answer
from ralph_tui.domain.outcomes import IterationOutcome, ToolOutcome
from ralph_tui.domain.permissions import NETWORK
from ralph_tui.domain.plan.plan import TaskStatus
from ralph_tui.domain.project_state import Phase
from ralph_tui.domain.verification.verification import ReceiptStatus
from ralph_tui.engine.control.controls import Controls
from ralph_tui.engine.control.request import RunRequest
from ralph_tui.store.project import Project
from tests.harness.model import serving
from tests.harness.projects import make_project, task, task_of
from tests.harness.real_processes import run_ralph
from tests.harness.scenarios import scenario
from tests.harness.waiting import until
from tests.scenario.running import Run, play

ATTENDED = RunRequest(only=Phase.BUILDING, interactive=True)

WRITES = 'write: {path: a.txt, content: "done\\n"}'
CLAIMS = "ralph: {mark_task_complete: {task_id: a, verification_notes: Done.}}"
ACCEPTED = 'when: {last_result: "ACCEPTED:"}'
LIMIT = 12
"""Seconds; on a loaded machine a CLI takes half as long to begin."""


def works(*turns: str) -> str:
    """A session of task a that takes these turns, then does something and claims."""
    said = [*turns, WRITES, CLAIMS, f"{ACCEPTED}\n  say: Done."]
    lines = "\n".join(f"    - {turn}".replace("\n", "\n    ") for turn in said)
    return scenario(f"- name: works\n  task: a\n  turns:\n{lines}")


def given(run: Run, asked: AskedQuestion, text: str) -> None:
    Controls(run.project).answer(asked.id, parse_answer(asked.question, text, by="command"))


async def asked_of(run: Run, count: int) -> AskedQuestion:
    await until(lambda: len(run.of(ev.QuestionAsked)) >= count, what=f"question {count}")
    return run.of(ev.QuestionAsked)[count - 1].question


def unanswered_questions(project: Path) -> None:
    old = AskedQuestion(
        id="q-old-1",
        batch="old",
        phase=Phase.BUILDING,
        question=Question(question="Allow the agent to run `touch 0.made`?"),
        asked_at=datetime(2026, 1, 1, tzinfo=UTC),
    )
    Project(project).transact(
        lambda docs: docs.model_copy(update={"questions": docs.questions.asking([old])})
    )


def files(project: Path) -> list[str]:
    return sorted(path.name for path in project.glob("*.made"))


@pytest.mark.usefixtures("played_cli")
async def test_once_for_the_session_and_no_with_a_reason(tmp_path: Path) -> None:
    project = make_project(
        tmp_path,
        [task("a")],
        config={"safety": {"ask_commands": ["touch", "echo loud", "WebFetch", "pytest --version"]}},
    )
    unanswered_questions(project)
    script = works(
        "bash: touch 1.made",
        "bash: echo quiet && touch 2.made",
        "bash: touch 3.made; touch 4.made",
        "tools: [{name: WebFetch, input: {url: 'https://example.org/x', prompt: look}}]",
        'when: {last_result: "use the docs in the project"}\n  bash: pytest --version && echo loud',
    )

    async def person(run: Run) -> None:
        first = await asked_of(run, 1)
        assert (first.task_id, first.question.question) == (
            "a",
            "Allow the agent to run `touch 1.made`?",
        )
        assert first.permission is not None
        waits = first.permission.tool_id
        await until(
            lambda: waits in [e.tool_id for e in run.of(ev.ToolStarted)],
            what="the call that waits",
        )
        await asyncio.to_thread(given, run, first, "1")
        second = await asked_of(run, 2)
        assert "all further `touch`, until this agent session ends" in str(second.question)
        await asyncio.to_thread(given, run, second, "allow for this session")
        third = await asked_of(run, 3)
        assert third.permission is not None
        assert "https://example.org/x" in third.permission.argument
        await asyncio.to_thread(given, run, third, "3 use the docs in the project")
        fourth = await asked_of(run, 4)
        assert fourth.permission is not None
        assert fourth.permission.argument == "uv run pytest --version && echo loud"
        assert fourth.permission.asked == "pytest --version && echo loud"
        assert set(fourth.permission.patterns) == {"pytest --version", "echo loud"}
        await asyncio.to_thread(given, run, fourth, "3")

    async with serving(script) as server:
        run = await play(project, server, meanwhile=person, request=ATTENDED)
        assert server.unmatched == []
        said = json.dumps(server.requests[-1].body["messages"])
    assert files(project) == ["1.made", "2.made", "3.made", "4.made"]
    assert len(run.of(ev.QuestionAsked)) == 4
    withdrawn = [e.question.id for e in run.of(ev.QuestionAnswered) if e.question.withdrawn]
    assert withdrawn == ["q-old-1"], "nobody waits for that any more"
    allowed = [(e.rule, e.scope, e.by) for e in run.of(ev.ToolAllowed)]
    assert allowed == [
        ("ask-first", "once", "command"),
        ("ask-first", "session", "command"),
        ("ask-first", "again", ""),
    ]
    denied = [(e.name, e.reason, e.by) for e in run.of(ev.ToolDenied)]
    assert denied == [
        ("WebFetch", "use the docs in the project", "command"),
        ("Bash", "No reason was given", "command"),
    ]
    outcomes = {e.outcome for e in run.of(ev.ToolFinished) if e.name == "WebFetch"}
    assert outcomes == {ToolOutcome.DENIED}
    assert "The person denies this call: use the docs in the project" in said
    assert task_of(project, "a").status is TaskStatus.COMPLETE
    assert run.end.exit_code == 0


@pytest.mark.long
async def test_the_clis_own_rules_ask_the_person(tmp_path: Path) -> None:
    rules = {"permissions": {"ask": ["Bash(touch *)"]}}
    project = make_project(
        tmp_path,
        [task("a")],
        config={
            "agent": {"setting_sources": ["project"]},
            "safety": {"ask_commands": ["echo"]},
        },
        files={".claude/settings.json": json.dumps(rules)},
    )
    script = works(
        "bash: echo first",
        *["bash: touch 1.made"] * 2,
        "bash: echo second && touch 2.made",
    )

    async def person(run: Run) -> None:
        await asyncio.to_thread(given, run, await asked_of(run, 1), "2")
        first = await asked_of(run, 2)
        assert first.permission is not None
        assert first.permission.rule == "cli-permission"
        assert "Also exactly this call" in str(first.question)
        await asyncio.to_thread(given, run, first, "2")
        second = await asked_of(run, 3)
        assert second.permission is not None
        assert second.permission.rule == "cli-permission", "the answer about echo is not for this"
        assert second.permission.argument == "echo second && touch 2.made"
        await asyncio.to_thread(given, run, second, "3 one is enough")

    async with serving(script) as server:
        run = await play(project, server, meanwhile=person, request=ATTENDED)
    assert files(project) == ["1.made"]
    allowed = [(e.rule, e.scope) for e in run.of(ev.ToolAllowed)]
    assert allowed == [
        ("ask-first", "session"),
        ("cli-permission", "session"),
        ("cli-permission", "again"),
        ("ask-first", "again"),
    ]
    assert [(e.rule, e.reason) for e in run.of(ev.ToolDenied)] == [
        ("cli-permission", "one is enough")
    ]


@pytest.mark.long
@pytest.mark.needs("sandbox")
@pytest.mark.parametrize("listed", [False, True])
async def test_the_sandbox_does_not_answer_in_the_persons_place(
    tmp_path: Path, listed: bool
) -> None:
    """Commands in the sandbox are allowed as such, and hosts outside its list are not."""
    asks = ["touch", NETWORK] if listed else ["touch"]
    project = make_project(
        tmp_path,
        [task("a")],
        config={"safety": {"sandbox": "required", "ask_commands": asks}},
        files={
            "reach.py": "import urllib.request as u\n"
            "try: u.urlopen('http://example.invalid/', timeout=5)\n"
            "except OSError as error: print('refused', error)\n"
        },
    )
    script = works("bash: touch 1.made", "bash: python3 reach.py")

    async def person(run: Run) -> None:
        await asyncio.to_thread(given, run, await asked_of(run, 1), "3")
        if listed:
            asked = await asked_of(run, 2)
            assert (
                asked.question.question
                == "Allow the agent to reach example.invalid from the sandbox?"
            )
            await asyncio.to_thread(given, run, asked, "3")

    async with serving(script) as server:
        run = await play(project, server, meanwhile=person, request=ATTENDED)
    assert files(project) == []
    assert len(run.of(ev.QuestionAsked)) == (2 if listed else 1)
    network = [e for e in run.of(ev.ToolDenied) if e.name == NETWORK]
    assert [e.by for e in network] == (["command"] if listed else [""])
    assert listed or "safety.sandbox_domains" in network[0].reason


@pytest.mark.serial
@pytest.mark.long
async def test_waiting_costs_no_time_and_a_stop_takes_the_question_back(tmp_path: Path) -> None:
    project = make_project(
        tmp_path,
        [task("a")],
        config={
            "safety": {"ask_commands": ["touch"]},
            "phases": {"building": {"iteration_timeout_seconds": LIMIT}},
            "agent": {"idle_timeout_seconds": LIMIT - 1},
        },
    )

    async def person(run: Run) -> None:
        asked = await asked_of(run, 1)
        begun = time.monotonic()
        await until(lambda: time.monotonic() - begun > LIMIT + 2, seconds=60)
        assert not run.of(ev.IterationFinished)
        await asyncio.to_thread(given, run, asked, "1")
        await asked_of(run, 2)
        await asyncio.to_thread(lambda: Controls(project).stop(now=True))

    async with serving(works("bash: touch 1.made", "bash: touch 2.made")) as server:
        run = await play(project, server, meanwhile=person, request=ATTENDED)
    assert files(project) == ["1.made"]
    assert run.of(ev.IterationFinished)[0].outcome is IterationOutcome.INTERRUPTED
    last = run.of(ev.QuestionAnswered)[-1].question
    assert (last.withdrawn, last.answer) == (True, None)
    assert Controls(project).open_questions() == ()


CHECKED = task("a", verification_criteria=["$ touch gate.made"])


@pytest.mark.long
async def test_a_check_on_the_list_is_asked_about_like_any_call(tmp_path: Path) -> None:
    """Denied with a reason, then allowed from another terminal; the answer for the session holds for both."""
    config = {"safety": {"ask_commands": ["touch"]}}
    project = make_project(tmp_path, [CHECKED], config=config)
    script = works(
        CLAIMS,
        'when: {last_result: "the person denied it: not before the notes"}\n  say: Once more.\n  '
        + CLAIMS,
        'when: {last_result: "ACCEPTED:"}\n  say: Done.',
    )

    async def person(run: Run) -> None:
        first = await asked_of(run, 1)
        assert first.task_id == "a"
        assert first.question.question == "Allow ralph to run `touch gate.made` to check the claim?"
        await asyncio.to_thread(given, run, first, "3 not before the notes")
        second = await asked_of(run, 2)
        told = await run_ralph(["answer", second.id, "2"], project)
        assert told.stdout == "Permission: allowed for this session\n"

    async with serving(script) as server:
        run = await play(project, server, meanwhile=person, request=ATTENDED)
        assert server.unmatched == []
    assert files(project) == ["gate.made"]
    receipts = [e.receipt for e in run.of(ev.GateChecked) if e.receipt.source == "criterion"]
    assert [(r.status, r.reason) for r in receipts] == [
        (ReceiptStatus.DENIED, "the person denied it: not before the notes"),
        (ReceiptStatus.PASSED, ""),
    ]
    assert task_of(project, "a").status is TaskStatus.COMPLETE
