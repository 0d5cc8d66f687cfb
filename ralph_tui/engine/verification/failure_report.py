"""Report checks to the model: all receipts of its claim, and to the next attempt what failed."""

from collections.abc import Iterable, Iterator, Sequence

from ralph_tui.domain.formatting import shortlist
from ralph_tui.domain.run.breaker import fingerprint_of, reasons, steady, steady_name
from ralph_tui.domain.sanitize import inert, one_line
from ralph_tui.domain.verification.verification import GateResult, Inputs, Receipt

RESTORE_CHECK_FILES = (
    "Tests, check scripts and test settings that existed before this task must stay unchanged. Restore "
    "them, and put new tests into new files. If the task requires changing them, say so in the notes "
    "of your claim."
)
"""What the model reads when check files changed."""

MOST_CHECKS = 4
MOST_TESTS = 12
MOST_LINES = 30
MOST_CHARS = 4_000
"""The most characters of a report, which goes into the plan file and the next prompt."""


def failure_report(receipts: Iterable[Receipt]) -> str:
    """Return the failed checks for the next attempt: bounded, inert, without secrets."""
    failed = [receipt for receipt in receipts if not receipt.ok]
    room = MOST_CHARS // max(1, min(len(failed), MOST_CHECKS))
    parts = ["\n".join(_report_lines(receipt, room)) for receipt in failed[:MOST_CHECKS]]
    if len(failed) > MOST_CHECKS:
        parts.append(f"{len(failed) - MOST_CHECKS} more checks failed.")
    return "\n".join(parts)


def failure_fingerprint(receipts: Iterable[Receipt]) -> str:
    """Return a fingerprint of the failed checks, which is the same when they fail again in the same way.

    It covers the failing tests and the error lines of the output. The command is included only if nothing
    else is known, because many failures share one command.
    """
    return fingerprint_of(sorted(_signature(receipt) for receipt in receipts if not receipt.ok))


def _signature(receipt: Receipt) -> str:
    tests = sorted(map(steady_name, receipt.failing))
    known = [*tests, *reasons(receipt.tail)]
    if not tests and receipt.reason:
        known.append(steady(receipt.reason))
    if not receipt.tail.strip() and not tests:
        known.append(receipt.command)
    return "; ".join([*known, receipt.status.value])


def _report_lines(receipt: Receipt, room: int) -> Iterator[str]:
    what = one_line(receipt.command, 200)
    reason = f": {one_line(receipt.reason, 200)}" if receipt.reason else ""
    yield f"- `{what}` {receipt.status.value.replace('_', ' ')}{reason}"
    if receipt.failing:
        yield f"  Failing tests: {shortlist(receipt.failing, MOST_TESTS)}"
    lines = _last_lines(inert(receipt.tail).splitlines(), room)
    if lines:
        yield "  End of its output:"
        yield from (f"    {line}" for line in lines)


def _last_lines(lines: Sequence[str], room: int) -> list[str]:
    kept: list[str] = []
    for line in reversed([one_line(line, 240) for line in lines if line.strip()]):
        room -= len(line) + 5
        if room < 0 or len(kept) == MOST_LINES:
            break
        kept.append(line)
    return kept[::-1]


def receipt_text(result: GateResult) -> str:
    """Return the result as the model reads it; failed checks come last, where a screen shows them."""
    lines = [_headline(result)]
    for receipt in sorted(result.receipts, key=lambda one: not one.ok):
        shown = receipt.reason or (receipt.counts.text if receipt.counts else "")
        reason = f" ({shown})" if shown else ""
        lines.append(f"- {receipt.status.value}: `{receipt.command}`{reason}")
        if not receipt.ok and receipt.tail:
            lines += [f"    {line}" for line in receipt.tail.strip().splitlines()[-60:]]
        if not receipt.ok and receipt.inputs is Inputs.ORIGINALS:
            lines.append(f"    {RESTORE_CHECK_FILES}")
    return "\n".join(lines)


def _headline(result: GateResult) -> str:
    if not result.passed:
        return "NOT YET: these checks failed."
    if result.verified:
        return f"ACCEPTED: {result.basis}."
    if result.question:
        return f"TO BE REVIEWED: {result.question}."
    return f"ACCEPTED as unverified: {result.basis}. Nothing was checked. Your notes are the only evidence."
