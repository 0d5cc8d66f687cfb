"""Permission on disk: asked one after the other, remembered for a session, taken back when nobody waits."""

import asyncio
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ralph_tui.config.settings import DiscoverySettings, PhasesSettings, SafetySettings, Settings
from ralph_tui.domain.documents.questions import (
    Answer,
    AskedQuestion,
    Permission,
    QuestionLog,
    parse_answer,
)
from ralph_tui.domain.events import Event
from ralph_tui.domain.permissions import NETWORK, Ruling, permission_question
from ralph_tui.domain.project_state import Phase
from ralph_tui.domain.tool_calls import ToolCall, Verdict
from ralph_tui.engine.control.request import RunRequest
from ralph_tui.engine.core.project_state import ProjectState
from ralph_tui.engine.decisions.ask_person import withdraw_open_questions
from ralph_tui.engine.decisions.permission_questions import CallPermissions, permission_of
from ralph_tui.store.project import Documents, Project
from tests.harness.run_parts import partial_run

TOUCH = Permission(tool="Bash", argument="touch a", rule="ask-first", patterns=("touch",))


class Setup:
    """A session's permissions, and the person who answers them in the documents."""

    def __init__(self, project_state: ProjectState, settings: Settings, *, there: bool) -> None:
        self.project_state = project_state
        run = partial_run(
            project_state=project_state,
            settings=settings,
            request=RunRequest(interactive=there),
        )
        self.permitting = CallPermissions(run, "a")

    async def asked(self, count: int) -> AskedQuestion:
        while len(self.project_state.docs.questions.questions) < count:
            await self.project_state.wait_changed()
        return self.project_state.docs.questions.questions[count - 1]

    async def answer(self, count: int, text: str) -> None:
        asked = await self.asked(count)
        answer = parse_answer(asked.question, text, by="command")

        def change(docs: Documents) -> Documents:
            log = docs.questions.answering(asked.id, answer, datetime.now(UTC))
            return docs.model_copy(update={"questions": log})

        await self.project_state.transact(change)


@asynccontextmanager
async def supervisor(
    root: Path, settings: Settings | None = None, *, there: bool = True
) -> AsyncIterator[Setup]:
    project = Project(root)
    project.create()
    told: list[Event] = []
    project_state = ProjectState(project, told.append)
    await project_state.open()
    async with asyncio.timeout(20):
        yield Setup(project_state, settings or Settings(), there=there)


async def both(permit: Awaitable[Ruling], person: Awaitable[None]) -> Ruling:
    ruling, _ = await asyncio.gather(permit, person)
    return ruling


async def test_an_allowance_for_the_session_is_for_its_pattern_and_this_session(
    tmp_path: Path,
) -> None:
    other = TOUCH.model_copy(update={"argument": "touch b"})
    two = TOUCH.model_copy(update={"patterns": ("touch", "make")})
    async with supervisor(tmp_path) as d:
        permit = d.permitting.permit
        assert (await both(permit(TOUCH), d.answer(1, "1"))).summary == "allowed once"
        ruling = await both(permit(TOUCH), d.answer(2, "2"))
        assert (ruling.allowed, ruling.scope, ruling.by) == (True, "session", "command")
        assert await permit(other) == Ruling(allowed=True, scope="again")
        ruling = await both(permit(two), d.answer(3, "3: not yet"))
        assert (ruling.allowed, ruling.reason) == (False, "not yet")
        assert not d.permitting.waiting
        fresh = Setup(d.project_state, Settings(), there=True)
        assert not (await both(fresh.permitting.permit(TOUCH), fresh.answer(4, "3"))).allowed


async def test_parallel_calls_are_asked_one_after_the_other(tmp_path: Path) -> None:
    async with supervisor(tmp_path) as d:
        calls = [TOUCH.model_copy(update={"argument": f"touch {n}"}) for n in range(4)]
        waiting = asyncio.gather(*(d.permitting.permit(call) for call in calls))
        await d.asked(1)
        assert d.permitting.waiting
        assert len(d.project_state.docs.questions.open()) == 1
        await d.answer(1, "allow for this session")
        assert [ruling.scope for ruling in await waiting] == ["session", *["again"] * 3]
        assert len(d.project_state.docs.questions.questions) == 1


async def test_a_call_that_is_given_up_takes_its_question_back(tmp_path: Path) -> None:
    async with supervisor(tmp_path) as d:
        waiting = asyncio.create_task(d.permitting.permit(TOUCH))
        await d.asked(1)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        (question,) = d.project_state.docs.questions.questions
        assert (question.withdrawn, question.is_open) == (True, False)
        assert not d.permitting.waiting


