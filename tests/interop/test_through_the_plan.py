"""Every format that can be written: what goes through the plan and back is found again, and only a flag has changed."""

import difflib
import json
from datetime import UTC, datetime

import pytest

from ralph_tui.domain.plan.plan import ImplementationPlan, TaskStatus
from ralph_tui.domain.verification.check_commands import NO_CHECKS
from ralph_tui.interop.format_registry import built_in, formats, is_exporter
from ralph_tui.interop.formats import ImportOptions, InteropError, Source
from ralph_tui.interop.merge import Incoming, Merged, merge

AT = datetime(2026, 1, 2, tzinfo=UTC)

SAMPLES = {
    "prd.json": json.dumps(
        {
            "project": "Shop",
            "branchName": "ralph/shop",
            "userStories": [
                {
                    "id": "US-1",
                    "title": "Add a cart",
                    "acceptanceCriteria": ["It holds items"],
                    "priority": 1,
                    "passes": True,
                    "notes": "",
                },
                {
                    "id": "US-2",
                    "title": "Pay",
                    "acceptanceCriteria": ["It takes cards"],
                    "priority": 2,
                    "passes": False,
                    "notes": "",
                },
            ],
        },
        indent=2,
    ),
    ".taskmaster/tasks/tasks.json": json.dumps(
        {
            "master": {
                "tasks": [
                    {"id": 1, "title": "Set up", "status": "done", "dependencies": []},
                    {"id": 2, "title": "Build", "status": "pending", "dependencies": [1]},
                ]
            }
        },
        indent=2,
    ),
    ".beads/issues.jsonl": (
        '{"id":"bd-1","title":"Set up","status":"closed","priority":1,"issue_type":"task"}\n'
        '{"id":"bd-2","title":"Build","status":"open","priority":2,"issue_type":"task"}\n'
    ),
    "fix_plan.md": (
        "# Ralph Fix Plan\n\n## High Priority\n- [ ] Build it\n  - it works\n\n"
        "## Completed\n- [x] Set up\n"
    ),
    "specs/001-shop/tasks.md": (
        "# Tasks: Shop\n\n## Phase 1: Setup\n\n- [X] T001 Create the structure\n\n"
        "## Phase 2: Cart\n\n- [ ] T002 [US1] Add a cart in src/cart.py\n"
    ),
    ".kiro/specs/shop/tasks.md": (
        "# Implementation Plan\n\n- [ ] 1. Cart\n  - [x] 1.1 Make the model\n    - _Requirements: 1.1_\n"
        "  - [ ] 1.2 Show it\n    - _Requirements: 1.2_\n"
    ),
    "openspec/changes/add-shop/tasks.md": (
        "## 1. Cart\n\n- [x] 1.1 Make the model\n- [ ] 1.2 Show it\n\n## 2. Pay\n\n- [ ] 2.1 Take cards\n"
    ),
    "TODO.md": "# TODO\n\n- [x] Set up\n- [ ] Build it\n",
}


def taken_in(plan: ImplementationPlan, path: str, text: str) -> Merged:
    source = Source(path, text)
    read = formats().detect(source).read(source, ImportOptions())
    return merge(plan, [Incoming(path, path, read)], verdicts={}, checks=NO_CHECKS, at=AT)


def written(plan: ImplementationPlan, form: str, source: Source) -> str:
    exporter = next(one for one in built_in() if one.name == form)
    assert is_exporter(exporter)
    return exporter.write(plan, source)


@pytest.mark.parametrize("path", list(SAMPLES))
def test_only_the_flag_of_what_ralph_completed_changes(path: str) -> None:
    text = SAMPLES[path]
    first = taken_in(ImplementationPlan(), path, text)
    assert first.adopted, "one task is complete in each sample"
    assert written(first.plan, first.preview.format, Source(path, text)) == text
    following = first.plan.get_next_task()
    assert following is not None
    done = first.plan.with_task(following.id, status=TaskStatus.COMPLETE)
    after = written(done, first.preview.format, Source(path, text))
    changed = [
        line for line in difflib.ndiff(text.splitlines(), after.splitlines()) if line[0] in "+-"
    ]
    assert len(changed) == 2, changed
    again = taken_in(done, path, after)
    assert not again.preview.changes_plan, again.preview.rows
    assert again.plan.complete_ids() == done.complete_ids()


NEW = ("prd", "wiggum", "todo")
"""Formats in which ralph makes files."""


@pytest.mark.parametrize("form", [one.name for one in built_in() if is_exporter(one)])
def test_a_new_file_holds_the_plan(form: str) -> None:
    plan = taken_in(ImplementationPlan(), "prd.json", SAMPLES["prd.json"]).plan
    own = plan.model_copy(
        update={"tasks": tuple(t.model_copy(update={"origin": None}) for t in plan.tasks)}
    )
    if form not in NEW:
        with pytest.raises(InteropError, match="cannot create them"):
            written(own, form, Source("new/file", ""))
        return
    text = written(own, form, Source("new/file", ""))
    reader = next(one for one in built_in() if one.name == form)
    read = reader.read(Source("new/file", text), ImportOptions())
    found = {task.title: task.status is TaskStatus.COMPLETE for task in read.tasks}
    assert found == {"Add a cart": True, "Pay": False}
