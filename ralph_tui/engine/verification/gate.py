"""Run the gate: accept a claim only if the commands that ralph runs itself pass."""

import asyncio
import difflib
import os
import shutil
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from ralph_tui.domain import events as ev
from ralph_tui.domain.events import EventSink
from ralph_tui.domain.formatting import duration, shortlist
from ralph_tui.domain.permissions import NOBODY, UNASKED, Ruling
from ralph_tui.domain.plan.plan import Task, TaskStatus
from ralph_tui.domain.sanitize import inert, one_line
from ralph_tui.domain.tool_calls import ToolCall, Verdict
from ralph_tui.domain.verification.check_commands import (
    NAMES,
    NO_CHECKS,
    ProjectChecks,
    missing_kinds,
    runnable_command,
)
from ralph_tui.domain.verification.verification import (
    GateResult,
    Receipt,
    ReceiptStatus,
    VerificationOutcome,
    criterion_text,
)
from ralph_tui.engine.safety.command_sandbox import (
    SANDBOX_FAILED,
    Prefix,
    require_sandbox,
    run_by_others,
    set_aside_run_by_others,
    unconfined,
)
from ralph_tui.engine.safety.repository_guard import RepositoryGuard
from ralph_tui.engine.verification.baseline import Baseline, Check, circumstances
from ralph_tui.engine.verification.check_command import CommandResult, run_command
from ralph_tui.engine.verification.detection.project_checks import GateRules
from ralph_tui.engine.verification.detection.python_declarations import (
    DirectoryFiles,
    PythonProject,
)
from ralph_tui.engine.verification.evidence.classify import is_test_file
from ralph_tui.engine.verification.evidence.examine import Examiner
from ralph_tui.engine.verification.evidence.examined import Before, CommandRun, Examined
from ralph_tui.engine.verification.evidence.trusted_base import Inspection, TrustedBase
from ralph_tui.engine.verification.judge_tree import JudgeTree
from ralph_tui.guard.sandbox.environ_block import without_keys
from ralph_tui.guard.shell.statuses import lost_status
from ralph_tui.store.feature_choice import layout_of

Review = Callable[[ToolCall], Awaitable[Verdict]]

Permit = Callable[[str, Verdict], Awaitable[Ruling]]
"""Asks for the person's ruling on a command that needs permission."""


async def deny_unattended(command: str, verdict: Verdict) -> Ruling:
    del command, verdict
    return Ruling(allowed=False, reason=UNASKED, by=NOBODY)


def plan_checks(tasks: Iterable[Task], rules: GateRules) -> tuple[Check, ...]:
    """Return the project's checks, then the tasks' own commands, without duplicates."""
    settings = {one.command: one.kind.setting for one in rules.checks.commands}
    checks = {
        command: Check(
            command=command,
            source="backpressure",
            setting=settings.get(command) or "phases.building.backpressure",
        )
        for command in rules.commands
    }
    for criterion in (one for task in tasks for one in task.verification_criteria):
        command = runnable_command(criterion, rules.checks)
        if command is not None:
            known = checks.get(command) or Check(command=command, source="criterion")
            checks[command] = known.model_copy(update={"own": True})
    return tuple(checks.values())


def prose_criteria(task: Task, checks: ProjectChecks = NO_CHECKS) -> tuple[str, ...]:
    commandless = (c for c in task.verification_criteria if not runnable_command(c, checks))
    return tuple(text for text in map(criterion_text, commandless) if text.strip() not in NAMES)


def gate_environment(base: Mapping[str, str], marks: Mapping[str, str]) -> dict[str, str]:
    kept = {n: v for n, v in without_keys(base).items() if n not in _RALPHS_OWN_VARIABLES}
    return kept | dict(marks)


_RALPHS_OWN_VARIABLES = frozenset(
    {"VIRTUAL_ENV", "UV_RUN_RECURSION_DEPTH", "PYTHONHOME", "ANTHROPIC_CUSTOM_HEADERS"}
)


def _objection(command: str, reason: str, tail: str) -> Receipt:
    failed = ReceiptStatus.FAILED
    return Receipt(command=command, source="evidence", status=failed, reason=reason, tail=tail)


NO_CHECK_RAN = _objection(
    "a check ran",
    "no check could run for this task",
    "A claim counts only when a check has passed. Restore what the checks need, or block the task with the reason.",
)
"""The objection to a claim without any check, unless the person allowed it."""

NOTHING_CHANGED = _objection(
    "a change was made",
    "no file has changed since this task began",
    "None of its criteria is a command that shows that it is done. Do the task. If it was already done, add a test that shows it.",
)

