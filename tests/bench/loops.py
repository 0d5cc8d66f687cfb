"""The loop against its simplest peer: a shell loop of `claude -p` with the same CLI, model and tools.

Both do the same in an iteration: the model writes one file, then says that it is done, and a command checks
the work and `test -f` the file. In the shell loop they follow `claude -p`; in ours they are the gate of the claim.
"""

import os
import resource
import statistics
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import claude_agent_sdk
from pydantic import JsonValue

from ralph_tui.demo.demo_project import demo_environment
from ralph_tui.domain import events as ev
from ralph_tui.domain.project_state import Phase
from ralph_tui.guard.core.policy import PHASE_TOOLS
from tests.harness.model import ServerProcess, cli_environment, serving_in_process
from tests.harness.projects import events_of, make_project, task
from tests.harness.real_processes import PYTHON_HERE
from tests.harness.scenarios import finishes, scenario

ITERATIONS = 8

NO_CHECK = "true"

UNIT_TESTS = (
    "env PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 "
    f"{PYTHON_HERE} -m pytest -q -p no:cacheprovider -c /dev/null --rootdir . check.py"
)
"""A small test run, as a gate has it: half a second to a second."""

CHECK_PY = "def test_addition() -> None:\n    assert 1 + 1 == 2\n"

PROMPT = "You work on a small project. Do the one task below, then stop.\n\nTask ID: {name}\n"

BARE_LOOP = """
for i in $(seq 1 "$ITERATIONS"); do
  echo "$EPOCHREALTIME"
  "$CLAUDE" -p "$(cat "prompt-$i.md")" --tools "$TOOLS" --allowedTools "$TOOLS" \
    --strict-mcp-config --setting-sources "" </dev/null >"answer-$i.txt" || exit 1
  $CHECK >/dev/null || exit 1
  test -f "bare-$i.txt" || exit 1
done
echo "$EPOCHREALTIME"
"""


@dataclass(frozen=True)
class Timed:
    """One run of a loop: seconds of each iteration, and of the whole program."""

    iterations: tuple[float, ...]
    whole: float
    processor: float
    """Seconds of processor time, of the loop and of everything that it started."""
    requests: tuple[dict[str, JsonValue], ...]
    """The requests for a model's turn, in order."""

    @property
    def typical(self) -> float:
        """The median of all iterations but the first, which pays for a cold start."""
        return statistics.median(self.iterations[1:])


def bare_loop(tmp: Path, check: str) -> Timed:
    names = [f"bare-{n}" for n in range(1, ITERATIONS + 1)]
    scripts = [_bare_script(name) for name in names]
    tmp.mkdir()
    for number, name in enumerate(names, 1):
        (tmp / f"prompt-{number}.md").write_text(PROMPT.format(name=name))
    (tmp / "check.py").write_text(CHECK_PY)
    with serving_in_process(scenario(*scripts), tmp) as server:
        environment = {
            **_environment(server, tmp),
            "CLAUDE": str(Path(claude_agent_sdk.__file__).parent / "_bundled" / "claude"),
            "TOOLS": ",".join(PHASE_TOOLS[Phase.BUILDING]),
            "ITERATIONS": str(ITERATIONS),
            "CHECK": check,
        }
        out, processor = _run(["bash", "-c", BARE_LOOP], tmp, environment)
        marks = [float(line) for line in out.split()]
        requests = _turns(server)
    missing = [name for name in names if not (tmp / f"{name}.txt").exists()]
    assert not missing, f"the shell loop did not do its work: {missing}"
    return Timed(_steps(marks), marks[-1] - marks[0], processor, requests)


def ralph_loop(tmp: Path, check: str) -> Timed:
    names = [f"ours-{n}" for n in range(1, ITERATIONS + 1)]
    tmp.mkdir()
    tasks = [task(name, verification_criteria=[f"$ test -f {name}.txt"]) for name in names]
    project = make_project(tmp, tasks, [check], files={"check.py": CHECK_PY})
    with serving_in_process(scenario(*map(finishes, names)), tmp) as server:
        clock = ["bash", "-c", 'echo $EPOCHREALTIME; "$@" >&2 || exit; echo $EPOCHREALTIME', "-"]
        command = [sys.executable, "-m", "ralph_tui", "build", "--headless"]
        out, processor = _run([*clock, *command], project, _environment(server, tmp))
        begin, end = (float(line) for line in out.split())
        requests = _turns(server)
    events = events_of(project)
    finished = [e for e in events if isinstance(e, ev.LoopFinished)]
    assert [e.tasks_complete for e in finished] == [ITERATIONS]
    starts = [e for e in events if isinstance(e, ev.IterationStarted)]
    marks = [e.time.timestamp() for e in [*starts, *finished] if e.time]
    return Timed(_steps(marks), end - begin, processor, requests)


def _bare_script(name: str) -> str:
    return f"""
    - name: finishes {name}
      task: "{name}"
      turns:
        - say: I will write {name}.txt.
          write: {{path: {name}.txt, content: "done\\n"}}
          context: 20000
          output: 100
        - say: Done with {name}.
          context: 20000
          output: 100
    """


def _environment(server: ServerProcess, tmp: Path) -> dict[str, str]:
    offline = {**demo_environment(), "PYTHONDONTWRITEBYTECODE": ""}
    return {**os.environ, **offline, **cli_environment(server, tmp)}


def _run(command: list[str], cwd: Path, environment: Mapping[str, str]) -> tuple[str, float]:
    """Return what it prints, and the processor seconds that it took."""
    before = _spent()
    done = subprocess.run(
        command,
        cwd=cwd,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout, _spent() - before


def _spent() -> float:
    """Processor seconds of the children that have ended; the model's server has not."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _turns(server: ServerProcess) -> tuple[dict[str, JsonValue], ...]:
    return tuple(request for request in server.requests() if request["script"])


def _steps(marks: list[float]) -> tuple[float, ...]:
    return tuple(later - earlier for earlier, later in pairwise(marks))
