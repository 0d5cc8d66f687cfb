"""The example importer of the documentation, put where ralph finds installed ones."""

import os
import subprocess
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "importer"


def install(directory: Path) -> Path:
    """Install the example with uv, offline, into a directory for `sys.path`; returns the directory."""
    site = directory / "site"
    environ = {**os.environ, "UV_CACHE_DIR": str(directory / "cache")}
    subprocess.run(
        [
            "uv",
            "pip",
            "install",
            "--offline",
            "--no-deps",
            "-q",
            "--target",
            str(site),
            str(EXAMPLE),
        ],
        check=True,
        env=environ,
        cwd=directory,
    )
    return site
