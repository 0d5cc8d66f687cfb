"""A Markdown plan with check boxes is imported, followed and ticked by a real run, and stays the person's file."""

from pathlib import Path
from typing import NamedTuple

import pytest

from ralph_tui.domain import events as ev
from ralph_tui.domain.plan.plan import TaskStatus
from tests.cli.processes import beside, inside
from tests.harness.model import serving
from tests.harness.projects import make_project, plan_of
from tests.harness.scenarios import finishes, scenario
from tests.scenario.running import WAITS_FOR_GO, Run, let_go, play


class Listed(NamedTuple):
    """A file with two open tasks, and what stands at their boxes before and after."""

    path: str
    text: str
    ids: tuple[str, str]
    boxes: tuple[str, str]

    def ticked(self, *ids: str) -> str:
        """The text with the boxes of these tasks ticked and no other byte changed."""
        text = self.text
        for task_id, box in zip(self.ids, self.boxes, strict=True):
            assert text.count(box) == 1
            if task_id in ids:
                text = text.replace(box, box.replace("[ ]", "[x]"))
        return text


TODO = Listed(
    "TODO.md",
    """\
# Habits

Some words of mine, with `[ ]` in them.

## Storage

- [x] Begin
- [ ] Store
  with a second line
* [ ] Show

```
- [ ] no task
```
""",
    ("store", "show"),
    ("- [ ] Store", "* [ ] Show"),
)
FIX_PLAN = Listed(
    ".ralph/fix_plan.md",
    "# Fix Plan\n\n## High Priority\n- [ ] Store\n\n## Low Priority\n- [ ] Show\n\n## Notes\n- Mine\n",
    ("store", "show"),
    ("- [ ] Store", "- [ ] Show"),
)
SPEC_KIT = Listed(
    "specs/001-habits/tasks.md",
    "# Tasks: Habits\n\n## Phase 1: Setup\n\n- [ ] T001 Store in src/store.py\n\n"
    "## Phase 2: Core\n\n- [ ] T002 Show in src/show.py\n",
    ("T001", "T002"),
    ("- [ ] T001", "- [ ] T002"),
)
WINDOWS = TODO._replace(text="\ufeff" + TODO.text.replace("\n", "\r\n"))


def put(project: Path, name: str, text: str) -> Path:
    file = project / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode())
    return file


def said(project: Path, *words: str) -> str:
    done = inside(*words, cwd=project)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.usefixtures("played_cli")
@pytest.mark.parametrize(
    "listed",
    [
        TODO,
        pytest.param(FIX_PLAN, marks=pytest.mark.long),
        pytest.param(SPEC_KIT, marks=pytest.mark.long),
        pytest.param(WINDOWS, marks=pytest.mark.long),
    ],
    ids=["todo", "fix_plan", "spec_kit", "windows"],
)
async def test_each_box_is_ticked_as_soon_as_its_task_is_verified(
    tmp_path: Path, listed: Listed
) -> None:
    project = make_project(tmp_path)
    file = put(project, listed.path, listed.text)
    first, second = listed.ids
    said(project, "import", listed.path, "--yes")
    said(project, "export", listed.path, "--follow")
    assert file.read_bytes() == listed.text.encode(), "nothing is done yet"
    await beside("edit", second, "--criterion", f"$ {WAITS_FOR_GO}", cwd=project)

    async def looks(run: Run) -> None:
        await run.until_told(
            ev.TaskChanged, lambda e: (e.task.id, e.task.status) == (first, TaskStatus.COMPLETE)
        )
        assert file.read_bytes() == listed.ticked(first).encode()
        let_go(project)

    async with serving(scenario(finishes(first), finishes(second))) as server:
        run = await play(project, server, meanwhile=looks)
    assert run.end.exit_code == 0, run.end.reason
    assert plan_of(project).is_finished
    assert file.read_bytes() == listed.ticked(first, second).encode()
    assert "Nothing to import" in said(project, "import", listed.path)
    said(project, "undo", second, "--yes")
    assert file.read_bytes() == listed.ticked(first).encode(), "undone work is open again"


@pytest.mark.long
async def test_a_line_that_the_person_adds_meanwhile_is_kept(tmp_path: Path) -> None:
    """The person writes into the list while the run works: nothing is overwritten, and an import takes it up."""
    project = make_project(tmp_path)
    file = put(project, TODO.path, TODO.text)
    said(project, "import", TODO.path, "--yes")
    said(project, "export", TODO.path, "--follow")
    await beside("edit", "show", "--criterion", f"$ {WAITS_FOR_GO}", cwd=project)
    mine = TODO.ticked("store") + "- [ ] Export\n"

    async def adds(run: Run) -> None:
        await run.until_told(
            ev.TaskChanged, lambda e: (e.task.id, e.task.status) == ("store", TaskStatus.COMPLETE)
        )
        file.write_bytes(mine.encode())
        let_go(project)

    async with serving(scenario(finishes("store"), finishes("show"))) as server:
        run = await play(project, server, meanwhile=adds)
    assert run.end.exit_code == 0, run.end.reason
    assert file.read_bytes() == mine.encode()
    assert len([e for e in run.of(ev.Notice) if "TODO.md was edited" in e.text]) == 1

    assert "1 new" in said(project, "import", TODO.path, "--yes")
    said(project, "export", TODO.path, "--follow")
    assert file.read_bytes() == (TODO.ticked("store", "show") + "- [ ] Export\n").encode()
    async with serving(scenario(finishes("export"))) as server:
        run = await play(project, server)
    assert run.end.exit_code == 0, run.end.reason
    assert file.read_bytes() == (TODO.ticked("store", "show") + "- [x] Export\n").encode()
