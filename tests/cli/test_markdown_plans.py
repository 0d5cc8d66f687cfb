"""Plans made of check boxes on the command line: imported as they are, and written back box by box."""

from pathlib import Path

import pytest

from ralph_tui.domain.plan.plan import TaskStatus
from tests.cli.processes import inside
from tests.harness.projects import make_project, plan_of
from tests.interop import markdown_samples
from tests.interop.markdown_samples import Sample

ROUND = [
    (markdown_samples.FIX_PLAN, "round-amounts", "[ ] Round", "[x] Round"),
    (markdown_samples.SPEC_KIT, "T002", "[ ] T002", "[x] T002"),
    (markdown_samples.KIRO, "2.3", "[-] 2.3", "[x] 2.3"),
    (markdown_samples.OPENSPEC, "1.2", "[ ] 1.2", "[x] 1.2"),
    (markdown_samples.STORY, "1.2", "Status: Approved", "Status: Done"),
    (markdown_samples.TODO, "colors-2", "[ ] Colors\r\n- [ ]\r\n", "[x] Colors\r\n- [ ]\r\n"),
]


@pytest.mark.parametrize(
    ("sample", "id_", "old", "new"),
    ROUND,
    ids=lambda value: value.format if isinstance(value, Sample) else "",
)
def test_a_completed_task_changes_its_box_and_no_other_byte(
    tmp_path: Path, sample: Sample, id_: str, old: str, new: str
) -> None:
    text = "\ufeff" + sample.text.replace("\n", "\r\n")
    assert text.count(old) == 1
    project = make_project(tmp_path)
    file = project / sample.path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode())
    assert inside("import", sample.path, "--yes", cwd=project).returncode == 0
    unchanged = inside("export", sample.path, cwd=project)
    assert (unchanged.returncode, file.read_bytes()) == (0, text.encode()), unchanged.stderr
    done = inside("complete", id_, "--reason", "seen", cwd=project)
    assert done.returncode == 0, done.stderr
    told = inside("export", sample.path, cwd=project)
    assert told.returncode == 0, told.stderr
    assert file.read_bytes() == text.replace(old, new).encode()
    again = inside("import", sample.path, cwd=project)
    assert again.stdout.splitlines()[-1] == "Nothing to import: the plan is up to date."


def test_a_directory_of_stories_is_one_import(tmp_path: Path) -> None:
    stories = {
        f"stories/1.{number}.story.md": markdown_samples.STORY.text.replace("1.2:", f"1.{number}:")
        for number in (2, 10)
    }
    project = make_project(
        tmp_path,
        files={
            **stories,
            "stories/1.1.story.md": "# Story 1.1: A\n\nStatus: Done\n\n## Acceptance Criteria\n\n1. B\n",
        },
    )
    done = inside("import", "stories", "--yes", cwd=project)
    assert done.returncode == 0, done.stderr
    assert [task.id for task in plan_of(project).tasks] == ["1.1", "1.2", "1.10"]
    assert plan_of(project).tasks[0].status is TaskStatus.COMPLETE


def test_hostile_commands_of_a_list_stay_words(tmp_path: Path) -> None:
    text = "- [ ] Clean up \x1b[2J\n  - [ ] `rm -rf / --no-preserve-root` passes\n"
    project = make_project(tmp_path, files={"TODO.md": text})
    done = inside("import", "TODO.md", "--yes", cwd=project)
    assert done.returncode == 0, done.stderr
    assert "\x1b[2J" not in done.stdout
    assert "Refused commands  kept as words, never run" in done.stdout
    (task,) = plan_of(project).tasks
    assert task.title == "Clean up"
    assert "Not run, refused by the guard" in str(task.verification_criteria[0])
