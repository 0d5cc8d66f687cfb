"""The real program in a process of its own."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]


def ralph(
    *words: str, cwd: Path, stdin: str = "", environ: Mapping[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run `ralph` to its end."""
    return python("-m", "ralph_tui", *words, cwd=cwd, stdin=stdin, environ=environ)


def python(
    *words: str, cwd: Path, stdin: str = "", environ: Mapping[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run Python to its end."""
    return subprocess.run(
        [sys.executable, *words],
        cwd=cwd,
        env=environ,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
