"""Run one check and judge it: in place, and with the original check files where they changed."""

import asyncio
import re
import shutil
import tempfile
from collections.abc import Awaitable, Callable, Iterable, Mapping
from pathlib import Path

from pydantic import Field

from ralph_tui.domain.base import Model
from ralph_tui.domain.formatting import shortlist
from ralph_tui.domain.plan.plan import Task
from ralph_tui.domain.verification.test_counts import RunnerKind, TestCounts
from ralph_tui.domain.verification.verification import Inputs, Place, criterion_text
from ralph_tui.engine.core.project_tree import NOT_THE_PROJECT
from ralph_tui.engine.verification.check_command import CommandResult
from ralph_tui.engine.verification.evidence import report_judge
from ralph_tui.engine.verification.evidence.allowed_changes import allowed_changes
from ralph_tui.engine.verification.evidence.check_files import CheckChanges, CheckFiles
from ralph_tui.engine.verification.evidence.check_paths import (
    declared_plugins,
    is_code,
    is_test_file,
)
from ralph_tui.engine.verification.evidence.python_environment import (
    editable_paths,
    environment_faults,
)
from ralph_tui.engine.verification.evidence.reports import TestReport, go_text, read_reports
from ralph_tui.engine.verification.evidence.runners import (
    SCRIPT_WRAPPER,
    join_environments,
    recognized,
    report_from,
)

_LINKED = frozenset({".venv", "venv", "node_modules", ".tox", ".nox"})
"""Installed packages, which are linked: copying them is slow and changes nothing."""


class CleanCopy(Model):
    """A copy of a project, and how commands run in it."""

    root: Path
    environment: dict[str, str]

    def command(self, text: str, original: Path) -> str:
        """Return a command with the project's absolute path replaced by the copy's."""
        return re.sub(rf"{re.escape(str(original))}(?![\w.-])", str(self.root), text)

    def remove(self) -> None:
        """Remove the copy. Blocks."""
        shutil.rmtree(self.root.parent, ignore_errors=True)


def copy_project(root: Path, temp: Path | None = None) -> CleanCopy:
    """Copy a project without installed or cached files; the caller removes it. Blocks."""
    parent = Path(tempfile.mkdtemp(prefix="ralph-check-", dir=temp))
    target = parent / (root.name or "project")

    def left_out(directory: str, names: list[str]) -> set[str]:
        del directory
        return {name for name in names if name in NOT_THE_PROJECT}

    try:
        shutil.copytree(root, target, symlinks=True, ignore=left_out, copy_function=_copy)
        _link(root, target)
    except BaseException:
        shutil.rmtree(parent, ignore_errors=True)
        raise
    return CleanCopy(root=target, environment=_environment(root, target))


def _copy(source: str, target: str) -> str:
    """Copy a file; skip pipes, sockets and unreadable files."""
    path = Path(source)
    if path.is_symlink() or path.is_file():
        try:
            shutil.copy2(source, target, follow_symlinks=False)
        except PermissionError:
            return target
    return target


def _link(root: Path, target: Path) -> None:
    for name in _LINKED:
        if (root / name).is_dir() and not (target / name).exists():
            (target / name).symlink_to(root / name)
    for manifest in root.glob("*/package.json"):
        modules = manifest.parent / "node_modules"
        linked = target / manifest.parent.name / "node_modules"
        if modules.is_dir() and linked.parent.is_dir() and not linked.exists():
            linked.symlink_to(modules)
    if (root / "Cargo.toml").is_file() and (root / "target").is_dir():
        shutil.rmtree(target / "target", ignore_errors=True)
        (target / "target").symlink_to(root / "target")
    git = root / ".git"
    if git.is_dir():  # so that `git ls-files` works; nothing is written with GIT_OPTIONAL_LOCKS=0
        (target / ".git").write_text(f"gitdir: {git}\n", encoding="utf-8")
    elif git.is_file():
        shutil.copyfile(git, target / ".git")


