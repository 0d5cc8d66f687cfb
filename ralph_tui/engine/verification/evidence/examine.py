"""Run a check on the trees that tell which of the changes made it pass.

In place it must pass. In the judge tree, the trusted base with the product of the claim, it must pass as well; where it
does not, the whole claim in the same place tells whether the other changes or the place are the cause. Where everything
was green before, the base's product with the new tests tells whether they notice the work.
"""

import asyncio
import contextlib
import re
import shutil
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path

from ralph_tui.domain.errors import SetupError
from ralph_tui.domain.formatting import shortlist
from ralph_tui.domain.plan.plan import Task
from ralph_tui.domain.verification.verification import (
    MOST_NAMED,
    Inputs,
    Place,
    RunnerKind,
    Tree,
    TreeRun,
)
from ralph_tui.engine.core.project_tree import is_source
from ralph_tui.engine.verification.detection.python_declarations import read_start
from ralph_tui.engine.verification.evidence import reports
from ralph_tui.engine.verification.evidence.altered import Altered
from ralph_tui.engine.verification.evidence.check_inputs import builds, targets_exist
from ralph_tui.engine.verification.evidence.classify import SUBJECT, Side, is_test_file
from ralph_tui.engine.verification.evidence.examined import (
    MOST_SHOWN,
    AskError,
    Before,
    Case,
    CommandRun,
    Examined,
    Ran,
    RunCommand,
    exit_text,
    lost_tests,
    noticing,
    only_new_tests,
    only_reads,
    passed_in,
)
from ralph_tui.engine.verification.evidence.installed_packages import editable_paths
from ralph_tui.engine.verification.evidence.reports import (
    NOT_LOADED,
    PRINTED,
    TestReport,
    read_reports,
)
from ralph_tui.engine.verification.evidence.runners import ONLY, join_environments, with_reporting
from ralph_tui.engine.verification.evidence.trusted_base import Inspection, TrustedBase
from ralph_tui.engine.verification.judge_tree import JudgeTree, clock
from ralph_tui.guard.shell.statuses import with_pipe_failures
from ralph_tui.vcs.snapshots import Content

_CANNOT_REPORT = re.compile(r'importing plugin "ralph_pytest_report"|not allowed in NODE_OPTIONS')
"""What runners say that cannot load a reporter."""
_OUTPUT_BYTES = 16 * 1024 * 1024


