"""Ask the person questions and for approvals, on disk: whoever answers there answers the loop.

The screen, another terminal's `ralph answer` and a file of prepared answers all end in the same
document, so a crash loses no question and no answer reaches the wrong one.
"""

import asyncio
import contextlib
import uuid
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

from ralph_tui.domain import events as ev
from ralph_tui.domain.documents.questions import Answer, AskedQuestion, Question
from ralph_tui.domain.formatting import duration
from ralph_tui.domain.project_state import (
    DECISIONS,
    REASONED,
    Approval,
    ApprovalKind,
    Phase,
    StopMode,
)
from ralph_tui.domain.sanitize import one_line
from ralph_tui.engine.context import RunContext
from ralph_tui.engine.control.approved_content import Content, changes
from ralph_tui.engine.control.request import RunRequest
from ralph_tui.engine.core.outcome import End, interrupted_end, waiting_end
from ralph_tui.engine.core.ports import QuestionReply
from ralph_tui.engine.core.project_state import answered, ask
from ralph_tui.store.project import Documents

UNSEEN = "--yes"
"""Who approves specs and plan when nobody has looked at them."""

NOBODY = (
    "Nobody is there to answer. Decide yourself what the person would most likely want, and record "
    "each assumption in the spec it belongs to, under `## Constraints`, as `- Assumption: …`."
)

NOT_NOW = "Nobody can answer now. Stop here: another session continues with the answer."

DECLINED = "The person declines to answer; decide yourself and record the assumption in the spec."


LOOK_SECONDS = 20.0
"""How often the wall clock is looked at; timers do not run while a machine sleeps."""


class Expiry:
    """The end of the time for an answer, by the wall clock."""

    def __init__(self, run: RunContext, moment: datetime | None) -> None:
        """End at this moment; never, without one."""
        self._run = run
        self._moment = moment

    async def passed(self) -> bool:
        """Wait until a document changes or it is time to look at the clock; returns whether the time is over."""
        if self._moment is None:
            await self._run.project_state.wait_changed()
            return False
        left = (self._moment - self._run.clock()).total_seconds()
        if left > 0:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(
                    self._run.project_state.wait_changed(), min(left, LOOK_SECONDS)
                )
        return self._run.clock() >= self._moment


class QuestionChannel:
    """Puts the model's questions to the person and counts them."""

    def __init__(self, run: RunContext, request: RunRequest, phase: Phase, *, most: int) -> None:
        """Ask at most `most` questions in this phase.

        Args:
            run: The parts of the run.
            request: Says whether a person is here, and which answers were prepared.
            phase: The phase that asks.
            most: How many questions the phase may ask.
        """
        self._run = run
        self._request = request
        self._phase = phase
        self._most = most
        self.waiting = False
        self.unanswered: tuple[AskedQuestion, ...] = ()
        """Questions left open on disk because nobody is there to answer them in this run."""

    @property
    def left(self) -> int:
        """How many questions may still be asked."""
        docs = self._run.docs
        asked = docs.questions.asked_in(self._phase, docs.state.requested_at)
        return max(0, self._most - len(asked))

    async def ask(self, questions: tuple[Question, ...]) -> QuestionReply:
        """Ask, wait for every answer, and return them as the model reads them."""
        settings = self._run.settings.phases.discovery
        if self._request.no_input or not settings.human_in_loop:
            return QuestionReply(refused=NOBODY)
        if len(questions) > self.left:
            text = f"Only {self.left} of {self._most} questions are left in this phase. "
            return QuestionReply(refused=text + "Ask fewer, or decide and record the assumption.")
        batch = self._batch(questions)
        if not self._request.interactive and any(asked.is_open for asked in batch):
            await ask(self._run.project_state, batch)
            self.unanswered = tuple(asked for asked in batch if asked.is_open)
            return QuestionReply(refused=NOT_NOW)
        self.waiting = True
        try:
            replies = await answered(
                self._run.project_state, batch, until=Expiry(self._run, batch[0].expires_at)
            )
        finally:
            self.waiting = False
        if left := tuple(question for question in replies if question.is_open):
            self.unanswered = left
            tell_nobody_answered(self._run, f"{left[0].question.question}")
            return QuestionReply(refused=NOT_NOW)
        return QuestionReply(answers={q.question.question: _told(q) for q in replies})

    def _batch(self, questions: tuple[Question, ...]) -> tuple[AskedQuestion, ...]:
        """Return the questions as they are written down, with the answers prepared in a file."""
        batch = uuid.uuid4().hex[:8]
        now = self._run.clock()
        expires = expiry(self._run, now) if self._request.interactive else None
        made = (
            _asked(f"q-{batch}-{number}", batch, self._phase, question, now, self._request)
            for number, question in enumerate(questions, 1)
        )
        return tuple(asked.model_copy(update={"expires_at": expires}) for asked in made)


