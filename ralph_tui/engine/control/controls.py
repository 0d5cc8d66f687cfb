"""Take a person's requests to a loop, from any process; each request is a change on disk."""

import signal
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from ralph_tui.domain.documents.questions import Answer, AskedQuestion
from ralph_tui.domain.errors import RalphError
from ralph_tui.domain.features import shown_name
from ralph_tui.domain.permissions import answer_text
from ralph_tui.domain.plan.plan import ImplementationPlan, Task
from ralph_tui.domain.project_state import REASONED, Approval, ApprovalKind, Injection, StopMode
from ralph_tui.domain.sanitize import one_line
from ralph_tui.domain.verification.check_commands import NO_CHECKS, missing_kinds
from ralph_tui.domain.verification.verification import TaskVerification
from ralph_tui.engine.control.approved_content import plan_content
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
Require = Callable[[Path, ImplementationPlan, Sequence[str]], None]

ENDED_BY: Mapping[int, str] = MappingProxyType(
    {
        signal.SIGTERM: "stopped by a signal (SIGTERM)",
        signal.SIGHUP: "the terminal was closed (SIGHUP)",
    }
)
"""Describes why a run ended, for each signal that ends one."""


class Controls:
    """Controls the loop of one project and changes its plan; each call blocks for one transaction."""

    def __init__(
        self, root: Path, tell: Callable[[str], None] | None = None, require: Require | None = None
    ) -> None:
        """Control the project at `root`; `tell` receives notices about waits, quarantined and restored files.

        `require` refuses tasks of a plan that newly name a check which the project lacks.
        """
        self.root, self._require = root, require
        self._tell: Callable[[str], None] = tell or (lambda _: None)
        self._chosen = self._project = Project(root, tell=tell)

    def pin_feature(self, feature: str) -> None:
        """Switch to another feature, because the person chose it."""
        self._chosen = self._project = Project(self.root, feature, tell=self._tell)

    def follow_feature(self, feature: str | None) -> None:
        """Switch temporarily to the feature of another process's loop; None switches back to the chosen one."""
        if feature is None:
            self._project = self._chosen
        elif feature != self._project.layout.feature:
            self._project = Project(self.root, feature, tell=self._tell)

    # The loop.

    def pause(self) -> StopMode:
        """Pause after this iteration, or immediately if a pause was already requested."""
        self._require_loop("pause")

        def change(docs: Documents) -> Documents:
            pause = docs.state.pause.again()
            return docs.with_state(pause=pause, paused=True)

        return self._project.transact(change).state.pause

    def resume(self) -> None:
        self._require_loop("resume")
        self._project.transact(lambda docs: docs.with_state(pause=StopMode.NONE, paused=False))

    def stop(self, *, now: bool = False, why: str = "") -> StopMode:
        """Stop after this iteration, or immediately with `now` or if a stop was already requested.

        `why` is the reason, if the request does not come from a person.
        """
        self._require_loop("stop")

        def change(docs: Documents) -> Documents:
            mode = StopMode.NOW if now else docs.state.stop.again()
            return docs.with_state(stop=mode, stop_why=why or docs.state.stop_why)

        return self._project.transact(change).state.stop

    def inject(self, guidance: str, *, now: bool = False) -> Injection:
        """Queue guidance for the next iteration's prompt; with `now`, send it to the running turn.

        Without a running turn, guidance with `now` waits for the next iteration as well.
        """
        if not guidance.strip():
            message = "The guidance is empty."
            raise RalphError(message, 'Say what to do: ralph inject "Use sqlite, not json".')
        return self._project.queue_injection(guidance.strip(), now=now)

    def answer(self, question_id: str, answer: Answer) -> AskedQuestion:
        def change(docs: Documents) -> Documents:
            question = docs.questions.find(question_id)
            if question is None:
                message = f"There is no question {question_id!r}."
                raise RalphError(message, "List the open questions with `ralph answer`.")
            if not question.is_open:
                raise RalphError(_why_closed(question), "Nothing was changed.")
            log = docs.questions.answering(question_id, answer, utc_now())
            return docs.replacing(questions=log)

        found = self._project.transact(change).questions.find(question_id)
        assert found is not None
        return found

    def retry_now(self) -> None:
        """End the wait for a usage limit or a busy service, and retry."""
        self._require_loop("retry")
        self._project.transact(lambda docs: docs.with_state(retry_now=True))

    def open_questions(self) -> tuple[AskedQuestion, ...]:
        return self._project.load().questions.open()

    def decide(self, *, approved: bool, reason: str = "", by: str = "person") -> Approval:
        """Approve or reject what waits for a decision, even while no loop runs."""

        def change(docs: Documents) -> Documents:
            waiting = docs.state.approval
            if waiting is None or waiting.approved is not None:
                message = f"There is nothing to approve in {self.root}."
                raise RalphError(message, "See what the loop is doing with `ralph status`.")
            if not approved and not reason.strip() and waiting.kind in REASONED:
                message = "A rejection needs a reason, because the model works on that reason next."
                raise RalphError(message, 'ralph reject --reason "The report lacks a total".')
            decision: dict[str, object] = {"approved": approved, "reason": reason.strip()}
            decision["decided_by"] = by
            if waiting.kind is ApprovalKind.PLAN:  # includes edits since the plan was shown
                decision["content"] = dict(plan_content(docs.plan))
            return docs.with_state(approval=waiting.model_copy(update=decision))

        approval = self._project.transact(change).state.approval
        assert approval is not None
        return approval

    @property
    def has_loop(self) -> bool:
        return LoopLock(self._project.layout).feature_owner() is not None

    def _require_loop(self, what: str) -> None:
        owner, feature = LoopLock(self._project.layout).owner(), self._project.layout.feature
        if owner is not None and owner.feature != feature:
            raise RalphError(
                f"The loop is running on {shown_name(owner.feature)}, not on {shown_name(feature)}, "
                f"so there is nothing to {what}.",
                f"Add `-f {shown_name(owner.feature)}` to {what} the running loop.",
            )
        if owner is None:
            message = f"No loop is running in {self.root}, so there is nothing to {what}."
            raise RalphError(message, "Start a loop with `ralph build`.")

    # Undo.

    def undo_preview(self, wanted: str) -> "UndoPreview":
        return self._undo().preview(wanted)

    def undo(self, shown: "UndoPreview") -> "Undone":
        """Apply the previewed undo: restore the files and queue the task again.

        Raises:
            RalphError: The files changed since the preview, or a loop runs; nothing was changed.
        """
        return self._undo().apply(shown, self._update_exports)

    def _undo(self) -> "Undo":
        from ralph_tui.engine.control.undo import Undo  # slow: imports the journal's writer

        return Undo(self._project)

    # The plan.

    def skip(self, task_id: str) -> Task:
        return self._change_task(task_id, skipped)

    def complete(self, task_id: str, reason: str) -> Task:
        """Mark a task complete without a check, by the person's decision; return the task."""
        if not reason.strip():
            message = "A task cannot be marked complete without a reason."
            raise RalphError(message, f'ralph complete {task_id} --reason "Checked by hand".')
        project = self._project
        find_open(project.transact(lambda docs: docs).plan, task_id)
        decided = TaskVerification.decided_by_person(reason.strip(), utc_now())
        recorded = project.receipts.record(task_id, decided)
        return self._change_task(task_id, lambda plan, name: completed(plan, name, recorded))

    def retry(self, task_id: str) -> Task:
        return self._change_task(task_id, retried)

    def hold(self, task_id: str) -> Task:
        return self._change_task(task_id, held)

    def release(self, task_id: str) -> Task:
        return self._change_task(task_id, released)

    def edit_task(self, task_id: str, fields: TaskFields) -> Task:
        return self._change_task(task_id, lambda plan, name: edited(plan, name, fields))

    def add_task(self, fields: TaskFields) -> Task:
        return self.change_plan(lambda plan: added(plan, fields))[1].tasks[-1]

    def move_task(self, task_id: str, step: int) -> bool:
        """Move an open task one place earlier (`step` -1) or later (1); return whether it moved."""
        before, after = self.change_plan(lambda plan: moved(plan, task_id, step))
        return after != before

    def drop_task(self, task_id: str) -> Task:
        before, _ = self.change_plan(lambda plan: dropped(plan, task_id))
        return find(before, task_id)

    def split_task(self, task_id: str, parts: Sequence[str]) -> tuple[Task, ...]:
        """Split a task into several, each depending on the previous one; return the new tasks."""
        before, after = self.change_plan(lambda plan: split(plan, task_id, parts))
        return tuple(task for task in after.tasks if before.task(task.id) is None)

    def _change_task(self, task_id: str, change: TaskChange) -> Task:
        _, plan = self.change_plan(lambda plan: change(plan, task_id))
        return find(plan, task_id)

    def change_plan(
        self, change: Change, branch: str = ""
    ) -> tuple[ImplementationPlan, ImplementationPlan]:
        """Change the plan on disk; return the plan before and after the change.

        `branch` becomes the feature's branch, unless empty.
        """

        def replan(docs: Documents) -> Outcome[ImplementationPlan]:
            after = change(docs.plan)
            before = {task.verification_criteria for task in docs.plan.tasks}
            named = [t for t in after.tasks if missing_kinds(t.verification_criteria, NO_CHECKS)]
            new = [t.id for t in named if t.verification_criteria not in before]
            if new and self._require:
                self._require(self.root, after, new)
            changed = docs.replacing(plan=after)
            if branch and docs.feature:
                record = docs.project.of(docs.feature).model_copy(update={"branch": branch})
                changed = changed.replacing(project=docs.project.replacing(docs.feature, record))
            return Outcome(changed, docs.plan)

        docs, before = self._project.transact_returning(replan)
        if not self.has_loop:  # a running loop updates the exports itself
            self._update_exports(docs.plan)
        return before, docs.plan

    def _update_exports(self, plan: ImplementationPlan) -> None:
        if self._project.layout.followed.exists():
            # Imported here because it imports all formats.
            from ralph_tui.engine.control.plan_export import FollowedExports

            FollowedExports(self._project, self._tell).sync(plan)


def _why_closed(asked: AskedQuestion) -> str:
    what = one_line(asked.question.header or asked.question.question, 60)
    if asked.withdrawn:
        return f"{what} ({asked.id}) was withdrawn because its session has ended."
    return f"{what} ({asked.id}) was already answered: {one_line(answer_text(asked), 100)}."
