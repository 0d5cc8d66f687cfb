"""Take a person's requests to a loop, from any process: every request is a change on disk."""

import signal
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from ralph_tui.domain.documents.questions import Answer, AskedQuestion
from ralph_tui.domain.errors import RalphError
from ralph_tui.domain.features import shown_name
from ralph_tui.domain.permissions import answer_told
from ralph_tui.domain.plan.plan import ImplementationPlan, Task
from ralph_tui.domain.project_state import REASONED, Approval, ApprovalKind, Injection, StopMode
from ralph_tui.domain.sanitize import one_line
from ralph_tui.domain.verification.verification import TaskVerification
from ralph_tui.engine.control.approved_content import plan_content
from ralph_tui.engine.control.attribution import Attribution
from ralph_tui.engine.control.plan_edits import (
    TaskFields,
    added,
    completed,
    dropped,
    edited,
    find,
    find_open,
    held,
    moved,
    released,
    retried,
    skipped,
    split,
)
from ralph_tui.store.io.files import utc_now
from ralph_tui.store.lock import LoopLock
from ralph_tui.store.project import Documents, Outcome, Project

if TYPE_CHECKING:
    from ralph_tui.domain.run.undo_result import Undone, UndoPreview
    from ralph_tui.engine.control.undo import Undo

Change = Callable[[ImplementationPlan], ImplementationPlan]
TaskChange = Callable[[ImplementationPlan, str], ImplementationPlan]

ENDED_BY: Mapping[int, str] = MappingProxyType(
    {
        signal.SIGTERM: "asked to end (SIGTERM)",
        signal.SIGHUP: "the terminal is gone (SIGHUP)",
    }
)
"""What a signal that ends a run says, in words."""


