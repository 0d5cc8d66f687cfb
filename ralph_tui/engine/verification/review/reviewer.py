"""Review claims in a fresh session that judges the criteria no command checks, from the files alone.

The reviewer reads a frozen copy of the project. It cannot write, and it does not get the worker's notes.
Python checks that the lines it quotes exist. The result is "reviewed", never "verified".
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from pydantic import JsonValue

from ralph_tui.config.settings import Settings
from ralph_tui.domain import events as ev
from ralph_tui.domain.documents.extensions import ToolOutput
from ralph_tui.domain.documents.questions import Permission, Question
from ralph_tui.domain.errors import SetupError
from ralph_tui.domain.events import EventSink
from ralph_tui.domain.permissions import NOBODY, Ruling
from ralph_tui.domain.plan.plan import Task
from ralph_tui.domain.tool_calls import ALLOW, ToolAnswer, ToolCall, Verdict
from ralph_tui.domain.verification.check_commands import ProjectChecks
from ralph_tui.domain.verification.review import CriterionReview, Review, review_problems
from ralph_tui.domain.verification.verification import GateResult
from ralph_tui.engine.core.ports import (
    AfterTool,
    Agent,
    AgentSession,
    QuestionReply,
    SessionSpec,
    TurnEnded,
    TurnUsage,
)
from ralph_tui.engine.core.project_state import ProjectState
from ralph_tui.engine.core.usage_meter import UsageMeter
from ralph_tui.engine.prompts import tool_schemas as rt
from ralph_tui.engine.prompts.prompts import builtin_template, bullets, phase_prompt
from ralph_tui.engine.verification.coverage import criteria_to_review
from ralph_tui.engine.verification.judge_tree import PlacedTree

MOST_DIFF = 60_000
"""The most characters of a diff. What a claim rests on is never cut: if that is longer, the person judges it."""


READ_TOOLS = ("Read", "Grep", "Glob")
SUBMIT = "ralph_submit_review"
MOST_TURNS = 60
MAX_REMINDERS = 2
REVIEWER = "reviewer"
"""The `parent_id` in the events of the reviewer's tool calls."""


@dataclass
class _Submission:
    """Accepts the reviewer's verdicts if their quotes are in the files."""

    criteria: tuple[str, ...]
    directory: Path
    task_text: str
    verdicts: tuple[CriterionReview, ...] = ()
    summary: str = ""

    def accept(self, review: rt.SubmitReview) -> ToolAnswer:
        problems = review_problems(review.criteria, self.criteria, self._read, self.task_text)
        if problems:
            return rt.error(f"NOT YET:\n{bullets(problems)}\nSubmit the whole review again.")
        self.verdicts = tuple(sorted(review.criteria, key=lambda verdict: verdict.number))
        self.summary = review.summary
        return rt.answer({"accepted": True, "next": "Stop now."})

    def _read(self, name: str) -> str | None:
        path = self.directory / name
        if not is_inside(path, self.directory):
            return None
        try:
            return path.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return None


def is_inside(path: Path, directory: Path) -> bool:
    return path.resolve().is_relative_to(directory.resolve())


class ReviewSupervisor:
    """Lets a reviewer read its copy of the project and submit its review, and nothing else."""

    def __init__(self, submission: _Submission) -> None:
        self._submission = submission
        self._reminders = 0

    async def review_tool(self, call: ToolCall) -> Verdict:
        if call.name == f"mcp__ralph__{SUBMIT}":
            return ALLOW
        named = call.input.get("file_path") or call.input.get("path") or "."
        place = self._submission.directory / str(named)
        pattern = str(call.input.get("pattern", "")) if call.name == "Glob" else ""
        leaves = pattern.startswith(("/", "~")) or ".." in Path(pattern).parts
        if call.name in READ_TOOLS and not leaves and is_inside(place, self._submission.directory):
            return ALLOW
        return Verdict(
            decision="deny",
            rule="review-only",
            part=call.name,
            reason="A reviewer may only read the files of the project",
            instead="Use Read, Grep and Glob inside the project, then ralph_submit_review.",
        )

    async def call_tool(self, name: str, arguments: Mapping[str, JsonValue]) -> ToolAnswer:
        submitted = rt.parse(name, arguments)
        if isinstance(submitted, ToolAnswer):
            return submitted
        if not isinstance(submitted, rt.SubmitReview):
            return rt.error(f"{name} cannot be used in a review.")
        return await asyncio.to_thread(self._submission.accept, submitted)

    async def after_tool(self, call: ToolCall, output: ToolOutput) -> AfterTool:
        del call, output
        return AfterTool(end_turn=bool(self._submission.verdicts))

    async def hold(self) -> None:
        return

    async def ask(self, questions: tuple[Question, ...]) -> QuestionReply:
        del questions
        return QuestionReply(
            refused="Nobody can be asked during a review. Judge what the files show."
        )

    async def permit(self, call: ToolCall, wanted: Permission) -> Ruling:
        del call, wanted
        return Ruling(allowed=False, reason="a reviewer may only read", by=NOBODY)

    @property
    def waiting_for_person(self) -> bool:
        return False

    async def on_stop(self, last_message: str) -> str | None:
        """Return a reminder for a reviewer that stops without a review, at most twice."""
        del last_message
        if self._submission.verdicts or self._reminders >= MAX_REMINDERS:
            return None
        self._reminders += 1
        return f"The review is missing. Submit it with {SUBMIT}."


