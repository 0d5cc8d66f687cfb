"""Report failed checks to the next attempt: the failing tests and the end of the output."""

import re
from collections.abc import Iterable, Iterator, Sequence

from ralph_tui.domain.formatting import shortlist
from ralph_tui.domain.run.failure_fingerprint import (
    fingerprint_of,
    reasons,
    steady,
    steady_name,
)
from ralph_tui.domain.sanitize import inert, one_line
from ralph_tui.domain.verification.verification import Receipt

MOST_CHECKS = 4
MOST_TESTS = 12
MOST_LINES = 30
MOST_CHARS = 4_000
"""The most characters of a report, which goes into the plan file and the next prompt."""

_FAILED_TEST = re.compile(
    r"^\s*(?:"
    r"(?:FAILED|ERROR) (?P<pytest>\S+)"
    r"|(?:FAIL|ERROR): (?P<unittest>\w+ \([\w.]+\))"
    r"|--- FAIL: (?P<go>\S+)"
    r"|test (?P<cargo>\S+) \.\.\. FAILED"
    r"|not ok \d+ -? ?(?P<tap>.+)"
    r"|[✕✖\u00d7●] (?P<node>.+?)(?: \([\d.]+ ?m?s\))?[ \t]*$"
    r")",
    re.MULTILINE,
)
"""The lines in which common runners name a failed test."""


def failing_tests(receipt: Receipt) -> tuple[str, ...]:
    """Return the failing tests, as reported by the runner or named in its output."""
    if receipt.failing:
        return receipt.failing
    found = (
        next(filter(None, match.groups()), "") for match in _FAILED_TEST.finditer(receipt.tail)
    )
    return tuple(dict.fromkeys(one_line(name, 160) for name in found))


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
    tests = sorted(steady_name(name) for name in failing_tests(receipt))
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
    tests = failing_tests(receipt)
    if tests:
        yield f"  Failing tests: {shortlist(tests, MOST_TESTS)}"
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
