"""Tests what a run needs: each check of the project, as a run does before its first task."""

import asyncio
import shlex
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ralph_tui.cli.console import out
from ralph_tui.cli.doctor.preflight import Finding
from ralph_tui.config.load import load_settings
from ralph_tui.domain.base import Model
from ralph_tui.domain.errors import RalphError, SetupError
from ralph_tui.domain.formatting import duration, plural, shortlist
from ralph_tui.store.backup.check_store import TRIED, CheckStore

if TYPE_CHECKING:
    from ralph_tui.engine.run.verify_task import Tried
    from ralph_tui.engine.verification.baseline import Check
    from ralph_tui.engine.verification.evidence.examined import Examined

_OLD_FAILURE = (
    "A run accepts an old failure as long as it gets no worse. To fix it first: ralph until"
)


class Trial(Model):
    """What each check showed when the person tried them, and when that was."""

    at: float = 0.0
    shown: Mapping[str, str] = {}


def try_checks_of(root: Path) -> Iterator[Finding]:
    """Run each check of the project once, yield what it showed, and remember that for the start screen. Blocks."""
    from ralph_tui.engine.run.verify_task import try_checks

    try:
        tried = asyncio.run(try_checks(root, load_settings(root)))
    except RalphError as error:
        yield Finding("tried", ok=False, text=error.message, advice=error.hint)
        return
    found = {check.command: _finding(root, check, tried) for check in tried.checks}
    if not found:
        text = "no check to run"
        advice = "Name one: ralph config set build.test_command COMMAND"
        yield Finding("tried", ok=False, text=text, advice=advice, needed=False, is_next=True)
    shown = {command: finding.text for command, finding in found.items()}
    CheckStore(root).save(TRIED, Trial(at=time.time(), shown=shown))
    yield from found.values()


def _finding(root: Path, check: "Check", tried: "Tried") -> Finding:
    from ralph_tui.engine.verification.baseline import require_started

    one = tried.examined.get(check.command)
    try:
        notes = require_started(root, (check,), tried.examined, (), tried.hidden)
    except SetupError as error:
        return Finding("tried", ok=False, text=error.message, advice=error.hint)
    if one is None:
        return Finding("tried", ok=False, text=f"`{check.command}` did not run", needed=False)
    took = duration(one.result.seconds)
    if one.passed:
        ran = f"{plural(one.counts.passed, 'test')}, " if one.counts and one.counts.passed else ""
        return Finding("tried", ok=True, text=f"`{check.command}` passes ({ran}{took})")
    text = f"`{check.command}` fails ({took}): {_why(one)}"
    advice = " ".join((*notes, _OLD_FAILURE, shlex.quote(check.command)))
    return Finding("tried", ok=False, text=text, advice=advice, needed=False)


def _why(one: "Examined") -> str:
    if one.failing:
        return f"{plural(len(one.failing), 'test')} failed: {shortlist(list(one.failing), 3)}"
    if one.faults:
        return "; ".join(one.faults)
    lines = [line.strip() for line in one.result.tail.splitlines() if line.strip()]
    return lines[-1] if lines else f"status {one.result.exit_code}"


def last_trial(root: Path) -> Mapping[str, str]:
    known = CheckStore(root).load(TRIED, Trial) or Trial()
    ago = duration(max(0.0, time.time() - known.at))
    return {command: f"{text}, {ago} ago" for command, text in known.shown.items()}


def print_findings(findings: tuple[Finding, ...]) -> None:
    from ralph_tui.present.text.glyphs import choose

    signs = choose(encoding=sys.stdout.encoding)
    width = max(len(finding.name) for finding in findings)
    for finding in findings:
        if finding.ok:
            sign, word = signs.ok, "ok   "
        elif finding.is_next:
            sign, word = signs.chevron, "next "
        else:
            sign, word = (signs.failed, "wrong") if finding.needed else (signs.warning, "note ")
        typer.echo(f"{sign} {word} {finding.name.ljust(width)}  ", nl=False)
        out(finding.text)
        if not finding.ok and finding.advice:
            out(f"{' ' * 8}{finding.advice}")
