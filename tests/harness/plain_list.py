"""The example importer of the documentation, put where ralph finds installed ones."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

from ralph_tui.interop.format_registry import formats

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


@contextlib.contextmanager
def installed(site: Path) -> Iterator[None]:
    with mock.patch.object(sys, "path", [str(site), *sys.path]):
        formats.cache_clear()
        yield
    formats.cache_clear()
    sys.modules.pop("ralph_plain_list", None)
