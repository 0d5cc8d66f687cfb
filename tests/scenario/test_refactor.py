"""The commonest refactor does not end a run, and a search of the project finds no journal; without a sandbox."""

import json
from pathlib import Path

import pytest

from ralph_tui.domain import events as ev
from ralph_tui.domain.plan.plan import TaskStatus
from ralph_tui.store.backup.mirror import mirror_of
from tests.harness.model import serving
from tests.harness.projects import HAS_FILE, events_of, make_project, task, task_of
from tests.harness.scenarios import finishes, scenario
from tests.scenario.running import play

REFACTOR = "grep -rl oldname . | xargs sed -i s/oldname/newname/g"

IN_PYTHON = """
from pathlib import Path
for path in Path('.').rglob('*'):
    if path.is_file() and b'oldname' in path.read_bytes():
        path.write_bytes(path.read_bytes().replace(b'oldname', b'newname'))
journal = Path('.ralph/events.jsonl')
journal.unlink()
journal.write_text('{}')
"""


@pytest.mark.long
async def test_a_refactor_of_the_whole_project_keeps_journal_and_plan(tmp_path: Path) -> None:
    words = "Rename oldname to newname"
    project = make_project(
        tmp_path,
        [task("a", description=words), task("b")],
        [HAS_FILE.format(name="a.txt")],
        files={"app.py": "oldname = 1\n", "refactor.py": IN_PYTHON},
    )
    first = finishes("a").replace(
        "- say: I will write a.txt.",
        "- say: Where is oldname?\n          bash: grep -rn oldname .\n"
        f"        - say: I rename it.\n          bash: {json.dumps(REFACTOR)}\n"
        "        - say: Again in Python.\n          bash: python3 refactor.py\n"
        "        - say: I will write a.txt.",
    )
    async with serving(scenario(first, finishes("b"))) as server:
        run = await play(project, server)
        told = "".join(json.dumps(r.body["messages"]) for r in server.requests)
    assert run.end.exit_code == 0, run.end.reason
    assert (project / "app.py").read_text() == "newname = 1\n"
    assert "events.jsonl" not in told, "a search hands the model no page of the journal"
    assert (task_of(project, "a").status, task_of(project, "a").description) == (
        TaskStatus.COMPLETE,
        words,
    )
    journal = project / ".ralph/events.jsonl"
    assert journal.readlink() == mirror_of(project) / "events.jsonl"
    events = events_of(project)
    assert [e.seq for e in events] == list(range(1, len(events) + 1))
    assert any("Where is oldname?" in e.text for e in events if isinstance(e, ev.AssistantText))
    notices = [e.text for e in run.of(ev.Notice)]
    assert any(text.startswith("events.jsonl was replaced by another") for text in notices)
    assert any(text.startswith("implementation_plan.json was changed while") for text in notices)
