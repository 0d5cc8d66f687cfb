"""Plans of other tools in their usual places are found by name, and named for a shell."""

from pathlib import Path

import pytest

from ralph_tui.store.foreign_files import foreign_plans, import_offer


@pytest.mark.parametrize(
    "name",
    [
        "prd.json",
        "scripts/ralph/prd.json",
        "fix_plan.md",
        ".ralph/fix_plan.md",
        "specs/001-login/tasks.md",
        ".kiro/specs/login/tasks.md",
        "openspec/changes/add-login/tasks.md",
        ".taskmaster/tasks/tasks.json",
        ".beads/issues.jsonl",
        "docs/stories/1.1.login.md",
        "TODO.md",
    ],
)
def test_a_plan_is_found_where_its_tool_keeps_it(tmp_path: Path, name: str) -> None:
    assert foreign_plans(tmp_path) == ()
    assert import_offer(()) == ""
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).write_text("x")
    assert foreign_plans(tmp_path) == (name,)


def test_several_stories_are_one_directory_and_an_archive_is_no_plan(tmp_path: Path) -> None:
    for name in (
        "docs/stories/1.1.a.md",
        "docs/stories/1.2.b.md",
        "TODO.md",
        "openspec/changes/archive/tasks.md",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    assert foreign_plans(tmp_path) == ("docs/stories",)


def test_an_offer_can_be_pasted_into_a_shell(tmp_path: Path) -> None:
    (tmp_path / "specs" / "a b").mkdir(parents=True)
    (tmp_path / "specs" / "a b" / "tasks.md").write_text("x")
    (tmp_path / "prd.json").write_text("x")
    found = foreign_plans(tmp_path)
    assert import_offer(found).startswith("prd.json is a plan of another tool (and 1 more).")
    assert import_offer(found[1:]).endswith("`ralph import 'specs/a b/tasks.md'`")
