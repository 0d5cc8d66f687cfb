"""Imports a plan of another tool: reads it, shows what would change, and writes it in one transaction."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ralph_tui.config.settings import Settings
from ralph_tui.domain.errors import RalphError
from ralph_tui.domain.events import EventSink
from ralph_tui.domain.plan.import_preview import ImportedCommand, ImportPreview
from ralph_tui.domain.plan.plan import ImplementationPlan, Task, TaskStatus
from ralph_tui.domain.project_state import Phase
from ralph_tui.domain.sanitize import one_line
from ralph_tui.domain.tool_calls import Verdict
from ralph_tui.domain.verification.verification import GateResult, TaskVerification
from ralph_tui.engine.control.controls import Controls
from ralph_tui.engine.control.import_sources import LoadedFile, load_sources
from ralph_tui.engine.run.imported_branch import branch_for
from ralph_tui.engine.session.spec import guard_policy
from ralph_tui.engine.verification.detection.project_checks import checks_of
from ralph_tui.guard.worker import judging
from ralph_tui.interop.format_registry import FITS, formats
from ralph_tui.interop.formats import Importer, ImportOptions, InteropError
from ralph_tui.interop.merge import Incoming, Merged, commands_in, merge, with_evidence
from ralph_tui.store.documents.documents import Documents
from ralph_tui.store.export_records import read_followed
from ralph_tui.store.io.files import utc_now
from ralph_tui.store.project import Project

MOST_SECONDS = 120
"""For the guard to read all commands of a file; five thousand ordinary ones take ten."""

CHANGED_MEANWHILE = (
    "The plan changed while you were looking at the preview, so nothing was written."
)


class PlanImport:
    """One import into the plan of a project: look first, then write exactly what was shown."""

    def __init__(
        self,
        controls: Controls,
        settings: Settings,
        base: Path | None = None,
        *,
        into_new: str | None = None,
    ) -> None:
        """Import into the project of these controls.

        Args:
            controls: The project's controls.
            settings: The project's settings.
            base: What names of files are relative to; None for the current directory.
            into_new: The feature whose plan does not exist yet, empty for a plan without a name; `made` says
                when it does. None for the plan that is there.
        """
        self._base = base
        self._into_new = into_new
        self._controls = controls
        self._settings = settings
        self._project = Project(controls.root)
        self._incoming: tuple[Incoming, ...] = ()
        self._verdicts: dict[str, ImportedCommand] = {}
        self._told: list[str] = []
        self._branch = ""
        self._at = utc_now()
        self._checks = checks_of(self._project.root, settings)

    def look(
        self, given: str, form: str = "", wanted: ImportOptions | None = None
    ) -> ImportPreview:
        """Read a file and return what an import of it would do; blocks, and writes nothing.

        Args:
            given: The file, or a directory of them; `-` is standard input.
            form: The name of the format; empty to find it out.
            wanted: What the person asked the importer for.

        Raises:
            InteropError: It cannot be read as a plan.
            StoreError: The project cannot be read.
        """
        root = self._project.root
        self._told = list(formats().broken)
        files = load_sources(root, given, self._base)
        chosen, importer = choose(files, given, form)
        _require_foreign(self._project, chosen)
        self._incoming = tuple(
            Incoming(
                file.source.name, file.path, importer.read(file.source, wanted or ImportOptions())
            )
            for file in chosen
        )
        left = len(files) - len(chosen)
        if left:
            self._told.append(f"Other files in the directory that are not {importer.name}: {left}.")
        docs = self._project.load() if self._project.layout.dot.is_dir() else Documents()
        feature = docs.feature
        if self._into_new is not None:
            docs, feature = Documents(project=docs.project), self._into_new
        plan = docs.plan
        self._branch, told = branch_for(
            feature, self._incoming, docs, self._settings.git, self._project.root
        )
        self._told += told
        self._judge(plan)
        return self._merged(plan).preview

    def made(self, controls: Controls) -> None:
        """Import into the feature of these controls from now on; it was made after the preview."""
        self._controls, self._project = controls, Project(controls.root)
        self._into_new = None

    def write(
        self, shown: ImportPreview, evidence: Mapping[str, TaskVerification | None] | None = None
    ) -> ImportPreview:
        """Write what was shown in one transaction; blocks.

        Args:
            shown: The preview that the person agreed to.
            evidence: What the gate found about tasks that the file calls complete; None for one that failed.

        Returns:
            The preview as it was carried out.

        Raises:
            RalphError: The plan changed meanwhile, or cannot be written; nothing was.
        """
        found = dict(evidence or {})
        # Without a change this writes nothing, but afterwards there is a place for receipts.
        made = self._merged(self._project.transact(lambda docs: docs).plan)
        rests = {}
        for task_id in made.adopted:
            task = made.plan.task(task_id)
            assert task is not None
            proof = found.get(task_id, task.verification)
            if proof is not None:
                rests[task_id] = self._project.receipts.record(task_id, proof)
        failed = {task_id for task_id, proof in found.items() if proof is None}

        def change(plan: ImplementationPlan) -> ImplementationPlan:
            now = self._merged(plan)
            if now.preview.effect != shown.effect or not set(now.adopted) <= rests.keys() | failed:
                raise RalphError(CHANGED_MEANWHILE, "Import again to see what would change now.")
            return _reopened(with_evidence(now.plan, rests), failed)

        self._controls.replace_plan("you imported it", change, branch=shown.branch)
        return shown

    def claimed(self, shown: ImportPreview) -> tuple[Task, ...]:
        """Return the tasks that would become complete on the file's word.

        Raises:
            RalphError: The plan changed since the preview.
        """
        made = self._merged(self._project.load().plan)
        if made.preview.effect != shown.effect:
            raise RalphError(CHANGED_MEANWHILE, "Import again to see what would change now.")
        return tuple(task for task in made.plan.tasks if task.id in made.adopted)

    def _merged(self, plan: ImplementationPlan) -> Merged:
        made = merge(
            plan, self._incoming, verdicts=self._verdicts, checks=self._checks, at=self._at
        )
        remarks = (*made.preview.remarks, *self._told)
        told = {"remarks": remarks, "branch": self._branch}
        return replace(made, preview=made.preview.model_copy(update=told))

    def _judge(self, plan: ImplementationPlan) -> None:
        """Ask the guard about every command in the file, as it would be asked about an agent's."""
        commands = commands_in(plan, self._incoming, self._checks)
        self._verdicts = {}
        if not commands:
            return
        policy = guard_policy(self._project, self._settings, Phase.BUILDING)
        until = time.monotonic() + MOST_SECONDS
        with judging(policy) as judge:
            for command in commands:
                if time.monotonic() > until:
                    what = f"the guard needs more than {MOST_SECONDS} seconds for its commands"
                    raise InteropError(self._incoming[0].name, 0, what, "Split the file.")
                self._verdicts[command] = _judged(command, judge(command))


