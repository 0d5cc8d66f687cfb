"""Copy the project so that the original check files run against the changed work."""

import re
import shutil
import tempfile
from pathlib import Path

from ralph_tui.domain.base import Model
from ralph_tui.engine.core.project_tree import NOT_THE_PROJECT
from ralph_tui.engine.verification.evidence.python_environment import editable_paths

_LINKED = frozenset({".venv", "venv", "node_modules", ".tox", ".nox"})
"""Installed packages, which are linked: copying them is slow and changes nothing."""


class CleanCopy(Model):
    """A copy of a project, and how commands run in it."""

    root: Path
    environment: dict[str, str]

    def command(self, text: str, original: Path) -> str:
        """Return a command with the project's absolute path replaced by the copy's."""
        return re.sub(rf"{re.escape(str(original))}(?![\w.-])", str(self.root), text)

    def remove(self) -> None:
        """Remove the copy. Blocks."""
        shutil.rmtree(self.root.parent, ignore_errors=True)


def copy_project(root: Path, temp: Path | None = None) -> CleanCopy:
    """Copy a project without installed or cached files; the caller removes it. Blocks."""
    parent = Path(tempfile.mkdtemp(prefix="ralph-check-", dir=temp))
    target = parent / (root.name or "project")

    def left_out(directory: str, names: list[str]) -> set[str]:
        del directory
        return {name for name in names if name in NOT_THE_PROJECT}

    try:
        shutil.copytree(root, target, symlinks=True, ignore=left_out, copy_function=_copy)
        _link(root, target)
    except BaseException:
        shutil.rmtree(parent, ignore_errors=True)
        raise
    return CleanCopy(root=target, environment=_environment(root, target))


def _copy(source: str, target: str) -> str:
    """Copy a file; skip pipes, sockets and unreadable files."""
    path = Path(source)
    if path.is_symlink() or path.is_file():
        try:
            shutil.copy2(source, target, follow_symlinks=False)
        except PermissionError:
            return target
    return target


def _link(root: Path, target: Path) -> None:
    for name in _LINKED:
        if (root / name).is_dir() and not (target / name).exists():
            (target / name).symlink_to(root / name)
    for manifest in root.glob("*/package.json"):
        modules = manifest.parent / "node_modules"
        linked = target / manifest.parent.name / "node_modules"
        if modules.is_dir() and linked.parent.is_dir() and not linked.exists():
            linked.symlink_to(modules)
    if (root / "Cargo.toml").is_file() and (root / "target").is_dir():
        shutil.rmtree(target / "target", ignore_errors=True)
        (target / "target").symlink_to(root / "target")
    git = root / ".git"
    if git.is_dir():  # so that `git ls-files` works; nothing is written with GIT_OPTIONAL_LOCKS=0
        (target / ".git").write_text(f"gitdir: {git}\n", encoding="utf-8")
    elif git.is_file():
        shutil.copyfile(git, target / ".git")


def _environment(root: Path, target: Path) -> dict[str, str]:
    found = {"PYTHONDONTWRITEBYTECODE": "1", "GIT_OPTIONAL_LOCKS": "0", "PWD": str(target)}
    venv = root / ".venv"
    if venv.is_dir():
        # uv must use the environment as it is: syncing would install the copy, or fail offline.
        found |= {"UV_PROJECT_ENVIRONMENT": str(venv), "UV_NO_SYNC": "1"}
    paths = dict.fromkeys(
        str(target / path.relative_to(root))
        for path in editable_paths(root)
        if path.is_relative_to(root)
    )
    if paths:
        found["PYTHONPATH"] = ":".join(paths)
    return found
