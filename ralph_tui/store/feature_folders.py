"""Make, choose, rename and list the features of a project; a crash leaves the old state or the new one.

A new feature's folder is made under another name first. One transaction then gives it its name and writes the
list of features, so that neither is there without the other.
"""

import os
import shutil
from pathlib import Path
from typing import NamedTuple

from ralph_tui.domain.errors import LockedError, StoreError
from ralph_tui.domain.features import (
    NAME_RULE,
    FeaturePast,
    FeatureRecord,
    FeatureSummary,
    ProjectFeatures,
    is_name,
    shown_name,
)
from ralph_tui.domain.plan.plan import ImplementationPlan
from ralph_tui.domain.project_state import RalphState
from ralph_tui.store import project_dir
from ralph_tui.store.backup.mirror import rename_copies
from ralph_tui.store.backup.receipts import ReceiptBook
from ralph_tui.store.documents.documents import (
    PLAN,
    STATE,
    Documents,
    encode_document,
)
from ralph_tui.store.documents.multi_file_commit import Move
from ralph_tui.store.feature_choice import checked_out, feature_names
from ralph_tui.store.io.files import explained, process_exists, utc_now, write_atomic
from ralph_tui.store.layout import SPECS, Layout
from ralph_tui.store.lock import LoopLock, refuse_agent
from ralph_tui.store.project import Project
from ralph_tui.store.text_files import inside

_STAGED = ".staged-"


class FeatureFiles(NamedTuple):
    """What a new feature begins with.

    Attributes:
        plan: The plan.
        texts: Other files of the feature's folder, by name.
    """

    plan: ImplementationPlan = ImplementationPlan()
    texts: tuple[tuple[str, str], ...] = ()


