"""Run and judge one check, in place and, if check files changed, in the judge tree with the originals."""

import asyncio
import contextlib
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from pathlib import Path

from pydantic import Field

from ralph_tui.domain.base import Model
from ralph_tui.domain.errors import SetupError
from ralph_tui.domain.formatting import shortlist
from ralph_tui.domain.plan.plan import Task
from ralph_tui.domain.verification.verification import (
    Inputs,
    Place,
    RunnerKind,
    TestCounts,
)
from ralph_tui.engine.verification.check_command import CommandResult
from ralph_tui.engine.verification.evidence import report_judge
from ralph_tui.engine.verification.evidence.allowed_changes import (
    allowed_by_text,
    allowed_changes,
)
from ralph_tui.engine.verification.evidence.check_files import CheckChanges, CheckFiles
from ralph_tui.engine.verification.evidence.check_paths import (
    declared_plugins,
    is_code,
    is_test_file,
    targets_exist,
)
from ralph_tui.engine.verification.evidence.python_environment import editable_paths
from ralph_tui.engine.verification.evidence.reports import TestReport, go_text, read_reports
from ralph_tui.engine.verification.evidence.runners import (
    SCRIPT_WRAPPER,
    join_environments,
    recognized_runners,
    with_reporting,
)
from ralph_tui.engine.verification.judge_tree import JudgeTree, Mount
from ralph_tui.guard.shell.statuses import with_pipe_failures
from ralph_tui.vcs.git import Git
from ralph_tui.vcs.snapshots import Content

_LOAD_FAILURES = {
    1: SCRIPT_WRAPPER,
    4: 'Error importing plugin "ralph_pytest_report"',
    9: "is not allowed in NODE_OPTIONS",
}
"""The output of runners that cannot load a reporter, by exit status."""
_REMOVED = "a test runner's report was removed while the check ran"
_NAMED = 5
_OUTPUT_BYTES = 16 * 1024 * 1024


class CommandRun(Model):
    """One run of a check: the command, its directory and its environment."""

    command: str
    check: str
    """The command in the plan; `command` may have more options."""
    cwd: Path
    environment: dict[str, str]
    keep: int = 0
    """The number of bytes of output to return."""
    writable: tuple[Path, ...] = ()
    """Directories outside the project that the run may write to."""
    mounts: tuple[Mount, ...] = ()
    """What the sandbox shows in place of the project."""


RunCommand = Callable[[CommandRun], Awaitable[CommandResult]]
"""Runs a command with the gate's sandbox and time limit."""


class Inspection(Model):
    """The state of the check files for one claim."""

    changes: CheckChanges = CheckChanges()
    allowed: tuple[str, ...] = ()
    """Changed files that the person or the plan allows to change."""
    trusted: frozenset[str] = frozenset()
    faults: tuple[str, ...] = ()
    """Faults of the installed environment."""
    commands: tuple[str, ...] = ()
    task_text: str = ""

    @property
    def inputs(self) -> Inputs:
        """The state of the check files for a receipt."""
        if self.not_allowed:
            return Inputs.ORIGINALS
        return Inputs.ALLOWED if self.changes else Inputs.UNCHANGED

    @property
    def not_allowed(self) -> CheckChanges:
        return self.changes.without(self.allowed)


class Examined(Model):
    """The result of one check."""

    result: CommandResult
    faults: tuple[str, ...] = ()
    run_faults: tuple[str, ...] = ()
    """Faults in how the tests of a failed check ran."""
    counts: TestCounts | None = None
    before: TestCounts | None = None
    failing: tuple[str, ...] = ()
    inputs: Inputs = Inputs.UNCHANGED
    changed: tuple[str, ...] = ()
    place: Place = Place.HERE
    outcomes: dict[str, str] = Field(default_factory=dict)

    @property
    def passed(self) -> bool:
        return self.result.exit_code == 0 and not self.faults


