"""Make a feature with what it begins with, as every face does it."""

from pathlib import Path

from ralph_tui.config.load import load_settings
from ralph_tui.domain.plan.plan import ImplementationPlan
from ralph_tui.store.feature_folders import FeatureFiles, Features


def make_feature(root: Path, name: str, texts: tuple[tuple[str, str], ...] = ()) -> bool:
    """Make a feature with an empty plan and a folder for its specs; return whether it was chosen.

    Args:
        root: The project's directory.
        name: The feature's name.
        texts: Further files of the feature's folder, by name.

    Raises:
        RalphError: The name is no name or is taken, or a setting is wrong; nothing was made.
    """
    prefix = load_settings(root).git.branch_prefix
    files = FeatureFiles(ImplementationPlan(title=name), texts)
    return Features(root).new(name, files, branch=f"{prefix}{name}")