NO_CHECK_PASSED = _objection(
    "a check shows that it is done",
    "a check of the project failed before this run and still fails, and the task has no check of its own",
    "Fix that check if the task is about it, or block the task with the reason.",
)


NOTHING_SHOWN = (
    "every check passed before the work as well, and no new test depends on what the work computes"
)
"""The question of a claim that broke nothing and of which no check shows that anything was done."""


def _in_judge_tree(command: str) -> str:
    return f"judge tree: {command}"


class Gate:
    """Verifies the claims of one project."""

    def __init__(
        self,
        root: Path,
        *,
        rules: Callable[[], GateRules],
        timeout: float,
        environment: Mapping[str, str],
        review: Review,
        emit: EventSink,
        prefix: Prefix = unconfined,
    ) -> None:
        """Verify claims in the project at `root`.

        Args:
            rules: Returns the current rules; called for each claim, since an agent may have added the first test.
            review: The guard's review of commands that come from a plan.
            prefix: Returns the words that start a command in its sandbox.
        """
        self.watch: RepositoryGuard | None = None
        """Compares the repository before and after every command, which may execute what the agent wrote."""
        self.baseline = Baseline(root)
        """The checks that failed before the run; empty until a run sets it."""
        self.hidden: tuple[str, ...] = ()
        """The variables of the person's environment that no check sees, because their names suggest secrets."""
        self._prefix = prefix
        self._root = root
        self.rules: Callable[[], GateRules] = lambda: rules().without(self.baseline.left_out)
        self._timeout = timeout
        self._environment = environment
        self._review = review
        self._emit = emit
        tree = JudgeTree(root)
        self.base = TrustedBase(root, tree.store, feature=layout_of(root).feature)
        self._examiner = Examiner(
            root,
            self.base,
            self._start,
            environment,
            self._before,
            tree,
            lambda: bool(prefix("", (), ())),
        )
        self._examiner.unattended = self._unattended
        self._examined: dict[str, Examined] = {}
        self.inspection = Inspection()
        """What the last claim changed, when its last check had run."""
        self._sandboxed = False
        self._warned_of_base = False

    def use(self, tree: JudgeTree) -> None:
        self._examiner.tree = tree
        self.base.trees = tree.store

    def _before(self, command: str) -> Before:
        accepted = self.base.store.outcomes(command)
        judged = self.base.store.outcomes(_in_judge_tree(command)) or accepted
        known = self.baseline.outcomes(command)
        green = self.baseline.green(command)
        return Before(
            outcomes=known if accepted is None else accepted,
            judged=(known if judged is None else judged) or {},
            green=True if green is None and accepted is not None else green,
        )

    def checks(self, task: Task) -> tuple[Check, ...]:
        """Return the checks for a claim on `task`. Blocks on reading a few files."""
        return plan_checks((task,), self.rules())

    async def shown_changes(self, paths: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
        return await asyncio.to_thread(shown_changes, paths, self.base.original, self._root)

    def own_checks(self, task: Task) -> tuple[Check, ...]:
        return tuple(check for check in self.checks(task) if check.own)

    async def examine_all(
        self, tasks: Iterable[Task] = (), known: Mapping[str, Examined] = MappingProxyType({})
    ) -> dict[str, Examined]:
        """Run the project's checks and the criteria of `tasks` before any work; return the result of each command.

        A criterion that may not run unattended, or whose status is lost, does not run, nor does what is `known`.
        """
        rules = await asyncio.to_thread(self.rules)
        made, tree = self.base.made_by_checks, self._examiner.tree
        before = await asyncio.to_thread(made.before, tree)
        found: dict[str, Examined] = {}
        for check in plan_checks(tasks, rules):
            command: str | None = check.command
            if check.source == "criterion":
                command = await self._unattended(check.command)
            if command is None or lost_status(command):
                continue
            if check.command in known:
                found[check.command] = known[check.command]
                continue
            control = check.source == "backpressure"
            examined, _ = await self._examiner.examine(command, control=control)
            if examined.result.watches and not self.baseline.needs_ci:
                self.baseline.set_ci()
                examined, _ = await self._examiner.examine(command, control=control)
            found[check.command] = examined
        await asyncio.to_thread(made.after, tree, before)
        return found

    async def _unattended(self, command: str) -> str | None:
        return (await self._reviewed(command, deny_unattended))[0] or None

    async def _reviewed(self, command: str, permit: Permit) -> tuple[str, str]:
        call = ToolCall(tool_id="gate", name="Bash", input={"command": command})
        verdict = await self._review(call)
        if refused := await _refusal(command, verdict, permit):
            return "", refused
        if verdict.command is None or not await asyncio.to_thread(self._needs_uv, command):
            return command, ""
        return verdict.command, ""

    def circumstances(self, settings: str, commands: Sequence[str]) -> str:
        """Return a fingerprint of what decides the results of these commands. Blocks."""
        path = self._environment.get("PATH", os.defpath)
        return circumstances(self.base.trees, settings, commands, path)

    async def run(
        self,
        task: Task,
        notes: str,
        permit: Permit = deny_unattended,
        *,
        allowed: bool = True,
        reviewed: bool = False,
    ) -> GateResult:
        """Verify a claim: run every check in turn and emit each receipt.

        Args:
            permit: Asks the person about commands that need permission.
            allowed: Whether a claim may pass that no command has verified.
            reviewed: Whether a reviewer judges the unchecked criteria next.
        """
        rules = await asyncio.to_thread(self.rules)
        checks = plan_checks((task,), rules)
        commands = tuple(check.command for check in checks)
        self._emit(ev.GateStarted(task_id=task.id, notes=notes, commands=commands))
        self._examined.clear()
        made, tree = self.base.made_by_checks, self._examiner.tree
        claimed = self.base.claimed = await asyncio.to_thread(made.before, tree)
        receipts: list[Receipt] = []

        def add(receipt: Receipt) -> None:
            receipts.append(receipt)
            self._emit(ev.GateChecked(task_id=task.id, receipt=receipt))

        for check in checks:
            judge = all(receipt.ok for receipt in receipts)
            add(await self.run_check(check, permit, task, commands, judge=judge))
        await asyncio.to_thread(made.after, tree, claimed)
        if not receipts:
            self.inspection = await self._examiner.inspect((), task)
        missing = missing_kinds(task.verification_criteria, rules.checks)
        tail = "Add them, and declare what runs them where tools look, such as pyproject.toml or package.json."
        for kind in () if allowed else missing:
            add(_objection(kind.value, "this project has no command for it yet", tail))
        passed = all(receipt.ok for receipt in receipts)
        if passed and await asyncio.to_thread(self._nothing_changed, task, receipts):
            add(NOTHING_CHANGED)
        if passed and (gone := _removed_tests(self.inspection)):
            tail = "Restore these test files. The plan does not allow this task to remove or replace tests."
            add(_objection("every test is kept", f"removed: {shortlist(gone, 5)}", tail))
        unchecked = (*prose_criteria(task, rules.checks), *(missing if allowed else ()))
        result = self._result(task, checks, tuple(receipts), unchecked)
        if (
            not (allowed or reviewed)
            and result.passed
            and not result.verified
            and not result.question
        ):
            add(NO_CHECK_PASSED if receipts else NO_CHECK_RAN)
            result = result.model_copy(update={"receipts": tuple(receipts)})
        self._emit(
            ev.GateFinished(
                task_id=task.id,
                passed=result.passed,
                unverified=result.passed and not result.verified,
                receipts=result.receipts,
                unchecked=result.unchecked,
                reviewed=(reviewed or bool(result.question)) and result.passed,
            )
        )
        return result

    def _result(
        self,
        task: Task,
        checks: tuple[Check, ...],
        receipts: tuple[Receipt, ...],
        unchecked: tuple[str, ...],
    ) -> GateResult:
        own = {check.command for check in checks if check.own}
        ran = zip(checks, receipts, strict=False)  # a receipt names the command as it ran
        green = {c.command for c, one in ran if one.status is ReceiptStatus.PASSED}
        examined = {c: one for c, one in self._examined.items() if c in green}
        excused = any(receipt.status is ReceiptStatus.RED_BEFORE for receipt in receipts)
        deciding = own if excused else green
        shown = task.shows == "kept" or any(examined[c].shown for c in deciding & {*examined})
        asked = {one.question: None for one in examined.values() if one.question}
        if not asked and examined and not shown and not excused:
            asked = {NOTHING_SHOWN: None}
        rests_on = tuple(dict.fromkeys(path for one in examined.values() for path in one.rests_on))
        changed = (change.path for change in self.inspection.not_allowed)
        return GateResult(
            task_id=task.id,
            receipts=receipts,
            shown=shown,
            unchecked=unchecked,
            question="; ".join(asked),
            rests_on=rests_on,
            also_changed=tuple(path for path in changed if path not in rests_on),
            for_person=any(one.for_person for one in examined.values()),
        )

    def _nothing_changed(self, task: Task, receipts: Sequence[Receipt]) -> bool:
        """Return whether the work of a task left no trace, and no check of its own shows that it is done."""
        shown = any(r.source == "criterion" and r.status is ReceiptStatus.PASSED for r in receipts)
        untouched = not shown and self.base.is_untouched(task.id, self.inspection)
        return untouched and not self.base.made_by_checks.others

    async def run_check(
        self,
        check: Check,
        permit: Permit = deny_unattended,
        task: Task | None = None,
        commands: tuple[str, ...] = (),
        *,
        judge: bool = True,
    ) -> Receipt:
        command, refused = check.command, ""
        if lost := lost_status(command):
            refused = lost.sentence
        elif check.source != "backpressure":
            command, refused = await self._reviewed(command, permit)
        if refused:
            denied = ReceiptStatus.DENIED
            return Receipt(
                command=check.command, source=check.source, status=denied, reason=refused
            )
        examined, inspection = await self._examiner.examine(
            command, task, commands, judge=judge, known_as=check.command
        )
        self._examined[check.command] = examined
        self.inspection = inspection
        status, reason = _status_of(examined, self._timeout)
        if status is ReceiptStatus.FAILED and not check.own:
            excuse = self.baseline.excuse(command, examined, inspection)
            if not excuse and self.baseline.excuse(command, examined, Inspection()):
                there = await self._examiner.with_originals(command, inspection)
                excuse = self.baseline.excuse(command, there, Inspection()) if there else ""
            status, reason = (ReceiptStatus.RED_BEFORE, excuse) if excuse else (status, reason)
        told = {**dict(examined.result), **dict(examined)}
        told |= {"command": command, "source": check.source, "status": status, "reason": reason}
        told["sandboxed"] = self._sandboxed
        known = told.keys() & Receipt.model_fields.keys()
        return Receipt.model_validate({name: told[name] for name in known})

    def _needs_uv(self, command: str) -> bool:
        """Return whether a criterion's tools run through uv: in a uv project, or if the PATH lacks the tool. Blocks."""
        tool = command.split(maxsplit=1)[0]
        if shutil.which(tool, path=self._environment.get("PATH", os.defpath)) is None:
            return True
        declared = PythonProject(DirectoryFiles(self._root)).declared_manager() == "uv"
        return self.rules().checks.uses_uv and (declared or (self._root / ".venv").is_dir())

    async def run_step_command(self, command: str, *, seconds: float) -> tuple[CommandResult, bool]:
        """Run a shell command that is not a check in the project; return also whether it ran in the sandbox of checks."""
        run = CommandRun(
            command=command,
            check=command,
            cwd=self._root,
            environment=dict(self._environment),
            limit_seconds=seconds,
        )
        result = await self._start(run)
        return result, self._sandboxed

    async def _start(self, run: CommandRun) -> CommandResult:
        result = await self._start_once(run)
        if self._sandboxed and result.exit_code and result.tail.startswith(SANDBOX_FAILED):
            await require_sandbox()
            # bwrap fails when a socket it covers has just vanished
            result = await self._start_once(run)
        return result

    async def _start_once(self, run: CommandRun) -> CommandResult:
        prefix = await asyncio.to_thread(self._prefix, run.check, run.writable, run.mounts)
        self._sandboxed = bool(prefix)
        held = await asyncio.to_thread(run_by_others, self._root) if prefix else None
        key = f"check-{id(run)}"
        try:
            if self.watch is not None:
                await self.watch.begin_command(key, is_confined=bool(prefix))
            return await run_command(
                run.command,
                cwd=run.cwd,
                environment={**run.environment, "CI": "true"}
                if self.baseline.needs_ci
                else run.environment,
                limit_seconds=run.limit_seconds or self._timeout,
                prefix=prefix,
                keep=run.keep,
            )
        finally:
            if self.watch is not None:
                await self.watch.end_command(key)
            if held is not None:
                await self._set_aside(run.command, held)

    async def _set_aside(self, command: str, held: frozenset[Path]) -> None:
        made = await asyncio.to_thread(set_aside_run_by_others, self._root, held)
        if made:
            text = (
                f"`{one_line(command, 80)}` made what other programs run automatically. Ralph renamed it to "
                f"{shortlist([path.name for path in made], 5)}: read it before you use or delete it."
            )
            self._emit(ev.Notice(level="warning", text=text))

    # Check files during a task.

    async def begin(self, task_id: str, tasks: Iterable[Task]) -> None:
        """Record the project before an agent session on `task_id`; `tasks` are all tasks of the plan."""
        listed = tuple(tasks)
        await self._examiner.start()
        tree = self._examiner.tree
        if tree.left_out and not tree.told:
            tree.told = True
            names = shortlist([one_line(path, 80) for path in tree.left_out], 5)
            why = "too large, not readable, or a repository of its own"
            self._emit(
                ev.Notice(level="info", text=f"Left out of undo and review: {names} ({why}).")
            )
        agreed = [
            task.id
            for task in listed
            if task.status is TaskStatus.COMPLETE
            and task.verification is not None
            and task.verification.outcome is VerificationOutcome.ACCEPTED
        ]
        rules = await asyncio.to_thread(self.rules)
        commands = [check.command for check in plan_checks(listed, rules)]
        text = "\n".join(task.description for task in listed)
        await asyncio.to_thread(self.base.begin, task_id, commands, text, agreed)
        if self.base.trouble and not self._warned_of_base:
            self._warned_of_base = True
            text = (
                f"The trusted state of the project cannot be kept ({self.base.trouble}): "
                "every claim needs a reviewer or your decision."
            )
            self._emit(ev.Notice(level="warning", text=text))

    async def end(self) -> None:
        await asyncio.to_thread(self.base.end)

    async def accept(self, task: Task, settled: Iterable[str] = ()) -> None:
        """Move the trusted base, because the claim on `task` was accepted.

        Args:
            settled: Changed files of the checks that a reviewer or the person agreed to.
        """
        await asyncio.to_thread(self._accept, task, tuple(settled))

    def _accept(self, task: Task, settled: tuple[str, ...]) -> None:
        self.base.accept(task.id, self.inspection, settled)
        self.baseline.accept(self._examined)
        for command, examined in self._examined.items():
            if examined.passed and examined.outcomes:
                judged = examined.judged or examined.outcomes
                self.base.store.save_outcomes(command, examined.outcomes)
                self.base.store.save_outcomes(_in_judge_tree(command), judged)


def _removed_tests(judged: Inspection) -> tuple[str, ...]:
    """Return the removed test files that nobody allowed to remove; none if there are new ones, which may replace them."""
    tests = [change for change in judged.checks if is_test_file(change.path)]
    new = any(change.kind == "new" for change in tests)
    return () if new else tuple(c.path for c in tests if c.kind == "deleted")


def _status_of(examined: Examined, limit: float) -> tuple[ReceiptStatus, str]:
    exit_code = examined.result.exit_code
    if examined.faults:
        return ReceiptStatus.FAILED, "; ".join(examined.faults)
    if exit_code is None:
        return ReceiptStatus.TIMED_OUT, f"timed out after {duration(limit)}"
    if exit_code == 0:
        flaky = shortlist(examined.flaky, 3)
        return ReceiptStatus.PASSED, f"flaky: failed 1 of 2 ({flaky})" if flaky else ""
    return ReceiptStatus.FAILED, f"exit status {exit_code}"


async def _refusal(command: str, verdict: Verdict, permit: Permit) -> str:
    if verdict.decision == "deny":
        return verdict.message
    if verdict.decision != "ask":
        return ""
    ruling = await permit(command, verdict)
    if ruling.allowed:
        return ""
    if ruling.by in ("", NOBODY):
        return f"{verdict.reason} in `{verdict.part}`: {ruling.reason}"
    return f"the person denied it{f': {ruling.reason}' if ruling.reason else ''}"


MOST_LINES = 1_000
"""The most lines of a diff shown to the person. A file whose diff does not fit is left out."""


def shown_changes(
    paths: Iterable[str], original: Callable[[str], bytes | None], root: Path
) -> tuple[str, tuple[str, ...]]:
    """Return the changes as a diff against the originals, inert and bounded, and the files that it shows. Blocks."""
    lines: list[str] = []
    shown: list[str] = []
    for path in paths:
        file = root / path
        try:
            now = file.read_bytes() if file.is_file() else None
        except OSError:
            continue
        before, after = (
            (one or b"").decode("utf-8", "replace").splitlines() for one in (original(path), now)
        )
        diff = list(
            difflib.unified_diff(before, after, f"before/{path}", f"now/{path}", lineterm="")
        )
        if len(lines) + len(diff) <= MOST_LINES:
            lines += diff
            shown.append(path)
    return inert("\n".join(lines)), tuple(shown)
