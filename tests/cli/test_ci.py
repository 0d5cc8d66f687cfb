"""`.ci/run`: a line for each step when all is well, and a failure names its step."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.cli.processes import REPOSITORY
from tests.harness.missing_programs import path_without

FAKE_UV = """#!/bin/sh
[ "$*" = "$FAILING" ] && echo "what went wrong" && exit 4
case "$*" in
  venv*)
    mkdir -p "$2/bin"
    for name in ralph python; do echo "#!/bin/sh" >"$2/bin/$name"; chmod +x "$2/bin/$name"; done ;;
  "$PYTEST"*)
    echo ".....F"; echo "1 failed, 4 passed in 2.01s"
    echo "Sandbox: 1 tests ran: one"; echo "FLAKY: two"; echo "5 passed in 3.21s" ;;
  *) echo noise ;;
esac
"""


FAKES = {
    "uv": FAKE_UV,
    "id": "#!/bin/sh\necho 0\n",
    "apt-get": '#!/bin/sh\necho "$*" >>"$TMPDIR/../asked"; exit 1\n',
}
STEPS = {"uv sync --locked", "ruff check", "mypy", "lint-imports", "codespell", "vulture"}
PYTEST = "run python -m tests.tools.ask_twice"


def ci(directory: Path, failing: str, *missing: str) -> "subprocess.CompletedProcess[str]":
    """Run it with a `uv` that fails at one step, and an `apt-get` that cannot install what is missing."""
    path = path_without(directory / "path", *missing, *FAKES)
    fakes, tmp_path = directory / "fakes", directory / "temporary"
    tmp_path.mkdir()
    fakes.mkdir()
    for name, text in FAKES.items():
        (fakes / name).write_text(text, encoding="utf-8")
        (fakes / name).chmod(0o755)
    environ = {
        **os.environ,
        "PATH": f"{fakes}{os.pathsep}{path}",
        "TMPDIR": str(tmp_path),
        "FAILING": failing,
        "PYTEST": PYTEST,
    }
    return subprocess.run(
        [REPOSITORY / ".ci" / "run"],
        cwd=tmp_path,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )


def test_success_shows_a_line_for_each_step_and_the_end_of_the_tests(tmp_path: Path) -> None:
    done = ci(tmp_path, "", "zsh", "socat")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[-4:-1] == ["Sandbox: 1 tests ran: one", "FLAKY: two", "5 passed in 3.21s"]
    assert lines[-1].startswith("10 passed in "), "of both steps"
    steps = [line for line in lines if re.fullmatch(r" *\d+ s  \S.*", line)]
    assert [line.endswith("pytest") for line in steps[-2:]] == [True, False]
    assert {line.split(" s  ")[1] for line in steps} >= STEPS
    left_out = next(line for line in lines if line not in steps)
    assert left_out.startswith("LEFT OUT: the tests that need ")
    assert {"zsh", "socat", "sandbox"} <= set(re.split(r"[ ,]", left_out))
    assert len(lines) == len(steps) + 8, "one on what is left out, three on each step, and the sum"
    asked = (tmp_path / "asked").read_text(encoding="utf-8").splitlines()
    assert any(line.endswith(" zsh") for line in asked), "one that cannot be had hides no other"
    assert any(line.endswith(" socat") for line in asked)
    assert list((tmp_path / "temporary").iterdir()) == []


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("sync --locked", "uv sync --locked"),
        (f"{PYTEST} --serial no", "pytest"),
    ],
)
def test_a_failure_names_its_step_and_shows_what_it_said(
    tmp_path: Path, command: str, name: str
) -> None:
    done = ci(tmp_path, command)
    assert done.returncode == 1
    assert f"\nCI failed at: {name} (exit status 4)\n" in done.stdout
    assert done.stdout.endswith("what went wrong\n")
