"""Create and choose features, in the same way for every user interface."""

from pathlib import Path

from ralph_tui.config.load import load_settings
from ralph_tui.domain.plan.plan import ImplementationPlan
from ralph_tui.store.feature_folders import FeatureFiles, Features
from ralph_tui.store.io.files import explained, write_atomic
from ralph_tui.store.layout import SPECS, Layout
from ralph_tui.store.text_files import MAX_SPECS, SPEC_BYTES, inside, read_text


def make_feature(root: Path, name: str, texts: tuple[tuple[str, str], ...] = ()) -> bool:
    """Create a feature with an empty plan and a folder for its specs; return whether it was chosen.

    Args:
        texts: Further files for the feature's folder, as pairs of name and text.

    Raises:
        RalphError: The name is invalid or taken, or a setting is wrong; nothing was created.
    """
    prefix = load_settings(root).git.branch_prefix
    files = FeatureFiles(ImplementationPlan(title=name), texts)
    return Features(root).new(name, files, branch=f"{prefix}{name}")


def choose_feature(root: Path, name: str) -> None:
    """Choose the feature that commands work on; an empty name chooses the plan without a name."""
    Features(root).use(name, prefix=load_settings(root).git.branch_prefix)


def adopt_specs(root: Path, source: str, name: str) -> tuple[str, ...]:
    """Copy the specs from a feature folder of Ralph Hybrid into a feature; return the new files.

    Such a folder has a prd.json, a spec.md and a directory of specs. The folder and existing specs of the
    feature are not changed.
    """
    folder = Path(source).resolve().parent
    layout = Layout(root.resolve(), name)
    if (
        folder.parent != layout.dot
        or folder == layout.features
        or inside(root, layout.specs) is None
    ):
        return ()
    found = [folder / "spec.md", *sorted((folder / SPECS).glob("*.md"))[:MAX_SPECS]]
    copied = []
    for path in found:
        text, target = read_text(layout, path, SPEC_BYTES), layout.specs / path.name
        if text and not target.exists():
            with explained("make", layout.specs):
                layout.specs.mkdir(parents=True, exist_ok=True)
            write_atomic(target, text.encode(), mode=0o644)
            copied.append(target.relative_to(layout.root).as_posix())
    return tuple(copied)