def _asked(
    question_id: str,
    batch: str,
    phase: Phase,
    question: Question,
    now: datetime,
    request: RunRequest,
) -> AskedQuestion:
    answer = request.answers.to(question)
    return AskedQuestion(
        id=question_id,
        batch=batch,
        phase=phase,
        question=question,
        asked_at=now,
        answer=answer,
        answered_at=now if answer else None,
    )


def _told(question: AskedQuestion) -> str:
    answer = question.answer or Answer(declined=True)
    return DECLINED if answer.declined or not answer.text else answer.text


def answers_so_far(docs: Documents, phase: Phase) -> tuple[str, ...]:
    """Return what the person has answered since the request, for a session that did not ask it itself."""
    asked = docs.questions.asked_in(phase, docs.state.requested_at)
    return tuple(
        f"{one_line(q.question.question, 500)} → {one_line(_told(q), 1_000)}"
        for q in asked
        if q.answer is not None
    )


async def left_open(
    run: RunContext, request: RunRequest, phase: Phase
) -> tuple[AskedQuestion, ...]:
    """Return the questions that a run without a person left open, after applying prepared answers."""
    now = run.clock()
    docs = await run.project_state.transact(
        lambda docs: with_given_answers(docs, request, phase, now)
    )
    return still_open(docs, phase)


def with_given_answers(
    docs: Documents, request: RunRequest, phase: Phase, now: datetime
) -> Documents:
    """Return the documents with prepared answers to what the last run left open.

    Args:
        docs: The documents.
        request: Holds the prepared answers.
        phase: The phase that asked.
        now: When they are given, in UTC.
    """
    log = docs.questions
    for asked in still_open(docs, phase):
        answer = request.answers.to(asked.question)
        if answer is not None:
            log = log.answering(asked.id, answer, now)
    return docs if log is docs.questions else docs.replacing(questions=log)


def still_open(docs: Documents, phase: Phase) -> tuple[AskedQuestion, ...]:
    """Return the questions about the current request that nobody has answered."""
    asked = docs.questions.asked_in(phase, docs.state.requested_at)
    return tuple(question for question in asked if question.is_open)


def waiting_for_answer(questions: tuple[AskedQuestion, ...], *, waited: float = 0) -> End:
    """Return the end of a run that cannot continue without an answer, for which it has waited so many seconds."""
    first = one_line(questions[0].question.question, 200)
    more = f" (and {len(questions) - 1} more)" if len(questions) > 1 else ""
    what = f"nobody answered in {duration(waited)}" if waited else "waiting for your answer"
    return waiting_end(
        f"{what}: {first}{more}",
        f"Answer with `ralph answer {questions[0].id} …`, then run `ralph run`.",
    )


def waiting_for_approval(kind: ApprovalKind) -> End:
    """Return the end of a run that cannot continue without a decision."""
    reason = f"waiting for approval of {DECISIONS[kind]}"
    return waiting_end(reason, "`ralph approve` or `ralph reject --reason …`, then run again.")