def _require_foreign(project: Project, files: Sequence[LoadedFile]) -> None:
    """Refuse a file that ralph writes as a whole: its tasks are the plan's, and would be there twice.

    Raises:
        InteropError: Ralph keeps such a file current.
    """
    followed = read_followed(project.layout)
    for file in files:
        known = followed.at(file.path)
        if known is not None and known.whole:
            raise InteropError(
                file.source.name,
                0,
                "ralph writes this file from the plan, so there is nothing to import",
                "Change the plan with `ralph edit` or `ralph add`.",
            )


def _judged(command: str, verdict: Verdict) -> ImportedCommand:
    reason = verdict.message if verdict.reason else ""
    return ImportedCommand(
        task_id="", command=command, verdict=verdict.decision, reason=one_line(reason, 300)
    )


def _reopened(plan: ImplementationPlan, failed: set[str]) -> ImplementationPlan:
    """Return the plan with the tasks pending whose checks failed, whatever the file says."""
    for task_id in failed:
        plan = plan.with_task(
            task_id,
            status=TaskStatus.PENDING,
            completed_at=None,
            completion_notes=None,
            verification=None,
            last_failure="The imported plan calls it complete, but its checks fail.",
        )
    return plan


def choose(
    files: Sequence[LoadedFile], given: str, form: str = ""
) -> tuple[Sequence[LoadedFile], Importer]:
    """Return the files to read, and the importer that reads them.

    Args:
        files: What was named, or the files of a directory.
        given: What the person named, for messages.
        form: The name of the format, where the person gave it.

    Raises:
        InteropError: No importer knows the file, or several do.
    """
    if len(files) == 1:
        source = files[0].source
        return files, formats().named(form) if form else formats().detect(source)
    importers = [formats().named(form)] if form else formats().importers
    scores = [(one.sniff(file.source), one, file) for file in files for one in importers]
    best = max((score for score, _, _ in scores), default=0)
    name = one_line(given, 300)
    if best < FITS:
        hint = f"Name a file, and its format with `--as`: {formats().names}."
        raise InteropError(name, 0, "no format fits a file in this directory", hint)
    likely = {one.name: one for score, one, _ in scores if score == best}
    if len(likely) > 1:
        what = f"its files fit {' and '.join(likely)} equally well"
        raise InteropError(name, 0, what, "Name one with `--as`.")
    importer = next(iter(likely.values()))
    return [file for score, one, file in scores if one is importer and score >= FITS], importer


def check_claims(
    root: Path, settings: Settings, tasks: Sequence[Task], emit: EventSink
) -> dict[str, GateResult]:
    """Run the gate for tasks that a file calls complete; returns what it found for each. Blocks.

    Raises:
        RalphError: The sandbox is required and does not work.
    """
    from ralph_tui.engine.run.verify_task import verify_by_hand

    async def check() -> dict[str, GateResult]:
        return {task.id: await verify_by_hand(root, settings, task, emit) for task in tasks}

    return asyncio.run(check())


def evidence_of(results: Mapping[str, GateResult]) -> dict[str, TaskVerification | None]:
    """Return what the gate's results say; a task for which nothing could run is left out."""
    at = utc_now()
    return {
        task_id: result.verification(at) if result.verified else None
        for task_id, result in results.items()
        if result.verified or not result.passed
    }
