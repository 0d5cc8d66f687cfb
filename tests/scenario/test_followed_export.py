"""An imported prd.json is kept current by a real run: it catches up, follows, and never overwrites a hand edit."""

import json
from pathlib import Path

import pytest

from ralph_tui.domain import events as ev
from ralph_tui.domain.plan.plan import TaskStatus
from tests.cli.processes import beside, inside
from tests.harness.model import serving
from tests.harness.projects import make_project, plan_of
from tests.harness.scenarios import finishes, scenario
from tests.scenario.running import WAITS_FOR_GO, Run, let_go, play


def story(name: str, number: int) -> dict[str, object]:
    return {
        "id": name,
        "title": f"Do {name}",
        "description": f"As a user I want {name}",
        "acceptanceCriteria": [f"{name}.txt is there"],
        "priority": number,
        "passes": False,
        "notes": "",
    }


PRD = json.dumps(
    {"project": "Sample", "userStories": [story(name, at) for at, name in enumerate("abc")]},
    indent=4,
)


def ticked(*names: str) -> str:
    text = PRD
    for name in names:
        head, tail = text.split(f'"id": "{name}"')
        text = f'{head}"id": "{name}"{tail.replace("false", "true", 1)}'
    return text


@pytest.mark.long
async def test_a_followed_file_is_current_during_a_run(tmp_path: Path) -> None:
    project = make_project(tmp_path, files={"prd.json": PRD})
    prd = project / "prd.json"
    assert inside("import", "prd.json", "--yes", cwd=project).returncode == 0
    assert inside("export", "prd.json", "--follow", cwd=project).returncode == 0
    await beside("edit", "c", "--criterion", f"$ {WAITS_FOR_GO}", cwd=project)
    await beside("complete", "a", "--reason", "the run that did it was killed", cwd=project)
    assert prd.read_text() == ticked("a"), "followed where no loop runs, too"
    prd.write_text(PRD)
    assert inside("export", "prd.json", "--unfollow", cwd=project).returncode == 0
    assert inside("import", "prd.json", "--yes", cwd=project).returncode == 0
    assert inside("export", "prd.json", "--follow", cwd=project).returncode == 0

    async def edits(run: Run) -> None:
        await run.until_told(ev.LoopStarted)
        await run.until_told(
            ev.TaskChanged, lambda e: (e.task.id, e.task.status) == ("b", TaskStatus.COMPLETE)
        )
        assert prd.read_text() == ticked("a", "b")
        prd.write_text(ticked("a", "b") + "\n")
        let_go(project)

    async with serving(scenario(finishes("b"), finishes("c"))) as server:
        run = await play(project, server, meanwhile=edits)
    assert run.end.exit_code == 0
    assert plan_of(project).is_finished
    assert prd.read_text() == ticked("a", "b") + "\n"
    told = [e.text for e in run.of(ev.Notice) if "prd.json was edited" in e.text]
    assert len(told) == 1
    again = inside("export", "prd.json", "--follow", cwd=project)
    assert again.returncode == 0, again.stderr
    assert prd.read_text() == ticked("a", "b", "c") + "\n"
    # Both iterations saw another prd.json, which is no reason why one of them could not be undone.
    undone = inside("undo", "b", "--yes", cwd=project)
    assert undone.returncode == 0, undone.stderr
    assert (project / "c.txt").exists()
    assert not (project / "b.txt").exists()
    assert prd.read_text() == ticked("a", "c") + "\n"
