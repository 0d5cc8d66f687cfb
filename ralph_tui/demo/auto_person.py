"""Answer the loop's questions in the demo when nobody else does.

The automatic person reads `.ralph/` and answers through the controls, as `ralph answer` in another terminal does,
so the loop cannot tell the difference. It does not interfere once a real person begins to answer or change
something.
"""

import asyncio
import time
from collections.abc import Callable
from contextlib import aclosing, suppress
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
class AwaitedAnswer:
    """A question or an approval that the loop waits for."""

    key: str
    """Identifies the questions of one call, or one request for approval."""
    question: AskedQuestion | None = None
    tasks: tuple[Task, ...] = ()
    """The tasks of the plan that needs approval."""

    @property
    def step(self) -> tuple[str, str]:
        return self.key, self.question.id if self.question else ""


def awaited_answer(docs: Documents) -> AwaitedAnswer | None:
    """Return the question or approval that the loop waits for, or None.

    Also None while the person has paused or stopped the loop, and for recovery after trouble, which only a real
    person decides.
    """
    state = docs.state
    if state.pause is not StopMode.NONE or state.stop is not StopMode.NONE:
        return None
    if asked := docs.questions.open():
        return AwaitedAnswer(asked[0].batch, question=asked[0])
    approval = state.approval
    if approval is None or approval.approved is not None or approval.kind is ApprovalKind.RECOVERY:
        return None
    tasks = docs.plan.tasks if approval.kind is ApprovalKind.PLAN else ()
    return AwaitedAnswer(f"{approval.kind} {approval.requested_at}", tasks=tasks)


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
        """Create the person without starting it.

        Args:
            on_screen: Whether a person watches the screen and needs time to read.
        """
        self._persona = persona
        self._project = project
        self._controls = Controls(project.root)
        self._delay = (persona.at_screen if on_screen else persona.after) / speed
        self._clock = clock
        self._pending: AwaitedAnswer | None = None
        self._due = 0.0
        self._left_alone = ""
        self._given: set[Guidance] = set()
        self._changed = asyncio.Event()

    @property
    def seconds_left(self) -> float | None:
        if self._pending is None or self._pending.key == self._left_alone:
            return None
        return max(0.0, self._due - self._clock())

    def yield_to_person(self) -> None:
        if self._pending is not None and self._pending.key != self._left_alone:
            self._left_alone = self._pending.key
            self._changed.set()

    async def live(self, emit: EventSink) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._watch())
            group.create_task(self._act_forever(emit))

    async def _watch(self) -> None:
        async with aclosing(watch_project(self._project)) as changes:
            async for _ in changes:
                self._changed.set()

    async def _act_forever(self, emit: EventSink) -> None:
        while True:
            self._changed.clear()
            try:
                docs = await asyncio.to_thread(self._project.load)
            except StoreError:
                docs = None  # a file is being edited, which the loop reports; another change will follow
            if docs is not None and await self._act(docs, emit):
                continue
            with suppress(TimeoutError):
                async with asyncio.timeout(self.seconds_left):
                    await self._changed.wait()

    async def _act(self, docs: Documents, emit: EventSink) -> bool:
        self._update_pending(docs, emit)
        for guidance in self._persona.guidance:
            task = docs.plan.task(guidance.during)
            working = task is not None and task.status is TaskStatus.IN_PROGRESS
            if working and guidance not in self._given:
                self._given.add(guidance)
                await self._attempt(lambda g=guidance: self._controls.inject(g.say), emit)  # type: ignore[misc]  # the default binds the loop's value
        if self._pending is None or self.seconds_left != 0:
            return False
        pending = self._pending
        if not await self._attempt(lambda: self._send(pending), emit):
            self._left_alone = pending.key
        return True

    def _update_pending(self, docs: Documents, emit: EventSink) -> None:
        before, self._pending = self._pending, awaited_answer(docs)
        now = self._pending
        if now is None or now.key == self._left_alone:
            return
        if before is None or before.step != now.step:
            self._due = self._clock() + self._delay
        if before is None or before.key != now.key:
            text = f"The demo answers automatically in {duration(self._delay)} unless you answer first."
            emit(Notice(level="info", text=text))
        elif before.tasks != now.tasks:
            self.yield_to_person()  # a person is editing the plan

    async def _attempt(self, request: Callable[[], object], emit: EventSink) -> bool:
        try:
            await asyncio.to_thread(request)
        except RalphError as error:
            emit(Notice(level="info", text=f"The demo could not do this for you: {error}"))
            return False
        return True

    def _send(self, pending: AwaitedAnswer) -> None:
        asked = pending.question
        if asked is not None:
            self._controls.answer(asked.id, self._persona.answer(asked.question))
        else:
            self._controls.decide(approved=True, by=BY)
