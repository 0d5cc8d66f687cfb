"""`notify:` on the real CLI: real commands hear how a run ends."""

import json
from pathlib import Path

import pytest

from ralph_tui.domain import events as ev
from tests.cli.processes import beside
from tests.harness.model import serving
from tests.harness.projects import make_project, task
from tests.harness.scenarios import finishes, scenario
from tests.scenario.running import play


@pytest.mark.usefixtures("played_cli")
async def test_a_finished_run_is_told(tmp_path: Path) -> None:
    told = tmp_path / "told.jsonl"
    async with serving(scenario(finishes("a"))) as server:
        notify = {"commands": [f"cat >>{told}", "sh -c 'exit 7'"]}
        project = make_project(tmp_path, [task("a")], config={"notify": notify})
        run = await play(project, server)
        tested = await beside("notify", "--test", cwd=project)
    assert run.end.exit_code == 0
    (failed,) = [e.text for e in run.of(ev.Notice) if "notification" in e.text]
    assert "exit status 7" in failed
    done, test = map(json.loads, told.read_text(encoding="utf-8").splitlines())
    assert (done["event"], done["exit_code"], done["tasks_complete"]) == ("done", 0, 1)
    assert (done["project"], done["run_id"]) == ("project", run.of(ev.LoopStarted)[0].run_id)
    assert test["event"] == "test"
    assert tested.returncode == 1
    assert "`sh -c 'exit 7'`: failed, exit status 7" in tested.stdout
