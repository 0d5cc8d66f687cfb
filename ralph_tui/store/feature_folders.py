"""Create, choose and list the features of a project. A crash leaves the old state or the new one.

A new feature's folder is created under a temporary name. One transaction then renames it and updates the list of
features, so that neither exists without the other.
"""

import os
import shutil
from pathlib import Path
from typing import NamedTuple

from ralph_tui.domain.errors import LockedError, StoreError
from ralph_tui.domain.features import (
    NAME_RULE,
    FeatureRecord,
    FeatureSummary,
    ProjectFeatures,
    is_name,
    shown_name,
)
from ralph_tui.domain.plan.plan import ImplementationPlan
from ralph_tui.domain.project_state import RalphState
from ralph_tui.store import project_dir
from ralph_tui.store.documents.documents import PLAN, STATE, Documents, encode_document
from ralph_tui.store.documents.multi_file_commit import Move
from ralph_tui.store.feature_choice import checked_out, feature_names
from ralph_tui.store.io.files import explained, remove_stale_temps, temp_path, utc_now, write_atomic
from ralph_tui.store.layout import Layout
from ralph_tui.store.lock import LoopLock, refuse_agent
from ralph_tui.store.project import Project
from ralph_tui.store.text_files import inside


class FeatureFiles(NamedTuple):
    """The initial files of a new feature.

    Attributes:
        texts: Other files in the feature's folder, as pairs of name and text.
    """

    plan: ImplementationPlan = ImplementationPlan()
    texts: tuple[tuple[str, str], ...] = ()