class Examiner:
    """Runs and judges checks for one project."""

    def __init__(
        self,
        root: Path,
        files: CheckFiles,
        run: RunCommand,
        environment: Mapping[str, str],
        before_run: Callable[[str], Mapping[str, str] | None] = lambda _: None,
        confined: Callable[[], bool] = lambda: False,
    ) -> None:
        """Examine the checks of one project.

        Args:
            root: The project directory.
            files: The project's check files.
            run: Runs a command with the gate's sandbox and time limit.
            environment: The commands' environment.
            before_run: Returns the outcomes of a command before the run, for a first claim to be compared with.
            confined: Returns whether the commands run in the sandbox.
        """
        self.tree = JudgeTree(root)
        self._confined = confined
        self._before_run = before_run
        self._root = root
        self._files = files
        self._run = run
        self._environment = environment

    async def start(self) -> None:
        """Record what exists before an agent session or a check, once."""
        with contextlib.suppress(SetupError):  # told when a check needs the judge tree
            await asyncio.to_thread(self.tree.start)

    async def inspect(self, commands: Iterable[str], task: Task | None = None) -> Inspection:
        """Inspect the check files once for all checks of a claim on `task`."""
        listed, task_text = tuple(commands), task.full_text if task else ""

        def inspect() -> Inspection:
            changes = self._files.changes(listed, task_text)
            allowed = allowed_changes(task, changes, self._root) if task else ()
            allowed = tuple(dict.fromkeys((*allowed, *allowed_by_text(task_text, changes))))
            touched = {*changes.changed, *changes.deleted, *changes.added}
            trusted = ({*self._files.trusted()} - touched) | (touched & set(allowed))
            return Inspection(
                changes=changes,
                allowed=allowed,
                trusted=frozenset(trusted) | declared_plugins(self._root, trusted),
                faults=self._files.environment_faults(),
                commands=listed,
                task_text=task_text,
            )

        return await asyncio.to_thread(inspect)

    async def examine(self, command: str, inspection: Inspection) -> Examined:
        """Run and judge a check; if it passes and check files changed, run it again with the originals."""
        await self.start()
        accepted = await asyncio.to_thread(self._files.store.outcomes, command)
        before = self._before_run(command) if accepted is None else accepted
        seen = self._files.signatures() if inspection.commands else {}
        result, report = await self._run_with_reports(command)
        examined = self._judge(result, report, before, inspection)
        if examined.passed:
            written = await asyncio.to_thread(self._write_faults, command, seen, inspection)
            examined = examined.model_copy(update={"faults": written})
        if not examined.passed or not inspection.not_allowed:
            return examined
        return await self._with_originals(command, examined, report, inspection)

    def _write_faults(
        self, command: str, seen: Mapping[str, tuple[int, ...]], inspection: Inspection
    ) -> tuple[str, ...]:
        """Return a fault when check code was written while the check ran. Blocks.

        Args:
            command: The check. Rewriting a file unchanged is a fault for test runners only; a formatter may do it.
            seen: The files' signatures before the check.
            inspection: The changes known before the check.
        """
        known = {*inspection.changes.names}
        now = self._files.changes(inspection.commands, inspection.task_text)
        paths = [
            name for name in now.names if name not in known and is_code(name.rpartition(" (")[0])
        ]
        if not paths and recognized_runners(command, self._root):
            paths = [
                f"{path} (written and restored)"
                for path, signature in self._files.signatures().items()
                if is_code(path) and seen.get(path, signature) != signature
            ]
        data = [path for path in now.changed if path not in inspection.changes.changed]
        paths += [f"{path} (rewritten)" for path in self._rewritten(self._root, data)]
        return (f"{shortlist(tuple(paths), _NAMED)} while the check ran",) if paths else ()

    def _rewritten(self, root: Path, paths: Iterable[str]) -> Iterator[str]:
        """Yield the expected results that no longer have their original lines after a check in `root`. Blocks.

        A runner may add lines, such as a new snapshot, and may write files that git does not track.
        """
        found = []
        for path in paths:
            original = self._files.original(path)
            if is_code(path) or original is None:
                continue
            lines = Counter(original.splitlines())
            lines.subtract(_content(root / path).splitlines())
            if any(number > 0 for number in lines.values()):
                found.append(path)
        if found and Git(self._root).succeeds("rev-parse", "--git-dir"):
            listed = Git(self._root).output("ls-files", "-z", "--", *found)
            tracked = {os.fsdecode(name) for name in listed.split(b"\0")}
            found = [path for path in found if path in tracked]
        yield from found

    def _judge(
        self,
        result: CommandResult,
        report: TestReport,
        before: Mapping[str, str] | None,
        inspection: Inspection,
    ) -> Examined:
        found: tuple[str, ...] = ()
        run_faults: tuple[str, ...] = ()
        if result.exit_code == 0:
            found = report_judge.faults(
                report, (self._root,), inspection.trusted, inspection.changes.changed
            )
            found += inspection.faults
            if report.runners and before and not inspection.allowed:
                found += report_judge.weaknesses(before, report)
        elif result.exit_code and report.runners:
            run_faults = report_judge.run_faults(report, (self._root,), inspection.trusted)
        return Examined(
            result=result,
            faults=found,
            run_faults=run_faults,
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
        changes, tree = inspection.not_allowed, self.tree
        try:
            await asyncio.to_thread(self._write_originals, command, changes)
            result, report = await self._run_with_reports(command, tree)
            restored = (*changes.changed, *changes.deleted)
            rewritten = tuple(
                await asyncio.to_thread(lambda: list(self._rewritten(tree.root, restored)))
            )
        except LookupError as error:
            fault = (
                f"the original of {error.args[0]} is no longer stored, so the check proves nothing"
            )
            return examined.model_copy(update={"faults": (fault,)})
        except SetupError as error:
            fault = f"the check cannot run with the original check files: {error.message}"
            return examined.model_copy(update={"faults": (fault,)})
        found = self._faults_with_originals(result, report, here, inspection)
        if rewritten:
            found += (f"{shortlist(rewritten, _NAMED)} (rewritten) while the check ran",)
        tail = result.tail.replace(str(tree.root), str(self._root))
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

    def _write_originals(self, command: str, changes: CheckChanges) -> None:
        new = [
            path
            for path in changes.new_tests
            if is_test_file(path.rsplit("/", 1)[-1]) and path not in command
        ]
        named = [path for path in changes.added if path in command]
        gone = [path for path in (*changes.added, *new) if path not in named]
        store = self.tree.store
        tree = store.take()
        originals = self._files.originals((*changes.changed, *changes.deleted))
        kept = {path: store.put(data, mode) for path, (mode, data) in originals.items()}
        changed: dict[str, Content | None] = {**dict.fromkeys(gone), **kept}
        self.tree.write(store.tree_with(tree, changed), confined=self._confined())

    def _faults_with_originals(
        self,
        result: CommandResult,
        report: TestReport,
        here: TestReport,
        inspection: Inspection,
    ) -> tuple[str, ...]:
        files = shortlist(inspection.not_allowed.names, _NAMED)
        new = {*inspection.changes.new_tests, *inspection.changes.added}
        if result.exit_code != 0:
            if (
                report.runners
                and report.failing
                and all(name.partition("::")[0] in new for name in report.failing)
            ):
                return ()  # only new tests failed, which need their new helpers; in place they passed
            tests = (
                f"{shortlist(report.failing, _NAMED)} failed"
                if report.failing
                else _exit_text(result)
            )
            return (f"with the original check files {tests}; changed: {files}",)
        found = report_judge.faults(
            report, (self.tree.root, self._root), inspection.trusted, inspection.changes.changed
        )
        if report.runners and here.runners:
            found += report_judge.weaknesses(report.outcomes, here, report.deselected)
        return tuple(f"{one}; changed: {files}" for one in found)

    async def _run_with_reports(
        self, check: str, tree: JudgeTree | None = None
    ) -> tuple[CommandResult, TestReport]:
        directory = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="ralph-report-"))
        cwd, files = (tree.cwd, tree.root) if tree else (self._root, self._root)
        command = tree.command(check) if tree else check
        own = join_environments(
            self._environment, tree.variables(editable_paths(self._root)) if tree else {}
        )
        run = CommandRun(
            command=with_pipe_failures(command),
            check=check,
            cwd=cwd,
            environment=own,
            writable=(directory,),
            mounts=tree.mounts if tree else (),
        )
        try:
            reporting = with_reporting(command, files, directory)
            if await asyncio.to_thread(targets_exist, files, command):
                # Otherwise make may take a new file for what it makes.
                own = {**own, "MAKEFLAGS": f"B {own.get('MAKEFLAGS', '')}".rstrip()}
            reads_output = {RunnerKind.CARGO, RunnerKind.GO} & {*reporting.runners}
            changes = {
                "command": with_pipe_failures(reporting.command),
                "environment": join_environments(own, reporting.environment),
                "keep": _OUTPUT_BYTES if reads_output else 0,
            }
            empty = _state_of(directory)
            result = await self._run(run.model_copy(update=changes))
            removed = _report_was_removed(directory, empty)
            if not removed and _cannot_report(result, directory):
                return await self._run(run), TestReport()
            report = await asyncio.to_thread(
                read_reports, directory, result.output, reporting.runners, reporting.scripts
            )
            if removed:
                report = report.model_copy(update={"faults": (*report.faults, _REMOVED)})
            if RunnerKind.GO in reporting.runners:
                result = result.model_copy(update={"tail": go_text(result.tail)})
            return result, report.within(cwd)
        finally:
            await asyncio.to_thread(shutil.rmtree, directory, ignore_errors=True)


def _state_of(directory: Path) -> int:
    """Return the time of a directory's last change, which no program can set."""
    return directory.stat().st_ctime_ns


def _report_was_removed(directory: Path, empty: int) -> bool:
    """Return whether a directory that was empty at a state had files since and is empty again."""
    return _state_of(directory) != empty and not any(directory.iterdir())


def _cannot_report(result: CommandResult, directory: Path) -> bool:
    refused = _LOAD_FAILURES.get(result.exit_code or 0)
    return refused is not None and refused in result.tail and not any(directory.iterdir())


def _content(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:
        return b""


def _exit_text(result: CommandResult) -> str:
    if result.exit_code is None:
        return "the check timed out"
    return f"the check exited with status {result.exit_code}"
