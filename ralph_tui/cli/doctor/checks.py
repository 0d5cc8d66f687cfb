"""Checks everything that a run needs, for `ralph doctor` and for the first lines of the screen."""

import asyncio
import os
import re
import shlex
import shutil
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import typer

from ralph_tui.agent.address_check import check_address
from ralph_tui.agent.login import check_login, login, try_login
from ralph_tui.cli.console import no_screen, note, out
from ralph_tui.cli.doctor.guard_layers import check_layers
from ralph_tui.cli.doctor.preflight import (
    KIND_WORDS,
    Finding,
    NextStepError,
    asked,
    checked,
    first_words,
    needs_uv,
    plan_of_another,
    uv_version,
)
from ralph_tui.config.load import config_paths, load_settings
from ralph_tui.config.settings import Settings
from ralph_tui.domain.base import Model
from ralph_tui.domain.documents.agents_md import MAX_LINES, lines_of
from ralph_tui.domain.errors import RalphError, SetupError, StoreError
from ralph_tui.domain.events import Notice
from ralph_tui.domain.formatting import duration, plural, shortlist
from ralph_tui.domain.plan.plan import TaskStatus
from ralph_tui.domain.project_state import Phase
from ralph_tui.domain.run.steps import StepLog
from ralph_tui.domain.sanitize import one_line
from ralph_tui.domain.verification.check_commands import CheckKind
from ralph_tui.engine.commits.task_commits import work_place
from ralph_tui.engine.phases.build_loop import require_workable
from ralph_tui.engine.run.verify_task import Tried, try_checks
from ralph_tui.engine.safety.phase_extensions import check_extras
from ralph_tui.engine.safety.processes import HOW_TO_END, OrphanProcess, described, find_orphans
from ralph_tui.engine.safety.repository_guard import repository_notices
from ralph_tui.engine.steps.step_runner import check_steps
from ralph_tui.engine.verification.baseline import Check, require_started, telling_line
from ralph_tui.engine.verification.detection.project_checks import (
    checks_of,
    detect_checks,
    gate_commands,
)
from ralph_tui.engine.verification.detection.python_declarations import DirectoryFiles
from ralph_tui.engine.verification.evidence.examined import Examined
from ralph_tui.guard.sandbox.os_sandbox import sandbox_problem
from ralph_tui.present.text.figures import limit
from ralph_tui.present.text.glyphs import choose
from ralph_tui.store.backup.check_store import TRIED, CheckStore
from ralph_tui.store.layout import Layout
from ralph_tui.store.lock import LoopLock
from ralph_tui.store.project import Project
from ralph_tui.vcs.commits import Committer

LOW_DISK_BYTES = 500_000_000
AGENTS_MD_BYTES = 1_000_000
SDK = "claude-agent-sdk"


def examine(start: Path, *, tries: bool = False) -> Iterator[Finding]:
    """Yield all findings, in the order in which a person would fix them."""
    root = _project_root(start)
    place = root or start
    settings = None
    try:
        settings = load_settings(place)
        wants_uv, sandbox = needs_uv(place, settings), settings.safety.sandbox
    except RalphError:  # the finding about the settings reports this
        wants_uv, sandbox = True, "auto"
    if wants_uv:
        yield from checked("uv", lambda: f"{uv_version()}, works")
    yield from checked("claude", lambda: f"{cli_version()}, bundled with the SDK")
    yield from checked("login", try_login if tries else _login)
    yield from checked("git", _git, start, needed=False)
    if shutil.which("uv") is not None:
        yield from checked("python", _python, place, needed=False)
    yield from check_layers(place, sandbox)
    yield from checked("terminal", _terminal, needed=False)
    yield from checked("config", _config, place)
    if settings is not None:
        yield from (told := [*checked("checks", _checks, place, settings)])
        if tries and all(one.ok or one.is_next for one in told):
            note("Running each check of the project once.")
            yield from try_checks_of(place)
    yield from checked("plan", _plan, root)
    if root is not None:
        yield from checked("commits", _commits, root)
        yield from checked("AGENTS.md", _agents_md, root, needed=False)
    yield from checked("strays", _strays, start, needed=False)
    yield from checked("disk", _disk, place)


def _login() -> str:
    check_login()
    check_address()
    return f"by {login()}, not tried"


def _terminal() -> str:
    if reason := no_screen():
        raise SetupError(reason, "Runs use line mode here; use a terminal for the screen.")
    return f"can show the screen (TERM={os.environ.get('TERM', '')})"


def _strays(start: Path) -> str:
    if left := orphans_of(start):
        raise SetupError(described(left), HOW_TO_END)
    return "no leftover processes"


def _disk(place: Path) -> str:
    free, writable = shutil.disk_usage(place).free, os.access(place, os.W_OK)
    text = f"{free / 1e9:.1f} GB free" if writable else f"{place} is not writable"
    if not writable or free <= LOW_DISK_BYTES:
        raise SetupError(text, "Free some space, or make it writable.")
    return text


