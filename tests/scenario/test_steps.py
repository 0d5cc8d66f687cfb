"""Steps around the work, on the real CLI: each type, the order, failure, retries, and what a stop leaves."""

import os
import signal
import subprocess
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path

import pytest
from pydantic import JsonValue

from ralph_tui.domain import events as ev
from ralph_tui.domain.plan.plan import TaskStatus
from ralph_tui.store.project import Project
from tests.harness.model import serving, serving_in_process
from tests.harness.projects import events_of, make_project, task, task_of
from tests.harness.real_processes import marked_processes, ralph_running, run_ralph
from tests.harness.scenarios import finishes, scenario
from tests.harness.waiting import until
from tests.scenario.running import Run, play

Step = dict[str, JsonValue]

WORK: Step = {}


def command(run: str, **more: JsonValue) -> Step:
    return {"type": "command", "run": run, **more}


def project_with(
    directory: Path,
    steps: Mapping[str, Step],
    *,
    tasks: tuple[str, ...] = ("a",),
    files: Mapping[str, str] | None = None,
) -> Path:
    return make_project(
        directory, [task(name) for name in tasks], config={"steps": steps}, files=files
    )


Act = Callable[[Run], Coroutine[None, None, None]]

EXAMPLE = Path(__file__).parents[2] / "docs" / "examples" / "ralph-step-word-count"


def install(package: Path, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install a package beside ralph for one test, without the network."""
    command = ["uv", "pip", "install", "--offline", "--no-deps", "--target", str(place)]
    subprocess.run([*command, str(package)], check=True, capture_output=True, timeout=60)
    monkeypatch.syspath_prepend(place)


@pytest.mark.long
async def test_an_installed_package_brings_a_type_of_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(EXAMPLE, tmp_path / "site", monkeypatch)
    options: JsonValue = {"file": "README.md", "most": 3}
    short: Step = {"type": "word-count", "options": options, "continue_on_error": True}
    steps: dict[str, Step] = {"short": short, "work": WORK, "gone": {**short, "options": {}}}
    project = project_with(tmp_path, steps, files={"README.md": "one two three four\n"})
    async with serving(scenario(finishes("a"))) as server:
        run = await play(
            project, server, meanwhile=removes(project / "README.md", after="iteration_started")
        )
    assert run.end.exit_code == 0
    said = {e.step: e.reason for e in run.of(ev.StepFinished)}
    assert said["short"] == "README.md has 4 words, 1 too many"
    assert said["gone"].startswith("FileNotFoundError: "), "an exception is a failed step"


def removes(path: Path, *, after: str) -> Act:
    async def person(run: Run) -> None:
        await until(lambda: any(e.type == after for e in run.events), what=after)
        path.unlink()  # noqa: ASYNC240 (one file)

    return person


@pytest.mark.long
@pytest.mark.parametrize("name", ["docs", "setup"])
async def test_after_kill_9_the_next_run_finishes_what_is_owed(tmp_path: Path, name: str) -> None:
    waits = f"test -e go || {{ touch in-{name}; sleep 600; }}; echo {name} >> done.txt"
    steps: dict[str, Step] = {"setup": command("echo setup >> done.txt", once=True), "work": WORK}
    steps["docs"] = command("echo docs >> done.txt")
    steps[name] = {**steps[name], "run": waits}
    project = project_with(tmp_path, steps)
    with serving_in_process(scenario(finishes("a")), tmp_path) as server:
        async with ralph_running(["build", "--headless"], project, server) as ralph:
            await until((project / f"in-{name}").exists, what=f"the step {name}")
            os.kill(ralph.process.pid, signal.SIGKILL)
            await ralph.process.wait()
            await until(lambda: not marked_processes(ralph.mark), what="an empty machine")
        done = task_of(project, "a").status is TaskStatus.COMPLETE
        assert done is (name == "docs")
        (project / "go").touch()
        ran = await run_ralph(["build", "--headless"], project, server)
    assert ran.status == 0, ran.stdout + ran.stderr
    assert (project / "done.txt").read_text().split() == ["setup", "docs"]
    owed = "The last run ended before these steps of iteration 1: docs."
    assert (owed in ran.stdout) is (name == "docs")
    assert len([e for e in events_of(project) if isinstance(e, ev.IterationStarted)]) == 1
    assert Project(project).load().steps.of("setup").done_at is not None
