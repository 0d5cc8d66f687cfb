"""Review claims in a fresh session that judges the criteria no command checks, from the files alone.

The reviewer reads a frozen copy of the project. It cannot write, and it does not get the worker's notes.
Python checks that the lines it quotes exist. The result is "reviewed", never "verified".
"""

import asyncio
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ralph_tui.domain import events as ev
from ralph_tui.domain.documents.questions import Permission
from ralph_tui.domain.errors import SetupError
from ralph_tui.domain.permissions import NOBODY, Ruling
from ralph_tui.domain.plan.plan import Task
from ralph_tui.domain.tool_calls import ALLOW, ToolCall, Verdict
from ralph_tui.domain.verification.review import Review, review_problems
from ralph_tui.domain.verification.verification import GateResult
from ralph_tui.engine.context import RunContext, UsageMeter
from ralph_tui.engine.core.ports import AgentSession, TurnEnded, TurnUsage
from ralph_tui.engine.prompts import tool_schemas as rt
from ralph_tui.engine.prompts.prompts import builtin_template, bullets, phase_prompt
from ralph_tui.engine.session.spec import READ_TOOLS, review_spec
from ralph_tui.engine.session.supervisor import SessionWork, Submission, WorkSupervisor
from ralph_tui.engine.verification.judge_tree import PlacedTree

MOST_DIFF = 60_000
"""The most characters of a diff. What a claim rests on is never cut: if that is longer, the person judges it."""


SUBMIT = "ralph_submit_review"
REVIEWER = "reviewer"
"""The `parent_id` in the events of the reviewer's tool calls."""


def is_inside(path: Path, directory: Path) -> bool:
    return path.resolve().is_relative_to(directory.resolve())


class ReviewSupervisor(WorkSupervisor):
    """Lets a reviewer read its copy of the project and submit its review, and nothing else."""

    def __init__(self, run: RunContext, submission: Submission, directory: Path) -> None:
        handlers = {submission.tool: submission.submit}
        super().__init__(run, SessionWork("", "", submission.missing, handlers))
        self._directory = directory

    async def review_tool(self, call: ToolCall) -> Verdict:
        if call.name == f"mcp__ralph__{SUBMIT}":
            return ALLOW
        named = call.input.get("file_path") or call.input.get("path") or "."
        pattern = str(call.input.get("pattern", "")) if call.name == "Glob" else ""
        leaves = pattern.startswith(("/", "~")) or ".." in Path(pattern).parts
        is_read = call.name in READ_TOOLS and not leaves
        if is_read and is_inside(self._directory / str(named), self._directory):
            return ALLOW
        return Verdict(
            decision="deny",
            rule="review-only",
            part=call.name,
            reason="A reviewer may only read the files of the project",
            instead="Use Read, Grep and Glob inside the project, then ralph_submit_review.",
        )

    async def hold(self) -> None: ...

    async def permit(self, call: ToolCall, wanted: Permission) -> Ruling:
        del call, wanted
        return Ruling(allowed=False, reason="a reviewer may only read", by=NOBODY)


async def review_claim(
    run: RunContext,
    task: Task,
    criteria: tuple[str, ...],
    gate: GateResult,
    meter: UsageMeter,
    others: str = "",
) -> Review:
    """Review a claim in a second session, whose cost the meter of the iteration counts.

    `others` is the diff of the files that the claim rests on, which comes first and uncut.
    """
    model = run.settings.models.review or run.settings.models.primary
    run.emit(ev.ReviewStarted(task_id=task.id, criteria=criteria, model=model))
    review = Review(criteria=criteria, model=model)
    tree = PlacedTree(run.project.root, "review")
    try:
        before = run.gate.base.began(task.id)
        changes = await asyncio.to_thread(_freeze, tree, before, gate.rests_on, others)
        session = _ReviewSession(run, meter, tree.root.resolve(), task, review)
        review = await session.run_turn(_prompt(task, criteria, gate, changes))
    except SetupError as error:
        review = review.model_copy(update={"failure": error.message})
    finally:
        tree.close()
    run.emit(ev.ReviewFinished(task_id=task.id, review=review))
    return review


