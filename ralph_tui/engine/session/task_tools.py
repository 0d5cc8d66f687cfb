"""Answer the model's `ralph_*` tools about the one task of a session."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping

from pydantic import JsonValue

from ralph_tui.domain.documents.memory import MemoryNote
from ralph_tui.domain.documents.questions import Permission
from ralph_tui.domain.permissions import NOBODY, UNASKED, Ruling, check_change_permission
from ralph_tui.domain.plan.plan import Task, TaskStatus
from ralph_tui.domain.run.promise import words_before_promise
from ralph_tui.domain.sanitize import head
from ralph_tui.domain.tool_calls import ToolAnswer
from ralph_tui.domain.verification.review import Review
from ralph_tui.domain.verification.verification import (
    GateResult,
    TaskVerification,
    VerificationOutcome,
)
from ralph_tui.engine.context import RunContext
from ralph_tui.engine.core.usage_meter import UsageMeter
from ralph_tui.engine.prompts import tool_schemas as rt
from ralph_tui.engine.session.learnings import record_learning
from ralph_tui.engine.session.task_tracker import TaskTracker
from ralph_tui.engine.verification.coverage import may_be_unverified
from ralph_tui.engine.verification.evidence.allowed_changes import agreed_changes, paths_of
from ralph_tui.engine.verification.failure_report import failure_fingerprint, failure_report
from ralph_tui.engine.verification.gate import Permit, receipt_text, unasked
from ralph_tui.store.project import Documents, Outcome

PermitChange = Callable[[Permission], Awaitable[Ruling]]
"""The person's ruling on changed check files."""


async def unasked_change(wanted: Permission) -> Ruling:
    """Return the ruling where there is nobody to ask."""
    del wanted
    return Ruling(allowed=False, reason=UNASKED, by=NOBODY)


MOST_REJECTIONS = 2
"""Claims a reviewer may reject before the task waits for the person."""