@dataclass
class Reviewer:
    """Reviews claims in a second session.

    Attributes:
        root: The project directory.
        agent: Opens the sessions.
        project_state: Records the costs.
        emit: Receives the events.
        settings: Returns the current settings.
        spec_for: Returns the spec of a session in a directory.
        clock: The wall clock, in UTC.
        began: Returns the tree of the project before the first attempt at a task; empty if it is not known.
    """

    root: Path
    agent: Agent
    project_state: ProjectState
    emit: EventSink
    settings: Callable[[], Settings]
    spec_for: Callable[[Path], SessionSpec]
    clock: Callable[[], datetime]
    began: Callable[[str], str]

    def __post_init__(self) -> None:
        self._tree = PlacedTree(self.root, "review")

    def criteria(self, task: Task, checks: ProjectChecks) -> tuple[str, ...]:
        return criteria_to_review(task, self.settings().phases.building, checks)

    async def review(
        self,
        task: Task,
        criteria: tuple[str, ...],
        gate: GateResult,
        meter: UsageMeter,
        others: str = "",
    ) -> Review:
        """Review a claim.

        Args:
            gate: The gate's result, which the reviewer reads.
            meter: The iteration's meter, which counts the cost of the review.
            others: The diff of the files that the claim rests on, which comes first and uncut.
        """
        settings = self.settings()
        model = settings.models.review or settings.models.primary
        self.emit(ev.ReviewStarted(task_id=task.id, criteria=criteria, model=model))
        try:
            changes = await asyncio.to_thread(self._freeze, task.id, gate.rests_on, others)
            review = await self._run_session(
                task, criteria, gate, meter, self._tree.root.resolve(), changes
            )
        except SetupError as error:
            review = Review(criteria=criteria, failure=error.message)
        review = review.model_copy(update={"model": model})
        self.emit(ev.ReviewFinished(task_id=task.id, review=review))
        return review

    def _freeze(self, task_id: str, rests_on: tuple[str, ...], others: str) -> str:
        store = self._tree.store
        before, now = self.began(task_id), store.take()
        self._tree.write(now)
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

    async def _run_session(
        self,
        task: Task,
        criteria: tuple[str, ...],
        gate: GateResult,
        meter: UsageMeter,
        directory: Path,
        changes: str,
    ) -> Review:
        submission = _Submission(criteria, directory, task.full_text)
        spec = self.spec_for(directory)
        session = await self.agent.open(spec, ReviewSupervisor(submission))
        spent = _ReviewCosts(self.project_state, self.emit, self.clock, meter)
        try:
            async with asyncio.timeout(self.settings().phases.building.iteration_timeout_seconds):
                ended = await self._turn(session, _prompt(task, criteria, gate, changes), spent)
        except TimeoutError:
            ended = TurnEnded(interrupted=True)
        finally:
            await asyncio.shield(session.close())
        failure = "" if submission.verdicts else _failure_reason(ended, spent)
        return Review(
            criteria=criteria,
            verdicts=submission.verdicts,
            summary=submission.summary,
            failure=failure,
            cost_usd=spent.usd,
            requests=spent.requests,
        )

    async def _turn(self, session: AgentSession, prompt: str, spent: "_ReviewCosts") -> TurnEnded:
        ended = TurnEnded()
        async for item in session.run_turn(prompt):
            match item:
                case TurnUsage():
                    await spent.count(item, self.settings())
                    if spent.over:
                        await session.interrupt()
                case TurnEnded():
                    ended = item
                case ev.ToolStarted() | ev.ToolFinished() | ev.AssistantText():
                    self.emit(item.model_copy(update={"parent_id": REVIEWER}))
                case ev.ToolDenied() | ev.ApiRetry() | ev.Notice():
                    self.emit(item)
                case _:
                    pass  # events of the reviewer's own context and session
        return ended


@dataclass
class _ReviewCosts:
    """Adds the cost of a review to the meter of its iteration."""

    project_state: ProjectState
    emit: EventSink
    clock: Callable[[], datetime]
    meter: UsageMeter
    usd: float = 0.0
    tokens: int = 0
    requests: int = 0
    over: bool = False

    async def count(self, usage: TurnUsage, settings: Settings) -> None:
        more = max(0.0, usage.session_cost_usd - self.usd)
        tokens = usage.session_tokens - self.tokens
        requests = usage.session_requests - self.requests
        self.usd += more
        self.tokens, self.requests = usage.session_tokens, usage.session_requests
        self.meter.limits = settings.safety.cost_limits
        now = self.clock()
        self.emit(self.meter.add_cost(more))
        await self.project_state.record_usage(
            self.meter.costs, self.meter.budget, tokens=tokens, requests=requests, now=now
        )
        self.over = self.meter.exceeded is not None


def _failure_reason(ended: TurnEnded, spent: _ReviewCosts) -> str:
    if spent.over:
        return "a cost limit was reached during the review"
    if ended.failure is not None:
        return ended.failure.message
    return "the review took too long" if ended.interrupted else "the reviewer submitted no review"


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
