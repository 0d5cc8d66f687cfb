"""The lines of what the work leaves behind: checks, learnings, guidance, hand-offs."""

from collections.abc import Iterator

from ralph_tui.cli.line import Line, line
from ralph_tui.domain import events as ev
from ralph_tui.domain.formatting import took
from ralph_tui.domain.project_state import Phase
from ralph_tui.domain.sanitize import one_line
from ralph_tui.domain.verification.review import criteria_count, evidence_lines
from ralph_tui.domain.verification.verification import GateResult, Receipt, ReceiptStatus
from ralph_tui.tui.glyphs import Glyphs
from ralph_tui.tui.render.figures import money, plural
from ralph_tui.tui.timeline.notes import unfinished

_PHASES = frozenset(phase.value for phase in Phase)


def subject(task_id: str) -> str:
    """What an iteration is about: a task, or a phase that has none."""
    return task_id if task_id in _PHASES else f"task {task_id}"


def gate_started(signs: Glyphs, e: ev.GateStarted) -> Iterator[Line]:
    """A claim, or the checks a validation begins with."""
    checks = plural(len(e.commands), "check")
    claim = "" if e.task_id in _PHASES else " is claimed complete"
    yield line(f"{signs.verifying} {subject(e.task_id)}{claim}, {checks} to run", "cyan", 1)


def gate_checked(signs: Glyphs, e: ev.GateChecked) -> Iterator[Line]:
    """One command's receipt."""
    receipt = e.receipt
    not_passed = {ReceiptStatus.SKIPPED: signs.skipped, ReceiptStatus.RED_BEFORE: signs.warning}
    sign = not_passed.get(receipt.status, signs.ok)
    text = f"{sign if receipt.ok else signs.failed} {receipt.command} {signs.between} "
    yield line(f"{text}{_outcome(receipt)}", "" if receipt.ok else "yellow", 2)


def _outcome(receipt: Receipt) -> str:
    word = receipt.status.value.replace("_", " ")
    code = f", exit {receipt.exit_code}" if receipt.exit_code else ""
    counted = f", {receipt.counts.text}" if receipt.counts else ""
    told = receipt.reason == f"exit status {receipt.exit_code}"
    why = f": {one_line(receipt.reason, 240)}" if receipt.reason and not told else ""
    return f"{word}{code}, {took(receipt.seconds)}{counted}{why}"


def gate_finished(signs: Glyphs, e: ev.GateFinished) -> Iterator[Line]:
    """The verdict of all checks."""
    about, phase = subject(e.task_id), e.task_id in _PHASES
    result = GateResult(task_id=e.task_id, receipts=e.receipts)
    if e.reviewed:
        yield line(f"{signs.note} {about}: {result.basis}; a reviewer judges the rest", "", 1)
        return
    if e.unverified:
        word = f"{result.basis}" if phase else f"is unverified: {result.basis}"
        yield line(f"{signs.warning} {about}{':' * phase} {word}", "yellow", 1)
        return
    if e.passed:
        word = f"{result.basis}" if phase else f"is verified: {result.basis}"
        yield line(f"{signs.ok} {about}{':' * phase} {word}", "green", 1)
        return
    failed = ", ".join(one_line(r.command, 80) for r in e.receipts if not r.ok)
    word = "" if phase else " is not complete yet,"
    yield line(f"{signs.failed} {about}{':' * phase}{word} failed: {failed}", "yellow", 1)


def review_started(signs: Glyphs, e: ev.ReviewStarted) -> Iterator[Line]:
    """A reviewer begins."""
    model = f" ({e.model})" if e.model else ""
    yield line(f"{signs.verifying} reviewing {criteria_count(e.criteria)}{model}", "cyan", 1)


def review_finished(signs: Glyphs, e: ev.ReviewFinished) -> Iterator[Line]:
    """The reviewer's verdicts with their evidence."""
    review = e.review
    sign, tone = (signs.ok, "green") if review.agreed else (signs.failed, "yellow")
    yield line(f"{sign} {review.told}, {money(review.cost_usd)}", tone, 1)
    for text in evidence_lines(review):
        yield line(text, "", 2)


def learning(signs: Glyphs, e: ev.LearningRecorded) -> Iterator[Line]:
    """Something worth knowing next time."""
    yield line(f"{signs.learned} learned ({e.category.lower()}): {e.text}", "", 1)


def injection_queued(signs: Glyphs, e: ev.InjectionQueued) -> Iterator[Line]:
    """Guidance that waits."""
    yield line(f"{signs.guidance} guidance queued: {e.text}")


def injection_consumed(signs: Glyphs, e: ev.InjectionConsumed) -> Iterator[Line]:
    """Guidance that was given."""
    count = plural(len(e.ids), "piece")
    yield line(f"{signs.guidance} {count} of guidance given to iteration {e.iteration}")


def handoff_started(signs: Glyphs, e: ev.HandoffStarted) -> Iterator[Line]:
    """Why a session is summed up."""
    yield line(f"{signs.handoff} handing off: {e.reason}", "cyan", 1)


def handoff_finished(signs: Glyphs, e: ev.HandoffFinished) -> Iterator[Line]:
    """Where the summary is, and whose it is."""
    by = "the model's summary" if e.summarised else "what ralph knows; the model gave no summary"
    yield line(f"{signs.handoff} handed off in {e.path} ({by})", "cyan", 1)


def files_unfinished(signs: Glyphs, e: ev.FilesUnfinished) -> Iterator[Line]:
    """Files that somebody writes, and that they are whole again."""
    if e.names:
        yield line(f"{signs.note} {unfinished(e.names)}; what was there before holds", "dim")
    else:
        yield line(f"{signs.ok} the files are whole again", "dim")
