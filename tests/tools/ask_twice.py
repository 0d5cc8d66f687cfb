"""Run pytest as CI does: what fails is asked once more, alone, and only what fails twice is red.

`uv run python -m tests.tools.ask_twice ARGUMENTS-OF-PYTEST`. A collection error, a crash of pytest itself or more than `MOST`
failures is no flake, and is not asked again. The last line of a green run is `N passed in Xs`; before it stands `FLAKY: ` with
the names of what passed the second time. The last lines of a red run are pytest's own summary and a command for each test.
"""

import json
import re
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path

MOST = 20
"""So many failures are a broken change; to run each alone would take long and tell nothing."""

_PASSED = re.compile(rb"^.*?(\d+) passed.* in [\d.]+s", re.MULTILINE)


def main(arguments: list[str]) -> int:
    """Return pytest's exit status, or 0 if what failed passed the second time."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="ralph-pytest-") as directory:
        cache = Path(directory)
        status, passed = _pytest(cache, *arguments)
        failed = _failed(cache)
        if status == 0:
            return 0
        if status != 1 or not 0 < len(failed) <= MOST:
            return status or 1
        _say(f"{len(failed)} failed. Each runs once more, alone.")
        status, again = _pytest(cache, *arguments, "-n", "0", "--last-failed", "--lfnf=none")
        if status == 0 and again == len(failed):
            _say("FLAKY: " + " ".join(failed))
            _say(f"{passed + again} passed in {time.monotonic() - began:.2f}s")
            return 0
        _say("Failed twice. To run one alone:")
        for name in _failed(cache) or failed:
            _say(f"  uv run pytest -n 0 {shlex.quote(name)}")
        return status or 1


def _pytest(cache: Path, *arguments: str) -> tuple[int, int]:
    """Run pytest and show what it prints; return its exit status and how many tests passed."""
    program = Path(sys.executable).with_name("pytest")
    command = [str(program), "-o", f"cache_dir={cache}", *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    sys.stdout.buffer.write(done.stdout)
    sys.stdout.flush()
    told = _PASSED.findall(done.stdout)
    return done.returncode, int(told[-1]) if told else 0


def _failed(cache: Path) -> list[str]:
    path = cache / "v" / "cache" / "lastfailed"
    return sorted(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else []


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
