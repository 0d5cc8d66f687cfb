"""A CLI that something stopped is noticed: it is continued, and replaced when it is stopped again and again."""

from pathlib import Path

import pytest

from ralph_tui.agent import process
from ralph_tui.domain import events as ev
from ralph_tui.domain.plan.plan import TaskStatus
from tests.harness.model import serving
from tests.harness.projects import make_project, task, task_of
from tests.harness.scenarios import finishes, scenario
from tests.scenario.running import play

STOP = """\
import os, signal, subprocess, sys, time
def stop():
    os.kill(int(os.environ["CLAUDE_PID"]), signal.SIGSTOP)
def keep_stopping():
    while True:
        stop()
        time.sleep(0.01)
if sys.argv[1:] == ["always"]:
    subprocess.Popen([sys.executable, __file__, "detached"], start_new_session=True)
    time.sleep(300)
elif sys.argv[1:]:
    keep_stopping()
else:
    open("work.txt", "w").write("done")
    stop()
    print("stopped")
"""


ALWAYS = """
    - name: keeps stopping the CLI
      task: a
      times: 1
      turns:
        - bash: uv run python stop.py always
        - say: That is all.
"""


@pytest.mark.costly
async def test_a_stopped_cli_is_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "POLL_SECONDS", 0.1)
    project = make_project(tmp_path, [task("a")], files={"stop.py": STOP})
    claims = """
    - name: stops the CLI and goes on
      task: a
      turns:
        - bash: uv run python stop.py
        - when: {last_result: stopped}
          ralph: {mark_task_complete: {task_id: a, verification_notes: Done.}}
        - when: {last_result: "ACCEPTED:"}
          say: Done.
    """
    async with serving(scenario(claims)) as server:
        run = await play(project, server)
    assert run.end.exit_code == 0, run.end
    assert run.end.iterations == 1
    assert process.CONTINUED in [notice.text for notice in run.of(ev.Notice)]


@pytest.mark.long
async def test_a_cli_that_is_stopped_again_and_again_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "POLL_SECONDS", 0.1)
    project = make_project(tmp_path, [task("a")], files={"stop.py": STOP})
    async with serving(scenario(ALWAYS, finishes("a"))) as server:
        run = await play(project, server)
    assert run.end.exit_code == 0, run.end
    assert run.end.iterations == 2
    told = [notice.text for notice in run.of(ev.Notice)]
    assert told.count(process.CONTINUED) == process.MAX_STOPS
    assert task_of(project, "a").status is TaskStatus.COMPLETE
