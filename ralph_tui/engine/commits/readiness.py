"""Check before anything is spent whether ralph may commit, and choose the branch."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ralph_tui.config.settings import GitSettings, Settings
from ralph_tui.domain.errors import SetupError
from ralph_tui.domain.plan.plan import ImplementationPlan, TaskStatus
from ralph_tui.store.export_records import current_names
from ralph_tui.store.project import Documents
from ralph_tui.vcs.branches import (
    Head,
    Prepared,
    WorkedOn,
    branch_name,
    check_out,
    require_clean,
    require_identity,
    require_settled,
    require_unprotected,
    valid_branch,
)
from ralph_tui.vcs.commits import Committer


@dataclass(frozen=True)
class WorkPlace:
    """Which branch a run works on.

    Attributes:
        git: The settings.
        names: Texts that name the branch, the best first.
        builds: Whether the run may build tasks; else it changes nothing that could be committed.
        is_new_request: Whether the run begins something else than the last one did.
        sandboxed: Whether a sandbox holds what ralph runs.
    """

    git: GitSettings
    names: Sequence[str]
    builds: bool
    is_new_request: bool
    sandboxed: bool
    feature: str = ""
    """The branch of the feature that is worked on; empty for the plan without a name."""

    @property
    def is_wanted(self) -> bool:
        """Whether ralph commits or checks out a branch at all."""
        return self.builds and (self.git.commit != "off" or self.git.branch != "off")

    def require_ready(self, committer: Committer, docs: Documents) -> str:
        """Return the branch after checking that it can be checked out and committed to; change nothing.

        The name is empty when ralph neither commits nor checks out a branch.

        Raises:
            SetupError: It cannot; the hint names the command that helps.
        """
        if not self.is_wanted:
            return ""
        head = require_settled(committer.git)
        name = self._branch(committer, docs, head)
        if self.git.commit != "off":
            require_unprotected(name, self.git.protected_branches)
            require_identity(committer.git)
            self._require_held(committer)
        if self.git.commit != "off" or name != head.branch:
            self._require_clean(committer, docs, head)
        return name

    def prepare(self, committer: Committer, docs: Documents) -> Prepared:
        """Check out the branch that this run works on; an existing branch is never moved.

        Raises:
            SetupError: What `require_ready` says, or git refuses.
        """
        head = require_settled(committer.git)
        name = self._branch(committer, docs, head)
        return check_out(
            committer.git, name, head, lambda: self._require_clean(committer, docs, head)
        )

    def _branch(self, committer: Committer, docs: Documents, head: Head) -> str:
        """Return the name of the branch to work on: the one of the unfinished plan, or one named for it."""
        if self.git.branch == "off":
            return head.branch
        if self.feature:
            return valid_branch(committer.git, self.feature)
        begun = docs.state.branch
        is_begun = begun is not None and begun.name.startswith(self.git.branch_prefix)
        if begun is not None and is_begun and not (self.is_new_request or docs.plan.is_finished):
            return begun.name
        return branch_name(committer.git, self.git.branch_prefix, *self.names)

    def _require_clean(self, committer: Committer, docs: Documents, head: Head) -> None:
        setting = "git.commit" if self.git.commit != "off" else "git.branch"
        require_clean(
            committer.git, head, worked_on(docs), setting, current_names(committer.git.root)
        )

    def _require_held(self, committer: Committer) -> None:
        """Refuse hooks that nothing would hold: an agent may have written what they run.

        Raises:
            SetupError: There are some, and there is no sandbox.
        """
        hooks = () if self.git.hooks == "skip" or self.sandboxed else committer.hooks()
        if hooks:
            raise SetupError(
                f"The repository has the commit hook {hooks[0]}, and ralph runs hooks only in a sandbox, "
                "which there is none of here.",
                "Set git.hooks to skip, or see `ralph doctor` about the sandbox.",
            )


def work_place(
    docs: Documents, settings: Settings, root: Path, *, asked: str, builds: bool, sandboxed: bool
) -> WorkPlace:
    """Return which branch a run works on.

    Args:
        docs: The documents of the project, as they are now.
        settings: The settings of the run.
        root: The project's directory, whose name is the last resort.
        asked: The request of a run that runs all phases; empty for one phase, or to continue.
        builds: Whether the run may build tasks.
        sandboxed: Whether a sandbox holds what ralph runs.
    """
    is_new = bool(asked) and asked != docs.state.request
    about = asked if is_new else docs.plan.title or docs.state.request
    return WorkPlace(
        settings.git,
        names=(about, settings.project.name, root.name),
        builds=builds,
        is_new_request=is_new,
        sandboxed=sandboxed,
        feature=docs.project.of(docs.feature).branch
        or f"{settings.git.branch_prefix}{docs.feature}"
        if docs.feature
        else "",
    )


def worked_on(docs: Documents) -> WorkedOn | None:
    """Return the branch of an unfinished task: what is changed there belongs to that task."""
    branch = docs.state.branch
    if branch is None or not _has_open_work(docs.plan):
        return None
    return WorkedOn(branch.name, branch.head)


def _has_open_work(plan: ImplementationPlan) -> bool:
    return any(
        (task.begun is not None and task.status is not TaskStatus.COMPLETE)
        or (task.commit is not None and task.commit.pending)
        for task in plan.tasks
    )
