"""Ask the person questions and for approvals, through documents on disk.

The screen, `ralph answer` in another terminal and a file of prepared answers all write to the same
document, so a crash loses no question and every answer reaches its question.
"""

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta

from ralph_tui.domain import events as ev
from ralph_tui.domain.documents.questions import (
    Answer,
    AskedQuestion,
    GivenAnswers,
    Option,
    Question,
)
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
from ralph_tui.engine.core.outcome import End, interrupted_end, waiting_end
from ralph_tui.engine.core.ports import QuestionReply
from ralph_tui.engine.core.project_state import ProjectState
from ralph_tui.engine.safety.processes import HOW_TO_END, OrphanProcess, described, end_orphans
from ralph_tui.store.project import Documents

UNSEEN = "--yes"
"""Recorded as the approver of specs and plan when nobody has seen them."""

NOBODY = (
    "Nobody is there to answer. Decide yourself what the person would most likely want, and record "
    "each assumption in the spec it belongs to, under `## Constraints`, as `- Assumption: …`."
)

NOT_NOW = "Nobody can answer now. Stop here: another session continues with the answer."

DECLINED = "The person declines to answer; decide yourself and record the assumption in the spec."


NO_ANSWERS = GivenAnswers()


class QuestionChannel:
    """Asks the person the model's questions, up to a maximum per phase."""

    def __init__(self, run: RunContext) -> None:
        self._run = run
        self._most = run.settings.phases.discovery.max_questions
        self.waiting = False
        self.unanswered: tuple[AskedQuestion, ...] = ()
        """Questions left open on disk because nobody can answer them in this run."""

    @property
    def left(self) -> int:
        docs = self._run.docs
        asked = docs.questions.asked_in(self._run.phase, docs.state.requested_at)
        return max(0, self._most - len(asked))

    async def ask(self, questions: tuple[Question, ...]) -> QuestionReply:
        settings = self._run.settings.phases.discovery
        if self._run.request.no_input or not settings.human_in_loop:
            return QuestionReply(refused=NOBODY)
        if len(questions) > self.left:
            text = f"Only {self.left} of {self._most} questions are left in this phase. "
            return QuestionReply(refused=text + "Ask fewer, or decide and record the assumption.")
        batch = _questions(self._run, questions, self._run.phase, self._run.request.answers)
        if not self._run.request.interactive and any(asked.is_open for asked in batch):
            await _write(self._run, batch)
            self.unanswered = tuple(asked for asked in batch if asked.is_open)
            return QuestionReply(refused=NOT_NOW, ends_turn=True)
        self.waiting = True
        try:
            replies = await _answered(self._run, batch)
        finally:
            self.waiting = False
        if left := tuple(question for question in replies if question.is_open):
            self.unanswered = left
            report_no_answer(self._run, left[0].question.question)
            return QuestionReply(refused=NOT_NOW, ends_turn=True)
        return QuestionReply(answers={q.question.question: _answer_text(q) for q in replies})


Questions = tuple[AskedQuestion, ...]


def _questions(
    run: RunContext, asked: Sequence[Question], phase: Phase, given: GivenAnswers
) -> Questions:
    """Return new questions with one deadline; those that are answered already are not asked."""
    batch, now = uuid.uuid4().hex[:8], run.clock()
    new = AskedQuestion(
        id="",
        batch=batch,
        phase=phase,
        question=asked[0],
        asked_at=now,
        expires_at=answer_deadline(run, now) if run.request.interactive else None,
    )
    named = ((f"q-{batch}-{n}", one, given.to(one)) for n, one in enumerate(asked, 1))
    return tuple(
        new.model_copy(
            update={"id": i, "question": q, "answer": a, "answered_at": now if a else None}
        )
        for i, q, a in named
    )


async def _write(run: RunContext, asked: Questions) -> None:
    """Write questions to disk; those already there stay unchanged."""

    def change(docs: Documents) -> Documents:
        new = [question for question in asked if docs.questions.find(question.id) is None]
        return docs.replacing(questions=docs.questions.asking(new))

    await run.project_state.transact(change)


