"""Supervise the session of a task, and answer the model's `ralph_*` tools about it."""

import asyncio
import re
import shlex
from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from ralph_tui.domain.documents.memory import MemoryNote
from ralph_tui.domain.documents.questions import Question
from ralph_tui.domain.permissions import NOBODY, check_change_permission
from ralph_tui.domain.plan.plan import Task, TaskStatus
from ralph_tui.domain.run.context_budget import BudgetDecision
from ralph_tui.domain.run.promise import words_before_promise
from ralph_tui.domain.sanitize import head
from ralph_tui.domain.tool_calls import ToolAnswer, ToolCall, Verdict
from ralph_tui.domain.verification.review import Review, question_criteria
from ralph_tui.domain.verification.verification import (
    GateResult,
    TaskVerification,
    VerificationOutcome,
)
from ralph_tui.engine.context import RunContext, UsageMeter
from ralph_tui.engine.core.ports import QuestionReply
from ralph_tui.engine.prompts import tool_schemas as rt
from ralph_tui.engine.prompts.prompts import reminder
from ralph_tui.engine.session.prompt_memory import record_learning
from ralph_tui.engine.session.reviewer import MOST_DIFF, review_claim
from ralph_tui.engine.session.supervisor import SessionSupervisor
from ralph_tui.engine.session.task_tracker import TaskTracker
from ralph_tui.engine.verification.coverage import criteria_to_review, may_be_unverified
from ralph_tui.engine.verification.failure_report import (
    failure_fingerprint,
    failure_report,
    receipt_text,
)
from ralph_tui.store.project import Documents, Outcome

MOST_REVIEWED = 20
"""The most changed files of the checks that a reviewer judges; the person decides about more."""

MAX_REJECTIONS = 2
"""After this many rejections by a reviewer, the task waits for the person."""


WRITING_TOOLS = frozenset({"Write", "Edit", "MultiEdit", "NotebookEdit"})
HANDOFF_TOOL = "mcp__ralph__ralph_update_memory"

TEST_COMMAND = re.compile(r"\b(?:pytest|unittest|tox|nox)\b")
TEST_FILE = re.compile(r"(?:^|/)(?:tests?/|test_[^/]*$|[^/]*_test\.py$|conftest\.py$)")