class Features:
    """The features of one project. Every call blocks."""

    def __init__(self, root: Path) -> None:
        self._project = Project(root, "")
        self._layout = self._project.layout

    @property
    def names(self) -> tuple[str, ...]:
        return feature_names(self._layout)

    def summaries(self) -> tuple[FeatureSummary, ...]:
        """Return a summary of each feature, or nothing for a project with a single plan."""
        listed = self._project.look().project
        if not listed.exists and not self.names:
            return ()
        active = listed.active if listed.active in self.names else ""
        return tuple(self._summary(name, listed, active) for name in ("", *self.names))

    def new(self, name: str, files: FeatureFiles, *, branch: str) -> bool:
        """Create a feature, and choose it unless a loop runs; return whether it was chosen.

        Raises:
            StoreError: The name is invalid or taken, or the disk refuses; nothing was created.
        """
        self.require_new(name)
        refuse_agent(self._layout)
        project_dir.make(self._layout)
        listed = self._project.load().project
        chosen = LoopLock(self._layout).owner() is None and not _branch_of_another(
            self._layout.root, listed, name
        )
        with explained("make", self._layout.features):
            self._layout.features.mkdir(mode=project_dir.PRIVATE, exist_ok=True)
        staged = temp_path(self._layout.features / name)
        specs = Layout(self._layout.root, name).specs
        if inside(self._layout.root, specs) is None:
            raise StoreError(
                f"{specs} leads outside the project.",
                "Replace the link with a directory. Nothing was created.",
            )

        def change(docs: Documents) -> Documents:
            self.require_new(name)
            record = docs.project.of(name).model_copy(
                update={"created_at": utc_now(), "branch": branch}
            )
            project = docs.project
            if not project.exists:
                project = project.replacing("", FeatureRecord())
            project = project.replacing(name, record)
            active = name if chosen else project.active
            return docs.replacing(project=project.model_copy(update={"active": active}))

        try:
            with explained("make", staged):
                _write_files(staged, listed.of(name), files)
            self._project.transact_moving(change, (Move(staged, self._layout.features / name),))
        finally:
            shutil.rmtree(staged, ignore_errors=True)
            remove_stale_temps(self._layout.features)
        with explained("make", specs):
            specs.mkdir(parents=True, exist_ok=True)
        made = Project(self._layout.root, name)
        made.create()
        made.transact(lambda docs: docs)  # creates the copies outside the project
        return chosen

    def use(self, name: str, *, prefix: str) -> None:
        """Choose the feature that commands work on.

        Args:
            name: The feature; empty for the plan without a name.
            prefix: The branch prefix for features that a damaged list no longer contains.
        """
        if name and name not in self.names:
            raise StoreError(
                f"There is no feature {name} in {self._layout.root}.",
                f"List the features with `ralph feature`, or create it with `ralph feature new {name}`.",
            )

        def change(docs: Documents) -> Documents:
            self._require_no_loop(f"choose `{shown_name(name)}`")
            _require_branch(self._layout.root, docs.project, name)
            listed = docs.project
            if not self.names and not listed.exists:
                return docs  # a project with a single plan needs no list
            for other in ("", *self.names):  # a list rebuilt after damage lacks features
                if other not in listed.features:
                    branch = self._recorded_branch(other) or f"{prefix}{other}" if other else ""
                    listed = listed.replacing(other, FeatureRecord(branch=branch))
            return docs.replacing(project=listed.model_copy(update={"active": name}))

        self._project.transact(change)

    def _recorded_branch(self, name: str) -> str:
        try:
            branch = Project(self._layout.root, name).look().state.branch
        except StoreError:
            return ""  # commands that work on the feature report the error
        return branch.name if branch is not None else ""

    def _summary(self, name: str, listed: ProjectFeatures, active: str) -> FeatureSummary:
        record = listed.of(name)
        try:
            docs = Project(self._layout.root, name).look()
        except StoreError as error:
            return FeatureSummary(
                name,
                active=name == active,
                branch=record.branch,
                cost_usd=record.cost_usd,
                last_activity=record.created_at,
                trouble=str(error),
            )
        counts = docs.plan.counts()
        return FeatureSummary(
            name=name,
            active=name == active,
            done=sum(count for status, count in counts.items() if status == "complete"),
            total=len(docs.plan.tasks),
            phase=docs.state.current_phase,
            branch=record.branch,
            cost_usd=docs.state.total_cost_usd,
            last_activity=docs.state.last_activity_at or record.created_at,
        )

    def require_new(self, name: str) -> None:
        if not is_name(name):
            raise StoreError(f"{name!r} is not a valid feature name.", NAME_RULE)
        if os.path.lexists(Layout(self._layout.root, name).home):
            raise StoreError(
                f"The feature {name} already exists.",
                f"Select it with `ralph feature use {name}`, or choose another name.",
            )

    def _require_no_loop(self, doing: str) -> None:
        owner = LoopLock(self._layout).owner()
        if owner is not None:
            raise LockedError(
                f"A loop is running on `{shown_name(owner.feature)}` (pid {owner.pid}), so ralph cannot {doing}.",
                "Stop the loop first with `ralph stop`.",
            )


def _write_files(staged: Path, record: FeatureRecord, files: FeatureFiles) -> None:
    staged.mkdir(mode=project_dir.PRIVATE)
    spent = RalphState(
        total_cost_usd=record.cost_usd, total_tokens_used=record.tokens, requests=record.requests
    )
    plan, state = staged / "implementation_plan.json", staged / "state.json"
    write_atomic(plan, encode_document(PLAN, files.plan, plan)[1])
    write_atomic(state, encode_document(STATE, spent, state)[1])
    for name, text in files.texts:
        write_atomic(staged / name, text.encode())


def _branch_of_another(root: Path, project: ProjectFeatures, name: str) -> str:
    branch = checked_out(root)
    owners = {record.branch: other for other, record in project.features.items() if record.branch}
    owner = owners.get(branch, name) if branch else name
    return owner if owner != name else ""


def _require_branch(root: Path, project: ProjectFeatures, name: str) -> None:
    if owner := _branch_of_another(root, project, name):
        raise StoreError(
            f"The branch of the feature {owner} is checked out, so {shown_name(name)} cannot be chosen.",
            "Check out another branch first with `git switch`. "
            f"To work on it for one command, use `-f {shown_name(name)}`.",
        )