async def _answered(
    run: RunContext, asked: Questions, gives_up: Callable[[], bool] = lambda: False
) -> Questions:
    """Ask, and return the questions once all are answered, their time is over or the asker `gives_up`."""
    due = asked[0].expires_at
    await _write(run, asked)
    while True:
        log = run.docs.questions
        asked = tuple(log.find(question.id) or question for question in asked)
        if gives_up() or not any(question.is_open for question in asked):
            return asked
        if any(log.find(question.id) is None for question in asked):
            await _write(run, asked)  # their file was lost
        elif await wait_until_due(run, due):
            log = run.docs.questions
            return tuple(log.find(question.id) or question for question in asked)


async def wait_until_due(run: RunContext, due: datetime | None) -> bool:
    """Wait until a document changes or the clock must be read again; return whether it is past `due`."""
    if due is None:
        await run.project_state.wait_changed()
        return False
    left = (due - run.clock()).total_seconds()
    if left > 0:
        await run.project_state.wait_changed_within(left)
    return run.clock() >= due


async def ask_alone(
    run: RunContext,
    question: Question,
    *,
    phase: Phase,
    given: GivenAnswers = NO_ANSWERS,
    gives_up: Callable[[], bool] = lambda: False,
    **more: object,
) -> Answer | None:
    """Ask a question that matters only now, and return the answer; the run stops if nobody answers in time."""
    asked = tuple(q.model_copy(update=more) for q in _questions(run, (question,), phase, given))
    is_late = False

    def withdrawn(docs: Documents) -> Documents:
        log = docs.questions.changing(asked[0].id, withdrawn=True)
        if is_late:
            seconds = duration(run.settings.limits.ask_timeout_seconds)
            why = f"no answer in {seconds}: {one_line(question.question, 200)}"
            docs = docs.with_state(stop=StopMode.NOW, stop_why=why, unanswered=True)
        return docs.replacing(questions=log)

    try:
        (then,) = await _answered(run, asked, gives_up)
    except asyncio.CancelledError:  # the turn was interrupted, or the CLI is gone
        await run.project_state.transact(withdrawn)
        raise
    if then.is_open:
        if is_late := not gives_up():
            report_no_answer(run, question.question)
        await run.project_state.transact(withdrawn)
    return then.answer


END, LEAVE = "End them", "Leave them"


async def settle_orphans(run: RunContext, orphans: tuple[OrphanProcess, ...]) -> None:
    """End what a run that died left running, if the person agrees; without one it is only reported."""
    sentence, ends = described(orphans), run.request.assume_yes
    if not ends and not run.request.answerable:
        run.emit(ev.Notice(level="warning", text=f"{sentence} {HOW_TO_END}"))
        return
    if not ends:
        question = Question(
            question=f"{sentence} End them before the loop starts?",
            header="Leftovers",
            options=(
                Option(label=END, description="They could change files during the new run."),
                Option(label=LEAVE, description="They keep running."),
            ),
        )
        answer = await ask_alone(
            run,
            question,
            phase=Phase.BUILDING,
            given=run.request.answers,
            gives_up=lambda: run.docs.state.stop is not StopMode.NONE,
        )
        ends = answer is not None and END in answer.labels
    if ends:
        await asyncio.to_thread(end_orphans, orphans)
    run.emit(ev.Notice(text=f"{sentence} {'Ended.' if ends else 'Left running.'}"))


def _answer_text(question: AskedQuestion) -> str:
    answer = question.answer or Answer(declined=True)
    return DECLINED if answer.declined or not answer.text else answer.text


def answers_so_far(docs: Documents, phase: Phase) -> tuple[str, ...]:
    """Return the person's answers since the request, for a session that did not ask the questions."""
    asked = docs.questions.asked_in(phase, docs.state.requested_at)
    return tuple(
        f"{one_line(q.question.question, 500)} → {one_line(_answer_text(q), 1_000)}"
        for q in asked
        if q.answer is not None
    )


def still_open(docs: Documents, phase: Phase) -> tuple[AskedQuestion, ...]:
    return tuple(q for q in docs.questions.asked_in(phase, docs.state.requested_at) if q.is_open)