class TaskSupervisor(SessionSupervisor):
    """Supervises the agent while it works on one task, and answers its tools; the gate judges every claim."""

    def __init__(self, task: Task, run: RunContext, *, meter: UsageMeter) -> None:
        super().__init__(run, task.id)
        self._meter = meter
        self.task = TaskTracker(task, run)
        self.files: list[str] = []
        self.denied = ""
        self.note: MemoryNote | None = None
        self.gate_result: GateResult | None = None
        self.retry_counted = False
        self.last_review: Review | None = None
        """The last review that did not agree with a claim."""
        self._tool_used = True
        """Whether the model has used a tool since its last claim was judged."""
        self._judging: asyncio.Task[ToolAnswer] | None = None
        self._ran_tests = False
        self._reminded = False

    @property
    def tests_only(self) -> bool:
        return self._ran_tests and all(TEST_FILE.search(path) for path in self.files)

    @property
    def working(self) -> bool:
        return self.task.working

    @property
    def withdrawn_reason(self) -> str:
        return self.task.withdrawn_reason

    def report_edits(self) -> None:
        self.task.report_edits()

    def session_verdict(self, call: ToolCall) -> Verdict | None:
        """Deny all calls but the summary during a hand-off, and edits that make AGENTS.md too long."""
        self._tool_used = True
        if self.handing_off and call.name != HANDOFF_TOOL:
            return Verdict(
                decision="deny",
                rule="hand-off",
                reason="This session is being handed off",
                instead="Call ralph_update_memory with the summary, then stop.",
            )
        return super().session_verdict(call)

    def record_allowed(self, call: ToolCall) -> None:
        if call.name in WRITING_TOOLS:
            path = str(call.input.get("file_path") or call.input.get("notebook_path") or "")
            root = str(self._run.project.root.resolve())
            relative = path.removeprefix(root).lstrip("/")
            if relative and relative not in self.files:
                self.files.append(relative)
        elif call.name == "Bash":
            command = str(call.input.get("command", ""))
            self._ran_tests = self._ran_tests or bool(TEST_COMMAND.search(command))

    def record_denied(self, what: str) -> None:
        self.denied = what

    async def turn_end_reason(self, call: ToolCall) -> str:
        if call.agent_id is not None:
            return ""
        if self.handing_off:
            done = call.name == HANDOFF_TOOL and self.note is not None
        else:
            done = self.task.status in (TaskStatus.COMPLETE, TaskStatus.BLOCKED)
        return "The task is settled." if done else ""

    def notes(self, call: ToolCall) -> tuple[str, ...]:
        news = "" if call.agent_id is not None or self.handing_off else self.task.news()
        return news, self._agents_file.note(call)

    async def ask(self, questions: tuple[Question, ...]) -> QuestionReply:
        """Refuse the questions: building asks no one, and an unclear task is blocked."""
        del questions
        text = (
            "Questions are not possible while building. Decide, or block the task with the reason."
        )
        return QuestionReply(refused=text)

    async def on_stop(self, last_message: str) -> str | None:
        """Judge the claim in the model's final message, or return what keeps the model from stopping.

        A model that stops without a claim is reminded once.
        """
        if self.handing_off or not self.working:
            return None
        # A full context is handed off after this turn, which must not cost another request.
        full = self._meter.budget.at_turn_end() is BudgetDecision.HAND_OFF
        missing = await self.claim_by_promise(last_message)
        if self.ending or not self.working:
            return None
        if missing:
            return missing
        if news := self.task.news():
            return news
        if self._reminded or full:
            return None
        self._reminded = True
        gate = self.gate_result
        red_gate = receipt_text(gate) if gate is not None and self.claim_refused else ""
        return reminder(self.task.task_id, red_gate)

    @property
    def completion_evidence(self) -> str:
        verification = self.task.task.verification if self.task.task else None
        if verification is not None and verification.outcome is VerificationOutcome.REVIEWED:
            return verification.reason
        return self.gate_result.summary if self.gate_result is not None else ""

    @property
    def claim_refused(self) -> bool:
        return self.gate_result is not None and not self.gate_result.passed

    @property
    def failed_checks(self) -> str:
        result = self.gate_result
        return failure_report(result.receipts) if result is not None and self.claim_refused else ""

    @property
    def fingerprint(self) -> str:
        result = self.gate_result
        return failure_fingerprint(result.receipts) if result and self.claim_refused else ""

    async def call_tool(self, name: str, arguments: Mapping[str, JsonValue]) -> ToolAnswer:
        given = rt.parse(name, arguments)
        match given:
            case ToolAnswer():
                return given
            case rt.Claim():
                acting = self._judge_to_the_end(given)
            case rt.Block():
                acting = self._block(given)
            case rt.Learning():
                acting = record_learning(self._run, given)
            case rt.NewTask():
                acting = self._add_task(given)
            case rt.Memory():
                note = MemoryNote.model_validate(given.model_dump())
                self.note = self.note.completed_by(note) if self.note else note
                return rt.answer({"remembered": True, "kept_in": "the memory of this iteration"})
            case rt.TaskRef():
                acting = self._answer_task_ref(name, given)
            case _:
                return self._answer_status(name)
        return await acting

    def _answer_status(self, name: str) -> ToolAnswer:
        docs = self._run.project_state.docs
        if name == "ralph_get_plan_summary":
            return rt.plan_summary(docs.plan)
        if name == "ralph_get_next_task":
            task = self.task.task
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

    def _wrong_task(self, task_id: str) -> ToolAnswer | None:
        self.task.report_edits()
        if self.task.is_called(task_id):
            return None
        return rt.error(
            f"Python chose task {self.task.task_id} for this session, not {task_id}. "
            f"Work on {self.task.task_id} only."
        )

    async def _answer_task_ref(self, name: str, ref: rt.TaskRef) -> ToolAnswer:
        if refused := self._wrong_task(ref.task_id):
            return refused
        if name == "ralph_increment_retry":
            if self.retry_counted:
                return rt.error("This attempt is already counted. Python counts each attempt once.")
            self.retry_counted = True
            await self.task.change("an attempt failed", retry_count=(self.task.retries + 1))
            return rt.answer(
                {
                    "task_id": self.task.task_id,
                    "retry_count": self.task.retries,
                    "blocks_at": self._run.settings.limits.max_attempts_per_task or None,
                }
            )
        status = self.task.status.value if self.task.status else "no longer in the plan"
        return rt.answer({"task_id": ref.task_id, "status": status})

    async def claim_by_promise(self, last_message: str) -> str:
        """Judge the claim in the session's final message; return why it is refused, or an empty string.

        A refused claim is not judged again until the model has used a tool.
        """
        promise = self._run.settings.phases.building.promise
        notes = words_before_promise(last_message, promise)
        if notes is None or (self.claim_refused and not self._tool_used):
            return ""
        claim = rt.Claim(task_id=self.task.task_id, verification_notes=head(notes, rt.TEXT_LIMIT))
        answer = await self._judge_to_the_end(claim)
        return answer.text if answer.is_error else ""

    async def _judge_to_the_end(self, claim: rt.Claim) -> ToolAnswer:
        self._judging = asyncio.create_task(self._judge_claim(claim), name="ralph-claim")
        return await asyncio.shield(self._judging)

    async def finish_judging(self, *, at_once: bool) -> None:
        """Wait until the current claim is judged, or cancel it `at_once` if the person does not wait."""
        judging = self._judging
        if judging is None or judging.done():
            return
        timeout = 0.0 if at_once else self._run.settings.phases.building.iteration_timeout_seconds
        _, late = await asyncio.wait([judging], timeout=timeout)
        if late:  # the claim waits for the person's permission, or the person does not wait for it
            judging.cancel()
            await asyncio.wait([judging])
        if not judging.cancelled():
            judging.result()

    async def _judge_claim(self, claim: rt.Claim) -> ToolAnswer:
        task = self._claimable(claim.task_id)
        if isinstance(task, ToolAnswer):
            return task
        gate, building = self._run.gate, self._run.settings.phases.building
        rules = await asyncio.to_thread(gate.rules)
        criteria = criteria_to_review(task, building, rules.checks)
        allowed, may_review = may_be_unverified(task, building), building.review != "off"
        result = await gate.run(
            task,
            claim.verification_notes,
            self._permissions.permit_check,
            allowed=allowed,
            reviewed=bool(criteria),
        )
        self.gate_result = result
        self._tool_used = False
        if not result.passed:
            return rt.error(receipt_text(result))
        now = self._run.clock()
        others, shown = await gate.shown_changes(result.rests_on)
        too_long = (
            not len(result.rests_on) == len(shown) <= MOST_REVIEWED or len(others) > MOST_DIFF
        )
        if result.question and (not may_review or result.for_person or too_long):
            return await self._ask_person(task, claim, result)
        criteria += question_criteria(result)
        if not criteria:
            verification, answer = result.verification(now), receipt_text(result)
            return await self._complete(
                task, claim, verification, reason=result.summary, answer=answer
            )
        review = await review_claim(self._run, task, criteria, result, self._meter, others)
        if not review.agreed:
            return await self._rejected_by_reviewer(review, result)
        reason = f"{result.basis}, {review.result_text}" if result.proven else review.result_text
        verification = review.verification(reason, result.verification(now))
        answer = f"ACCEPTED: {reason}."
        return await self._complete(task, claim, verification, reason=reason, answer=answer)

    def _claimable(self, task_id: str) -> Task | ToolAnswer:
        if refused := self._wrong_task(task_id):
            return refused
        if self.task.settled is not None:
            return self._already_settled()
        task = self.task.task
        if task is None or self.task.withdrawn_reason:
            return self._withdrawn()
        news = self.task.news()
        return _not_yet(news) if news else task

    async def _complete(
        self,
        task: Task,
        claim: rt.Claim,
        verification: TaskVerification,
        *,
        reason: str,
        answer: str,
    ) -> ToolAnswer:
        """Record the evidence and complete the task, unless the person edited it meanwhile."""
        record = self._run.project_state.project.receipts.record
        recorded = await asyncio.to_thread(record, task.id, verification)
        settled = await self.task.settle(
            reason,
            TaskStatus.COMPLETE,
            judged=task,
            completion_notes=claim.verification_notes or None,
            completed_at=recorded.at,
            last_failure="",
            verification=recorded,
            blockers=(),
            begun=None,
            review_rejections=0,
            commit=self._run.commits.pending_commit(),
        )
        if not settled:
            news = self.task.news()  # edited while the checks ran
            return _not_yet(news) if news and not self.task.withdrawn_reason else self._withdrawn()
        agreed = verification.outcome is VerificationOutcome.REVIEWED
        await self._run.gate.accept(task, verification.rests_on if agreed else ())
        plan = self._run.project_state.docs.plan
        left = sum(task.status is not TaskStatus.COMPLETE for task in plan.tasks)
        done = f"{plan.completion_percentage:.0%} of the plan, {left} to go"
        return ToolAnswer(text=f"{answer}\nTask {task.id} is complete. {done}. Stop now.")

    async def _ask_person(self, task: Task, claim: rt.Claim, result: GateResult) -> ToolAnswer:
        """Ask the person about what the checks do not show; block the task if no one is there to answer."""
        diff, paths = await self._run.gate.shown_changes(result.rests_on)
        if paths and paths == result.rests_on:
            wanted = check_change_permission(paths, diff, result.question)
            ruling = await self._permissions.permit(wanted)
            if ruling.allowed:
                reason = f"{result.basis}, and you agreed to the changes to {', '.join(paths)}"
                changes = {
                    "outcome": VerificationOutcome.REVIEWED,
                    "by": ruling.by or "person",
                    "reason": reason,
                }
                verification = result.verification(self._run.clock()).model_copy(update=changes)
                return await self._complete(
                    task, claim, verification, reason=reason, answer=f"ACCEPTED: {reason}."
                )
            if ruling.by not in ("", NOBODY):
                why = f": {ruling.reason}" if ruling.reason else ""
                return rt.error(f"NOT YET: {result.question}. The person does not allow it{why}.")
        blocker = f"Needs your decision: {result.question}. {self._ways_on(result.rests_on)}"
        answer = f"The checks pass, but {result.question}. The person will decide. Stop now."
        return await self._blocked(blocker, ToolAnswer(text=answer))

    def _ways_on(self, files: Sequence[str]) -> str:
        name, may_be_work = self.task.task_id, self._run.gate.inspection.may_be_work
        work = [path for path in files if may_be_work(path)]
        allow = "name these files as the work" if work else "let the task change its checks"
        options = [f"--touches {shlex.quote(path)}" for path in work]
        options += ["--may-change-checks"] if len(work) < max(1, len(files)) else []
        return (
            f"To accept the work as it is: `ralph complete {name}`. "
            f"To {allow}: `ralph edit {name} {' '.join(options)}`, then `ralph retry {name}`."
        )

    async def _rejected_by_reviewer(self, review: Review, result: GateResult) -> ToolAnswer:
        self.last_review = review
        if not review.rejected:
            return rt.error(
                f"NOT YET: the claim could not be reviewed ({review.failure}). Claim again once."
            )
        rejections = self._rejections + 1
        if rejections < MAX_REJECTIONS:
            await self.task.change("a reviewer rejected the claim", review_rejections=rejections)
            objections = "\n".join(f"- {text}" for text in review.objections)
            return rt.error(
                "NOT YET: the checks passed, but a reviewer who read the files rejected this:\n"
                f"{objections}\nDo what is missing, then claim again. The next rejection blocks the task."
            )
        answer = "The reviewer rejected it again. The person will decide. Stop now."
        ways = f". {self._ways_on(result.rests_on)}" if result.rests_on else ""
        return await self._blocked(
            f"Needs your decision: {review.result_text}{ways}",
            ToolAnswer(text=answer),
            rejections=rejections,
        )

    def _already_settled(self) -> ToolAnswer:
        status = self.task.status.value if self.task.status else "removed"
        return ToolAnswer(text=f"Task {self.task.task_id} is already {status}. Stop now.")

    def _withdrawn(self) -> ToolAnswer:
        why = self.task.withdrawn_reason.partition(": ")[2]
        return rt.error(
            f"The person withdrew task {self.task.task_id}{f' ({why})' if why else ''}. Stop now."
        )

    async def _block(self, block: rt.Block) -> ToolAnswer:
        if refused := self._wrong_task(block.task_id):
            return refused
        if self.task.settled is not None:
            return self._already_settled()
        answer = {"task_id": block.task_id, "status": "blocked", "next": "Stop now."}
        return await self._blocked(block.reason, rt.answer(answer))

    async def _blocked(
        self, blocker: str, answer: ToolAnswer, *, rejections: int | None = None
    ) -> ToolAnswer:
        """Block the task and return the answer, unless the person withdrew the task."""
        settled = await self.task.settle(
            f"blocked: {blocker}",
            TaskStatus.BLOCKED,
            blockers=(*self.task.blockers, blocker),
            review_rejections=self._rejections if rejections is None else rejections,
        )
        return answer if settled else self._withdrawn()

    @property
    def _rejections(self) -> int:
        return self.task.task.review_rejections if self.task.task else 0

    async def _add_task(self, wanted: rt.NewTask) -> ToolAnswer:
        def change(docs: Documents) -> Outcome[ToolAnswer]:
            task = rt.new_task(docs.plan, wanted)
            if isinstance(task, ToolAnswer):
                return Outcome(docs, task)
            added = docs.replacing(plan=docs.plan.adding([task]))
            return Outcome(added, rt.answer({"added": wanted.id, "status": "pending"}))

        reason = f"added during {self.task.task_id}"
        return (await self._run.project_state.transact_returning(change, reason)).value


def _not_yet(news: str) -> ToolAnswer:
    return rt.error(f"NOT YET: {news}\nDo what is missing, then claim again.")
