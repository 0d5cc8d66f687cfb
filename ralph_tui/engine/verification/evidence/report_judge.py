"""Decide whether a command that ended with status 0 really passed."""

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from ralph_tui.domain.formatting import plural
from ralph_tui.engine.verification.evidence.check_names import RUNNER_MODULES, is_test_file
from ralph_tui.engine.verification.evidence.reports import TestReport
from ralph_tui.engine.verification.evidence.runners import INLINE_NODE, INLINE_PYTHON

_INSTALLED = ("site-packages", "dist-packages")
_RAN = frozenset({"passed", "failed", "xpassed"})
_WEAK = {"skipped": "skipped", "xfailed": "expected to fail"}
_NAMED = 3
_INLINE = {INLINE_PYTHON: "the command's Python code", INLINE_NODE: "the command's node code"}


def faults(
    report: TestReport,
    root: Path,
    trusted: Collection[str],
    changed: Collection[str] = (),
) -> tuple[str, ...]:
    """Return why a command with exit status 0 did not pass; empty if it did.

    Args:
        trusted: Check files in the person's version, relative to the project.
        changed: Check files with changes, which a run with the originals judges.
    """
    early = tuple(_ended_early(report, root, {*trusted, *changed}))
    if not report.runners:
        return (*report.faults, *early)
    return early + tuple(
        dict.fromkeys((*_result_faults(report), *run_faults(report, root, trusted)))
    )


def run_faults(report: TestReport, root: Path, trusted: Collection[str]) -> tuple[str, ...]:
    """Return faults in how the tests ran, whatever their outcome; the arguments are those of `faults`."""
    return (
        *report.faults,
        *_untrusted_parts(report, root, trusted),
        *_skipped_by_code(report, root, trusted),
    )


def _ended_early(report: TestReport, root: Path, checks: Collection[str]) -> Iterator[str]:
    """Yield check scripts that did not reach their end, because the checked code ended the process."""
    for end in report.scripts:
        script = _script_path(end.script, root)
        if script not in (*checks, *_INLINE):
            continue  # the script is the work itself
        if not end.how:
            yield f"{_INLINE.get(script, script)} did not reach its end although the command ended with status 0"
        elif end.status or end.how == "raised":
            yield f"{_INLINE.get(script, script)} failed although the command ended with status 0"
        elif end.how != "reached":
            own = [name for path, _ in end.frames if (name := _script_path(path, root))]
            done = all(
                last
                for path, last in end.frames
                if not path or _script_path(path, root) in (*checks, *_INLINE)
            )
            if not own or (own[-1] not in (*checks, *_INLINE) and not done):
                who = own[-1] if own else "something"
                yield f"{who} ended {_INLINE.get(script, script)} with status 0 before its end. Return instead of exiting there"


def _script_path(path: str, root: Path) -> str:
    return path if path in _INLINE else _project_path(path, root)


def _result_faults(report: TestReport) -> Iterator[str]:
    counts = report.counts
    if counts.failed:
        yield f"{_tests(report.failing)} failed although the command ended with status 0"
    elif report.failing_exit:
        yield "the test runner reported a failure although the command ended with status 0"
    elif not counts.run:
        yield "no test ran" if not counts.skipped else f"no test ran: {counts.text}"


def _untrusted_parts(report: TestReport, root: Path, trusted: Collection[str]) -> Iterator[str]:
    for name, path in report.loaded.items():
        own = _project_path(path, root)
        if own and own not in trusted:
            what = (
                "is not the installed one"
                if name in RUNNER_MODULES
                else "changes every run of Python"
            )
            yield f"{name} was loaded from {own}, so it {what}"
    for path in report.plugins:
        own = _project_path(path, root)
        if own and own not in trusted and not own.endswith("conftest.py"):
            yield f"{own} took part in the run as a plugin"
    for name, path in report.replaced:
        own = _project_path(path, root)
        if (own and own not in trusted) or not Path(path).is_absolute():
            yield f"{name} was replaced by {own or path or 'something without a file'} during the run"


def _skipped_by_code(report: TestReport, root: Path, trusted: Collection[str]) -> Iterator[str]:
    for test, place in report.places.items():
        own = _project_path(place, root)
        if report.outcomes.get(test) not in _WEAK or not own or own in trusted:
            continue
        name = own.rsplit("/", 1)[-1]
        if own != test.partition("::")[0] and not is_test_file(name) and name != "conftest.py":
            yield f"{test} was {_WEAK[report.outcomes[test]]} by {own}"


def _project_path(path: str, root: Path) -> str:
    if not path:
        return ""
    file = Path(path)
    if any(part in _INSTALLED for part in file.parts):
        return ""
    for base in (root, root.resolve()):
        if file.is_absolute() and file.is_relative_to(base):
            return file.relative_to(base).as_posix()
    return file.as_posix() if not file.is_absolute() and (root / file).is_file() else ""


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
