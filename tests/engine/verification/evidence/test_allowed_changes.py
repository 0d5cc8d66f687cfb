"""What is allowed of changed check files: by the task, by an approved plan: `allowed_changes.txt`."""

from collections.abc import Iterable
from pathlib import Path

import pytest
import yaml

from ralph_tui.domain.plan.plan import ImplementationPlan, Task
from ralph_tui.engine.phases.planning import allowing_check_changes, plan_notices
from ralph_tui.engine.verification.evidence.trusted_base import TrustedBase
from ralph_tui.engine.verification.gate import MOST_LINES, shown_changes
from ralph_tui.engine.verification.judge_tree import JudgeTree
from tests.engine.verification.evidence.projects import write
from tests.harness.tables import Case, Line, each_case

BOTH = {"test_a.py": "old", "test_b.py": "old"}


def begun(root: Path, files: dict[str, str] = BOTH) -> TrustedBase:
    write(root, files)
    base = TrustedBase(root, JudgeTree(root).store)
    base.begin("a", ())
    return base


def allowed_of(base: TrustedBase, task: Task) -> tuple[str, ...]:
    return base.inspect((), task).allowed


def test_what_a_planner_asks_for_counts_once_a_person_approved_the_plan() -> None:
    marked = Task(id="b", shows="kept", touches=("package.json", ".github/**"))
    plan = ImplementationPlan(tasks=(Task(id="a", asks_to_change_checks=True), marked))
    assert [*plan_notices(plan)] == [
        "a asks to change existing tests. Approving the plan allows that.",
        "b: the checks only show that nothing broke.",
        "b may change package.json, .github/**.",
    ]
    approved = allowing_check_changes(plan)
    assert [task.may_change_checks for task in approved.tasks] == [True, False]
    assert not any(task.asks_to_change_checks for task in approved.tasks)


def allows(line: Line, root: Path) -> Iterable[str]:
    base = begun(root)
    write(root, {"test_a.py": "new", "test_b.py": None})
    return allowed_of(base, Task.model_validate({"id": "a", **yaml.safe_load(line.rest)}))


@each_case(__file__)
def test_what_is_allowed(case: Case, tmp_path: Path, pytestconfig: pytest.Config) -> None:
    case.play({"allows": allows}, tmp_path, pytestconfig)


def test_a_permission_covers_no_file_whose_changes_cannot_all_be_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"test_a.py": "line\n" * 5, "test_c.py": "line\n" * MOST_LINES, "test_d.py": "line\n"}
    files["test_e.py"] = "line\n"
    base = begun(tmp_path, dict.fromkeys(files, ""))
    write(tmp_path, files)
    read = Path.read_bytes

    def unreadable(path: Path) -> bytes:
        if path.name == "test_e.py":
            raise PermissionError(13, "Permission denied")
        return read(path)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "read_bytes", unreadable)
        diff, shown = shown_changes(files, base.original, tmp_path)
    assert len(diff.splitlines()) <= MOST_LINES + 1
    assert shown == ("test_a.py", "test_d.py")
