"""`.ci/run`: quiet when all is well, and a failure names its step."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.cli.processes import REPOSITORY

FAKE_UV = """#!/bin/sh
[ "$*" = "$FAILING" ] && echo "what went wrong" && exit 4
case "$*" in
  venv*)
    mkdir -p "$2/bin"
    for name in ralph python; do echo "#!/bin/sh" >"$2/bin/$name"; chmod +x "$2/bin/$name"; done ;;
  "run pytest"*) echo "....."; echo "5 passed, 1 skipped in 3.21s"; echo "coverage reached" ;;
  *) echo noise ;;
esac
"""


def ci(tmp_path: Path, failing: str) -> "subprocess.CompletedProcess[str]":
    uv = tmp_path / "uv"
    uv.write_text(FAKE_UV, encoding="utf-8")
    uv.chmod(0o755)
    environ = {
        **os.environ,
        "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
        "TMPDIR": str(tmp_path),
        "FAILING": failing,
    }
    return subprocess.run(
        [REPOSITORY / ".ci" / "run"],
        cwd=tmp_path,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )


def test_success_shows_the_summary_of_the_tests_alone(tmp_path: Path) -> None:
    done = ci(tmp_path, "")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "5 passed, 1 skipped in 3.21s\n"
    assert [path.name for path in tmp_path.iterdir()] == ["uv"]


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("sync --locked", "uv sync --locked"),
        ("run ruff check .", "ruff check"),
        ("run mypy .", "mypy"),
        ("run lint-imports", "lint-imports"),
        ("run codespell", "codespell"),
        ("run vulture", "vulture"),
        ("run pytest --cov --cov-report=term", "pytest"),
    ],
)
def test_a_failure_names_its_step_and_shows_what_it_said(
    tmp_path: Path, command: str, name: str
) -> None:
    done = ci(tmp_path, command)
    assert done.returncode == 1
    assert done.stdout.startswith(f"CI failed at: {name} (exit status 4)\n")
    assert done.stdout.endswith("what went wrong\n")
