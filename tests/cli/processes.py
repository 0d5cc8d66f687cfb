"""The real program: in a process of its own, or in this one where a test only varies another."""

import asyncio
import contextlib
import io
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from unittest import mock

from ralph_tui.cli.main import main

REPOSITORY = Path(__file__).parents[2]


def ralph(
    *words: str, cwd: Path, stdin: str = "", environ: Mapping[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    return python("-m", "ralph_tui", *words, cwd=cwd, stdin=stdin, environ=environ)


def python(
    *words: str, cwd: Path, stdin: str = "", environ: Mapping[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, *words],
        cwd=cwd,
        env=environ,
        input=stdin,
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )


def inside(
    *words: str, cwd: Path, stdin: str = "", environ: Mapping[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run `ralph` in this process: the same entry, a twentieth of the time."""
    out, err = io.StringIO(), io.StringIO()
    status: object = 0
    before = sys.stdin
    sys.stdin = io.TextIOWrapper(io.BytesIO(stdin.encode()))
    try:
        with (
            mock.patch.dict(os.environ, environ or {}, clear=environ is not None),
            contextlib.chdir(cwd),
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            main(list(words))
    except SystemExit as left:
        status = left.code
    finally:
        sys.stdin = before
    assert isinstance(status, int)
    return subprocess.CompletedProcess(words, status, out.getvalue(), err.getvalue())


async def beside(*words: str, cwd: Path) -> "subprocess.CompletedProcess[str]":
    """Run `ralph` in this process for a test that runs an event loop; nothing else may print meanwhile."""
    return await asyncio.to_thread(inside, *words, cwd=cwd)
