"""Choose the branch of a run, and check that ralph can commit before anything is spent."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ralph_tui.config.settings import GitSettings, Settings
from ralph_tui.domain.errors import SetupError
from ralph_tui.domain.plan.plan import TaskStatus
from ralph_tui.domain.sanitize import one_line
from ralph_tui.store.export_records import current_names
from ralph_tui.store.layout import Layout
from ralph_tui.store.project import Documents
from ralph_tui.vcs.branches import (
    Head,
    branch_name,
    check_out,
    read_head,
    require_clean,
    require_committable,
    require_identity,
    require_unprotected,
    valid_branch,
)
from ralph_tui.vcs.commits import Committer


@dataclass(frozen=True)
class WorkPlace:
    """Determines the branch of a run.

    Attributes:
        names: Texts to name a new branch after, best first.
        builds: Whether the run may build tasks; otherwise it changes nothing that could be committed.
        is_new_request: Whether the run begins with another request than the last one.
        sandboxed: Whether ralph's commands run in a sandbox.
    """

    git: GitSettings
    names: Sequence[str]
    builds: bool
    is_new_request: bool
    sandboxed: bool
    feature: str = ""
    """The branch of the current feature; empty for the plan without a name."""

    @property
    def is_wanted(self) -> bool:
        return self.builds and (self.git.commit != "off" or self.git.branch != "off")

    def require_ready(self, committer: Committer, docs: Documents) -> str:
        """Return the branch, after checking that ralph can check it out and commit to it; change nothing.

        The branch is empty if ralph neither commits nor checks out a branch.
        """
        if not self.is_wanted:
            return ""
        head = require_committable(committer.git)
        name = self._branch(committer, docs, head)
        if self.git.commit != "off":
            require_unprotected(name, self.git.protected_branches)
            require_identity(committer.git)
            self._require_sandboxed_hooks(committer)
        if self.git.commit != "off" or name != head.branch:
            self._require_clean(committer, docs, head)
        return name

    def prepare(self, committer: Committer, docs: Documents) -> tuple[Head, str]:
        """Check out the branch of this run, which is never moved; return it and a notice if another one was left."""
        before = require_committable(committer.git)
        name = self._branch(committer, docs, before)
        made = check_out(
            committer.git, name, before, lambda: self._require_clean(committer, docs, before)
        )
        which = "the new branch" if made else "the branch"
        text = f"Working on {which} {name}. You were on {before.branch}."
        if name == before.branch:
            return before, ""
        return read_head(committer.git), one_line(text)

    def _branch(self, committer: Committer, docs: Documents, head: Head) -> str:
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
        root = committer.git.root
        specs = Layout(root, docs.feature).specs.relative_to(root).as_posix()
        names = (*docs.state.specs, *docs.state.chosen_specs)
        kept = (*current_names(root), *(f"{specs}/{name}" for name in names))
        require_clean(committer.git, head, worked_on(docs), setting, kept)

    def _require_sandboxed_hooks(self, committer: Committer) -> None:
        """Refuse commit hooks without a sandbox, because an agent may have written the code that they run."""
        hooks = () if self.git.hooks == "skip" or self.sandboxed else committer.hooks()
        if hooks:
            raise SetupError(
                f"The repository has the commit hook {hooks[0]}. Ralph runs hooks only in a sandbox, "
                "and no sandbox is available.",
                "Set git.hooks to skip, or run `ralph doctor` to see what the sandbox lacks.",
            )


def work_place(
    docs: Documents, settings: Settings, root: Path, *, asked: str, builds: bool, sandboxed: bool
) -> WorkPlace:
    """Return the object that determines the branch of a run.

    Args:
        asked: The request of a run that runs all phases; empty for a single phase, or to continue.
        builds: Whether the run may build tasks.
    """
    is_new = bool(asked) and asked != docs.state.request
    subject = asked if is_new else docs.plan.title or docs.state.request
    return WorkPlace(
        settings.git,
        names=(subject, settings.project.name, root.name),
        builds=builds,
        is_new_request=is_new,
        sandboxed=sandboxed,
        feature=docs.project.of(docs.feature).branch
        or f"{settings.git.branch_prefix}{docs.feature}"
        if docs.feature
        else "",
    )


def worked_on(docs: Documents) -> Head | None:
    """Return the branch of an unfinished task, whose uncommitted changes belong to that task; None without one."""
    branch = docs.state.branch
    has_open_work = any(
        (task.begun is not None and task.status is not TaskStatus.COMPLETE)
        or (task.commit is not None and task.commit.pending)
        for task in docs.plan.tasks
    )
    return Head(branch.name, branch.head) if branch and has_open_work else None
