"""The person of the demo: answers like anybody else, and stands back for whoever else is at it."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from ralph_tui.cli.composition import launch_demo
from ralph_tui.demo.auto_person import AutoPerson, awaited_answer
from ralph_tui.demo.scenario import Guidance, Persona
from ralph_tui.domain.documents.questions import Answer, AskedQuestion, Option, Permission, Question
from ralph_tui.domain.errors import StoreError
from ralph_tui.domain.events import Event, Notice
from ralph_tui.domain.permissions import DENY, ONCE, permission_question
from ralph_tui.domain.plan.plan import TaskStatus
from ralph_tui.domain.project_state import Approval, ApprovalKind, Phase, StopMode
from ralph_tui.engine.control.controls import Controls
from ralph_tui.engine.control.plan_edits import TaskFields
from ralph_tui.store.io.files import utc_now
from ralph_tui.store.project import Documents, Project
from tests.harness.projects import make_project, task
from tests.harness.waiting import until

LANGUAGE = Question(
    question="Which language?",
    header="Language",
    options=(Option(label="English"), Option(label="French")),
)
NAME = Question(question="Which name?", header="Name")
AT_ONCE, NEVER = 0.0, 10_000.0
WORKED = TaskStatus.IN_PROGRESS


@dataclass
class Stage:
    """A project in which something waits, and a person beside it."""

    project: Project
    person: AutoPerson
    told: list[Event] = field(default_factory=list)

    def ask(self, *questions: Question) -> None:
        now = utc_now()
        asked = tuple(
            AskedQuestion(
                id=f"q-{i}", batch="b", phase=Phase.DISCOVERY, question=question, asked_at=now
            )
            for i, question in enumerate(questions)
        )
        self.project.transact(
            lambda d: d.model_copy(update={"questions": d.questions.asking(asked)})
        )

    def request(self, kind: ApprovalKind) -> None:
        self.state(approval=Approval(kind=kind, requested_at=utc_now()))

    def state(self, **changes: object) -> None:
        self.project.transact(
            lambda d: d.model_copy(update={"state": d.state.model_copy(update=changes)})
        )

    @property
    def docs(self) -> Documents:
        return self.project.load()

    @property
    def notices(self) -> list[str]:
        return [event.text for event in self.told if isinstance(event, Notice)]


@contextlib.asynccontextmanager
async def beside(
    root: Path,
    after: float,
    role: Persona | None = None,
    *,
    clock: Callable[[], float] = time.monotonic,
) -> AsyncIterator[Stage]:
    """A person who waits so many seconds, beside a project with two tasks."""
    project = Project(make_project(root, [task("a"), task("b")]))
    given = (role or Persona()).model_copy(update={"after": after})
    stage = Stage(project, AutoPerson(given, project, speed=1, clock=clock))
    living = asyncio.create_task(stage.person.live(stage.told.append))
    try:
        yield stage
    finally:
        living.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await living


async def test_questions_are_answered_as_the_scenario_says_else_with_the_first_option(
    tmp_path: Path,
) -> None:
    role = Persona(answers={"Name": "Ada"})
    async with beside(tmp_path, AT_ONCE, role) as stage:
        stage.ask(LANGUAGE, NAME, NAME.model_copy(update={"header": "Nobody knows"}))
        await until(lambda: not stage.docs.questions.open(), what="the answers")
    answers = [asked.answer for asked in stage.docs.questions.questions]
    assert answers == [
        Answer(labels=("English",), by="demo"),
        Answer(other="Ada", by="demo"),
        Answer(declined=True, by="demo"),
    ]
    assert stage.notices == ["The demo answers automatically in 0s unless you answer first."]


@pytest.mark.parametrize(("on_screen", "said"), [(True, "5s"), (False, "2s")])
async def test_who_sits_at_the_screen_is_given_the_time_to_read(
    tmp_path: Path, on_screen: bool, said: str
) -> None:
    launch = launch_demo(speed=1, keep_at=tmp_path / "demo", on_screen=on_screen)
    person = launch.auto_responder
    assert isinstance(person, AutoPerson)
    stage = Stage(Project(launch.root), person)
    living = asyncio.create_task(person.live(stage.told.append))
    stage.ask(LANGUAGE)
    await until(lambda: stage.notices, what="what happens when nobody answers")
    living.cancel()
    assert stage.notices == [f"The demo answers automatically in {said} unless you answer first."]


@pytest.mark.parametrize("kind", [ApprovalKind.SPECS, ApprovalKind.PLAN, ApprovalKind.VALIDATION])
async def test_it_approves(tmp_path: Path, kind: ApprovalKind) -> None:
    async with beside(tmp_path, AT_ONCE) as stage:
        stage.request(kind)
        await until(lambda: stage.docs.state.approval.approved, what="the approval")  # type: ignore[union-attr]  # it was requested
    approval = stage.docs.state.approval
    assert approval is not None
    assert approval.decided_by == "demo"


async def test_whoever_touches_it_keeps_it_and_the_next_matter_is_a_new_one(tmp_path: Path) -> None:
    moment = [0.0]
    async with beside(tmp_path, 3, clock=lambda: moment[0]) as stage:
        stage.ask(LANGUAGE, NAME)
        await until(lambda: stage.person.seconds_left == 3, what="the countdown")
        stage.person.yield_to_person()
        assert stage.person.seconds_left is None
        moment[0] = NEVER
        Controls(stage.project.root).answer("q-0", Answer(labels=("French",), by="screen"))
        stage.request(ApprovalKind.PLAN)
        await until(lambda: awaited_answer(stage.docs) and len(stage.docs.questions.open()) == 1)
        Controls(stage.project.root).answer("q-1", Answer(other="Ada", by="screen"))
        await until(lambda: stage.person.seconds_left == 3, what="the next countdown")
        assert [asked.answer.by for asked in stage.docs.questions.questions if asked.answer] == [
            "screen",
            "screen",
        ]


async def test_a_plan_that_somebody_changes_is_theirs_to_approve(tmp_path: Path) -> None:
    async with beside(tmp_path, NEVER) as stage:
        stage.request(ApprovalKind.PLAN)
        await until(lambda: stage.person.seconds_left, what="the countdown")
        Controls(stage.project.root).edit_task("a", TaskFields(description="Do it better"))
        await until(lambda: stage.person.seconds_left is None, what="the person stands back")
        assert stage.docs.state.approval is not None
        assert stage.docs.state.approval.approved is None


async def test_nothing_is_answered_while_the_loop_is_paused(tmp_path: Path) -> None:
    async with beside(tmp_path, NEVER) as stage:
        stage.ask(LANGUAGE)
        await until(lambda: stage.person.seconds_left, what="the countdown")
        stage.state(pause=StopMode.AFTER_ITERATION)
        await until(lambda: stage.person.seconds_left is None, what="the pause")
        stage.state(pause=StopMode.NONE)
        await until(lambda: stage.person.seconds_left, what="a countdown from the start")
    assert len(stage.notices) == 2


async def test_after_trouble_only_a_real_person_decides(tmp_path: Path) -> None:
    async with beside(tmp_path, AT_ONCE) as stage:
        stage.request(ApprovalKind.RECOVERY)
        assert awaited_answer(stage.docs) is None


async def test_guidance_is_said_once_when_its_task_is_worked(tmp_path: Path) -> None:
    role = Persona(guidance=(Guidance(during="b", say="Use dots."),))
    async with beside(tmp_path, NEVER, role) as stage:
        plan = stage.docs.plan
        stage.project.transact(
            lambda d: d.model_copy(update={"plan": plan.with_task("a", status=WORKED)})
        )
        stage.project.transact(
            lambda d: d.model_copy(update={"plan": plan.with_task("b", status=WORKED)})
        )
        await until(lambda: stage.docs.pending, what="the guidance")
        stage.state(request="something else changes")
        stage.request(ApprovalKind.SPECS)
        await until(lambda: stage.person.seconds_left, what="it has looked again")
        assert [injection.guidance for injection in stage.docs.pending] == ["Use dots."]


async def test_a_plan_that_cannot_be_read_for_a_moment_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with beside(tmp_path, AT_ONCE) as stage:
        stage.ask(LANGUAGE)
        await until(lambda: not stage.docs.questions.open(), what="the answer")
        failed: list[StoreError] = []
        load = stage.project.load

        def unreadable_once() -> Documents:
            if not failed:
                failed.append(StoreError("The plan cannot be read.", "Try again."))
                raise failed[0]
            return load()

        monkeypatch.setattr(stage.project, "load", unreadable_once)
        stage.state(request="something changes")
        await until(lambda: failed, what="a look at the plan that cannot be read")
        stage.request(ApprovalKind.PLAN)
        await until(lambda: awaited_answer(stage.docs) is None, what="the approval")


def test_permission_is_given_once_unless_the_scenario_says_no_and_why() -> None:
    may = permission_question(Permission(tool="Bash", argument="npm publish", rule="ask-first"))
    assert Persona().answer(may).labels == (ONCE,)
    denied = Persona(answers={"Permission": "3 not from here"}).answer(may)
    assert (denied.labels, denied.other) == ((DENY,), "not from here")
