"""The lines of what a run asks of a person, and of what it found on the way through its phases."""

from collections.abc import Iterator

from ralph_tui.cli.line import Line, line
from ralph_tui.domain import events as ev
from ralph_tui.domain.documents.questions import AskedQuestion, Permission
from ralph_tui.domain.labels import DECISIONS
from ralph_tui.domain.permissions import answer_told, ruling_of
from ralph_tui.domain.sanitize import inert, one_line
from ralph_tui.tui.glyphs import Glyphs
from ralph_tui.tui.render.figures import plural

SHOWN_FAILURES = 10


def question_lines(signs: Glyphs, asked: AskedQuestion) -> Iterator[Line]:
    """A question with its numbered options."""
    question = asked.question
    header = f" ({question.header})" if question.header else ""
    several = ", several may be chosen" if question.multi_select else ""
    yield line(
        f"{signs.asking} {asked.phase} asks{header}: {question.question}{several}", "bold cyan"
    )
    if asked.permission is not None:
        yield from _permission(asked.permission)
    for number, option in enumerate(question.options, 1):
        about = f" {signs.between} {option.description}" if option.description else ""
        yield line(f"{number}. {option.label}{about}", "", 2)


def _permission(wanted: Permission) -> Iterator[Line]:
    """The whole call, however long, and why it is asked about."""
    yield line("runs:" if wanted.asked else "the whole of it:", "dim", 2)
    yield from (Line(inert(text), "", 3) for text in wanted.argument.splitlines())
    if wanted.asked:
        yield line("as the agent wrote it:", "dim", 2)
        yield from (Line(inert(text), "", 3) for text in wanted.asked.splitlines())
    if wanted.reason:
        yield line(f"because {wanted.reason} ({wanted.rule})", "dim", 2)


def question_asked(signs: Glyphs, e: ev.QuestionAsked) -> Iterator[Line]:
    """A question, and how to answer it from anywhere."""
    yield from question_lines(signs, e.question)
    if e.question.is_open:
        yield line(f"answer from anywhere: ralph answer {e.question.id} TEXT", "dim", 2)


def question_answered(signs: Glyphs, e: ev.QuestionAnswered) -> Iterator[Line]:
    """What was answered, and by whom."""
    about = one_line(e.question.question.header or e.question.question.question, 80)
    answer = e.question.answer
    if answer is None:
        yield line(
            f"{signs.asking} {about}: withdrawn, the session that asked is gone", "yellow", 1
        )
        return
    told = f"{about}: {answer_told(e.question)} (by {answer.by})"
    ruling = ruling_of(answer) if e.question.permission else None
    if answer.declined or (ruling is not None and not ruling.allowed):
        yield line(f"{signs.asking} {told}", "yellow", 1)
    else:
        yield line(f"{signs.ok} {told}", "green", 1)


def approval_requested(signs: Glyphs, e: ev.ApprovalRequested) -> Iterator[Line]:
    """What waits for a decision, and how to make it from anywhere."""
    summary = f": {e.summary}" if e.summary else ""
    yield line(
        f"{signs.asking} your approval of {DECISIONS[e.kind]} is needed{summary}", "bold cyan"
    )
    yield line("decide from anywhere: ralph approve, or ralph reject --reason TEXT", "dim", 2)


def approval_given(signs: Glyphs, e: ev.ApprovalGiven) -> Iterator[Line]:
    """The decision."""
    sign, word, tone = (
        (signs.ok, "approved", "green") if e.approved else (signs.failed, "rejected", "yellow")
    )
    by = f" (by {e.by})" if e.by else ""
    why = f": {e.reason}" if e.reason else ""
    yield line(f"{sign} {word}: {DECISIONS[e.kind]}{by}{why}", tone)


def specs_checked(signs: Glyphs, e: ev.SpecsChecked) -> Iterator[Line]:
    """Which specs are whole, and what the others lack."""
    if e.valid:
        yield line(f"{signs.ok} {plural(len(e.valid), 'spec')} whole: {', '.join(e.valid)}", "", 1)
    for name, problems in e.problems.items():
        yield line(f"{signs.failed} specs/{name} lacks {'; '.join(problems)}", "yellow", 1)


def validation_finished(signs: Glyphs, e: ev.ValidationFinished) -> Iterator[Line]:
    """The verdict, and what is left to do."""
    if e.passed:
        said = f": {e.summary}" if e.summary else ""
        yield line(f"{signs.ok} validation round {e.round} passed{said}", "bold green")
        return
    found = plural(len(e.failures), "thing")
    yield line(f"{signs.failed} validation round {e.round} found {found} to do", "bold yellow")
    for failure in e.failures[:SHOWN_FAILURES]:
        yield line(f"{signs.failed} {failure}", "yellow", 1)
    if (more := len(e.failures) - SHOWN_FAILURES) > 0:
        yield line(f"and {more} more; see .ralph/validation_report.json", "yellow", 1)


def limit_wait(signs: Glyphs, e: ev.LimitWait) -> Iterator[Line]:
    """Until when the loop waits, and how not to."""
    said = f": {e.message.rstrip('.')}" if e.message else ""
    yield line(
        f"{signs.pause} waiting until {e.until:%Y-%m-%d %H:%M:%S} UTC{said} "
        f"{signs.between} `ralph retry` tries again now",
        "yellow",
    )


def limit_wait_ended(signs: Glyphs, e: ev.LimitWaitEnded) -> Iterator[Line]:
    """Why the wait is over."""
    yield line(f"{signs.running} {e.why or 'the wait is over'}", "bold")


def allowance_reported(signs: Glyphs, e: ev.AllowanceReported) -> Iterator[Line]:
    """How much of a subscription's window is used."""
    text = f"{e.allowance.percent:.0f} % of the {e.allowance.name} allowance is used"
    yield line(f"{signs.between} {text}", "dim", 1)
