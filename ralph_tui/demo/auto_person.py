"""The demo's automatic person: answers the loop's questions when nobody else does.

It reads `.ralph/` and answers through the controls, as `ralph answer` in another terminal would, so the
loop cannot tell the difference. It leaves alone what somebody else began to answer or change.
"""

import asyncio
import time
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import dataclass

from ralph_tui.demo.scenario import Guidance, Persona
from ralph_tui.domain.documents.questions import AskedQuestion
from ralph_tui.domain.errors import RalphError, StoreError
from ralph_tui.domain.events import EventSink, Notice
from ralph_tui.domain.formatting import duration
from ralph_tui.domain.plan.plan import Task, TaskStatus
from ralph_tui.domain.project_state import ApprovalKind, StopMode
from ralph_tui.engine.control.controls import Controls
from ralph_tui.store.project import Documents, Project
from ralph_tui.store.watch import watch_project

BY = "demo"


@dataclass(frozen=True)
class OpenMatter:
    """What the loop waits for: a question or a decision."""

    key: str
    """Groups the questions of one call, or names one request for approval."""
    question: AskedQuestion | None = None
    tasks: tuple[Task, ...] = ()
    """The plan that is to be approved."""

    @property
    def step(self) -> tuple[str, str]:
        """The matter and its current question, which change with every step."""
        return self.key, self.question.id if self.question else ""


def open_matter(docs: Documents) -> OpenMatter | None:
    """Return what the loop waits for now; None while the person has paused or stopped it.

    After trouble only a real person decides how to continue.
    """
    state = docs.state
    if state.pause is not StopMode.NONE or state.stop is not StopMode.NONE:
        return None
    if asked := docs.questions.open():
        return OpenMatter(asked[0].batch, question=asked[0])
    approval = state.approval
    if approval is None or approval.approved is not None or approval.kind is ApprovalKind.RECOVERY:
        return None
    tasks = docs.plan.tasks if approval.kind is ApprovalKind.PLAN else ()
    return OpenMatter(f"{approval.kind} {approval.requested_at}", tasks=tasks)


class AutoPerson:
    """Plays the persona of a scenario beside the loop of one project."""

    def __init__(
        self,
        persona: Persona,
        project: Project,
        *,
        speed: float,
        on_screen: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Answer for the persona.

        Args:
            persona: How the person answers, and after how many seconds.
            project: The loop's project.
            speed: Divides the waiting time.
            on_screen: Whether somebody sits before the screen and needs time to read.
            clock: Returns seconds.
        """
        self._persona = persona
        self._project = project
        self._controls = Controls(project.root)
        self._patience = (persona.at_screen if on_screen else persona.after) / speed
        self._clock = clock
        self._matter: OpenMatter | None = None
        self._due = 0.0
        self._left_alone = ""
        self._said: set[Guidance] = set()
        self._stir = asyncio.Event()

    @property
    def seconds_left(self) -> float | None:
        """Seconds until it answers the open matter, or None when it will not."""
        if self._matter is None or self._matter.key == self._left_alone:
            return None
        return max(0.0, self._due - self._clock())

    def stand_back(self) -> None:
        """Leave the open matter to the caller."""
        if self._matter is not None and self._matter.key != self._left_alone:
            self._left_alone = self._matter.key
            self._stir.set()

    async def live(self, emit: EventSink) -> None:
        """Answer until cancelled; `emit` receives notices of what is about to happen."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._watch())
            group.create_task(self._act_forever(emit))

    async def _watch(self) -> None:
        async with aclosing(watch_project(self._project)) as changes:
            async for _ in changes:
                self._stir.set()

    async def _act_forever(self, emit: EventSink) -> None:
        while True:
            self._stir.clear()
            try:
                docs = await asyncio.to_thread(self._project.load)
            except StoreError:
                docs = None  # somebody is editing a file; the loop reports that, and another change follows
            if docs is not None and await self._act(docs, emit):
                continue
            await self._wait()

    async def _act(self, docs: Documents, emit: EventSink) -> bool:
        """Do what is due; return whether more may be due at once."""
        self._consider(docs, emit)
        await self._guide(docs, emit)
        if self._matter is None or self.seconds_left != 0:
            return False
        await self._answer(self._matter, emit)
        return True

    async def _wait(self) -> None:
        """Wait until something happens or an answer is due."""
        try:
            async with asyncio.timeout(self.seconds_left):
                await self._stir.wait()
        except TimeoutError:
            return

    def _consider(self, docs: Documents, emit: EventSink) -> None:
        """Look at the open matter, and announce the automatic answer."""
        before, self._matter = self._matter, open_matter(docs)
        now = self._matter
        if now is None or now.key == self._left_alone:
            return
        if before is None or before.step != now.step:
            self._due = self._clock() + self._patience
        if before is None or before.key != now.key:
            text = f"The demo answers in {duration(self._patience)} unless you do."
            emit(Notice(level="info", text=text))
        elif before.tasks != now.tasks:
            self.stand_back()  # somebody is editing the plan

    async def _guide(self, docs: Documents, emit: EventSink) -> None:
        for guidance in self._persona.guidance:
            task = docs.plan.task(guidance.during)
            working = task is not None and task.status is TaskStatus.IN_PROGRESS
            if working and guidance not in self._said:
                self._said.add(guidance)
                await self._attempt(lambda g=guidance: self._controls.inject(g.say), emit)  # type: ignore[misc]  # the default binds the loop's value

    async def _answer(self, matter: OpenMatter, emit: EventSink) -> None:
        if await self._attempt(lambda: self._send(matter), emit):
            return
        self._left_alone = matter.key

    async def _attempt(self, request: Callable[[], object], emit: EventSink) -> bool:
        """Call the controls; return whether that succeeded."""
        try:
            await asyncio.to_thread(request)
        except RalphError as error:
            emit(Notice(level="info", text=f"The demo leaves this to you: {error}"))
            return False
        return True

    def _send(self, matter: OpenMatter) -> None:
        asked = matter.question
        if asked is not None:
            self._controls.answer(asked.id, self._persona.answer(asked.question))
        else:
            self._controls.decide(approved=True, by=BY)
