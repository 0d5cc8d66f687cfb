"""The model shortens the learnings on request; Python checks the list, and the log as it was is kept."""

from pathlib import Path

import pytest

from ralph_tui.domain.outcomes import LoopStatus
from ralph_tui.domain.project_state import Phase
from ralph_tui.engine.control.request import RunRequest
from ralph_tui.store.project import Project
from tests.harness.model import answered, serving
from tests.harness.projects import make_project, task
from tests.harness.scenarios import scenario
from tests.scenario.running import play

BLOCK = """\
# Progress Log: sample
# Started: 2026-01-01T00:00:00Z
# Written by ralph

---
Iteration: 1
Date: 2026-01-01T00:00:00Z
Story: a: Do a
Status: complete
Files Changed:
  - a.txt
Tests Added:
  - (none)
Learnings:
  - Fact number 1 about the database
"""
LOG = BLOCK + "".join(
    f"[2026-01-01 00:00:{n % 60:02}] PATTERN: Fact number {n} about the database\n"
    for n in range(1, 71)
)
WHEN = "^# Ralph Compaction"
FEW = "{category: pattern, learning: There are 70 facts about the database}"


def submits(*tries: str) -> str:
    turns = [f"ralph: {{submit_learnings: {{learnings: [{given}]}}}}" for given in tries]
    lines = [turns[0], *(f'when: {{last_result: "NOT YET"}}\n      {turn}' for turn in turns[1:])]
    listed = "\n".join(f"    - {line}" for line in lines)
    return f'- name: compacts\n  when: "{WHEN}"\n  turns:\n{listed}\n    - say: Done.'


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_project(tmp_path, [task("a")], files={"progress.txt": LOG})


def copies(project: Path) -> list[str]:
    return [p.read_text() for p in (project / ".ralph/memory/archive").glob("progress-*.txt")]


@pytest.mark.usefixtures("played_cli")
async def test_a_shorter_list_takes_the_place_and_the_log_is_kept(project: Path) -> None:
    many = ", ".join(f"{{category: build, learning: Fact {n}}}" for n in range(80))
    long = f"{{category: build, learning: {'x' * 600}}}"
    async with serving(scenario(submits(many, long, f"{FEW}, {FEW}", FEW))) as server:
        request = RunRequest(only=Phase.PLANNING, compacts=True)
        run = await play(project, server, request=request)
        first, last = answered(server)[0].body, str(answered(server)[-1].body)
    assert (run.end.status, run.end.reason) == (LoopStatus.COMPLETE, "shortened 70 learnings to 1")
    for refusal in (
        "80 learnings are not fewer than 70",
        "more than 400 characters",
        "occurs twice",
    ):
        assert refusal in last
    tools = first["tools"]
    assert isinstance(tools, list)
    assert len(tools) == 1, "it can do nothing else"
    assert Project(project).all_learnings() == ("PATTERN: There are 70 facts about the database",)
    log = (project / "progress.txt").read_text()
    assert log == BLOCK.replace("---", "---", 1).replace(
        "# Written by ralph\n",
        "# Written by ralph\nPATTERN: There are 70 facts about the database\n",
    ).replace("  - Fact number 1 about the database", "  - (none)"), "blocks stay"
    assert copies(project) == [LOG]
    assert run.end.cost_usd > 0
    assert Project(project).load().state.current_phase is Phase.BUILDING