def orphans_of(start: Path) -> tuple[OrphanProcess, ...]:
    """Return the processes that a dead run left behind; none while a loop runs, whose processes look the same."""
    root = _project_root(start)
    if root is None or LoopLock(Layout(root)).owner() is not None:
        return ()
    return find_orphans(root)


def cli_version() -> str:
    path, repair = _bundled_cli(), f"Install it again: uv sync --reinstall-package {SDK}"
    if path is None:
        raise SetupError("the Claude Code CLI is missing from the SDK.", repair)
    return first_words("the Claude Code CLI", (str(path), "--version"), repair)


def _bundled_cli() -> Path | None:
    """Return the path of the SDK's own CLI, without importing the SDK, which takes seconds."""
    try:
        files = distribution(SDK).files or []
    except PackageNotFoundError:
        return None
    found = (file for file in files if file.parts[-2:] == ("_bundled", "claude"))
    path = next((Path(str(file.locate())) for file in found), None)
    return path if path is not None and path.is_file() else None


def _git(start: Path) -> str:
    advice = "With a repository, agents can read the project's history. `git init` creates one."
    if shutil.which("git") is None:
        raise SetupError("not installed", advice)
    done = asked(("git", "rev-parse", "--show-toplevel"), start)
    if done.returncode != 0:
        raise SetupError("not a repository", advice)
    if warnings := " ".join(
        notice.text for notice in repository_notices(start) if notice.level == "warning"
    ):
        raise SetupError(warnings)
    return f"repository {done.stdout.strip()}"


def _python(root: Path) -> str:
    checks = detect_checks(DirectoryFiles(root))
    if checks.commands and not checks.python:
        return ""
    done = asked(("uv", "python", "find"), root)
    if done.returncode != 0:
        error = one_line(done.stderr.strip().removeprefix("error: "))
        advice = "`uv python install` installs the version that .python-version or requires-python names."
        raise SetupError(f"uv: {error}", advice)
    return done.stdout.strip()


def _project_root(start: Path) -> Path | None:
    try:
        return Project.find(start, "").root
    except RalphError:
        return None  # the finding about the plan reports this


def _config(root: Path) -> str:
    settings = load_settings(root)
    check_extras(settings, Phase, root, os.environ)
    try:
        project = Project(root)
        known = project.look().steps if project.layout.dot.is_dir() else StepLog()
    except StoreError:  # the finding about the plan reports this
        project, known = Project(root, ""), StepLog()
    check_steps(project, settings, known)
    used = [str(path) for path in config_paths(root) if path.exists()]
    return ", ".join(used) or "defaults"


def _plan(root: Path | None) -> str:
    if root is None:
        raise SetupError("no ralph project here.", "Run `ralph init` in your project.")
    project = Project(root)
    plan = project.load().plan
    if damage := project.damage():
        advice = "Correct the file. Until then, ralph uses the last valid version."
        raise SetupError(damage[0], advice)
    if not plan.tasks:
        advice = 'Describe what to build: ralph "A habit tracker". Or write the plan yourself.'
        if offer := plan_of_another(root):
            advice = f'{offer}. Or describe what to build: ralph "A habit tracker".'
        raise NextStepError("no tasks yet", advice)
    require_workable(plan)
    prefix = f"feature {project.layout.feature}: " if project.layout.feature else ""
    done = plan.counts()[TaskStatus.COMPLETE]
    return f"{prefix}{plural(len(plan.tasks), 'task')}, {done} complete"


def _checks(root: Path, settings: Settings) -> str:
    checks = checks_of(root, settings)
    told: dict[str, list[str]] = {}
    for kind, word in KIND_WORDS.items():
        for one in checks.of(CheckKind(kind)):
            told.setdefault(f"`{one.command}` from {one.found}", []).append(word)
    summary = "; ".join(f"{' and '.join(words)} {what}" for what, words in told.items())
    for one in checks.commands:
        program = one.command.split()[0]
        named = one.runner and re.fullmatch(r"[\w.-]+", program)
        if named and shutil.which(program) is None:
            setting = f"ralph config set {one.kind.setting} COMMAND"
            raise SetupError(
                f"{program} is not installed; {summary}",
                f"Install it, or name another command: {setting}",
            )
    if not checks.of(CheckKind.TESTS):
        raise NextStepError(
            f"no tests found{f'; {summary}' if summary else ''}",
            "Add tests, or name the command: ralph config set build.test_command COMMAND. "
            "Until then each task needs a command among its criteria.",
        )
    return summary


def _commits(root: Path) -> str:
    settings = load_settings(root)
    git = settings.git
    if git.commit == git.branch == "off":
        return ""
    sandboxed = settings.safety.sandbox != "off" and not sandbox_problem()
    docs = Project(root).load()
    place = work_place(docs, settings, root, asked="", builds=True, sandboxed=sandboxed)
    branch = one_line(place.require_ready(Committer(root, None), docs), 80)
    what = {"off": "off", "task": "one for each verified task", "feature": "one at the end"}
    return f"{what[git.commit]}, on the branch {branch}"


