"""Create the demo's project: the files of a scenario in a new directory."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from ralph_tui.domain.errors import SetupError
from ralph_tui.store.project import Project


def create_demo_project(
    files: Mapping[str, str], target: Path | None = None, name: str = "demo"
) -> Path:
    """Write the demo project to `target`, which is empty or new, or to `name` in a new temporary directory."""
    try:
        root = _empty_directory(target or Path(tempfile.mkdtemp(prefix="ralph-demo-"), name))
        Project(root).create()  # sets aside what ralph knows of an earlier project in this place
        for file, text in files.items():
            path = root / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise SetupError(
            f"Cannot write the demo project: {error}.", "Choose another directory."
        ) from error
    _init_git(root)
    return root


def demo_environment() -> dict[str, str]:
    """Return the variables with which checks work without a network, and `uv run` uses ralph's own Python."""
    return {
        "CARGO_NET_OFFLINE": "true",
        "GOPROXY": "off",
        "GOTOOLCHAIN": "local",
        "NPM_CONFIG_OFFLINE": "true",
        "NPM_CONFIG_UPDATE_NOTIFIER": "false",
        "UV_OFFLINE": "1",
        "UV_PYTHON": sys.executable,
        "UV_PYTHON_DOWNLOADS": "never",
        # uv would warn about the active environment of ralph.
        "VIRTUAL_ENV": "",
        # After an edit in the same second, a test run would use stale bytecode.
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def _empty_directory(target: Path) -> Path:
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise SetupError(
            f"The demo needs an empty directory, but {target} is not empty.",
            "Give a new directory, or omit it to use a temporary one.",
        )
    target.mkdir(parents=True, exist_ok=True)
    return target.resolve()


def _init_git(root: Path) -> None:
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
        raise SetupError(
            f"git init failed in {root}: {done.stderr.strip()}.",
            "Check that `git init` works, then try again.",
        )