async def test_a_question_whose_file_is_lost_is_asked_again(tmp_path: Path) -> None:
    async with supervisor(tmp_path) as d:
        waiting = asyncio.create_task(d.permitting.permit(TOUCH))
        before = await d.asked(1)
        (tmp_path / ".ralph/questions.json").unlink()
        await d.project_state.refresh()
        assert await d.asked(1) == before
        await d.answer(1, "1")
        assert (await waiting).allowed


async def test_what_a_dead_run_asked_is_not_asked_by_the_next(tmp_path: Path) -> None:
    async with supervisor(tmp_path) as d:
        waiting = asyncio.create_task(d.permitting.permit(TOUCH))
        await d.asked(1)
        await withdraw_open_questions(d.project_state, Phase.BUILDING)
        assert not (await waiting).allowed
        assert d.project_state.docs.questions.open() == ()


@pytest.mark.parametrize(
    ("settings", "there", "phase", "tool", "why"),
    [
        (Settings(), False, Phase.BUILDING, "Bash", "nobody is there"),
        (
            Settings(phases=PhasesSettings(discovery=DiscoverySettings(human_in_loop=False))),
            True,
            Phase.DISCOVERY,
            "WebFetch",
            "nobody is there",
        ),
        (Settings(), True, Phase.BUILDING, NETWORK, "safety.sandbox_domains"),
    ],
)
async def test_what_is_denied_without_asking(
    tmp_path: Path, settings: Settings, there: bool, phase: Phase, tool: str, why: str
) -> None:
    async with supervisor(tmp_path, settings, there=there) as d:

        def change(docs: Documents) -> Documents:
            state = docs.state.model_copy(update={"current_phase": phase})
            return docs.model_copy(update={"state": state})

        await d.project_state.transact(change)
        wanted = Permission(tool=tool, argument="x", rule="cli-permission")
        ruling = await d.permitting.permit(wanted)
        assert (ruling.allowed, ruling.by) == (False, "nobody")
        assert why in ruling.reason
        assert d.project_state.docs.questions.questions == ()


async def test_a_host_is_asked_about_where_the_person_wants_that(tmp_path: Path) -> None:
    settings = Settings(safety=SafetySettings(ask_commands=(NETWORK,)))
    async with supervisor(tmp_path, settings) as d:
        wanted = Permission(tool=NETWORK, argument="npmjs.org", rule="cli-permission")
        ruling = await both(d.permitting.permit(wanted), d.answer(1, "2"))
        assert ruling.scope == "session"
        assert (await d.permitting.permit(wanted)).scope == "again"


def test_a_permission_does_not_count_among_the_models_questions() -> None:
    asked = AskedQuestion(
        id="q",
        batch="b",
        phase=Phase.DISCOVERY,
        question=permission_question(TOUCH),
        permission=TOUCH,
        asked_at=datetime.now(UTC),
        answer=Answer(labels=("Deny",)),
    )
    log = QuestionLog().asking([asked])
    assert log.questions == (asked,)
    assert log.asked_in(Phase.DISCOVERY) == ()


def test_what_is_asked_says_all_of_the_call_without_secrets() -> None:
    key = "sk-ant-api03-abcdefghijklmnopqrstuvwx"
    call = ToolCall(
        tool_id="t",
        name="Bash",
        input={"command": f"uv run pytest\nTOKEN={key} touch a\x1b[2J", "description": "d"},
    )
    verdict = Verdict(decision="ask", reason="The person wants it", asks=("touch", "pytest"))
    wanted = permission_of(call, verdict, asked="pytest\ntouch a", said=verdict.message)
    assert wanted.argument == "uv run pytest\nTOKEN=[redacted] touch a"
    assert wanted.asked == "pytest\ntouch a"
    assert (wanted.rule, wanted.patterns) == ("ask-first", ("touch", "pytest"))
    assert wanted.reason == "safety.ask_commands lists `touch` and `pytest`"


def test_where_the_cli_asks_too_an_allowance_is_for_equal_calls_only() -> None:
    call = ToolCall(tool_id="t", name="Write", input={"file_path": ".bashrc", "content": "a\nb"})
    verdict = Verdict(decision="ask", reason="The person wants it", asks=("Write",))
    wanted = permission_of(call, verdict, asked="", said="a sensitive file")
    assert wanted.patterns == ()
    assert wanted.reason == "safety.ask_commands lists `Write`; a sensitive file"
    assert wanted.argument == "file_path: .bashrc\ncontent:\na\nb"
