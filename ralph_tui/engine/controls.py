"""What a person may ask of a loop, from any process: every request is a change on disk."""

import signal
from collections.abc import Mapping
from types import MappingProxyType

from ralph_tui.domain.documents.questions import Answer, AskedQuestion
from ralph_tui.domain.errors import RalphError
from ralph_tui.domain.permissions import answer_told
from ralph_tui.domain.project_state import REASONED, Approval, ApprovalKind, Halt, Injection
from ralph_tui.domain.sanitize import one_line
from ralph_tui.engine.approved_content import plan_content
from ralph_tui.engine.plan_controls import PlanControls
from ralph_tui.store.io.files import utc_now
from ralph_tui.store.lock import LoopLock
from ralph_tui.store.project import Documents

ENDED_BY: Mapping[int, str] = MappingProxyType(
    {
        signal.SIGTERM: "asked to end (SIGTERM)",
        signal.SIGHUP: "the terminal is gone (SIGHUP)",
    }
)
"""What a signal that ends a run says, in words."""


class Controls(PlanControls):
    """Requests to the loop of one project; each call blocks for one transaction."""

    def pause(self) -> Halt:
        """Pause after this iteration; asked again while it runs, at once.

        Raises:
            RalphError: No loop is running.
        """
        self._need_loop("pause")

        def change(docs: Documents) -> Documents:
            pause = docs.state.pause.again()
            return _with_state(docs, pause=pause, paused=True)

        return self._project.transact(change).state.pause

    def resume(self) -> None:
        """Go on, or withdraw a pause that was asked for.

        Raises:
            RalphError: No loop is running.
        """
        self._need_loop("resume")
        self._project.transact(lambda docs: _with_state(docs, pause=Halt.NONE, paused=False))

    def stop(self, *, now: bool = False, why: str = "") -> Halt:
        """Stop after this iteration; `now` or asked again, at once. `why`: what asks, if no person.

        Raises:
            RalphError: No loop is running.
        """
        self._need_loop("stop")

        def change(docs: Documents) -> Documents:
            halt = Halt.NOW if now else docs.state.stop.again()
            return _with_state(docs, stop=halt, stop_why=why or docs.state.stop_why)

        return self._project.transact(change).state.stop

    def inject(self, guidance: str, *, now: bool = False) -> Injection:
        """Queue guidance for the next iteration's prompt; `now` says it to the running turn.

        Without a running turn it waits for the next iteration like any other.

        Raises:
            RalphError: The text is empty.
        """
        if not guidance.strip():
            message = "The guidance is empty."
            raise RalphError(message, 'Say what to do: ralph inject "Use sqlite, not json".')
        return self._project.queue_injection(guidance.strip(), now=now)

    def answer(self, question_id: str, answer: Answer) -> AskedQuestion:
        """Answer an open question.

        Raises:
            RalphError: There is no such question, or it is not open any more.
        """

        def change(docs: Documents) -> Documents:
            question = docs.questions.find(question_id)
            if question is None:
                message = f"There is no question {question_id!r}."
                raise RalphError(message, "`ralph answer` lists the open ones.")
            if not question.is_open:
                raise RalphError(_settled(question), "Nothing was changed.")
            log = docs.questions.answering(question_id, answer, utc_now())
            return docs.model_copy(update={"questions": log})

        found = self._project.transact(change).questions.find(question_id)
        assert found is not None
        return found

    def retry_now(self) -> None:
        """End the wait for a usage limit or a busy service and try again.

        Raises:
            RalphError: No loop is running.
        """
        self._need_loop("retry")
        self._project.transact(lambda docs: _with_state(docs, retry_now=True))

    def open_questions(self) -> tuple[AskedQuestion, ...]:
        """Questions that wait for the person, oldest first."""
        return self._project.load().questions.open()

    def decide(self, *, approved: bool, reason: str = "", by: str = "person") -> Approval:
        """Approve or reject what the loop waits for; also before the loop runs again.

        Raises:
            RalphError: Nothing waits for a decision, or a rejection that the model works on has no
                reason.
        """

        def change(docs: Documents) -> Documents:
            waiting = docs.state.approval
            if waiting is None or waiting.approved is not None:
                message = f"Nothing in {self.root} waits for approval."
                raise RalphError(message, "`ralph status` shows what the loop is doing.")
            if not approved and not reason.strip() and waiting.kind in REASONED:
                message = "A rejection needs a reason: it is what the model works on next."
                raise RalphError(message, 'ralph reject --reason "The report lacks a total".')
            decision: dict[str, object] = {"approved": approved, "reason": reason.strip()}
            decision["decided_by"] = by
            if waiting.kind is ApprovalKind.PLAN:  # with the person's own edits since it was shown
                decision["content"] = dict(plan_content(docs.plan))
            return _with_state(docs, approval=waiting.model_copy(update=decision))

        approval = self._project.transact(change).state.approval
        assert approval is not None
        return approval

    @property
    def loop_runs(self) -> bool:
        """Whether a loop works here, in whatever process."""
        return LoopLock(self._project.layout).owner() is not None

    def _need_loop(self, what: str) -> None:
        if not self.loop_runs:
            message = f"No loop is running in {self.root}, so there is nothing to {what}."
            raise RalphError(message, "`ralph build` starts one.")


def _with_state(docs: Documents, **changes: object) -> Documents:
    return docs.model_copy(update={"state": docs.state.model_copy(update=changes)})


def _settled(asked: AskedQuestion) -> str:
    """Why a question takes no answer any more; somebody else was quicker, most likely."""
    what = one_line(asked.question.header or asked.question.question, 60)
    if asked.withdrawn:
        return f"{what} ({asked.id}) is not asked any more: its session has ended."
    return f"{what} ({asked.id}) was answered already: {one_line(answer_told(asked), 100)}."
