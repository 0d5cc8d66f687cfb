"""Decide whether a command that ended with status 0 really passed."""

from collections.abc import Iterator, Mapping

from ralph_tui.domain.formatting import plural
from ralph_tui.engine.verification.evidence.reports import TestReport

_RAN = frozenset({"passed", "failed", "xpassed"})
_WEAK = {"skipped": "skipped", "xfailed": "expected to fail"}
_NAMED = 3


def faults(report: TestReport) -> tuple[str, ...]:
    """Return why a command with exit status 0 did not pass; empty if it did."""
    found = _result_faults(report) if report.runners else ()
    return tuple(dict.fromkeys((*found, *report.faults)))


def _result_faults(report: TestReport) -> Iterator[str]:
    counts = report.counts
    if counts.failed:
        yield f"{_tests(report.failing)} failed although the command ended with status 0"
    elif report.failing_exit:
        yield "the test runner reported a failure although the command ended with status 0"
    elif not counts.run:
        yield "no test ran" if not counts.skipped else f"no test ran: {counts.text}"


def weaknesses(before: Mapping[str, str], now: TestReport) -> tuple[str, ...]:
    """Return how a run proves less than an earlier one.

    Args:
        before: The outcome of each test in the earlier run.
    """
    found = list(_weaker_outcomes(before, now.outcomes))
    ran_before = sum(outcome in _RAN for outcome in before.values())
    ran_now = now.counts.run
    known = [name for name in before if now.outcomes.get(name) in _WEAK]
    fewer = ran_before - ran_now - len([n for n in known if before[n] in _RAN])
    if fewer > 0:
        gone = [
            name for name, outcome in before.items() if outcome in _RAN and name not in now.outcomes
        ]
        found.append(f"{_tests(tuple(gone) or ('?',) * fewer)} no longer ran")
    elif now.deselected and any(n not in now.outcomes for n in before):
        found.append(f"{now.deselected} more tests were deselected than before")
    return tuple(found)


def _weaker_outcomes(before: Mapping[str, str], now: Mapping[str, str]) -> Iterator[str]:
    for outcome, words in _WEAK.items():
        names = tuple(
            name for name, then in before.items() if then not in _WEAK and now.get(name) == outcome
        )
        if names:
            yield f"{_tests(names)} {'is' if len(names) == 1 else 'are'} {words} now"


def _tests(names: tuple[str, ...]) -> str:
    shown = ", ".join(name for name in names[:_NAMED] if name != "?")
    more = ", …" if len(names) > _NAMED else ""
    number = plural(len(names), "test")
    return f"{number} ({shown}{more})" if shown else number
