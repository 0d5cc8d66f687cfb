"""Make a feature with what it begins with, as every face does it."""

from pathlib import Path

from ralph_tui.config.load import load_settings
from ralph_tui.domain.plan.plan import ImplementationPlan
from ralph_tui.store.feature_folders import FeatureFiles, Features
from ralph_tui.store.io.files import explained, write_atomic
from ralph_tui.store.layout import SPECS, Layout
from ralph_tui.store.text_files import MAX_SPECS, SPEC_BYTES, inside, read_text


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


def choose_feature(root: Path, name: str) -> None:
    """Choose the feature that commands work on; an empty name is the plan without one.

    Raises:
        RalphError: A loop runs, there is no such feature, the branch of another one is checked out, or a
            setting is wrong.
    """
    Features(root).use(name, prefix=load_settings(root).git.branch_prefix)


def adopt_specs(root: Path, source: str, name: str) -> tuple[str, ...]:
    """Copy the specs of a feature folder of Ralph Hybrid into a feature; return the new files.

    Such a folder has a prd.json, a spec.md and a directory of specs. It stays as it is, and so do specs
    that the feature has already.

    Args:
        root: The project's directory.
        source: The prd.json that was imported.
        name: The feature.

    Raises:
        StoreError: The disk does not allow it.
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
    made = []
    for path in found:
        text, target = read_text(layout, path, SPEC_BYTES), layout.specs / path.name
        if text and not target.exists():
            with explained("make", layout.specs):
                layout.specs.mkdir(parents=True, exist_ok=True)
            write_atomic(target, text.encode(), mode=0o644)
            made.append(target.relative_to(layout.root).as_posix())
    return tuple(made)