def _agents_md(root: Path) -> str:
    project = Project(root, "")
    count = lines_of(project.read_text(project.layout.agents_md, AGENTS_MD_BYTES))
    size = f"{plural(count, 'line')} of at most {MAX_LINES}" if count else ""
    if count > MAX_LINES:
        shown = (
            f"Only the first {MAX_LINES} lines go into prompts, which name the file for the rest."
        )
        raise SetupError(size, f"Shorten it. {shown}")
    return size


SHOWN_ON_SCREEN = ("terminal", "plan")
"""Findings that the screen shows anyway."""


def readiness(root: Path) -> Iterator[Notice]:
    """Yield the models and limits of a run, then the problems. Blocks for about a second."""
    try:
        settings = load_settings(root)
    except RalphError as error:
        yield Notice(level="error", text=str(error))
        return
    models, limits = settings.models, settings.safety.cost_limits
    cost = f", {limit(limits.per_session)}" if limits.per_session else ""
    most = f"up to {settings.phases.building.max_iterations} iterations{cost}"
    yield Notice(text=f"{models.primary} builds, {models.planning} plans; {most}")
    found = tuple(examine(root))
    if commands := gate_commands(checks_of(root, settings), settings):
        listed = ", ".join(f"`{command}`" for command in commands)
        yield Notice(text=f"The gate runs {listed} for every task.")
    for text in last_trial(root).values():
        yield Notice(text=f"Tried: {text}.")
    wrong = [f for f in found if not f.ok and f.name not in SHOWN_ON_SCREEN]
    for finding in wrong:
        advice = f" {finding.advice}" if finding.advice else ""
        level = "error" if finding.needed else "warning"
        yield Notice(level=level, text=f"{finding.name}: {finding.text.rstrip('.')}.{advice}")
    if not wrong:
        yield Notice(text="Everything that a run needs is there.")


_OLD_FAILURE = (
    "A run accepts an old failure as long as it gets no worse. To fix it first: ralph until"
)


class Trial(Model):
    """What each check showed when the person tried them, and when that was."""

    at: float = 0.0
    shown: Mapping[str, str] = {}


def try_checks_of(root: Path) -> Iterator[Finding]:
    """Run each check of the project once, yield what it showed, and remember that for the start screen. Blocks."""
    try:
        tried = asyncio.run(try_checks(root, load_settings(root)))
    except RalphError as error:
        yield Finding("tried", ok=False, text=error.message, advice=error.hint)
        return
    found = {check.command: _finding(root, check, tried) for check in tried.checks}
    shown = {command: finding.text for command, finding in found.items()}
    CheckStore(root).save(TRIED, Trial(at=time.time(), shown=shown))
    same: dict[tuple[str, str], list[str]] = {}
    for command, finding in found.items():
        said = (finding.text.removeprefix(f"`{command}`"), finding.advice)
        same.setdefault(said, []).append(command)
    for (text, _), commands in same.items():
        names = ", ".join(f"`{command}`" for command in commands)
        yield replace(found[commands[0]], text=f"{names}{text}")
    if made := sorted(tried.gate.base.made_by_checks.paths | tried.gate.base.made_by_checks.locks):
        text = f"the checks wrote {shortlist(made, 3)} in the project"
        lock = "Commit lock files. " if tried.gate.base.made_by_checks.locks else ""
        advice = (
            f"{lock}Add them to .gitignore or delete them: a run that commits needs a clean start."
        )
        yield Finding("made", ok=False, text=text, advice=advice, needed=False)


def _finding(root: Path, check: Check, tried: Tried) -> Finding:
    one = tried.examined.get(check.command)
    try:
        notes = require_started(root, (check,), tried.examined, (), tried.gate.hidden)
    except SetupError as error:
        spare = any(
            c.spare and c.command == check.command for c in tried.gate.rules().checks.commands
        )
        return Finding("tried", ok=False, text=error.message, advice=error.hint, needed=not spare)
    if one is None:
        return Finding("tried", ok=False, text=f"`{check.command}` did not run", needed=False)
    took = duration(one.result.seconds)
    if one.passed:
        ran = f"{plural(one.counts.passed, 'test')}, " if one.counts and one.counts.passed else ""
        return Finding("tried", ok=True, text=f"`{check.command}` passes ({ran}{took})")
    text = f"`{check.command}` fails ({took}): {_why(one)}"
    advice = " ".join((*notes, _OLD_FAILURE, shlex.quote(check.command)))
    return Finding("tried", ok=False, text=text, advice=advice, needed=False)


def _why(one: Examined) -> str:
    if one.failing:
        return f"{plural(len(one.failing), 'test')} failed: {shortlist(list(one.failing), 3)}"
    if one.faults:
        return "; ".join(one.faults)
    return telling_line(one.result.tail)


def last_trial(root: Path) -> Mapping[str, str]:
    known = CheckStore(root).load(TRIED, Trial) or Trial()
    ago = duration(max(0.0, time.time() - known.at))
    return {command: f"{text}, {ago} ago" for command, text in known.shown.items()}


def print_findings(findings: tuple[Finding, ...]) -> None:
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