class TaskTools:
    """Answers about the task; every claim passes the gate."""

    def __init__(
        self,
        task: TaskTracker,
        run: RunContext,
        meter: UsageMeter,
        permit: Permit = unasked,
        permit_change: PermitChange = unasked_change,
    ) -> None:
        """Answer about a task.

        Args:
            task: The task of the session, followed through the person's edits.
            run: The parts of the run.
            meter: What the session has used, reported to the model and charged for a review.
            permit: Asks the person about a check that the guard does not allow on its own.
            permit_change: Asks the person about changed check files.
        """
        self._task = task
        self.note: MemoryNote | None = None
        self.gate_result: GateResult | None = None
        self.retry_counted = False
        self.review_refusal = ""
        """What the reviewer objected to in the last claim that it rejected; empty when none was."""
        self._worked = True
        """Whether the model has used a tool since its last claim was judged."""
        self._checking: asyncio.Task[ToolAnswer] | None = None
        self._run = run
        self._project_state = run.project_state
        self._meter = meter
        self._permit = permit
        self._permit_change = permit_change

    @property
    def told(self) -> str:
        """What the completion of the task rests on, in one line."""
        rests = self._task.task.verification if self._task.task else None
        if rests is not None and rests.outcome is VerificationOutcome.REVIEWED:
            return rests.reason
        return self.gate_result.told if self.gate_result is not None else ""

    @property
    def claim_refused(self) -> bool:
        """Whether a claim was made and the last gate was red."""
        return self.gate_result is not None and not self.gate_result.passed

    @property
    def failed_checks(self) -> str:
        """What the last claim failed at, for the next attempt; empty when it did not."""
        result = self.gate_result
        return failure_report(result.receipts) if result is not None and self.claim_refused else ""

    @property
    def fingerprint(self) -> str:
        """What represents the failure of the last claim; empty when it did not fail."""
        result = self.gate_result
        return failure_fingerprint(result.receipts) if result and self.claim_refused else ""

    async def answer(self, name: str, arguments: Mapping[str, JsonValue]) -> ToolAnswer:
        """Answer a `ralph_*` tool."""
        given = rt.parse(name, arguments)
        match given:
            case ToolAnswer():
                return given
            case rt.Claim():
                acting = self._check(given)
            case rt.Block():
                acting = self._block(given)
            case rt.CheckChange():
                acting = self._request_check_change(given)
            case rt.Learning():
                acting = record_learning(self._run, given, may_edit=True)
            case rt.NewTask():
                acting = self._add(given)
            case rt.Memory():
                return self._remember(given)
            case rt.TaskRef():
                acting = self._refer(name, given)
            case _:
                return self._report(name)
        return await acting

    def _report(self, name: str) -> ToolAnswer:
        docs = self._project_state.docs
        if name == "ralph_get_plan_summary":
            return rt.plan_summary(docs.plan)
        if name == "ralph_get_next_task":
            task = self._task.task
            return rt.answer({"task": rt.task_json(task) if task else None})
        budget, costs = self._meter.budget, self._meter.costs
        return rt.answer(
            {
                "phase": docs.state.current_phase.value,
                "iteration": docs.state.iteration_count,
                "context_percent": round(budget.percent, 1),
                "context_zone": budget.zone.value,
                "iteration_cost_usd": round(costs.iteration, 4),
                "session_cost_usd": round(costs.session, 4),
                "total_cost_usd": round(costs.total, 4),
                "completion_percentage": docs.plan.completion_percentage,
            }
        )

    def _not_mine(self, task_id: str) -> ToolAnswer | None:
        self._task.mind_edits()
        if self._task.is_called(task_id):
            return None
        return rt.error(
            f"Python chose task {self._task.task_id} for this session, not {task_id}. "
            f"Work on {self._task.task_id} only."
        )

    async def _refer(self, name: str, ref: rt.TaskRef) -> ToolAnswer:
        if refused := self._not_mine(ref.task_id):
            return refused
        if name == "ralph_increment_retry":
            return await self._increment_retry()
        status = self._task.status.value if self._task.status else "gone from the plan"
        return rt.answer({"task_id": ref.task_id, "status": status})

    async def _increment_retry(self) -> ToolAnswer:
        if self.retry_counted:
            return rt.error("This attempt was counted already; Python counts each attempt once.")
        self.retry_counted = True
        await self._task.change("an attempt failed", retry_count=(self._task.retries + 1))
        return rt.answer(
            {
                "task_id": self._task.task_id,
                "retry_count": self._task.retries,
                "blocks_at": self._run.settings.limits.max_attempts_per_task or None,
            }
        )

    def note_work(self) -> None:
        """Note that the model used a tool, so that it may claim again."""
        self._worked = True

    async def claim_by_promise(self, last_message: str) -> str:
        """Judge the claim that the final words of a session make; return what is missing, or nothing.

        A claim that was refused is not judged again before the model has done something about it.
        """
        promise = self._run.settings.phases.building.promise
        notes = words_before_promise(last_message, promise)
        if notes is None or (self.claim_refused and not self._worked):
            return ""
        claim = rt.Claim(task_id=self._task.task_id, verification_notes=head(notes, rt.TEXT_LIMIT))
        answer = await self._check(claim)
        return answer.text if answer.is_error else ""

    async def _check(self, claim: rt.Claim) -> ToolAnswer:
        """Check a claim to the end, also when the turn that made it is cut off meanwhile."""
        self._checking = asyncio.create_task(self._claim(claim), name="ralph-claim")
        return await asyncio.shield(self._checking)

    async def finish_checking(self, *, at_once: bool) -> None:
        """Wait for a claim that is still being checked; give it up `at_once` when the person does not wait.

        Raises:
            RalphError: What was claimed could not be written down.
        """
        checking = self._checking
        if checking is None or checking.done():
            return
        most = 0.0 if at_once else self._run.settings.phases.building.iteration_timeout_seconds
        _, late = await asyncio.wait([checking], timeout=most)
        if late:  # somebody is asked about a command, or nobody waits any more
            checking.cancel()
            await asyncio.wait([checking])
        if not checking.cancelled():
            checking.result()

    async def _claim(self, claim: rt.Claim) -> ToolAnswer:
        """Judge a claim: the gate, then a reviewer where criteria need one; complete the task if both agree."""
        task = self._claimable(claim.task_id)
        if isinstance(task, ToolAnswer):
            return task
        gate, reviewer = self._run.gate, self._run.reviewer
        rules = await asyncio.to_thread(gate.rules)
        criteria = reviewer.criteria(task, rules.checks)
        allowed = may_be_unverified(task, self._run.settings.phases.building)
        result = await gate.run(
            task,
            claim.verification_notes,
            self._permit,
            must_verify=not (allowed or criteria),
            reviewed=bool(criteria),
        )
        self.gate_result = result
        self._worked = False
        if not result.passed:
            return rt.error(receipt_text(result))
        now = self._run.clock()
        if not criteria:
            rests, answer = result.verification(now), receipt_text(result)
            return await self._complete(task, claim, rests, told=result.told, answer=answer)
        review = await reviewer.review(task, criteria, result, self._meter)
        if not review.agreed:
            return await self._not_agreed(review)
        told = f"{result.basis}, {review.told}" if result.verified else review.told
        rests = review.verification(told, result.verification(now))
        return await self._complete(task, claim, rests, told=told, answer=f"ACCEPTED: {told}.")

    def _claimable(self, task_id: str) -> Task | ToolAnswer:
        """Return the task as it is now, or why it cannot be claimed."""
        if refused := self._not_mine(task_id):
            return refused
        if self._task.settled is not None:
            return self._settled_already()
        task = self._task.task
        if task is None or self._task.taken_away:
            return self._taken_away()
        news = self._task.news()
        return _not_yet(news) if news else task

    async def _complete(
        self, task: Task, claim: rt.Claim, rests: TaskVerification, *, told: str, answer: str
    ) -> ToolAnswer:
        """Record what the completion rests on and complete the task, unless the person edited it meanwhile."""
        rests = await asyncio.to_thread(self._project_state.project.receipts.record, task.id, rests)
        settled = await self._task.settle(
            told,
            TaskStatus.COMPLETE,
            judged=task,
            completion_notes=claim.verification_notes or None,
            completed_at=rests.at,
            last_failure="",
            verification=rests,
            blockers=(),
            begun=None,
            review_rejections=0,
            commit=self._run.commits.owed(),
        )
        if not settled:
            news = self._task.news()  # edited while the checks ran
            return _not_yet(news) if news and not self._task.taken_away else self._taken_away()
        await self._run.gate.accept(task)
        await self._run.reviewer.finished(task.id)
        plan = self._project_state.docs.plan
        left = sum(task.status is not TaskStatus.COMPLETE for task in plan.tasks)
        done = f"{plan.completion_percentage:.0%} of the plan, {left} to go"
        return ToolAnswer(text=f"{answer}\nTask {task.id} is complete; {done}. Stop now.")

    async def _not_agreed(self, review: Review) -> ToolAnswer:
        """Tell the worker once why the reviewer rejected its claim; the second time the person decides."""
        if not review.rejected:
            return rt.error(
                f"NOT YET: the claim could not be reviewed ({review.failure}). Claim again once."
            )
        self.review_refusal = review.told
        rejections = (self._task.task.review_rejections if self._task.task else 0) + 1
        if rejections < MOST_REJECTIONS:
            await self._task.change("a reviewer rejected the claim", review_rejections=rejections)
            objections = "\n".join(f"- {text}" for text in review.objections)
            return rt.error(
                "NOT YET: the checks passed, but a reviewer who read the files rejected this:\n"
                f"{objections}\nDo what is missing, then claim again. The next rejection blocks the task."
            )
        blocker = f"Needs your decision: {review.told}"
        blockers = (*(self._task.task.blockers if self._task.task else ()), blocker)
        await self._task.settle(
            f"blocked: {blocker}",
            TaskStatus.BLOCKED,
            blockers=blockers,
            review_rejections=rejections,
        )
        return ToolAnswer(text="The reviewer rejected it again. The person decides now. Stop.")

    def _settled_already(self) -> ToolAnswer:
        status = self._task.status.value if self._task.status else "gone"
        return ToolAnswer(text=f"Task {self._task.task_id} is {status} already. Stop now.")

    def _taken_away(self) -> ToolAnswer:
        why = self._task.taken_away.partition(": ")[2]
        return rt.error(
            f"The person took task {self._task.task_id} away meanwhile{f' ({why})' if why else ''}. Stop now."
        )

    async def _block(self, block: rt.Block) -> ToolAnswer:
        if refused := self._not_mine(block.task_id):
            return refused
        if self._task.settled is not None:
            return self._settled_already()
        blockers = (*(self._task.task.blockers if self._task.task else ()), block.reason)
        settled = await self._task.settle(
            f"blocked: {block.reason}", TaskStatus.BLOCKED, blockers=blockers
        )
        if not settled:
            return self._taken_away()
        return rt.answer({"task_id": block.task_id, "status": "blocked", "next": "Stop now."})

    async def _request_check_change(self, wanted: rt.CheckChange) -> ToolAnswer:
        """Let the person decide about changed check files; where nobody is there, the task waits for them."""
        if refused := self._not_mine(wanted.task_id):
            return refused
        task, root = self._task.task, self._project_state.project.root
        if task is None or self._task.settled is not None:
            return self._settled_already()
        changes, diff = await self._run.gate.check_changes(task)
        paths = paths_of(changes)
        if not paths:
            return rt.error(
                "No check file differs from how it was, so there is nothing to ask. Make the change first."
            )
        shown = await asyncio.to_thread(agreed_changes, paths, root)
        ruling = await self._permit_change(check_change_permission(paths, diff, wanted.reason))
        if ruling.allowed:
            allowed = (*task.allowed_check_changes, *shown)
            await self._task.change(
                "the person allowed changed checks", allowed_check_changes=allowed
            )
            return rt.answer(
                {"allowed": list(paths), "note": "Exactly these changes, as they are."}
            )
        if ruling.by in ("", NOBODY):
            return await self._block_for_checks(task, changes.names, wanted.reason)
        why = f": {ruling.reason}" if ruling.reason else ""
        return rt.error(f"The person does not allow it{why}. Put {', '.join(paths)} back.")

    async def _block_for_checks(
        self, task: Task, names: tuple[str, ...], reason: str
    ) -> ToolAnswer:
        blocker = (
            f"Needs your decision on changed checks: {', '.join(names)}. The agent says: {reason} "
            f"To allow it: `ralph edit {task.id} --may-change-checks`, then `ralph retry {task.id}`."
        )
        blockers = (*task.blockers, blocker)
        settled = await self._task.settle(
            f"blocked: {blocker}", TaskStatus.BLOCKED, blockers=blockers
        )
        if not settled:
            return self._taken_away()
        return rt.answer(
            {"status": "blocked", "why": "Nobody is there to decide.", "next": "Stop now."}
        )

    async def _add(self, wanted: rt.NewTask) -> ToolAnswer:
        def change(docs: Documents) -> Outcome[ToolAnswer]:
            task = rt.new_task(docs.plan, wanted)
            if isinstance(task, ToolAnswer):
                return Outcome(docs, task)
            added = docs.replacing(plan=docs.plan.adding([task]))
            return Outcome(added, rt.answer({"added": wanted.id, "status": "pending"}))

        reason = f"added during {self._task.task_id}"
        return (await self._project_state.transact_returning(change, reason)).value

    def _remember(self, memory: rt.Memory) -> ToolAnswer:
        said = MemoryNote.model_validate(memory.model_dump())
        self.note = self.note.completed_by(said) if self.note else said
        return rt.answer({"remembered": True, "kept_in": "the memory of this iteration"})


def _not_yet(news: str) -> ToolAnswer:
    """Refuse a claim that was made without knowing the person's edit."""
    return rt.error(f"NOT YET: {news}\nDo what is missing, then claim again.")
