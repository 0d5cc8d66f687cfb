"""A plan that cannot be used, such as another tool's, is named by every command and left as it is."""

from pathlib import Path

import pytest

from tests.cli.processes import inside
from tests.harness.projects import make_project, task

SNARKTANK = """{"project": "Shop", "tasks": [
 {"id": "US-001", "title": "Cart", "description": "Store items",
  "acceptanceCriteria": ["migration runs"], "priority": 1, "passes": false, "notes": ""}]}
"""
BEADS = '{"id": "bd-1", "title": "x", "issue_type": "task"}\n{"id": "bd-2", "title": "y"}\n'

FILES = {
    "fields": (SNARKTANK, ("line 3", "task 1 (US-001)", "'acceptanceCriteria'", "prd.json")),
    "stories": ('{\n"userStories": [{"id": "US-1"}]}', ("line 2", "'userStories'", "prd.json")),
    "tagged": ('{"master": {"tasks": [{"id": 1}]}}', ("'master'", "Taskmaster")),
    "lines": (BEADS, ("one JSON object on each line", "beads")),
    "list": ('[{"id": "a", "description": "x"}]', ("list of tasks",)),
}


def project_with(root: Path, text: str) -> Path:
    return make_project(root, files={".ralph/implementation_plan.json": text})


@pytest.mark.parametrize(("text", "named"), FILES.values(), ids=list(FILES))
def test_a_plan_of_another_tool_is_no_empty_plan(
    tmp_path: Path, text: str, named: tuple[str, ...]
) -> None:
    root = project_with(tmp_path, text)
    for words in (["status"], ["tasks", "--json"], ["inject", "x"], ["add", "x"]):
        done = inside(*words, cwd=root)
        assert (done.returncode, done.stdout) == (3, "")
        assert all(part in done.stderr for part in named), done.stderr
        assert "`ralph import prd.json`" in done.stderr
    assert sorted(p.name for p in (root / ".ralph").glob("implementation_plan*")) == [
        "implementation_plan.json"
    ]
    assert (root / ".ralph/implementation_plan.json").read_text() == text


@pytest.mark.usefixtures("no_layers")
@pytest.mark.parametrize("words", [("build", "--headless"), ("run", "--headless"), ("doctor",)])
def test_nothing_is_begun_with_it(tmp_path: Path, words: tuple[str, ...]) -> None:
    root = project_with(tmp_path, SNARKTANK)
    done = inside(*words, cwd=root)
    assert done.returncode == 3
    assert "'acceptanceCriteria'" in done.stdout + done.stderr
    assert (root / ".ralph/implementation_plan.json").read_text() == SNARKTANK


@pytest.mark.usefixtures("no_layers")
def test_a_command_that_needs_a_broken_plan_leaves_it_alone(tmp_path: Path) -> None:
    root = make_project(tmp_path, [task("a")])
    plan = root / ".ralph/implementation_plan.json"
    inside("edit", "a", "--description", "Known good", cwd=root)
    by_hand = '{"tasks": [\n {"id": "b", "description": "mine"},\n]}'
    plan.write_text(by_hand)
    for words in (("doctor",), ("add", "one more")):
        done = inside(*words, cwd=root)
        assert "an extra comma at line 2 column 36" in done.stdout + done.stderr
        assert done.returncode == 3
    assert plan.read_text() == by_hand
    assert not list(plan.parent.glob("*.corrupt-*"))