def waiting_for_answer(questions: tuple[AskedQuestion, ...], *, waited: float = 0) -> End:
    """Return the end of a run that cannot continue without an answer; `waited` is in seconds."""
    first = one_line(questions[0].question.question, 200)
    more = f" (and {len(questions) - 1} more)" if len(questions) > 1 else ""
    what = f"no answer in {duration(waited)}" if waited else "waiting for your answer"
    return waiting_end(
        f"{what}: {first}{more}",
        f"Answer with `ralph answer {questions[0].id} …`, then run `ralph run`.",
    )


def waiting_for_approval(kind: ApprovalKind) -> End:
    reason = f"waiting for approval of {DECISIONS[kind]}"
    return waiting_end(
        reason, "Decide with `ralph approve` or `ralph reject --reason …`, then run again."
    )


async def withdraw_open_questions(
    project_state: ProjectState, phase: Phase = Phase.BUILDING
) -> None:
    """Withdraw the open questions of an ended session, except those that discovery asks again itself."""

    def change(docs: Documents) -> Documents:
        log = docs.questions
        for asked in log.open():
            if asked.permission is not None or phase is not Phase.DISCOVERY:
                log = log.changing(asked.id, withdrawn=True)
        return docs.replacing(questions=log) if log is not docs.questions else docs

    await project_state.transact(change)


ContentOf = Callable[[], Awaitable[Content]]
"""Reads the current content that a decision is about."""


async def no_content() -> Content:
    return {}


async def decide(
    run: RunContext,
    kind: ApprovalKind,
    summary: str,
    *,
    content: ContentOf = no_content,
    wait: Callable[[], Awaitable[None]] | None = None,
) -> Approval | End:
    """Return the person's decision, or an end when nobody can decide or the loop must stop.

    A decision made while no loop ran (`ralph approve`) is used at once. If the approved content has changed
    since, the person is asked again. A decision about specs, a plan or a result stays on disk until its
    consequence is on disk too; others are cleared here.

    Args:
        content: Reads the current content that the decision is about.
        wait: Returns when to check for a decision again; by default, after a change of a document.
    """
    if run.request.assume_yes and kind in (ApprovalKind.SPECS, ApprovalKind.PLAN):
        made = _decision(run, kind)
        if made is None or made.approved:
            await clear_decision(run)
            run.emit(ev.ApprovalGiven(kind=kind, approved=True, by=UNSEEN))
            return Approval(kind=kind, approved=True, decided_by=UNSEEN)
    await _request(run, kind, summary, await content())
    asked: Approval | None = None
    expires = None if wait else await _set_deadline(run, kind)
    while (decided := await _current_decision(run, kind, summary, content)) is None:
        pending = run.docs.state.approval
        if pending is None or pending.kind is not kind:
            await _request(run, kind, summary, await content())  # its file was lost
            continue
        if asked is None or (asked.summary, asked.content) != (pending.summary, pending.content):
            asked = pending
            run.emit(ev.ApprovalRequested(kind=kind, summary=pending.summary))
        if not run.request.interactive:
            return waiting_for_approval(kind)
        if (state := run.docs.state).stop is not StopMode.NONE:
            return interrupted_end(state)
        end = await _wait_for_decision(run, kind, wait, expires)
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


async def _wait_for_decision(
    run: RunContext,
    kind: ApprovalKind,
    wait: Callable[[], Awaitable[None]] | None,
    expires: datetime | None,
) -> End | None:
    if wait is not None:
        await wait()
        return None
    if not await wait_until_due(run, expires):
        return None
    report_no_answer(run, f"approval of {DECISIONS[kind]}")
    end = waiting_for_approval(kind)
    waited = duration(run.settings.limits.ask_timeout_seconds)
    return end.model_copy(update={"reason": f"{end.reason}, no answer in {waited}"})


def answer_deadline(run: RunContext, asked_at: datetime) -> datetime | None:
    """Return when a run without an answer ends, or None for never."""
    seconds = run.settings.limits.ask_timeout_seconds
    return asked_at + timedelta(seconds=seconds) if seconds else None