class Controls:
    """Requests to the loop of one project and changes of its plan; each call blocks for one transaction."""

    def __init__(self, root: Path, tell: Callable[[str], None] | None = None) -> None:
        """Address the project at `root`; `tell` gets what is waited for, set aside or restored."""
        self.root = root
        self.attribution, self.journal_attribution = Attribution(), Attribution()
        """For who shows what happens, and for who writes it down; each tells of a change once."""
        self._tell: Callable[[str], None] = tell or (lambda _: None)
        self._own = self._project = Project(root, tell=tell)

    @property
    def own_feature(self) -> str:
        """The feature that is controlled while no other process runs a loop; empty for the plan without a name."""
        return self._own.layout.feature

    def keep_to(self, feature: str) -> None:
        """Control another feature from now on, because the person chose it or it got another name."""
        self._own = self._project = Project(self.root, feature, tell=self._tell)

    def turn_to(self, feature: str | None) -> None:
        """Control another feature from now on, such as that of a loop of another process; None: one's own again."""
        if feature is None:
            self._project = self._own
        elif feature != self._project.layout.feature:
            self._project = Project(self.root, feature, tell=self._tell)

    # The loop.

    def pause(self) -> StopMode:
        """Pause after this iteration; asked again while it runs, at once.

        Raises:
            RalphError: No loop is running.
        """
        self._need_loop("pause")

        def change(docs: Documents) -> Documents:
            pause = docs.state.pause.again()
            return docs.with_state(pause=pause, paused=True)

        return self._project.transact(change).state.pause

    def resume(self) -> None:
        """Resume, or withdraw a requested pause.

        Raises:
            RalphError: No loop is running.
        """
        self._need_loop("resume")
        self._project.transact(lambda docs: docs.with_state(pause=StopMode.NONE, paused=False))

    def stop(self, *, now: bool = False, why: str = "") -> StopMode:
        """Stop after this iteration; at once with `now` or when asked again. `why` names what asks, if no person does.

        Raises:
            RalphError: No loop is running.
        """
        self._need_loop("stop")

        def change(docs: Documents) -> Documents:
            mode = StopMode.NOW if now else docs.state.stop.again()
            return docs.with_state(stop=mode, stop_why=why or docs.state.stop_why)

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
            return docs.replacing(questions=log)

        found = self._project.transact(change).questions.find(question_id)
        assert found is not None
        return found

    def retry_now(self) -> None:
        """End the wait for a usage limit or a busy service and try again.

        Raises:
            RalphError: No loop is running.
        """
        self._need_loop("retry")
        self._project.transact(lambda docs: docs.with_state(retry_now=True))

    def open_questions(self) -> tuple[AskedQuestion, ...]:
        """List the questions that wait for the person, oldest first."""
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
            return docs.with_state(approval=waiting.model_copy(update=decision))

        approval = self._project.transact(change).state.approval
        assert approval is not None
        return approval

    @property
    def loop_runs(self) -> bool:
        """Whether a loop works here, in whatever process."""
        return LoopLock(self._project.layout).owner() is not None

    @property
    def is_followed(self) -> bool:
        """Whether a loop works on this feature, and so sees what is changed here."""
        return LoopLock(self._project.layout).feature_owner() is not None

    def _need_loop(self, what: str) -> None:
        owner, feature = LoopLock(self._project.layout).owner(), self._project.layout.feature
        if owner is not None and owner.feature != feature:
            raise RalphError(
                f"The loop works on {shown_name(owner.feature)}, not on {shown_name(feature)}; "
                f"there is nothing to {what}.",
                f"`-f {shown_name(owner.feature)}` names the one that it works on.",
            )
        if owner is None:
            message = f"No loop is running in {self.root}, so there is nothing to {what}."
            raise RalphError(message, "`ralph build` starts one.")

    # What was done.

    def undo_preview(self, wanted: str) -> "UndoPreview":
        """Return what undoing a task or an iteration would change; nothing is changed yet.

        Raises:
            RalphError: A loop runs, nothing is known of that work, or it cannot be undone cleanly.
        """
        return self._undo().preview(wanted)

    def undo(self, shown: "UndoPreview") -> "Undone":
        """Undo what the person was shown: restore the files and queue the task again.

        Raises:
            RalphError: Something changed since, or a loop runs; nothing was changed.
        """

        def note(before: ImplementationPlan, after: ImplementationPlan) -> None:
            for known in (self.attribution, self.journal_attribution):
                known.note(before, after, "you undid it")

        return self._undo().apply(shown, note, self._follow)

    def _undo(self) -> "Undo":
        from ralph_tui.engine.control.undo import Undo  # imports the journal's writer

        return Undo(self._project)

    # The plan.

    def skip(self, task_id: str) -> Task:
        """Block a task so that the loop continues with the next; returns the blocked task.

        Raises:
            RalphError: There is no such task, or it is complete.
        """
        return self._changed(task_id, "you skipped it", skipped)

    def complete(self, task_id: str, reason: str) -> Task:
        """Mark a task complete without a check, on the person's word; returns it.

        Raises:
            RalphError: There is no such task, it is complete, no reason is given, or an agent asks for it.
        """
        if not reason.strip():
            message = "A task that is complete without a check needs a reason."
            raise RalphError(message, f'ralph complete {task_id} --reason "Checked by hand".')
        project = self._project
        find_open(project.transact(lambda docs: docs).plan, task_id)
        decided = TaskVerification.decided_by_person(reason.strip(), utc_now())
        rests = project.receipts.record(task_id, decided)
        return self._changed(
            task_id, "you called it complete", lambda plan, name: completed(plan, name, rests)
        )

    def retry(self, task_id: str) -> Task:
        """Queue a blocked task again with its retries at zero; returns it.

        Raises:
            RalphError: There is no such task, or it is not blocked.
        """
        return self._changed(task_id, "you put it back", retried)

    def hold(self, task_id: str) -> Task:
        """Put a task on hold and end work on it; returns the held task.

        Raises:
            RalphError: There is no such task, it is held already, or it is complete or blocked.
        """
        return self._changed(task_id, "you held it", held)

    def release(self, task_id: str) -> Task:
        """Release a held task; returns it.

        Raises:
            RalphError: There is no such task, or it is not held.
        """
        return self._changed(task_id, "you released it", released)

    def edit_task(self, task_id: str, fields: TaskFields) -> Task:
        """Change a task that is not complete; returns it as it is now.

        Raises:
            RalphError: There is no such task, it is complete, a field is not what it may be, or the
                plan would not work.
        """
        return self._changed(
            task_id, "you changed it", lambda plan, name: edited(plan, name, fields)
        )

    def add_task(self, fields: TaskFields) -> Task:
        """Add a task to the plan, under a free id; returns it.

        Raises:
            RalphError: It has no description, a field is not what it may be, or the plan would not work.
        """
        return self._replanned("you added it", lambda plan: added(plan, fields))[1].tasks[-1]

    def move_task(self, task_id: str, step: int) -> bool:
        """Move an open task one place sooner (`step` -1) or later (1); returns whether there was a place.

        Raises:
            RalphError: There is no such task, or it is complete.
        """
        before, after = self._replanned("you moved it", lambda plan: moved(plan, task_id, step))
        return after != before

    def drop_task(self, task_id: str) -> Task:
        """Drop a task from the plan; returns it as it was.

        Raises:
            RalphError: There is no such task, it is complete, or others depend on it.
        """
        before, _ = self._replanned("you changed it", lambda plan: dropped(plan, task_id))
        return find(before, task_id)

    def split_task(self, task_id: str, parts: Sequence[str]) -> tuple[Task, ...]:
        """Split a task into several, each depending on the one before; returns them.

        Raises:
            RalphError: There is no such task, it is complete or in progress, or a part is empty.
        """
        before, after = self._replanned("you split it", lambda plan: split(plan, task_id, parts))
        return tuple(task for task in after.tasks if before.task(task.id) is None)

    def replace_plan(self, words: str, change: Change, *, branch: str = "") -> ImplementationPlan:
        """Replace the plan by what a function makes of it, and return the new plan.

        Args:
            words: What the person did.
            change: Makes the new plan.
            branch: The branch that the feature gets; empty to keep its own.

        Raises:
            RalphError: The change is refused, or cannot be written; nothing was changed.
        """
        return self._replanned(words, change, branch)[1]

    def _changed(self, task_id: str, words: str, change: TaskChange) -> Task:
        """Change one task on disk; return it as it is now."""
        _, plan = self._replanned(words, lambda plan: change(plan, task_id))
        return find(plan, task_id)

    def _replanned(
        self, words: str, change: Change, branch: str = ""
    ) -> tuple[ImplementationPlan, ImplementationPlan]:
        """Change the plan on disk; return it as it was and as it is now.

        `words` say what the person did to the task; a `branch` becomes that of the feature.
        """

        def replan(docs: Documents) -> Outcome[ImplementationPlan]:
            after = change(docs.plan)
            for known in (self.attribution, self.journal_attribution):
                known.note(docs.plan, after, words)
            changed = docs.replacing(plan=after)
            if branch and docs.feature:
                record = docs.project.of(docs.feature).model_copy(update={"branch": branch})
                changed = changed.replacing(project=docs.project.replacing(docs.feature, record))
            return Outcome(changed, docs.plan)

        docs, before = self._project.transact_returning(replan)
        if not self.is_followed:  # a loop follows the plan on its own
            self._follow(docs.plan)
        return before, docs.plan

    def _follow(self, plan: ImplementationPlan) -> None:
        """Bring the files of other tools that are kept current up to date with the plan."""
        if self._project.layout.followed.exists():
            from ralph_tui.engine.control.plan_export import FollowedExports  # imports the formats

            FollowedExports(self._project, self._tell).sync(plan)


def _settled(asked: AskedQuestion) -> str:
    """Say why a question takes no answer any more: most likely somebody else was quicker."""
    what = one_line(asked.question.header or asked.question.question, 60)
    if asked.withdrawn:
        return f"{what} ({asked.id}) is not asked any more: its session has ended."
    return f"{what} ({asked.id}) was answered already: {one_line(answer_told(asked), 100)}."
