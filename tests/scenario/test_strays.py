"""A run and its watchdog killed together leave processes; the next start finds them and offers to end them."""

import contextlib
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest

from ralph_tui.domain import events as ev
from ralph_tui.domain.documents.questions import Answer
from ralph_tui.domain.project_state import Phase
from ralph_tui.engine.control.controls import Controls
from ralph_tui.engine.control.request import RunRequest
from tests.harness.model import serving, serving_in_process
from tests.harness.projects import make_project, task
from tests.harness.real_processes import marked_processes, ralph_running, run_ralph
from tests.harness.scenarios import finishes, scenario
from tests.harness.waiting import until
from tests.scenario.running import Run, play
from tests.scenario.test_trouble import leaves_a_stray, sleeping


@contextlib.asynccontextmanager
async def stray_left(tmp_path: Path) -> AsyncIterator[Path]:
    """A project in which `kill -9` of ralph and of its watchdog left a detached sleep."""
    project = make_project(tmp_path, [task("a")])
    async with contextlib.AsyncExitStack() as stack:
        with serving_in_process(scenario(leaves_a_stray("a")), tmp_path) as server:
            running = ralph_running(["build", "--headless"], project, server)
            ralph = await stack.enter_async_context(running)
            # With both there, nothing is being started that could escape the kill.
            await until(lambda: len(sleeping(project)) == 2, what="both sleeps")
            (stray,) = [p for p in sleeping(project) if os.getsid(p.pid) == p.pid]
            others = [p for p in marked_processes(ralph.mark) if p.pid != stray.pid]
            for process in sorted(others, key=_is_no_watchdog):
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()
            await ralph.process.wait()
        assert sleeping(project), "it must survive to be found"
        yield project


def _is_no_watchdog(process: psutil.Process) -> bool:
    """Sorts the watchdog first: it must not see the others go."""
    return "ralph_tui.engine.safety.processes" not in process.cmdline()


@pytest.mark.long
async def test_headless_names_them_and_ends_them_only_with_yes(tmp_path: Path) -> None:
    async with stray_left(tmp_path) as project:
        pid = sleeping(project)[0].pid
        looked = await run_ralph(["doctor", "--json"], project)
        (finding,) = [f for f in json.loads(looked.stdout) if f["name"] == "strays"]
        assert (finding["ok"], finding["needed"]) == (False, False)
        assert f"pid {pid} (" in finding["text"]
        assert "ralph doctor --end-strays" in finding["advice"]
        with serving_in_process(scenario(finishes("a")), tmp_path) as server:
            ran = await run_ralph(["build", "--headless"], project, server)
        assert ran.status == 0, ran.stdout + ran.stderr
        assert f"pid {pid} (" in ran.stdout + ran.stderr
        assert sleeping(project), "nobody said that it may be ended"
        with serving_in_process(scenario(finishes("a")), tmp_path) as server:
            ran = await run_ralph(["build", "--headless", "--yes"], project, server)
        assert not sleeping(project), ran.stdout + ran.stderr


@pytest.mark.parametrize("label", ["End them", pytest.param("Leave them", marks=pytest.mark.long)])
@pytest.mark.long
async def test_whoever_is_there_is_asked(tmp_path: Path, label: str) -> None:
    async def answer(run: Run) -> None:
        asked = (await run.until_told(ev.QuestionAsked)).question
        assert "End them before the loop starts?" in asked.question.question
        assert run.of(ev.IterationStarted) == []
        assert sleeping(run.project)
        Controls(run.project).answer(asked.id, Answer(labels=(label,), by="screen"))

    async with stray_left(tmp_path) as project:
        request = RunRequest(only=Phase.BUILDING, interactive=True)
        async with serving(scenario(finishes("a"))) as server:
            run = await play(project, server, meanwhile=answer, request=request)
        assert run.end.exit_code == 0, run.end
        assert bool(sleeping(project)) is (label == "Leave them")