def report_no_answer(run: RunContext, about: str) -> None:
    seconds = run.settings.limits.ask_timeout_seconds
    run.emit(ev.NobodyAnswered(about=one_line(about, 200), seconds=seconds))


async def _set_deadline(run: RunContext, kind: ApprovalKind) -> datetime | None:
    """Return the deadline for a decision, and write it to disk for other terminals.

    A restarted run keeps the deadline of the killed one, unless that deadline has passed.
    """
    pending, now = run.docs.state.approval, run.clock()
    if not run.request.interactive or pending is None or pending.kind is not kind:
        return None
    expires = answer_deadline(run, pending.requested_at or now)
    if expires is not None and expires <= now:
        expires = answer_deadline(run, now)

    def change(docs: Documents) -> Documents:
        asked = docs.state.approval
        if asked is None or asked.kind is not kind or asked.expires_at == expires:
            return docs
        return docs.with_state(approval=asked.model_copy(update={"expires_at": expires}))

    await run.project_state.transact(change)
    return expires


async def _current_decision(
    run: RunContext, kind: ApprovalKind, summary: str, content: ContentOf
) -> Approval | None:
    made = _decision(run, kind)
    if made is None or not made.approved or kind not in REASONED:
        return made
    await _request(run, kind, summary, await content())
    return _decision(run, kind)


async def _request(run: RunContext, kind: ApprovalKind, summary: str, about: Content) -> None:
    """Ask for a decision, unless the same one is already pending or made."""
    now = run.clock()

    def change(docs: Documents) -> Documents:
        last = docs.state.approval
        if last is not None and last.kind is kind and not is_outdated(last, about):
            if last.approved is not None or last.summary.startswith(summary):
                return docs
            return with_approval(docs, last.model_copy(update={"summary": summary}))
        approval = requested(kind, summary, about, now)
        changed = changes(last.content, about) if last and last.kind is kind else ""
        if changed and last is not None and last.content:
            since = {None: "you were asked", True: "you approved it", False: "you rejected it"}
            extended = f"{summary}. Since {since[last.approved]}: {changed}"
            approval = approval.model_copy(update={"summary": extended})
        return with_approval(docs, approval)

    await run.project_state.transact(change)


def is_outdated(approval: Approval, about: Content) -> bool:
    """Return whether a request or decision is about other content than `about`.

    Feedback on specs or a result always applies. A plan that the person has changed after rejecting it is
    theirs and must not be replaced, so the rejection no longer applies.
    """
    rejected = approval.approved is False
    if rejected and (approval.kind is not ApprovalKind.PLAN or not approval.content):
        return False
    return approval.kind in REASONED and bool(changes(approval.content, about))


def requested(kind: ApprovalKind, summary: str, about: Content, now: datetime) -> Approval:
    return Approval(kind=kind, summary=summary, requested_at=now, content=dict(about))


def _decision(run: RunContext, kind: ApprovalKind) -> Approval | None:
    approval = run.docs.state.approval
    made = approval is not None and approval.kind is kind and approval.approved is not None
    return approval if made else None


async def decide_in_their_place(
    run: RunContext, kind: ApprovalKind, *, approved: bool, reason: str, by: str
) -> None:
    def change(docs: Documents) -> Documents:
        asked = docs.state.approval
        if asked is None or asked.kind is not kind or asked.approved is not None:
            return docs
        made = {"approved": approved, "reason": reason, "decided_by": by}
        return docs.with_state(approval=asked.model_copy(update=made))

    await run.project_state.transact(change)


async def clear_decision(run: RunContext) -> None:
    if run.docs.state.approval is not None:
        await run.project_state.transact(lambda docs: with_approval(docs, None))


def with_approval(docs: Documents, approval: Approval | None) -> Documents:
    """Return the documents with this request or decision; a momentary one sets a lasting one aside."""
    current, lasting = docs.state.approval, docs.state.decision
    momentary = current is not None and current.kind not in REASONED
    if approval is None and momentary:
        update = {"approval": lasting, "set_aside": None}
    else:
        replaced = approval is None or approval.kind in REASONED
        update = {"approval": approval, "set_aside": None if replaced else lasting}
    return docs.with_state(**update)
