"""The prd.json files of four other Ralphs are read, and their flags are written back."""

import pytest

from ralph_tui.domain.plan.plan import ImplementationPlan, Task, TaskStatus
from ralph_tui.interop.format_registry import formats
from ralph_tui.interop.formats import Imported, ImportOptions, Source
from ralph_tui.interop.json_plans import PRD_FORMAT, WIGGUM_FORMAT
from tests.interop.markdown_samples import FILES

SNARKTANK, SUBSY, GO = (
    (FILES / f"{name}.json").read_text(encoding="utf-8")
    for name in ("snarktank", "subsy", "wiggum")
)


def read(text: str) -> Imported:
    source = Source(".ralph/prd.json", text)
    return formats().detect(source).read(source, ImportOptions())


def write(text: str, got: Imported, **changes: TaskStatus) -> str:
    plan = ImplementationPlan(tasks=got.tasks)
    for task_id, status in changes.items():
        plan = plan.with_task(task_id, status=status)
    source = Source(".ralph/prd.json", text)
    return (WIGGUM_FORMAT if got.format == "wiggum" else PRD_FORMAT).write(plan, source)


def test_a_task_of_the_same_id_that_was_not_imported_is_another_task() -> None:
    own = Task(id="US-002", status=TaskStatus.COMPLETE)
    plan = ImplementationPlan(tasks=(own,))
    assert PRD_FORMAT.write(plan, Source(".ralph/prd.json", SNARKTANK)) == SNARKTANK


def test_a_completed_story_changes_its_flag_and_nothing_else() -> None:
    got = read(SNARKTANK)
    changed = write(SNARKTANK, got, **{"US-002": TaskStatus.COMPLETE})
    assert changed == SNARKTANK.replace('"passes": false', '"passes": true')
    reopened = write(SNARKTANK, got, **{"US-001": TaskStatus.PENDING})
    assert reopened == SNARKTANK.replace('"passes": true', '"passes": false')
    blocked = write(SNARKTANK, got, **{"US-002": TaskStatus.BLOCKED})
    assert blocked == SNARKTANK


def test_go_has_words_for_states() -> None:
    got = read(GO)
    done = write(GO, got, T002=TaskStatus.COMPLETE)
    assert done == GO.replace('"in_progress"', '"done"')
    failed = write(GO, got, T002=TaskStatus.BLOCKED)
    assert failed == GO.replace('"in_progress"', '"failed"')
    retried = write(GO, got, T003=TaskStatus.PENDING)
    assert retried == GO.replace('"failed"', '"todo"')
    added = write(GO, got, T004=TaskStatus.COMPLETE)
    assert added == GO.replace(
        '"Docs", "priority": "low"', '"Docs", "priority": "low", "status": "done"'
    )


@pytest.mark.parametrize("text", [SNARKTANK, SUBSY, GO])
def test_a_new_file_says_what_the_plan_says(text: str) -> None:
    got = read(text)
    bare = tuple(task.model_copy(update={"origin": None}) for task in got.tasks)
    plan = ImplementationPlan(tasks=bare, title=got.title, description=got.description)
    writer = WIGGUM_FORMAT if text == GO else PRD_FORMAT
    made = writer.write(plan, Source("prd.json", ""))
    again = writer.read(Source("prd.json", made), ImportOptions())
    assert (again.title if text != GO else "") == got.title
    for task, told in zip(bare, again.tasks, strict=True):
        assert (task.id, task.description, task.status) == (told.id, told.description, told.status)
        if text != GO:
            assert task.dependencies == told.dependencies
    finished = writer.write(
        plan.with_task(bare[-1].id, status=TaskStatus.COMPLETE), Source("prd.json", "")
    )
    told = writer.read(Source("prd.json", finished), ImportOptions()).tasks[-1]
    assert told.status is TaskStatus.COMPLETE
