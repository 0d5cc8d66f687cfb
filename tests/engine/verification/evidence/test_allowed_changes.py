"""What is allowed of changed check files: by the task, by an approved plan, by the person for one content."""

from pathlib import Path

import pytest

from ralph_tui.domain.plan.plan import ImplementationPlan, Task
from ralph_tui.engine.verification.evidence.allowed_changes import (
    MOST_LINES,
    allowed_by_text,
    allowed_changes,
    allowing_check_changes,
    check_change_notice,
    shown_changes,
)
from ralph_tui.engine.verification.evidence.check_files import CheckChanges, CheckFiles

CHANGES = CheckChanges(changed=("test_a.py",), deleted=("test_b.py",))


def test_what_a_planner_asks_for_counts_once_a_person_approved_the_plan() -> None:
    plan = ImplementationPlan(tasks=(Task(id="a", asks_to_change_checks=True), Task(id="b")))
    assert check_change_notice(["a"]).startswith("a asks to change existing tests")
    approved = allowing_check_changes(plan)
    assert [task.may_change_checks for task in approved.tasks] == [True, False]
    assert not any(task.asks_to_change_checks for task in approved.tasks)


def test_a_wish_alone_allows_nothing(tmp_path: Path) -> None:
    assert allowed_changes(Task(id="a", asks_to_change_checks=True), CHANGES, tmp_path) == ()
    both = allowed_changes(Task(id="a", may_change_checks=True), CHANGES, tmp_path)
    assert both == ("test_a.py", "test_b.py")


def test_a_permission_is_for_the_content_that_was_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "test_a.py"
    file.write_text("shown")
    real = Path.read_bytes

    def read_once(path: Path) -> bytes:
        data = real(path)
        if path == file:
            path.write_text("changed while it was shown")
        return data

    with monkeypatch.context() as patched:
        patched.setattr(Path, "read_bytes", read_once)
        diff, agreed = shown_changes(CHANGES, CheckFiles(tmp_path), tmp_path)
    assert "+shown" in diff
    task = Task(id="a", allowed_check_changes=agreed)
    assert allowed_changes(task, CHANGES, tmp_path) == ("test_b.py",)
    file.write_text("shown")
    assert allowed_changes(task, CHANGES, tmp_path) == ("test_a.py", "test_b.py")
    file.write_text("changed again")
    assert allowed_changes(task, CHANGES, tmp_path) == ("test_b.py",)


def test_a_permission_covers_no_file_whose_changes_are_too_many_to_show(tmp_path: Path) -> None:
    for name, lines in (("test_a.py", 5), ("test_c.py", MOST_LINES), ("test_d.py", 5)):
        (tmp_path / name).write_text("line\n" * lines)
    changes = CheckChanges(changed=("test_a.py", "test_c.py", "test_d.py"))
    diff, agreed = shown_changes(changes, CheckFiles(tmp_path), tmp_path)
    assert len(diff.splitlines()) <= MOST_LINES + 1
    assert "test_c.py: " in diff
    assert "--may-change-checks" in diff
    assert [change.path for change in agreed] == ["test_a.py", "test_d.py"]
    task = Task(id="a", allowed_check_changes=agreed)
    assert allowed_changes(task, changes, tmp_path) == ("test_a.py", "test_d.py")


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ("Remove the legacy exporter.", True),
        ("Simplify the module.\n- Drop the exporter", True),
        ("Keep the reader and delete its tests", True),
        ("Users can delete notes of the exporter", False),
        ("The exporter removes old entries", False),
        ("Remove old entries from the list", False),
        ("Write an exporter", False),
    ],
)
def test_a_deleted_test_is_allowed_if_the_text_orders_to_remove_it(
    text: str, allowed: bool
) -> None:
    changes = CheckChanges(changed=("test_a.py",), deleted=("tests/test_exporter.py",))
    assert allowed_by_text(text, changes) == (("tests/test_exporter.py",) if allowed else ())