def _environment(root: Path, target: Path) -> dict[str, str]:
    found = {"PYTHONDONTWRITEBYTECODE": "1", "GIT_OPTIONAL_LOCKS": "0", "PWD": str(target)}
    venv = root / ".venv"
    if venv.is_dir():
        # uv must use the environment as it is: syncing would install the copy, or fail offline.
        found |= {"UV_PROJECT_ENVIRONMENT": str(venv), "UV_NO_SYNC": "1"}
    paths = dict.fromkeys(
        str(target / path.relative_to(root))
        for path in editable_paths(root)
        if path.is_relative_to(root)
    )
    if paths:
        found["PYTHONPATH"] = ":".join(paths)
    return found


_REFUSALS = {
    1: SCRIPT_WRAPPER,
    4: 'Error importing plugin "ralph_pytest_report"',
    9: "is not allowed in NODE_OPTIONS",
}
"""What runners print when they cannot load a reporter, by exit status."""
_REMOVING = re.compile(r"\b(?:remov|delet|drop|retir|prun)", re.IGNORECASE)
_NAMED = 5
_OUTPUT_BYTES = 16 * 1024 * 1024


class CommandRun(Model):
    """One run of a check: the command, its directory, and what it may use."""

    command: str
    check: str
    """The command in the plan; the started one may have more options."""
    cwd: Path
    environment: dict[str, str]
    keep: int = 0
    """Bytes of output to return."""
    writable: tuple[Path, ...] = ()
    """Directories outside the project that the run writes to."""


RunCommand = Callable[[CommandRun], Awaitable[CommandResult]]
"""Runs a command with the gate's sandbox and time limit."""


class Inspection(Model):
    """The state of the check files for one claim."""

    changes: CheckChanges = CheckChanges()
    allowed: tuple[str, ...] = ()
    """Changed files that the person, or the plan, allowed to change."""
    trusted: frozenset[str] = frozenset()
    faults: tuple[str, ...] = ()
    """What is wrong with the installed environment."""
    commands: tuple[str, ...] = ()
    words: str = ""

    @property
    def inputs(self) -> Inputs:
        """The state of the check files, as receipts name it."""
        if self.open:
            return Inputs.ORIGINALS
        return Inputs.ALLOWED if self.changes else Inputs.UNCHANGED

    @property
    def open(self) -> CheckChanges:
        """The changes that nobody has allowed."""
        return self.changes.without(self.allowed)


class Examined(Model):
    """The result of one check."""

    result: CommandResult
    faults: tuple[str, ...] = ()
    run_faults: tuple[str, ...] = ()
    """What is wrong with how the tests of a failed check ran."""
    counts: TestCounts | None = None
    before: TestCounts | None = None
    failing: tuple[str, ...] = ()
    inputs: Inputs = Inputs.UNCHANGED
    changed: tuple[str, ...] = ()
    place: Place = Place.HERE
    outcomes: dict[str, str] = Field(default_factory=dict)

    @property
    def passed(self) -> bool:
        """Whether the check passed."""
        return self.result.exit_code == 0 and not self.faults


