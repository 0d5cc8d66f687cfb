"""What is allowed of changed check files: by the task, by an approved plan, by the person for one content."""

from pathlib import Path

from ralph_tui.domain.plan.plan import ImplementationPlan, Task
from ralph_tui.engine.verification.evidence.allowed_changes import (
    agreed_changes,
    allowed_changes,
    allowing_check_changes,
    check_change_notice,
)
from ralph_tui.engine.verification.evidence.check_files import CheckChanges

CHANGES = CheckChanges(changed=("test_a.py",), deleted=("test_b.py",))


def test_what_a_planner_asks_for_counts_once_a_person_approved_the_plan() -> None:
    plan = ImplementationPlan(tasks=(Task(id="a", asks_to_change_checks=True), Task(id="b")))
    assert check_change_notice(["a"]).startswith("a asks to change tests")
    approved = allowing_check_changes(plan)
    assert [task.may_change_checks for task in approved.tasks] == [True, False]
    assert not any(task.asks_to_change_checks for task in approved.tasks)


def test_a_wish_alone_allows_nothing(tmp_path: Path) -> None:
    assert allowed_changes(Task(id="a", asks_to_change_checks=True), CHANGES, tmp_path) == ()
    both = allowed_changes(Task(id="a", may_change_checks=True), CHANGES, tmp_path)
    assert both == ("test_a.py", "test_b.py")


def test_a_permission_is_for_the_content_that_was_shown(tmp_path: Path) -> None:
    file = tmp_path / "test_a.py"
    file.write_text("shown")
    task = Task(id="a", allowed_check_changes=agreed_changes(("test_a.py", "test_b.py"), tmp_path))
    assert allowed_changes(task, CHANGES, tmp_path) == ("test_a.py", "test_b.py")
    file.write_text("changed again")
    assert allowed_changes(task, CHANGES, tmp_path) == ("test_b.py",)