def _freeze(tree: PlacedTree, before: str, rests_on: tuple[str, ...], others: str) -> str:
    """Copy the project into the tree, and return what has changed since the tree `before`; empty if it is unknown."""
    store = tree.store
    now = store.take()
    tree.write(now)
    if not before:
        return others
    form = ("--no-color", "--no-ext-diff", "--no-textconv", "--find-renames")
    stat = store.git("diff", *form, "--stat=120", before, now)
    out = [f":(exclude,literal,top){path}" for path in rests_on]
    text = store.git("diff", *form, before, now, "--", ".", *out)
    text = text.encode("utf-8", "replace").decode()
    room = MOST_DIFF - len(others)
    if len(text) > room:
        text = f"{text[:room]}\n(cut here, after {room:,} of {len(text):,} characters)\n"
    return f"{stat}\n{others}\n{text}".strip()


@dataclass
class _ReviewSession:
    """Runs a reviewer's session, and adds its cost to the meter of the iteration."""

    run: RunContext
    meter: UsageMeter
    directory: Path
    task: Task
    review: Review
    tokens: int = 0
    over: bool = False

    async def run_turn(self, prompt: str) -> Review:
        run = self.run
        spec = review_spec(run.spec_for(math.inf), self.directory, run.settings)
        submission = Submission(SUBMIT, "review", self._take)
        session = await run.agent.open(spec, ReviewSupervisor(run, submission, self.directory))
        try:
            async with asyncio.timeout(run.settings.phases.building.iteration_timeout_seconds):
                ended = await self._turn(session, prompt)
        except TimeoutError:
            ended = TurnEnded(interrupted=True)
        finally:
            await asyncio.shield(session.close())
        failure = "" if self.review.verdicts else self._failure_reason(ended)
        return self.review.model_copy(update={"failure": failure})

    async def _take(self, given: rt.ToolInput) -> Sequence[str]:
        assert isinstance(given, rt.SubmitReview)
        known, text = self.review.criteria, self.task.full_text
        problems = await asyncio.to_thread(review_problems, given.criteria, known, self._read, text)
        if not problems:
            verdicts = tuple(sorted(given.criteria, key=lambda verdict: verdict.number))
            self._change(verdicts=verdicts, summary=given.summary)
        return problems

    def _change(self, **changes: object) -> None:
        self.review = self.review.model_copy(update=changes)

    def _read(self, name: str) -> str | None:
        path = self.directory / name
        if not is_inside(path, self.directory):
            return None
        try:
            return path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return None

    async def _turn(self, session: AgentSession, prompt: str) -> TurnEnded:
        ended = TurnEnded()
        async for item in session.run_turn(prompt):
            match item:
                case TurnUsage():
                    await self._count(item)
                    if self.over:
                        await session.interrupt()
                case TurnEnded():
                    ended = item
                case ev.ToolStarted() | ev.ToolFinished() | ev.AssistantText():
                    self.run.emit(item.model_copy(update={"parent_id": REVIEWER}))
                case ev.ToolDenied() | ev.ApiRetry() | ev.Notice():
                    self.run.emit(item)
                case _:
                    pass  # events of the reviewer's own context and session
        return ended

    async def _count(self, usage: TurnUsage) -> None:
        more = max(0.0, usage.session_cost_usd - self.review.cost_usd)
        tokens = usage.session_tokens - self.tokens
        requests = usage.session_requests - self.review.requests
        self._change(cost_usd=self.review.cost_usd + more, requests=usage.session_requests)
        self.tokens = usage.session_tokens
        self.meter.limits = self.run.settings.safety.cost_limits
        now = self.run.clock()
        self.run.emit(self.meter.add_cost(more))
        await self.run.project_state.record_usage(
            self.meter.costs, self.meter.budget, tokens=tokens, requests=requests, now=now
        )
        self.over = self.meter.costs.exceeded(self.meter.limits) is not None

    def _failure_reason(self, ended: TurnEnded) -> str:
        if self.over:
            return "a cost limit was reached during the review"
        if ended.failure is not None:
            return ended.failure.message
        timed_out = "the review took too long"
        return timed_out if ended.interrupted else "the reviewer submitted no review"


def _prompt(task: Task, criteria: tuple[str, ...], gate: GateResult, changes: str) -> str:
    numbered = "\n".join(f"{number}. {text}" for number, text in enumerate(criteria, 1))
    receipts = [f"{r.status.value}: `{r.command}` {r.reason}".strip() for r in gate.receipts]
    receipts += [f"not shown on product code alone: {gate.question}"] if gate.question else []
    places = {
        "task.id": task.id,
        "task.description": task.description or task.id,
        "criteria": numbered,
        "receipts": bullets(receipts) or "- nothing",
        "changes": changes or "(not known; judge the files as they are)",
    }
    return phase_prompt(builtin_template("review.md"), places, source="review.md")