class Examiner:
    """Runs and judges checks for one project."""

    def __init__(
        self, root: Path, files: CheckFiles, run: RunCommand, environment: Mapping[str, str]
    ) -> None:
        """Examine checks of one project.

        Args:
            root: The project.
            files: Its check files.
            run: Runs a command with the gate's sandbox and time limit.
            environment: The commands' environment.
        """
        self._root = root
        self._files = files
        self._run = run
        self._environment = environment

    async def inspect(self, commands: Iterable[str], task: Task | None = None) -> Inspection:
        """Look at the check files, once for all checks of a claim on `task`."""
        given, words = tuple(commands), task_words(task) if task else ""

        def look() -> Inspection:
            changes = self._files.changes(given, words)
            allowed = allowed_changes(task, changes, self._root) if task else ()
            free = tuple(dict.fromkeys((*allowed, *allowed_by_words(words, changes))))
            touched = {*changes.changed, *changes.deleted, *changes.added}
            trusted = ({*self._files.trusted()} - touched) | (touched & set(free))
            return Inspection(
                changes=changes,
                allowed=free,
                trusted=frozenset(trusted) | declared_plugins(self._root, trusted),
                faults=environment_faults(self._root),
                commands=given,
                words=words,
            )

        return await asyncio.to_thread(look)

    async def examine(self, command: str, inspection: Inspection) -> Examined:
        """Run a check, a second time with the originals where check files changed, and judge it."""
        before = await asyncio.to_thread(self._files.store.outcomes, command)
        seen = self._files.signatures() if inspection.commands else {}
        result, report = await self._once(command)
        examined = self._judged(result, report, before, inspection)
        if examined.passed:
            written = await asyncio.to_thread(self._written, command, seen, inspection)
            examined = examined.model_copy(update={"faults": written})
        if not examined.passed or not inspection.open:
            return examined
        return await self._with_originals(command, examined, report, inspection)

    def _written(
        self, command: str, seen: Mapping[str, tuple[int, ...]], inspection: Inspection
    ) -> tuple[str, ...]:
        """Return a fault when check code was written while the check ran. Blocks.

        Args:
            command: The check. Only a test runner has no reason to write a file as it was; a formatter may.
            seen: The files' signatures before it ran.
            inspection: The changes that were known before it ran.
        """
        known = {*inspection.changes.names}
        now = self._files.changes(inspection.commands, inspection.words)
        paths = [
            name for name in now.names if name not in known and is_code(name.rpartition(" (")[0])
        ]
        if not paths and recognized(command, self._root):
            paths = [
                f"{path} (written and put back)"
                for path, signature in self._files.signatures().items()
                if is_code(path) and seen.get(path, signature) != signature
            ]
        return (f"{shortlist(tuple(paths), _NAMED)} while the check ran",) if paths else ()

    def _judged(
        self,
        result: CommandResult,
        report: TestReport,
        before: Mapping[str, str] | None,
        inspection: Inspection,
    ) -> Examined:
        found: tuple[str, ...] = ()
        if result.exit_code == 0:
            found = report_judge.faults(
                report, (self._root,), inspection.trusted, inspection.changes.changed
            )
            if report.runners or report.scripts:
                found += inspection.faults
            if report.runners:
                found += (
                    report_judge.weaker(before, report) if before and not inspection.allowed else ()
                )
        red = bool(result.exit_code and report.runners)
        return Examined(
            result=result,
            faults=found,
            run_faults=report_judge.run_faults(report, (self._root,), inspection.trusted)
            if red
            else (),
            counts=report.counts if report.runners else None,
            before=TestReport(outcomes=dict(before)).counts if before else None,
            failing=report.failing_named,
            inputs=inspection.inputs,
            changed=inspection.changes.names,
            outcomes=report.outcomes,
        )

    async def _with_originals(
        self, command: str, examined: Examined, here: TestReport, inspection: Inspection
    ) -> Examined:
        """Run the same check in a copy with the originals; a failure there counts against the claim."""
        changes = inspection.open
        copy = await asyncio.to_thread(copy_project, self._root)
        try:
            await asyncio.to_thread(self._put_back, copy, command, changes)
            result, report = await self._once(command, copy)
        except LookupError as error:
            return examined.model_copy(
                update={
                    "faults": (
                        f"the original of {error.args[0]} is not kept any more, so nothing can be shown",
                    )
                }
            )
        finally:
            await asyncio.to_thread(copy.remove)
        found = self._against(result, report, here, copy, inspection)
        tail = result.tail.replace(str(copy.root), str(self._root))  # the copy is gone
        shown = result.model_copy(update={"tail": tail})
        return examined.model_copy(
            update={
                "faults": found,
                "place": Place.COPY,
                "before": report.counts if report.runners else examined.before,
                "failing": report.failing_named if found else (),
                "result": shown if found and result.exit_code != 0 else examined.result,
            }
        )

    def _put_back(self, copy: CleanCopy, command: str, changes: CheckChanges) -> None:
        """Restore the originals, and remove new tests that the command does not name."""
        new = [
            path
            for path in changes.new_tests
            if is_test_file(path.rsplit("/", 1)[-1]) and path not in command
        ]
        named = [path for path in changes.added if path in command]
        gone = tuple(path for path in (*changes.added, *new) if path not in named)
        self._files.restore(copy.root, changes.model_copy(update={"added": gone}))

    def _against(
        self,
        result: CommandResult,
        report: TestReport,
        here: TestReport,
        copy: CleanCopy,
        inspection: Inspection,
    ) -> tuple[str, ...]:
        """Return what the run with the originals shows against the claim."""
        files = shortlist(inspection.open.names, _NAMED)
        new = {*inspection.changes.new_tests, *inspection.changes.added}
        if result.exit_code != 0:
            if (
                report.runners
                and report.failing
                and all(_file(name) in new for name in report.failing)
            ):
                return ()  # new tests need the new files beside them; in place they passed
            tests = (
                f"{shortlist(report.failing, _NAMED)} failed" if report.failing else _ended(result)
            )
            return (f"with the original check files {tests}; changed: {files}",)
        found = report_judge.faults(
            report, (copy.root, self._root), inspection.trusted, inspection.changes.changed
        )
        if report.runners and here.runners:
            found += report_judge.weaker(report.outcomes, here, report.deselected)
        return tuple(f"{one}; changed: {files}" for one in found)

    async def _once(
        self, check: str, copy: CleanCopy | None = None
    ) -> tuple[CommandResult, TestReport]:
        """Run a command with reporting test runners, and read their reports."""
        directory = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="ralph-report-"))
        cwd = copy.root if copy else self._root
        command = copy.command(check, self._root) if copy else check
        own = join_environments(self._environment, copy.environment if copy else {})
        writable = (directory, copy.root.parent) if copy else (directory,)
        run = CommandRun(command=command, check=check, cwd=cwd, environment=own, writable=writable)
        try:
            reporting = report_from(command, cwd, directory)
            reads_output = {RunnerKind.CARGO, RunnerKind.GO} & {*reporting.runners}
            told = {
                "command": reporting.command,
                "environment": join_environments(own, reporting.environment),
                "keep": _OUTPUT_BYTES if reads_output else 0,
            }
            result = await self._run(run.model_copy(update=told))
            if _cannot_report(result, directory):
                return await self._run(run), TestReport()
            report = await asyncio.to_thread(
                read_reports, directory, result.output, reporting.runners, reporting.scripts
            )
            if RunnerKind.GO in reporting.runners:
                result = result.model_copy(update={"tail": go_text(result.tail)})
            return result, report.within(cwd)
        finally:
            await asyncio.to_thread(shutil.rmtree, directory, ignore_errors=True)


def _cannot_report(result: CommandResult, directory: Path) -> bool:
    """Return whether a runner refused ralph's reporter and ran nothing, as one without its environment does."""
    refused = _REFUSALS.get(result.exit_code or 0)
    return refused is not None and refused in result.tail and not any(directory.iterdir())


def task_words(task: Task) -> str:
    """Return everything a task says, which decides whether a file is the work or the check."""
    return "\n".join((task.description, *map(criterion_text, task.verification_criteria)))


def allowed_by_words(words: str, changes: CheckChanges) -> tuple[str, ...]:
    """Return the changes that a task's own words ask for: tests deleted with what is removed."""
    return changes.deleted if _REMOVING.search(words) else ()


def _file(test: str) -> str:
    return test.partition("::")[0]


def _ended(result: CommandResult) -> str:
    if result.exit_code is None:
        return "the check does not end"
    return f"the check ends with status {result.exit_code}"
