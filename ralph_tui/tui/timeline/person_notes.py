"""Notes of what a run asks of a person, and of what it found on the way through its phases."""

from ralph_tui.domain import events as ev
from ralph_tui.domain.labels import DECISIONS
from ralph_tui.domain.permissions import answer_told
from ralph_tui.tui.render.clock import clock, in_local
from ralph_tui.tui.render.figures import plural
from ralph_tui.tui.render.spans import Tone
from ralph_tui.tui.timeline.note import Note


def question_asked(e: ev.QuestionAsked) -> Note:
    """A question with its options, or a call that needs permission."""
    asked = e.question
    options = "\n".join(f"{o.label}  {o.description}".rstrip() for o in asked.question.options)
    if asked.permission is not None:
        more = f"{asked.permission.argument}\n\n{asked.permission.reason}\n\n{options}"
        return Note("asking", "allow?", asked.question.question, Tone.WARN, more=more)
    return Note("asking", "question", asked.question.question, Tone.WARN, more=options)


def question_answered(e: ev.QuestionAnswered) -> Note:
    """What was answered, and by whom."""
    answer = e.question.answer
    if answer is None:
        return Note("asking", "question", "withdrawn: the session that asked is gone")
    told = answer_told(e.question)
    plain = e.question.permission is None and not answer.declined
    return Note("asking", "answer", told, Tone.INFO if plain else Tone.WARN, f"by {answer.by}")


def uncalled_allowed(e: ev.ToolAllowed) -> Note:
    """What was asked about beside the calls: a host."""
    return Note("ok", "reach", e.part, right=f"allowed by {e.by}" if e.by else "allowed before")


def uncalled_denied(e: ev.ToolDenied) -> Note:
    """What was asked about beside the calls, and denied."""
    by = f"denied by {e.by}" if e.by else "denied"
    return Note("denied", "reach", e.part, Tone.WARN, by, more=f"Rule: {e.rule}\n{e.reason}")


def approval_requested(e: ev.ApprovalRequested) -> Note:
    """What waits for a decision."""
    about = f": {in_local(e.summary, e.time)}" if e.summary else ""
    return Note("asking", "approval", f"of {DECISIONS[e.kind]} is needed{about}", Tone.WARN)


def approval_given(e: ev.ApprovalGiven) -> Note:
    """The decision."""
    verdict = "given" if e.approved else "refused"
    text = f"of {DECISIONS[e.kind]} {verdict}" + (f": {e.reason}" if e.reason else "")
    look = ("ok", Tone.OK) if e.approved else ("failed", Tone.WARN)
    return Note(look[0], "approval", text, look[1], f"by {e.by}" if e.by else "")


def specs_checked(e: ev.SpecsChecked) -> Note:
    """Which specs are whole."""
    good = plural(len(e.valid), "spec")
    if not e.problems:
        return Note("ok", "specs", f"{good} read", Tone.OK, more="\n".join(e.valid))
    wrong = "\n".join(f"{name}: {'; '.join(found)}" for name, found in e.problems.items())
    text = f"{good} read, {len(e.problems)} with problems"
    return Note("warning", "specs", text, Tone.WARN, more=wrong)


def validation_finished(e: ev.ValidationFinished) -> Note:
    """The verdict of a round."""
    look = ("ok", Tone.OK) if e.passed else ("failed", Tone.BAD)
    verdict = "passed" if e.passed else f"failed: {plural(len(e.failures), 'finding')}"
    more = "\n".join((e.summary, *e.failures)).strip()
    return Note(look[0], "validate", f"round {e.round} {verdict}", look[1], more=more)


def limit_wait(e: ev.LimitWait) -> Note:
    """Until when the loop waits."""
    until = f"until {clock(e.until, e.time)}"
    return Note("retry", "waiting", e.message or "for the usage limit", Tone.WARN, until)
