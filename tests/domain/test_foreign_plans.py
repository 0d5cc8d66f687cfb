"""Plans of other tools are named; a field that says what is done or how it is checked is never dropped."""

import pytest
from pydantic import JsonValue

from ralph_tui.domain.plan.foreign_plans import foreign_part
from ralph_tui.domain.plan.plan import Task

DESCRIBED: dict[str, JsonValue] = {"id": "a", "description": "Do it."}

REFUSED = {
    "acceptanceCriteria": "verification_criteria",
    "acceptance_criteria": "verification_criteria",
    "criteria": "verification_criteria",
    "testStrategy": "verification_criteria",
    "tests": "verification_criteria",
    "steps": "verification_criteria",
    "verificationCriteria": "verification_criteria",
    "checks": "verification_criteria",
    "definition_of_done": "status",
    "passes": "status",
    "done": "status",
    "completed": "status",
    "State": "status",
    "dependsOn": "dependencies",
    "blocked_by": "dependencies",
    "descripcion": "description",
    "subtasks": "tasks",
    "details": "description",
}


@pytest.mark.parametrize(("name", "ours"), REFUSED.items())
def test_a_field_that_must_not_be_lost_is_named_with_what_to_write(name: str, ours: str) -> None:
    found = foreign_part({"tasks": [DESCRIBED, {**DESCRIBED, name: ["x"]}]})
    assert found is not None
    assert found.place == ("tasks", 1, name)
    assert repr(name) in found.message
    assert f"`{ours}`" in found.hint
    assert "ralph import" in found.hint


HARMLESS = (
    "owner", "note", "notes", "labels", "title", "name", "group", "origin", "color", "latest", "password_policy", "$schema", "stats",
)  # fmt: skip


@pytest.mark.parametrize("name", HARMLESS)
def test_a_harmless_field_is_not_refused(name: str) -> None:
    assert foreign_part({"tasks": [{**DESCRIBED, name: "x"}], name: "x"}) is None


@pytest.mark.parametrize("words", [{}, {"description": " "}, {"description": None}])
def test_a_name_is_refused_where_it_is_all_that_says_what_to_do(
    words: dict[str, JsonValue],
) -> None:
    found = foreign_part({"tasks": [{"id": "a", "name": "Do it", **words}]})
    assert found is not None
    assert "`description`" in found.hint


@pytest.mark.parametrize(
    ("words", "description"),
    [
        ({"title": "Do it"}, "Do it"),
        ({"title": "Do it", "description": None}, "Do it"),
        ({"title": " Do it ", "description": "With care."}, "Do it\n\nWith care."),
        ({"title": "Do it", "description": "Do it\n\nWith care."}, "Do it\n\nWith care."),
        ({"title": "", "description": "With care."}, "With care."),
    ],
)
def test_a_title_becomes_the_first_line(words: dict[str, JsonValue], description: str) -> None:
    given = {"id": "a", **words}
    assert foreign_part({"tasks": [given]}) is None
    task = Task.model_validate(given)
    assert task.description == description
    assert Task.model_validate_json(task.model_dump_json()) == task


WHOLE: dict[str, tuple[JsonValue, str]] = {
    "a list": ([{"id": "a"}], "a list of tasks"),
    "snarktank": ({"project": "p", "userStories": [{"id": "US-1"}]}, "'userStories'"),
    "both": ({"tasks": [], "userStories": [{"id": "US-1"}]}, "'userStories'"),
    "iannuttall": ({"stories": [{"id": "S"}], "version": 1}, "'stories'"),
    "queue": ({"queue": [{"id": "github-1"}]}, "'queue'"),
    "auto-claude": ({"feature": "f", "phases": [{"subtasks": []}]}, "'phases'"),
    "taskmaster": ({"master": {"tasks": [{"id": 3}]}}, "under 'master'"),
    "unknown list": ({"todo": [{"text": "x"}]}, "a list 'todo'"),
    "one task": ({"id": "a", "title": "x"}, "a single task"),
    "a status above": ({"status": "done", "tasks": []}, "'status' beside 'tasks'"),
    "criteria above": ({"tasks": [DESCRIBED], "acceptance": ["x"]}, "'acceptance' beside"),
}


@pytest.mark.parametrize(("document", "named"), WHOLE.values(), ids=list(WHOLE))
def test_another_tools_file_is_named(document: JsonValue, named: str) -> None:
    found = foreign_part(document)
    assert found is not None
    assert named in found.message


@pytest.mark.parametrize("document", [{}, [], {"tasks": []}, {"project": "p"}, {"tasks": "odd"}])
def test_what_is_no_plan_of_another_tool_is_left_to_the_schema(document: JsonValue) -> None:
    assert foreign_part(document) is None


@pytest.mark.parametrize("name", ["expected_output", "status", "expect"])
def test_an_expectation_that_nobody_checks_is_refused(name: str) -> None:
    criterion: JsonValue = {"command": "true", name: 5}
    found = foreign_part({"tasks": [{**DESCRIBED, "verification_criteria": [criterion]}]})
    assert found is not None
    assert found.place == ("tasks", 0, "verification_criteria", 0, name)
