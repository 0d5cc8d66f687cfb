"""What waits for the person waits on disk; when its file is lost meanwhile, it is asked again."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

import pytest

from ralph_tui.config.settings import Settings
from ralph_tui.domain.documents.questions import Answer, Option, Question
from ralph_tui.domain.project_state import Approval, ApprovalKind, Phase
from ralph_tui.engine.context import RunContext
from ralph_tui.engine.control.controls import Controls
from ralph_tui.engine.control.request import RunRequest
from ralph_tui.engine.core.project_state import ProjectState
from ralph_tui.engine.decisions.ask_person import QuestionChannel, decide
from ralph_tui.store.project import Documents, Project
from tests.harness.run_parts import partial_run
from tests.harness.waiting import until

T = TypeVar("T")


@asynccontextmanager
async def run_of(root: Path, settings: Settings | None = None) -> AsyncIterator[RunContext]:
    project = Project(root)
    project.create()
    for path in (project.layout.questions, project.layout.state):
        path.write_text("{}")  # what comes and goes between two looks was never there
    project_state = ProjectState(project, lambda _: None)
    await project_state.open()
    following = asyncio.create_task(project_state.follow())
    run = partial_run(
        project_state=project_state,
        request=RunRequest(interactive=True),
        phase=Phase.DISCOVERY,
        settings=settings or Settings(),
    )
    yield run
    following.cancel()
    await asyncio.wait([following])


async def lost_and_answered(
    root: Path,
    name: str,
    stands: Callable[[Documents], bool],
    waits: Awaitable[T],
    answer: Callable[[], object],
) -> T:
    """What `waits` comes to when the document it waits in is lost before somebody answers."""
    waiting = asyncio.ensure_future(waits)
    project = Project(root)
    await until(lambda: stands(project.load()), what="the question")
    (project.layout.dot / name).unlink()
    await until(lambda: stands(project.load()), what="the question again")
    await asyncio.to_thread(answer)
    async with asyncio.timeout(20):
        return await waiting


async def test_a_question_whose_file_is_lost_is_asked_again(tmp_path: Path) -> None:
    options = (Option(label="x"), Option(label="y"))
    question = Question(question="Which?", header="W", options=options)
    async with run_of(tmp_path) as run:
        asking = QuestionChannel(run)

        def answer() -> None:
            def change(docs: Documents) -> Documents:
                (asked,) = docs.questions.open()
                given = Answer(labels=("y",))
                log = docs.questions.answering(asked.id, given, datetime.now(UTC))
                return docs.model_copy(update={"questions": log})

            Project(tmp_path).transact(change)

        reply = await lost_and_answered(
            tmp_path,
            "questions.json",
            lambda docs: bool(docs.questions.open()),
            asking.ask((question,)),
            answer,
        )
    assert reply.answers == {"Which?": "y"}


async def test_of_several_questions_only_what_has_no_answer_yet_is_asked_again(
    tmp_path: Path,
) -> None:
    options = (Option(label="x"), Option(label="y"))
    questions = tuple(Question(question=q, header=q, options=options) for q in ("One?", "Two?"))
    async with run_of(tmp_path) as run:
        asking = QuestionChannel(run)
        waiting = asyncio.ensure_future(asking.ask(questions))

        async def answer(label: str) -> None:
            await until(lambda: bool(run.project_state.docs.questions.open()), what="a question")
            asked = run.project_state.docs.questions.open()[0]
            given = Answer(labels=(label,))
            await asyncio.to_thread(Controls(tmp_path).answer, asked.id, given)

        await answer("x")
        await until(lambda: len(run.project_state.docs.questions.open()) == 1, what="the answer")
        path = run.project_state.project.layout.questions
        path.unlink()
        await until(path.exists, what="the questions again")
        await run.project_state.refresh()
        assert [q.question.question for q in run.project_state.docs.questions.open()] == ["Two?"]
        await answer("y")
        async with asyncio.timeout(20):
            reply = await waiting
    assert reply.answers == {"One?": "x", "Two?": "y"}


async def test_a_decision_whose_file_is_lost_is_asked_for_again(tmp_path: Path) -> None:
    async with run_of(tmp_path) as run:
        decided = await lost_and_answered(
            tmp_path,
            "state.json",
            lambda docs: docs.state.approval is not None,
            decide(run, ApprovalKind.RECOVERY, "Once more?"),
            lambda: Controls(tmp_path).decide(approved=True),
        )
    assert isinstance(decided, Approval)
    assert decided.approved is True


@pytest.mark.parametrize(("ago", "left"), [(600, 3_000), (5_000, 3_600)])
async def test_the_time_for_a_decision_counts_from_the_asking_unless_it_is_over(
    tmp_path: Path, ago: int, left: int
) -> None:
    """A run that was killed and started again does not begin the time anew."""
    settings = Settings.model_validate({"limits": {"ask_timeout_seconds": 3_600}})
    now = datetime.now(UTC)
    async with run_of(tmp_path, settings) as run:
        asked = Approval(kind=ApprovalKind.PLAN, requested_at=now - timedelta(seconds=ago))
        await run.project_state.transact(lambda docs: docs.with_state(approval=asked))
        waits = asyncio.create_task(decide(run, ApprovalKind.PLAN, ""))

        def expires() -> datetime | None:
            there = Project(tmp_path).load().state.approval
            return there.expires_at if there is not None else None

        await until(lambda: expires() is not None, what="the end of the time")
        moment = expires()
        Controls(tmp_path).decide(approved=True)
        await waits
    assert moment is not None
    assert abs((moment - now).total_seconds() - left) < 60