async def withdraw_open_questions(run: RunContext) -> None:
    """Withdraw the open questions of a session that is gone; the next session asks them again."""

    def change(docs: Documents) -> Documents:
        if not docs.questions.open():
            return docs
        return docs.replacing(questions=docs.questions.withdrawing_open())

    await run.project_state.transact(change)


ContentOf = Callable[[], Awaitable[Content]]
"""Reads what a decision is about as it is now."""


async def nothing() -> Content:
    """Return the content of a decision that is about no document."""
    return {}


async def decide(
    run: RunContext,
    request: RunRequest,
    kind: ApprovalKind,
    summary: str,
    *,
    content: ContentOf = nothing,
    wait: Callable[[], Awaitable[None]] | None = None,
) -> Approval | End:
    """Return the person's decision; an end when nobody here can make it or the loop must stop.

    A decision made while no loop ran (`ralph approve`) is taken at once. It counts for the `content` it was
    made about: what was approved and has changed since is asked about again. A decision about specs, a plan
    or a result stays on disk until its consequence is on disk too; others are used up here.

    Args:
        run: The parts of the run.
        request: Says whether a person is here, and whether `--yes` approves.
        kind: What is decided.
        summary: What the person reads.
        content: Reads what the decision is about, as it is now.
        wait: Returns when it is worth looking again; by default, when a document changed.
    """
    if request.assume_yes and kind in (ApprovalKind.SPECS, ApprovalKind.PLAN):
        there = _decision(run, kind)
        if there is None or there.approved:
            await clear_decision(run)
            run.emit(ev.ApprovalGiven(kind=kind, approved=True, by=UNSEEN))
            return Approval(kind=kind, approved=True, decided_by=UNSEEN)
    await _request(run, kind, summary, await content())
    asked: Approval | None = None
    expires = None if wait or kind is ApprovalKind.LIMIT else await _expiring(run, request, kind)
    while (decided := await _decided(run, kind, summary, content)) is None:
        standing = run.docs.state.approval
        if standing is None or standing.kind is not kind:
            await _request(run, kind, summary, await content())  # its file was lost
            continue
        if asked is None or (asked.summary, asked.content) != (standing.summary, standing.content):
            asked = standing
            run.emit(ev.ApprovalRequested(kind=kind, summary=standing.summary))
        if not request.interactive:
            return waiting_for_approval(kind)
        if (state := run.docs.state).stop is not StopMode.NONE:
            return interrupted_end(state)
        end = await _nobody_decides(run, kind, wait, expires)
        if end is not None:
            return end
    if kind not in REASONED:
        await clear_decision(run)
    run.emit(
        ev.ApprovalGiven(
            kind=kind,
            approved=bool(decided.approved),
            reason=decided.reason,
            by=decided.decided_by,
        )
    )
    return decided


async def _nobody_decides(
    run: RunContext,
    kind: ApprovalKind,
    wait: Callable[[], Awaitable[None]] | None,
    expires: datetime | None,
) -> End | None:
    """Wait until it is worth looking again; returns the end of a run when the time for a decision is over."""
    if wait is not None:
        await wait()
        return None
    if not await Expiry(run, expires).passed():
        return None
    tell_nobody_answered(run, f"approval of {DECISIONS[kind]}")
    end = waiting_for_approval(kind)
    waited = duration(run.settings.limits.ask_timeout_seconds)
    return end.model_copy(update={"reason": f"{end.reason}, and nobody decided in {waited}"})


def expiry(run: RunContext, asked_at: datetime) -> datetime | None:
    """Return when a run ends that has had no answer since then; None for never."""
    seconds = run.settings.limits.ask_timeout_seconds
    return asked_at + timedelta(seconds=seconds) if seconds else None