class Features:
    """The features of one project. Every call blocks."""

    def __init__(self, root: Path) -> None:
        """Address the features of the project at `root`."""
        self._project = Project(root, "")
        self._layout = self._project.layout

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the features, without the plan that has none."""
        return feature_names(self._layout)

    def summaries(self) -> tuple[FeatureSummary, ...]:
        """Return the state of each feature; nothing for a project with one plan.

        Raises:
            StoreError: The list of features cannot be read.
        """
        known = self._project.look().project
        if not known.exists and not self.names:
            return ()
        active = known.active if known.active in self.names else ""
        return tuple(self._summary(name, known, active) for name in ("", *self.names))

    def past(self, feature: str) -> FeaturePast:
        """Return how to find what happened to a feature.

        Raises:
            StoreError: The list of features cannot be read.
        """
        if not os.path.lexists(self._layout.project):
            return FeaturePast(feature)
        return FeaturePast(feature, self._project.look().project.renamed)

    def new(self, name: str, files: FeatureFiles, *, branch: str) -> bool:
        """Make a feature, and choose it unless a loop runs; return whether it was chosen.

        Args:
            name: Its name.
            files: What it begins with.
            branch: The branch that it is worked on.

        Raises:
            StoreError: The name is no name or is taken, or the disk does not allow it; nothing was made.
        """
        self.require_new(name)
        refuse_agent(self._layout)
        project_dir.make(self._layout)
        known = self._project.load().project
        chosen = LoopLock(self._layout).owner() is None and not _branch_of_another(
            self._layout.root, known, name
        )
        with explained("make", self._layout.features):
            self._layout.features.mkdir(mode=project_dir.PRIVATE, exist_ok=True)
        staged = self._layout.features / f"{_STAGED}{name}-{os.getpid()}-{os.urandom(4).hex()}"
        specs = Layout(self._layout.root, name).specs
        if inside(self._layout.root, specs) is None:
            raise StoreError(
                f"{specs} leaves the project.",
                "Replace the link with a directory; nothing was made.",
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
                _fill(staged, known.of(name), files)
            self._project.transact_moving(change, (Move(staged, staged.with_name(name)),))
        finally:
            shutil.rmtree(staged, ignore_errors=True)
            self._sweep()
        with explained("make", specs):
            specs.mkdir(parents=True, exist_ok=True)
        made = Project(self._layout.root, name)
        made.create()
        made.transact(lambda docs: docs)  # from now on there are copies of it
        return chosen

    def use(self, name: str, *, prefix: str) -> None:
        """Choose the feature that commands work on; an empty name is the plan without one.

        Args:
            name: The feature.
            prefix: Begins the branch of a feature that is missing in the list, which was damaged.

        Raises:
            StoreError: A loop runs, there is no such feature, or the branch of another one is checked out.
        """
        self._require_feature(name)

        def change(docs: Documents) -> Documents:
            self._require_no_loop(f"choose {shown_name(name)}")
            _require_branch(self._layout.root, docs.project, name)
            known = docs.project
            if not self.names and not known.exists:
                return docs  # a project with one plan stays one
            for other in ("", *self.names):  # the list may be new: the one before was damaged
                if other not in known.features:
                    branch = self._begun_on(other) or f"{prefix}{other}" if other else ""
                    known = known.replacing(other, FeatureRecord(branch=branch))
            return docs.replacing(project=known.model_copy(update={"active": name}))

        self._project.transact(change)

    def _begun_on(self, name: str) -> str:
        """Return the branch that a feature was worked on; empty when there is none, or it cannot be read."""
        try:
            begun = Project(self._layout.root, name).look().state.branch
        except StoreError:
            return ""  # another command says what is wrong with the feature
        return begun.name if begun is not None else ""

    def rename(self, old: str, new: str) -> None:
        """Give a feature another name, with its folder and its specs; its branch stays.

        Raises:
            StoreError: A loop runs, there is no such feature, or the new name is no name or is taken.
        """
        if not old:
            raise StoreError(
                "The plan without a name cannot be renamed.",
                "`ralph feature new NAME` makes a feature beside it.",
            )
        self._require_feature(old)
        self.require_new(new)
        before, after = Layout(self._layout.root, old), Layout(self._layout.root, new)
        moves = [Move(before.home, after.home)]
        if before.specs.is_dir() and not before.specs.is_symlink():
            if os.path.lexists(after.specs):
                raise StoreError(
                    f"{SPECS}/{new} exists already, so {SPECS}/{old} cannot take its name.",
                    "Move it away or choose another name; nothing was changed.",
                )
            moves.append(Move(before.specs, after.specs))

        def change(docs: Documents) -> Documents:
            self._require_no_loop(f"rename {old}")
            self.require_new(new)
            return docs.replacing(project=docs.project.renaming(old, new, utc_now()))

        ReceiptBook(before).copy_for(after)
        self._project.transact_moving(change, tuple(moves))
        rename_copies(before, after)
        Project(self._layout.root, new).transact(lambda docs: docs)

    def _summary(self, name: str, known: ProjectFeatures, active: str) -> FeatureSummary:
        record = known.of(name)
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
        """Make sure that a feature can be made under this name.

        Raises:
            StoreError: It is no name, or it is taken.
        """
        if not is_name(name):
            raise StoreError(f"{name!r} cannot be the name of a feature.", NAME_RULE)
        if os.path.lexists(Layout(self._layout.root, name).home):
            raise StoreError(
                f"There is a feature {name} already.",
                f"`ralph feature use {name}` chooses it; or take another name.",
            )

    def _require_feature(self, name: str) -> None:
        if name and name not in self.names:
            raise StoreError(
                f"There is no feature {name} in {self._layout.root}.",
                f"`ralph feature` lists the features; `ralph feature new {name}` makes it.",
            )

    def _require_no_loop(self, doing: str) -> None:
        owner = LoopLock(self._layout).owner()
        if owner is not None:
            raise LockedError(
                f"A loop works on {shown_name(owner.feature)} (pid {owner.pid}), so ralph does not {doing}.",
                "Stop it first with `ralph stop`.",
            )

    def _sweep(self) -> None:
        """Remove folders of processes that died before they gave them a name."""
        for path in self._layout.features.glob(f"{_STAGED}*"):
            pid = path.name.rsplit("-", 2)[-2]
            if pid.isdecimal() and int(pid) != os.getpid() and not process_exists(int(pid)):
                shutil.rmtree(path, ignore_errors=True)


def _fill(staged: Path, known: FeatureRecord, files: FeatureFiles) -> None:
    """Write a new feature's files; what a feature of that name has spent before stays spent."""
    staged.mkdir(mode=project_dir.PRIVATE)
    spent = RalphState(
        total_cost_usd=known.cost_usd, total_tokens_used=known.tokens, requests=known.requests
    )
    plan, state = staged / "implementation_plan.json", staged / "state.json"
    write_atomic(plan, encode_document(PLAN, files.plan, plan)[1])
    write_atomic(state, encode_document(STATE, spent, state)[1])
    for name, text in files.texts:
        write_atomic(staged / name, text.encode())


def _branch_of_another(root: Path, project: ProjectFeatures, name: str) -> str:
    """Return the other feature whose branch is checked out, or nothing."""
    branch = checked_out(root)
    owners = {record.branch: other for other, record in project.features.items() if record.branch}
    owner = owners.get(branch, name) if branch else name
    return owner if owner != name else ""


def _require_branch(root: Path, project: ProjectFeatures, name: str) -> None:
    """Refuse a choice that the branch contradicts."""
    if owner := _branch_of_another(root, project, name):
        raise StoreError(
            f"The branch of the feature {owner} is checked out, so {shown_name(name)} cannot be chosen.",
            "Check out another branch first with `git switch`; "
            f"`-f {shown_name(name)}` works on it for one command.",
        )
