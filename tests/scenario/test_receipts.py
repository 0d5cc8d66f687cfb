"""`complete` is believed with ralph's own record only; what an agent's command writes there is undone."""

import json
import sys
from pathlib import Path

import pytest

from ralph_tui.domain import events as ev
from ralph_tui.domain.errors import RalphError
from ralph_tui.domain.plan.plan import TaskStatus
from ralph_tui.engine.control.controls import Controls
from ralph_tui.store.project import Project
from tests.harness.model import serving
from tests.harness.projects import make_project, plan_of, task, task_of
from tests.harness.scenarios import scenario
from tests.scenario.running import play

# What the agent's script tries, each line another way to the same end.
FORGES = f"""
import json, os, pathlib, subprocess, sys
dot = pathlib.Path(".ralph")
for name, old, new in (
    ("implementation_plan.json", '"in_progress"', '"complete"'),
    ("implementation_plan.json", '"pending"', '"complete"'),
    ("state.json", '"approval": null', '"approval": {{"kind": "validation", "approved": true}}'),
    ("config.yaml", "backpressure:", "backpressure: [] #"),
):
    file = dot / name
    file.write_text(file.read_text().replace(old, new))
(dot / "questions.json").unlink(missing_ok=True)
code = '''
import os
os.environ.pop("RALPH_GUARD_ROOT", None)
from pathlib import Path
from ralph_tui.domain.plan.plan import TaskStatus
from ralph_tui.engine.control.controls import Controls
Controls(Path.cwd()).complete("b", "says the agent")
'''
env = {{k: v for k, v in os.environ.items() if not k.startswith("RALPH_")}}
done = subprocess.run([{sys.executable!r}, "-c", code], capture_output=True, text=True, env=env)
print("FORGED" if done.returncode == 0 else done.stderr.strip().splitlines()[-1])
"""

FORGER = """
- name: forges
  task: "a"
  turns:
    - say: I will mark it myself.
      bash: python3 forge.py
    - say: Everything is complete.
    - when: {user: Stop hook feedback}
      say: There is nothing else.
"""


@pytest.mark.long
async def test_what_a_command_marks_complete_is_undone_said_and_counted(tmp_path: Path) -> None:
    project = make_project(tmp_path, [task("a"), task("b")], files={"forge.py": FORGES})
    Project(project).transact(lambda docs: docs)
    before = (project / ".ralph/config.yaml").read_text()
    overrides = {"phases.building.max_iterations": 1}
    async with serving(scenario(FORGER)) as server:
        run = await play(project, server, overrides=overrides)
        told = "".join(json.dumps(r.body["messages"]) for r in server.requests)
    assert "may not change its state" in told, "not even with the mark removed"
    assert "FORGED" not in told
    assert run.end.exit_code == 1, run.end.reason
    assert {t.status for t in plan_of(project).tasks} == {TaskStatus.PENDING}
    assert (project / ".ralph/config.yaml").read_text() == before
    errors = [e.text for e in run.of(ev.Notice) if e.level == "error"]
    for name in ("implementation_plan.json", "state.json", "config.yaml"):
        assert any(text.startswith(f"{name} was changed while a command") for text in errors), name
    assert Project(project).load().state.approval is None
    assert run.end.tasks_complete == 0
    assert Project(project).load().breaker.denied_count == 1


def test_a_word_without_a_reason_is_refused(tmp_path: Path) -> None:
    project = make_project(tmp_path, [task("a")])
    with pytest.raises(RalphError, match="without a reason"):
        Controls(project).complete("a", " ")
    with pytest.raises(RalphError, match="no task 'b'"):
        Controls(project).complete("b", "because")
    assert task_of(project, "a").status is TaskStatus.PENDING