def tell_nobody_answered(run: RunContext, about: str) -> None:
    """Report that the time for an answer is over."""
    seconds = run.settings.limits.ask_timeout_seconds
    run.emit(ev.NobodyAnswered(about=one_line(about, 200), seconds=seconds))


async def _expiring(run: RunContext, request: RunRequest, kind: ApprovalKind) -> datetime | None:
    """Return when the wait for a decision is over, and write it down for whoever looks.

    A run that was killed did not begin the time again, but one that begins after the time asks afresh.
    """
    there, now = run.docs.state.approval, run.clock()
    if not request.interactive or there is None or there.kind is not kind:
        return None
    expires = expiry(run, there.requested_at or now)
    if expires is not None and expires <= now:
        expires = expiry(run, now)

    def change(docs: Documents) -> Documents:
        open_ = docs.state.approval
        if open_ is None or open_.kind is not kind or open_.expires_at == expires:
            return docs
        return docs.with_state(approval=open_.model_copy(update={"expires_at": expires}))

    await run.project_state.transact(change)
    return expires


async def _decided(
    run: RunContext, kind: ApprovalKind, summary: str, content: ContentOf
) -> Approval | None:
    """Return the decision, or None; an approval of something that has changed since is asked for again."""
    made = _decision(run, kind)
    if made is None or not made.approved or kind not in REASONED:
        return made
    await _request(run, kind, summary, await content())
    return _decision(run, kind)


async def _request(run: RunContext, kind: ApprovalKind, summary: str, about: Content) -> None:
    """Ask for a decision, unless the same one is pending or made already."""
    now = run.clock()

    def change(docs: Documents) -> Documents:
        there = docs.state.approval
        if there is not None and there.kind is kind and not is_of_another(there, about):
            return docs
        approval = requested(kind, summary, about, now)
        news = changes(there.content, about) if there and there.kind is kind else ""
        if news and there is not None and there.content:
            since = {None: "you were asked", True: "you approved", False: "you rejected it"}
            told = f"{summary}. Since {since[there.approved]}: {news}"
            approval = approval.model_copy(update={"summary": told})
        return with_approval(docs, approval)

    await run.project_state.transact(change)


def is_of_another(there: Approval, about: Content) -> bool:
    """Return whether a request or decision is about something else.

    Feedback on specs or a result is used in any case; a plan that the person has changed
    after rejecting it is theirs, and is not to be replaced.
    """
    rejected = there.approved is False
    if rejected and (there.kind is not ApprovalKind.PLAN or not there.content):
        return False
    return there.kind in REASONED and bool(changes(there.content, about))


def requested(kind: ApprovalKind, summary: str, about: Content, now: datetime) -> Approval:
    """Return a request for a decision about `about`.

    Args:
        kind: What is decided.
        summary: What the person reads.
        about: The name and hash of each part that the decision is about.
        now: When it is asked for, in UTC.
    """
    return Approval(kind=kind, summary=summary, requested_at=now, content=dict(about))


def _decision(run: RunContext, kind: ApprovalKind) -> Approval | None:
    approval = run.docs.state.approval
    made = approval is not None and approval.kind is kind and approval.approved is not None
    return approval if made else None


async def clear_decision(run: RunContext) -> None:
    """Forget the request or decision on disk, once its consequence is on disk."""
    if run.docs.state.approval is not None:
        await run.project_state.transact(lambda docs: with_approval(docs, None))


def with_approval(docs: Documents, approval: Approval | None) -> Documents:
    """Return the documents with this request or decision; a momentary one does not displace a lasting one."""
    there, lasting = docs.state.approval, docs.state.decision
    momentary = there is not None and there.kind not in REASONED
    if approval is None and momentary:
        update = {"approval": lasting, "set_aside": None}
    else:
        replaced = approval is None or approval.kind in REASONED
        update = {"approval": approval, "set_aside": None if replaced else lasting}
    return docs.with_state(**update)
