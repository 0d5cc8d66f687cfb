"""Import a plan of another tool: read it, preview the changes, and write them in one transaction."""

import time
from dataclasses import replace
from pathlib import Path

from ralph_tui.config.settings import GitSettings, Settings
from ralph_tui.domain.errors import RalphError, SetupError
from ralph_tui.domain.features import shown_name
from ralph_tui.domain.plan.import_preview import ImportedCommand, ImportPreview
from ralph_tui.domain.plan.plan import ImplementationPlan
from ralph_tui.domain.project_state import Phase
from ralph_tui.domain.sanitize import one_line
from ralph_tui.engine.control.controls import Controls
from ralph_tui.engine.control.import_sources import LoadedFile, load_source
from ralph_tui.engine.session.spec import guard_policy
from ralph_tui.engine.verification.detection.project_checks import checks_of
from ralph_tui.guard.command_judge import judging
from ralph_tui.interop.format_registry import formats
from ralph_tui.interop.formats import ImportOptions, InteropError
from ralph_tui.interop.merge import Incoming, Merged, commands_in, merge
from ralph_tui.store.documents.documents import Documents
from ralph_tui.store.export_records import read_followed
from ralph_tui.store.io.files import utc_now
from ralph_tui.store.project import Project
from ralph_tui.vcs.branches import valid_branch
from ralph_tui.vcs.git import Git

GUARD_SECONDS = 120
"""How long the guard may take to judge all commands of a file; five thousand ordinary ones take ten seconds."""

CHANGED_MEANWHILE = "The plan changed after the preview. Nothing was written."


class PlanImport:
    """Imports a file into the plan of a project: previews the changes, then writes exactly those."""

    def __init__(
        self,
        controls: Controls,
        settings: Settings,
        base: Path | None = None,
        *,
        into_new: str | None = None,
    ) -> None:
        """Prepare an import into the project of these controls.

        Args:
            base: The directory that file names are relative to; None for the current directory.
            into_new: The name of a new feature, or empty for a new plan without a name; call `made` once it
                exists. None for the existing plan.
        """
        self._base = base
        self._into_new = into_new
        self._controls = controls
        self._settings = settings
        self._project = Project(controls.root)
        self._incoming: Incoming
        self._verdicts: dict[str, ImportedCommand] = {}
        self._remarks: list[str] = []
        self._branch = ""
        self._at = utc_now()
        self._checks = checks_of(self._project.root, settings)

    def look(
        self, given: str, form: str = "", wanted: ImportOptions | None = None
    ) -> ImportPreview:
        """Read a file and return a preview of its import. Blocks; writes nothing."""
        root = self._project.root
        self._remarks = list(formats().broken)
        file = load_source(root, given, self._base)
        importer = formats().named(form) if form else formats().detect(file.source)
        _require_foreign(self._project, file)
        read = importer.read(file.source, wanted or ImportOptions())
        self._incoming = Incoming(file.source.name, file.path, read)
        docs = self._project.load() if self._project.layout.dot.is_dir() else Documents()
        feature = docs.feature
        if self._into_new is not None:
            docs, feature = Documents(project=docs.project), self._into_new
        plan = docs.plan
        self._branch, remarks = branch_for(
            feature, self._incoming, docs, self._settings.git, self._project.root
        )
        self._remarks += remarks
        self._judge(plan)
        return self._merged(plan).preview

    def made(self, controls: Controls) -> None:
        self._controls, self._project = controls, Project(controls.root)
        self._into_new = None

    def write(self, shown: ImportPreview) -> ImportPreview:
        """Write the previewed changes in one transaction. Blocks.

        Raises:
            RalphError: The plan changed meanwhile or cannot be written, so nothing was written.
        """
        # This transaction changes nothing, but it creates the directory for receipts.
        merged = self._merged(self._project.transact(lambda docs: docs).plan)
        recorded = {}
        for task_id in merged.adopted:
            task = merged.plan.task(task_id)
            assert task is not None
            assert task.verification is not None
            recorded[task_id] = self._project.receipts.record(task_id, task.verification)

        def change(plan: ImplementationPlan) -> ImplementationPlan:
            now = self._merged(plan)
            if now.preview.effect != shown.effect or not set(now.adopted) <= recorded.keys():
                raise RalphError(CHANGED_MEANWHILE, "Import again to see a new preview.")
            after = now.plan
            for task_id, proof in recorded.items():
                after = after.with_task(task_id, verification=proof)
            return after

        self._controls.change_plan(change, branch=shown.branch)
        return shown

    def _merged(self, plan: ImplementationPlan) -> Merged:
        merged = merge(
            plan, self._incoming, verdicts=self._verdicts, checks=self._checks, at=self._at
        )
        remarks = (*merged.preview.remarks, *self._remarks)
        details = {"remarks": remarks, "branch": self._branch}
        return replace(merged, preview=merged.preview.model_copy(update=details))

    def _judge(self, plan: ImplementationPlan) -> None:
        commands = commands_in(plan, self._incoming, self._checks)
        self._verdicts = {}
        if not commands:
            return
        policy = guard_policy(self._project, self._settings, Phase.BUILDING)
        until = time.monotonic() + GUARD_SECONDS
        with judging(policy) as judge:
            for command in commands:
                if time.monotonic() > until:
                    what = (
                        f"the guard takes more than {GUARD_SECONDS} seconds to check its commands"
                    )
                    raise InteropError(self._incoming.name, 0, what, "Split the file.")
                verdict = judge(command)
                reason = one_line(verdict.message, 300) if verdict.reason else ""
                self._verdicts[command] = ImportedCommand(
                    task_id="", command=command, verdict=verdict.decision, reason=reason
                )


def _require_foreign(project: Project, file: LoadedFile) -> None:
    """Refuse a file that ralph itself writes from the plan, since its tasks would be duplicated."""
    known = read_followed(project.layout).at(file.path)
    if known is not None and known.whole:
        raise InteropError(
            file.source.name,
            0,
            "ralph writes this file from the plan, so there is nothing to import",
            "Change the plan with `ralph edit` or `ralph add`.",
        )


def branch_for(
    feature: str, incoming: Incoming, docs: Documents, git: GitSettings, root: Path
) -> tuple[str, list[str]]:
    """Return the new branch of a feature, empty to keep its own, and remarks about it for the person."""
    branch, file = incoming.imported.branch, incoming.name
    if not branch:
        return "", []
    wants = f"{file} names the branch {branch}"
    if not feature:
        return "", [
            f"{wants}, but ralph does not switch to it.",
            "To use that branch, import the file into a feature with `ralph import FILE --into NAME`.",
        ]
    own = docs.project.of(feature).branch or f"{git.branch_prefix}{feature}"
    if branch == own:
        return "", []
    if reason := _reason_against(feature, branch, docs, git, root):
        return "", [f"{wants}, but {feature} keeps {own} because {reason}."]
    remark = f"{feature} uses the branch {branch} named in {file}."
    if git.branch == "off":
        remark += " Ralph does not switch to it, because git.branch is off."
    return branch, [remark]


def _reason_against(
    feature: str, branch: str, docs: Documents, git: GitSettings, root: Path
) -> str:
    if docs.state.branch is not None:
        return "work on it has already started"
    if branch in git.protected_branches:
        return "the other branch is listed in git.protected_branches"
    records = docs.project.features.items()
    if owner := next((name for name, r in records if r.branch == branch and name != feature), ""):
        return f"the other branch belongs to the feature {shown_name(owner)}"
    try:
        valid_branch(Git(root), branch)
    except SetupError as error:
        return error.message[0].lower() + error.message[1:].rstrip(".")
    return ""
