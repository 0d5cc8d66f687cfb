"""`ralph archive` as a person types it."""

from pathlib import Path

from tests.cli.processes import inside
from tests.harness.projects import make_project, plan_of


def test_a_retired_task_is_not_imported_again(tmp_path: Path) -> None:
    todo = "- [x] Write it\n- [ ] Ship it\n"
    project = make_project(tmp_path, files={"TODO.md": todo})
    assert inside("import", "TODO.md", "--yes", cwd=project).returncode == 0
    assert inside("archive", "--complete", cwd=project).returncode == 0
    left = [t.title for t in plan_of(project).tasks]
    assert left == ["Ship it"]
    again = inside("import", "TODO.md", "--yes", cwd=project)
    assert again.returncode == 0, again.stderr
    assert [t.title for t in plan_of(project).tasks] == left
    assert (project / "TODO.md").read_text() == todo
