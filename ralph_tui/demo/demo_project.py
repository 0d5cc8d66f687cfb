"""The demo's project: the files of a scenario in a fresh directory."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from ralph_tui.domain.errors import SetupError


def create_demo_project(files: Mapping[str, str], target: Path | None = None) -> Path:
    """Write the demo project and return its directory, which is left for the person to look at.

    Args:
        files: A path and a text for each file.
        target: An empty or new directory; by default a fresh temporary one.

    Raises:
        SetupError: The target has something in it, or cannot be written.
    """
    try:
        root = _empty_directory(target)
        for name, text in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise SetupError(
            f"The demo project cannot be written: {error}.", "Choose another directory."
        ) from error
    _init_git(root)
    return root


def demo_environment() -> dict[str, str]:
    """Return the environment in which checks work without a network, `uv run` on the Python that runs ralph."""
    return {
        "CARGO_NET_OFFLINE": "true",
        "GOPROXY": "off",
        "GOTOOLCHAIN": "local",
        "NPM_CONFIG_OFFLINE": "true",
        "NPM_CONFIG_UPDATE_NOTIFIER": "false",
        "UV_OFFLINE": "1",
        "UV_PYTHON": sys.executable,
        "UV_PYTHON_DOWNLOADS": "never",
        # uv would warn about an active environment around ralph.
        "VIRTUAL_ENV": "",
        # An edit in the same second as a test run must not use the old bytecode.
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def _empty_directory(target: Path | None) -> Path:
    if target is None:
        return Path(tempfile.mkdtemp(prefix="ralph-demo-")).resolve()
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise SetupError(
            f"The demo wants an empty directory, and {target} is not one.",
            "Name a new directory, or none for a temporary one.",
        )
    target.mkdir(parents=True, exist_ok=True)
    return target.resolve()


def _init_git(root: Path) -> None:
    """Create a repository when git is installed, so that `git status` shows something."""
    git = shutil.which("git")
    if not git:
        return
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    done = subprocess.run(
        [git, "init", "--quiet", "--initial-branch=main", str(root)],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    if done.returncode:
        raise SetupError(f"git init failed in {root}: {done.stderr.strip()}.", "Check git.")
