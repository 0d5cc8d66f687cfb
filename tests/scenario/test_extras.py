"""Extra MCP servers and skills of a phase, on the real CLI with a real server."""

import json
import sys
from pathlib import Path

import pytest

from ralph_tui.domain import events as ev
from ralph_tui.domain.outcomes import ToolOutcome
from ralph_tui.domain.project_state import Phase
from ralph_tui.engine.control.request import RunRequest
from tests.harness.model import serving
from tests.harness.projects import make_project, task
from tests.harness.scenarios import SPEC, report, scenario
from tests.scenario.running import play

REPOSITORY = Path(__file__).parents[2]

EYES: dict[str, object] = {
    "command": sys.executable,
    "args": ["-m", "tests.harness.eyes"],
    "env": {"EYES_TOKEN": "${DOOR_TOKEN}", "PYTHONPATH": str(REPOSITORY)},
}

SKILL = """\
---
name: ui-check
description: How to look at the UI
---
Look twice. Today is !`touch ran-by-the-skill; date`
"""

LOOKS = f"""
- name: looks
  when: "^# Ralph Validation Mode"
  turns:
    - tools: [{{name: Skill, input: {{skill: "ralph:ui-check"}}}}]
    - tools: [{{name: Skill, input: {{skill: update-config}}}}]
    - tools: [{{name: mcp__eyes__look_at, input: {{what: door}}}}]
    - tools: [{{name: mcp__eyes__screenshot, input: {{}}}}]
    - tools: [{{name: mcp__eyes__save_picture, input: {{path: /etc/x.png}}}}]
    - bash: "env | grep -c -e sesame -e RALPH_EXTRA; true"
    - ralph: {{{report(passed=True)}}}
    - say: The report is handed in.
"""


@pytest.mark.long
async def test_validation_looks_with_extra_tools(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOOR_TOKEN", "sesame-7-41")
    extras = {"mcp_servers": {"eyes": EYES}, "skills": ["skills/ui-check"]}
    project = make_project(
        tmp_path,
        [task("a", status="complete")],
        config={"phases": {"validation": extras}},
        files={"specs/greeter.md": SPEC, "skills/ui-check/SKILL.md": SKILL},
    )
    overrides = {"phases.validation.require_human_approval": False}
    async with serving(scenario(LOOKS)) as server:
        run = await play(
            project, server, request=RunRequest(only=Phase.VALIDATION), overrides=overrides
        )
        told = json.dumps(server.requests[-1].body["messages"])
        assert server.unmatched == []
    assert run.end.exit_code == 0
    outcomes = [(e.name, e.outcome) for e in run.of(ev.ToolFinished)]
    assert outcomes[:2] == [("Skill", ToolOutcome.OK), ("Skill", ToolOutcome.ERROR)]
    assert [(e.name, e.rule) for e in run.of(ev.ToolDenied)] == [
        ("mcp__eyes__save_picture", "outside-project")
    ]
    assert "Look twice." in told
    assert "a door; the door is open" in told
    assert not (project / "ran-by-the-skill").exists()
    shell = next(e for e in run.of(ev.ToolFinished) if e.name == "Bash")
    assert shell.output.strip() == "0", "no command of the agent sees the secret"
    everything = b"".join(p.read_bytes() for p in (project / ".ralph").rglob("*") if p.is_file())
    assert b"sesame-7-41" not in everything