class Examiner:
    """Runs and judges checks for one project."""

    def __init__(
        self,
        root: Path,
        base: TrustedBase,
        run: RunCommand,
        environment: Mapping[str, str],
        before: Callable[[str], Before] = lambda _: Before(),
        tree: JudgeTree | None = None,
        confined: Callable[[], bool] = lambda: False,
    ) -> None:
        """Examine the checks of one project; `confined` returns whether its commands run in the sandbox."""
        self.tree = tree or JudgeTree(root, base.trees)
        self._confined = confined
        self.unattended: Callable[[str], Awaitable[str | None]] | None = None
        """Returns how a command runs for which nobody is asked, or None if it may not."""
        self._before = before
        self._root = root
        self._base = base
        self._run = run
        self._environment = environment
        self._written_at = 0
        """When the judge tree was last written, in nanoseconds."""
        self._looking: set[str] = set()
        """The checks that fail in the judge tree without the work, or with sources that cannot be parsed."""
        self._seen: set[str] = set()
        """The checks that passed in the judge tree in this run."""

    async def start(self) -> None:
        with contextlib.suppress(SetupError):  # told when a check needs the judge tree
            await asyncio.to_thread(self.tree.start)

    async def inspect(self, commands: Iterable[str], task: Task | None = None) -> Inspection:
        return await asyncio.to_thread(self._base.inspect, tuple(commands), task)

    async def examine(
        self,
        command: str,
        task: Task | None = None,
        commands: Iterable[str] = (),
        *,
        judge: bool = True,
        known_as: str = "",
        control: bool = False,
    ) -> tuple[Examined, Inspection]:
        """Run and judge a check.

        Args:
            task: The claimed task; None outside any task.
            judge: Whether to run it in the judge tree as well, where that is needed.
            known_as: The check in the plan, if it runs through another program.
            control: Whether to run it with sources that cannot be parsed as well.
        """
        await self.start()
        before = self._before(known_as or command)
        since = clock()
        here = await self._run_with_reports(command)
        is_first = task is None and before.green is None
        steady, flaky = await self._run_again(
            command, here, None if is_first else before.outcomes or {}
        )
        inspection = await self.inspect((command, *commands), task)
        changed = [Path(change.path).stem for change in inspection.checks]
        if flaky and not any(stem in name for name in flaky for stem in changed):
            here = steady
        else:
            flaky = ()
        examined = self._judge(here, before, inspection).model_copy(update={"flaky": flaky})
        case = Case(command, task or Task(id="project"), here, before, inspection)
        if control and examined.passed and inspection.claim:
            with contextlib.suppress(SetupError):
                runs = await self._control(case, inspection.claim)
                examined = examined.model_copy(update={"runs": (*examined.runs, *runs)})
        if not examined.passed or not judge or task is None:
            return examined, inspection
        if inspection.trouble or inspection.faults:
            named = shortlist(inspection.faults, MOST_SHOWN)
            question = f"installed packages or settings outside the project changed: {named}"
            if inspection.trouble:
                question = f"the trusted base is not known: {inspection.trouble}"
            changes = {"question": question, "for_person": not inspection.trouble}
            return examined.model_copy(update=changes), inspection
        unseen = command not in self._seen or case.turned or not (here.reported or before.green)
        needed = bool(unseen or inspection.checks or inspection.judged) or bool(
            await asyncio.to_thread(self._base.written, inspection, self._root, since)
        )
        if needed or before.green:
            try:
                found = await self._judge_elsewhere(case, needed=needed)
            except SetupError as error:
                found = {"question": f"the judge tree cannot be made: {error.message}"}
            examined = examined.model_copy(update=found)
        return examined, inspection

    async def with_originals(self, command: str, inspection: Inspection) -> Examined | None:
        """Run a failed check with the originals of the changed files of the checks; return None where that tells too little."""
        if inspection.trouble or inspection.faults or inspection.bound or not inspection.claim:
            return None
        with contextlib.suppress(SetupError):
            there = await self._run_on(inspection.claim, command, changed=inspection.judged)
            faults, outcomes = there.report.faults, there.report.outcomes
            return Examined(result=there.result, run_faults=faults, outcomes=outcomes)
        return None

    async def _run_again(
        self, command: str, here: Ran, known: Mapping[str, str] | None
    ) -> tuple[Ran, tuple[str, ...]]:
        """Run the few tests that failed and passed before once more, alone where their runner can; return those that pass."""
        suspects, report = here.report.failing, here.report
        is_new = known is not None and any(known.get(name) != "passed" for name in suspects)
        few = here.result.exit_code and 0 < len(suspects) <= MOST_SHOWN
        if is_new or not few or report.faults:
            return here, ()
        again = await self._run_with_reports(command, only=suspects)
        alone = report.runners == (RunnerKind.PYTEST,)
        outcomes = again.report.outcomes
        passed = all(outcomes.get(name) == "passed" for name in suspects)
        if not passed or (again.result.exit_code and not alone):
            return here, ()
        report = (report if alone else again.report).model_copy(
            update={"outcomes": {**report.outcomes, **outcomes}, "failing_exit": False}
        )
        result = here.result.model_copy(update={"exit_code": 0})
        return Ran(result=result, report=report), suspects

    def _judge(self, here: Ran, before: Before, inspection: Inspection) -> Examined:
        found: tuple[str, ...] = ()
        run_faults: tuple[str, ...] = ()
        result, report = here.result, here.report
        if result.exit_code == 0:
            found = reports.faults(report)
            if report.runners and before.outcomes and not inspection.allowed:
                found += reports.weaknesses(before.outcomes, report)
        elif result.exit_code and report.runners:
            run_faults = report.faults
        known = before.outcomes
        inputs = Inputs.ALLOWED if inspection.allowed else Inputs.UNCHANGED
        return Examined(
            result=result,
            faults=found,
            run_faults=run_faults,
            counts=report.counts if report.runners else None,
            before=TestReport(outcomes=dict(known)).counts if known else None,
            failing=report.failing[:MOST_NAMED],
            inputs=Inputs.ORIGINALS if inspection.not_allowed else inputs,
            changed=tuple(change.text for change in inspection.checks)
            or tuple(f"{path} (allowed)" for path in inspection.allowed),
            outcomes=report.outcomes,
            runs=(here.on(Tree.HERE, "; ".join(found) or exit_text(result)),),
        )

    # The judge tree.

    async def _judge_elsewhere(self, case: Case, *, needed: bool) -> dict[str, object]:
        runs = [case.here.on(Tree.HERE)]
        found: dict[str, object] = {"place": Place.COPY, "judged": case.here.report.outcomes}
        try:
            found |= await self._judge_there(case, runs, needed=needed)
        except AskError as asked:
            found |= {"question": str(asked), **asked.found}
        return {**found, "runs": tuple(runs)}

    async def _judge_there(
        self, case: Case, runs: list[TreeRun], *, needed: bool
    ) -> dict[str, object]:
        """Judge a check in the judge tree; add the runs that it takes.

        Raises:
            AskError: Somebody has to judge what they show.
        """
        command, _, here, before, inspection = case
        held = case.held
        tree = self.tree.store.tree_with(inspection.claim, held) if held else inspection.claim
        if not needed:
            shown = await self._shown(case, tree, runs, vacuous=False)
            return {"shown": shown, "place": Place.HERE}
        there = await self._run_on(tree, command)
        vacuous = only_new_tests(here, there, before, inspection)
        lost = "" if vacuous else lost_tests(here, there, before, inspection)
        if lost:  # unless it is flaky
            there = await self._run_on(tree, command)
            lost = lost_tests(here, there, before, inspection)
        runs.append(there.on(Tree.JUDGE, lost))
        if not lost and inspection.bound:
            there_bound = await self._run_on(tree, command, changed=inspection.bound)
            if lost := lost_tests(here, there_bound, before, inspection):
                runs.append(there_bound.on(Tree.JUDGE, lost))
        if lost:
            return await self._cause(case, there, lost, runs, differs=bool(held))
        if not case.is_linter:
            await self._object(case, tree, turned=before.green is not True and not vacuous)
        await self._require_settings(case, there)
        self._seen.add(command)
        shown = await self._shown(case, tree, runs, vacuous=vacuous)
        return {"shown": shown, "judged": there.report.outcomes}

    async def _shown(self, case: Case, tree: str, runs: list[TreeRun], *, vacuous: bool) -> bool:
        """Find out whether a check that passes in the judge tree shows the work; add the runs that it takes."""
        command, inspection, green = case.command, case.inspection, case.before.green
        files = tuple(change.path for change in inspection.checks)
        if (case.task.shows == "kept" or green is False) and not vacuous:
            without = () if green else (inspection.base, self.tree.base)
            controls = await self._control(case, tree, *without)
            runs += controls
            if controls and controls[-1].passed:
                what = "with sources that cannot be parsed" if green else "without the work"
                question = f"`{command}` passes in the judge tree {what} as well, so it does not look at it"
                raise AskError(question, files)
        shown = green is not True
        new_tests = bool(files) or inspection.tests_inside
        if (green or vacuous) and new_tests and not case.is_linter:
            limit, product = case.limit_seconds, inspection.product
            base = await self._run_on(inspection.claim, command, limit, product)
            noticed = noticing(case.here, base)
            shown = bool(noticed) and await self._depends(case, noticed)
            found = f"{shortlist(noticed, MOST_SHOWN)} fails without the work" if shown else ""
            runs.append(base.on(Tree.BASE, found))
        if vacuous and not shown:
            what = "only with new tests, which do not depend on what the work computes"
            raise AskError(f"`{command}` passes {what}", files)
        return shown

    async def _depends(self, case: Case, noticed: Sequence[str]) -> bool:
        """Return whether a new test fails if the product returns other values, because its inputs or its code are others."""
        altered, now = Altered(self._base, case.inspection), case.here.report.outcomes
        if await asyncio.to_thread(altered.only_removes):
            return True
        inputs, results = await asyncio.to_thread(altered.with_other_results)
        known = case.before.outcomes or now
        fresh = {*noticed, *(name for name in passed_in(now) if name not in known)}
        for other in filter(None, (inputs, results)):
            ran = await self._run_on(case.inspection.claim, case.command, case.limit_seconds, other)
            failing, code = {*ran.report.failing}, ran.result.exit_code
            renamed = failing - now.keys() if other is inputs else set[str]()  # as a number is
            failed = renamed or failing & (fresh if other is results else {*noticed})
            if failed or code is None or (not now and code):
                return True
        return False

    async def _object(self, case: Case, tree: str, *, turned: bool) -> None:
        """Ask about what somebody has to judge although the check, which may have `turned` green, passes in the judge tree."""
        inspection = case.inspection

        def written() -> frozenset[str]:
            return self._base.written(inspection, self.tree.root, self._written_at)

        if found := await asyncio.to_thread(written):
            await self._run_on(inspection.base, case.command)
            if left := found - await asyncio.to_thread(written):
                question = f"{shortlist(sorted(left), MOST_SHOWN)} changed while the check ran"
                raise AskError(question, sorted(left), for_person=True)
        if turned:
            await self._require_comparison(case, tree)
        await self._require_failure(case)
        await self._require_other_variables(case)

    async def _require_failure(self, case: Case) -> None:
        """Ask if tests pass as well where they must fail, unlike before: the product changes their results."""
        runners, turned, inspection = {*case.here.report.runners}, case.turned, case.inspection
        if not turned or not runners <= {RunnerKind.PYTEST, RunnerKind.UNITTEST}:
            return
        every = dict.fromkeys((*turned, *passed_in(case.here.report.outcomes)))
        failing, tests = await asyncio.to_thread(
            Altered(self._base, case.inspection).with_failing_tests, every
        )
        run, green = (case.command, case.limit_seconds, {**inspection.judged, **failing}), {*tests}
        if green:
            green &= {*passed_in((await self._run_on(inspection.claim, *run)).report.outcomes)}
        if green:
            green -= {*passed_in((await self._run_on(inspection.base, *run)).report.outcomes)}
        if not (green := green | {name for name in turned if name.endswith(NOT_LOADED)}):
            return
        names = shortlist(sorted(green), MOST_SHOWN)
        question = f"{names} also passes where it must fail: something changes the results of tests"
        raise AskError(question, for_person=True)

    async def _require_other_variables(self, case: Case) -> None:
        """Ask if the check passes only where the product sees a variable that a test runner sets."""
        texts = [case.command, *(read_start(self._root / path) for path in self.tree.entered)]
        known = {*self._environment, *re.findall(r"\w+", " ".join(texts))}
        renamed = await asyncio.to_thread(
            Altered(self._base, case.inspection).with_other_variables, known
        )
        if not renamed:
            return
        ran = await self._run_on(case.inspection.claim, case.command, case.limit_seconds, renamed)
        less = {*passed_in(case.here.report.outcomes)} - {*passed_in(ran.report.outcomes)}
        if not ran.result.exit_code or (case.here.reported and not less):
            return
        names = shortlist(tuple(p for p in renamed if p in case.inspection.product), MOST_SHOWN)
        question = f"`{case.command}` passes only with a variable from outside the project that {names} reads"
        raise AskError(question, for_person=True)

    async def _require_comparison(self, case: Case, tree: str) -> None:
        """Ask if what turned a check green is not the product.

        New tests of earlier tasks bind this one, but it must be green without them. And a check of which only the exit
        status is known must be red with other numbers and texts in its tests; otherwise nothing was compared.
        """
        command, reported = case.command, case.here.reported
        if added := {p: None for p in case.inspection.added if p not in command}:
            less = await self._run_on(tree, command, changed=added)
            bad = less.report.failing if reported else less.result.exit_code != 0
            if bad or (reported and not less.report.counts.run):
                names = shortlist(tuple(added), MOST_SHOWN)
                question = f"`{command}` passes only with tests of earlier tasks: {names}"
                raise AskError(question, added)
        altered = Altered(self._base, case.inspection)
        sources = not reported or await asyncio.to_thread(altered.leans_on_tests)
        for data in (False, True) if sources else (True,):
            other = await asyncio.to_thread(altered.with_other_values, data=data)
            if not other:
                continue
            less = await self._run_on(tree, command, case.limit_seconds, other)
            turned = [n for n in case.turned if less.report.outcomes.get(n) != "passed"]
            green = not turned if reported else less.result.exit_code == 0
            runs_product = green and await self._needs(case, tree, case.inspection.is_product)
            if runs_product and await self._runs_tests(case, tree, other):
                values = f"other values in {shortlist(tuple(other), MOST_SHOWN)}"
                question = f"`{command}` passes with {values}, too: nothing is compared"
                raise AskError(question, for_person=True)

    async def _runs_tests(self, case: Case, tree: str, tests: Mapping[str, Content]) -> bool:
        """Return whether a check runs some tests: it fails if they cannot be parsed, or names them where the work cannot hide it."""
        if await self._needs(case, tree, tests.__contains__):
            return True
        base = case.inspection.base
        broken = await asyncio.to_thread(self.tree.broken, base, tests.__contains__)
        ran = await self._run_on(broken, case.command, case.limit_seconds)
        return any(path.rpartition("/")[2] in ran.result.tail for path in tests)

    async def _needs(self, case: Case, tree: str, breaks: Callable[[str], bool]) -> bool:
        """Return whether a check runs some files, unlike `test -f` and linters: it fails if they cannot be parsed."""
        broken = await asyncio.to_thread(self.tree.broken, tree, breaks)
        ran = await self._run_on(broken, case.command, case.limit_seconds)
        return ran.result.exit_code != 0

    async def _require_settings(self, case: Case, there: Ran) -> None:
        """Ask if a check passes only because its settings or marks in the sources ask for less.

        Where all tests pass in the judge tree, but not the check, there is a threshold for the whole run, such as
        coverage: it must hold for the new tests with the settings of the base.
        """
        whole = there.result.exit_code == 0
        tests = {c.path for c in case.inspection.checks if SUBJECT.fullmatch(c.reason)}
        changed = {p: c for p, c in case.held.items() if whole or p not in tests}
        marks: Mapping[str, Content] = {}
        if not whole or case.before.green is not True:
            marks = await asyncio.to_thread(
                Altered(self._base, case.inspection).without_marks, changed
            )
        if not marks and (whole or not changed):
            return
        both = {**changed, **marks}
        less = await self._run_on(case.inspection.claim, case.command, changed=both)
        if less.result.exit_code == 0:
            return
        files = tuple(marks) if whole else tuple(dict.fromkeys((*changed, *marks)))
        what = "new marks that silence a check in" if whole else "the changes to"
        question = f"`{case.command}` passes only with {what} {shortlist(files, MOST_SHOWN)}"
        raise AskError(question, files)

    async def _cause(
        self, case: Case, there: Ran, lost: str, runs: list[TreeRun], *, differs: bool
    ) -> dict[str, object]:
        command, task, here, before, inspection = case
        files = inspection.held_back
        whole = lost
        if differs:
            there = await self._run_on(inspection.claim, command)
            whole = lost_tests(here, there, before, inspection)
            runs.append(there.on(Tree.CLAIM, whole))
        if not whole:
            changed = [c for c in inspection.changes if c.path in files]
            tests = all(c.kind == "new" and SUBJECT.fullmatch(c.reason) for c in changed)
            if tests and only_reads(command):  # that there are tests shows nothing of the work
                del runs[1:-1]
                return {"shown": False}
            question = f"`{command}` passes only with the changes to {shortlist(files, MOST_SHOWN)} ({lost})"
            kinds = {
                (c.side, c.kind) for c in inspection.changes
            }  # no reviewer can read what is compiled
            raise AskError(question, files, for_person=(Side.ENVIRONMENT, "changed") in kinds)
        if outputs := await asyncio.to_thread(self.tree.written):
            for build in builds(task.full_text, self._root):
                if built := await self._built(build, case):
                    runs.append(built.on(Tree.JUDGE))
                    return {}
            question = f"`{command}` passes only with files that git ignores: {shortlist(outputs, MOST_SHOWN)}"
            raise AskError(question, outputs, for_person=True)
        if files:
            question = f"`{command}` passes only in place, where {shortlist(files, MOST_SHOWN)} changed, too"
            raise AskError(question, files)
        return await self._judged_here(case, there, lost, runs)

    async def _judged_here(
        self, case: Case, there: Ran, lost: str, runs: list[TreeRun]
    ) -> dict[str, object]:
        """Judge a check in place that was green before the work and never passes in a clean tree; name what it lacks there."""
        command, _, _, before, inspection = case
        if missing := await asyncio.to_thread(self.tree.missing, there.result.tail):
            lost = f"{lost}; {missing} is missing there"
        if before.green:
            base = await self._run_on(inspection.base, command)
            if lost_tests(base, base, before, inspection) or base.result.exit_code != 0:
                runs.append(base.on(Tree.BEFORE, lost))
                return {"shown": False, "place": Place.ONLY_HERE}
        raise AskError(f"`{command}` passes only in place, not in a clean tree ({lost})")

    async def _built(self, build: str, case: Case) -> Ran | None:
        """Run a check in the judge tree after a build of its own; None if it does not pass there."""
        if self.unattended is None or await self.unattended(build) is None:
            return None
        whole = f"{build} && ( {case.command}\n)"
        text = case.task.description.replace(build, "")  # what it runs is not the work
        asked = case.task.model_copy(update={"description": text})
        inspection = await self.inspect((whole,), asked)
        there = await self._run_on(inspection.claim, whole, changed=inspection.judged)
        return None if lost_tests(case.here, there, case.before, inspection) else there

    async def _control(self, case: Case, tree: str, *without: str) -> list[TreeRun]:
        """Run a check on trees without the work, last on `tree` with sources that cannot be parsed, until it fails: then it looks there."""
        if case.command in self._looking:
            return []
        inspection, reports = case.inspection, case.here.reported
        changed = {change.path for change in inspection.checks}

        def is_broken(path: str) -> bool:
            judges = path in changed or not inspection.is_product(path)
            judges = judges and not (reports and is_test_file(Path(path).name))
            return path in inspection.product or (is_source(path) and not judges)

        broken = await asyncio.to_thread(self.tree.broken, tree, is_broken)
        runs: list[TreeRun] = []
        for other in dict.fromkeys((*without, broken)):
            if other != tree:
                ran = await self._run_on(other, case.command, case.limit_seconds)
                where = Tree.BROKEN if other == broken else Tree.BEFORE
                runs.append(ran.on(where, exit_text(ran.result)))
                if not runs[-1].passed:
                    self._looking.add(case.command)
                    break
        return runs

    async def _run_on(
        self,
        tree: str,
        command: str,
        limit: float = 0,
        changed: Mapping[str, Content | None] | None = None,
    ) -> Ran:
        tree = self.tree.store.tree_with(tree, changed) if changed else tree
        await asyncio.to_thread(lambda: self.tree.write(tree, confined=self._confined()))
        self._written_at = clock()
        ran = await self._run_with_reports(command, self.tree, limit=limit)
        tail = ran.result.tail.replace(str(self.tree.root), str(self._root))
        return ran.model_copy(update={"result": ran.result.model_copy(update={"tail": tail})})

    async def _run_with_reports(
        self,
        check: str,
        tree: JudgeTree | None = None,
        only: tuple[str, ...] = (),
        limit: float = 0,
    ) -> Ran:
        directory = await asyncio.to_thread(self.tree.new_directory)
        cwd, files = (tree.cwd, tree.root) if tree else (self._root, self._root)
        command = tree.command(check) if tree else check
        editable = await asyncio.to_thread(lambda: tuple(editable_paths(self._root)))
        bytecode = None if tree else self.tree.bytecode_here()
        variables = {"PYTHONPYCACHEPREFIX": str(bytecode)} if bytecode else {}
        variables |= tree.variables(editable) if tree else {}
        variables |= {"PYTHONDONTWRITEBYTECODE": ""} if variables else {}
        own = join_environments(self._environment, variables)
        run = CommandRun(
            command=with_pipe_failures(command),
            check=check,
            cwd=cwd,
            environment=own,
            writable=(directory, bytecode) if bytecode else (directory,),
            mounts=tree.mounts if tree else (),
            limit_seconds=limit,
        )
        try:
            reporting = with_reporting(command, files, directory)
            if await asyncio.to_thread(targets_exist, files, command):
                # Otherwise make may take a new file for what it makes.
                own = {**own, "MAKEFLAGS": f"B {own.get('MAKEFLAGS', '')}".rstrip()}
            reads_output = PRINTED.keys() >= {*reporting.runners}
            changes = {
                "command": with_pipe_failures(reporting.command),
                "environment": join_environments(own, reporting.environment)
                | ({ONLY: "\n".join(only)} if only else {}),
                "keep": _OUTPUT_BYTES if reads_output else 0,
            }
            empty = directory.stat().st_ctime_ns
            result = await self._run(run.model_copy(update=changes))
            silent = directory.stat().st_ctime_ns == empty
            if silent and result.exit_code and _CANNOT_REPORT.search(result.tail):
                return Ran(result=await self._run(run), report=TestReport())
            report = await asyncio.to_thread(
                read_reports, directory, result.output, reporting.runners
            )
            return Ran(result=result, report=report.within(cwd))
        finally:
            await asyncio.to_thread(shutil.rmtree, directory, ignore_errors=True)
