"""Decides which branch a feature gets from an imported plan that names one."""

from collections.abc import Sequence
from pathlib import Path

from ralph_tui.config.settings import GitSettings
from ralph_tui.domain.errors import SetupError
from ralph_tui.domain.features import shown_name
from ralph_tui.interop.merge import Incoming
from ralph_tui.store.documents.documents import Documents
from ralph_tui.vcs.branches import valid_branch
from ralph_tui.vcs.git import Git


def branch_for(
    feature: str, incoming: Sequence[Incoming], docs: Documents, git: GitSettings, root: Path
) -> tuple[str, list[str]]:
    """Return the branch that a feature gets, empty to keep its own, and what a person should know about it.

    Args:
        feature: The feature that is imported into; empty for the plan without a name.
        incoming: The files.
        docs: The documents of the feature.
        git: The settings of commits and branches.
        root: The project's directory.
    """
    named = {one.imported.branch: one.name for one in incoming if one.imported.branch}
    if not named:
        return "", []
    branch, file = next(iter(named.items()))
    wants = f"{file} wants the work done on the branch {branch}"
    if not feature:
        return "", [
            f"{wants}; ralph does not switch to it.",
            "A feature has a branch of its own: `ralph import FILE --into NAME` takes the one of the file.",
        ]
    own = docs.project.of(feature).branch or f"{git.branch_prefix}{feature}"
    if branch == own:
        return "", []
    if reason := _reason_against(feature, branch, docs, git, root):
        return "", [f"{wants}; {feature} keeps {own}, because {reason}."]
    told = f"{feature} gets the branch {branch}, as {file} says."
    if git.branch == "off":
        told += " Ralph does not switch to it, because git.branch is off."
    return branch, [told]


def _reason_against(
    feature: str, branch: str, docs: Documents, git: GitSettings, root: Path
) -> str:
    """Return why a feature cannot get this branch; empty when it can."""
    if docs.state.branch is not None:
        return "its work has begun there"
    if branch in git.protected_branches:
        return "git.protected_branches has the other one"
    records = docs.project.features.items()
    if owner := next((name for name, r in records if r.branch == branch and name != feature), ""):
        return f"the other one belongs to the feature {shown_name(owner)}"
    try:
        valid_branch(Git(root), branch)
    except SetupError as error:
        return error.message[0].lower() + error.message[1:].rstrip(".")
    return ""
