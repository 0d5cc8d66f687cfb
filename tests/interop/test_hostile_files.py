"""Whatever a file holds, every importer answers with tasks that ralph can work on or with one sentence."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ralph_tui.domain.plan.plan import ImplementationPlan
from ralph_tui.interop.format_registry import built_in, is_exporter
from ralph_tui.interop.formats import Imported, Importer, ImportOptions, InteropError, Source
from tests.interop.samples import words

JSON_FORMATS = {"prd", "wiggum", "taskmaster", "beads", "github"}
KEYS = (
    "userStories", "tasks", "id", "title", "description", "acceptanceCriteria", "priority",
    "passes", "dependsOn", "dependencies", "notes", "labels", "status", "details", "tests",
    "subtasks", "testStrategy", "metadata", "successCriteria", "command", "qualityGates", "run",
    "master", "issue_type", "depends_on_id", "type", "parent", "acceptance_criteria", "design",
    "number", "state", "body", "milestone", "blockedBy", "nodes", "items", "pull_request",
    "state_reason", "closed", "_type",
)  # fmt: skip
TELLING = (
    "1",
    "2",
    "1.1",
    "done",
    "closed",
    "high",
    "epic",
    "blocks",
    "parent-child",
    "tombstone",
    "open",
    "cancelled",
)


def plans() -> st.SearchStrategy[Any]:
    """Values made of the words of all formats, in any place."""
    scalars = (
        st.none()
        | st.booleans()
        | st.integers(-2, 9)
        | st.floats(0, 3)
        | st.sampled_from(TELLING)
        | words()
    )
    keys = st.sampled_from(KEYS)
    inner = st.recursive(
        scalars,
        lambda deeper: st.lists(deeper, max_size=3) | st.dictionaries(keys, deeper, max_size=6),
        max_leaves=25,
    )
    entry = st.dictionaries(keys, inner, max_size=8).flatmap(
        lambda made: st.sampled_from([made, {"id": "1", "title": "x", "number": 1, **made}])
    )
    entries = st.lists(entry | inner, max_size=4)
    roots = st.sampled_from(["userStories", "tasks", "items", "master"])
    return st.dictionaries(roots, entries | inner, min_size=1, max_size=2) | entries | entry


@given(value=plans(), by=st.sampled_from(["task", "group"]), tag=st.sampled_from(["", "master"]))
def test_every_json_ends_in_tasks_or_in_a_sentence(value: Any, by: Any, tag: str) -> None:
    source = Source("plan.json", json.dumps(value))
    for importer in built_in():
        if importer.name in JSON_FORMATS:
            must_end_well(importer, source, ImportOptions(by=by, tag=tag))


PIECES = (
    *("- [ ] ", "- [x] ", "* [X] ", "  - [ ]", "- [", "# ", "## Phase 1: ", "1. ", "2.1 ", "T001 ", "[P] ", "[US1] "),
    *("HIGH: ", "Completed", "Optional", "Status: Done", "Acceptance Criteria", "```", "`npm test`", "**", "<!--", "-->"),
    *("_Requirements: 1.1_", "As a user", "Depends on T001", "\n", "\n", "\n\n", "\r\n", "\t", "    ", "{", "[", '"', "x"),
)  # fmt: skip


@given(
    parts=st.lists(st.sampled_from(PIECES) | words(), max_size=40),
    by=st.sampled_from(["task", "group"]),
)
def test_every_text_ends_in_tasks_or_in_a_sentence(parts: list[str], by: Any) -> None:
    for importer in built_in():
        must_end_well(importer, Source("tasks.md", "".join(parts)), ImportOptions(by=by))


def must_end_well(importer: Importer, source: Source, wanted: ImportOptions) -> None:
    assert importer.sniff(source) in range(101)
    try:
        got = importer.read(source, wanted)
    except InteropError as refused:
        told = refused
    else:
        must_be_workable(importer, got, source)
        return
    assert "\n" not in str(told)
    assert told.line <= source.text.count("\n") + 1


def must_be_workable(importer: Importer, got: Imported, source: Source) -> None:
    plan = ImplementationPlan(tasks=got.tasks)
    assert not plan.problems()
    assert got.lines.keys() == {task.id for task in got.tasks}
    assert all(task.origin is not None and task.origin.hash for task in got.tasks)
    assert ImplementationPlan.model_validate_json(plan.model_dump_json()) == plan
    if is_exporter(importer):
        assert importer.write(plan, source) == source.text
