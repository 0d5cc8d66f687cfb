"""Plans with flags or boxes on the command line: imported as they are, written back flag by flag, and imported again."""

from pathlib import Path

import pytest

from tests.cli.processes import inside
from tests.harness.projects import make_project
from tests.interop import markdown_samples
from tests.interop.markdown_samples import Sample

PRD = Sample(
    "prd",
    "prd.json",
    '{"project": "Shop", "userStories": [\n  {"id": "US-1", "title": "Add a cart", "passes": true},\n'
    '  {"id": "US-2", "title": "Pay", "passes": false, "dependsOn": ["US-1"]}\n]}\n',
)
ROUND = [
    (markdown_samples.FIX_PLAN, "round-amounts", "[ ] Round", "[x] Round"),
    (markdown_samples.SPEC_KIT, "T002", "[ ] T002", "[x] T002"),
    (markdown_samples.KIRO, "2.3", "[-] 2.3", "[x] 2.3"),
    (markdown_samples.OPENSPEC, "1.2", "[ ] 1.2", "[x] 1.2"),
    (PRD, "US-2", '"passes": false', '"passes": true'),
    (markdown_samples.TODO, "colors-2", "[ ] Colors\r\n- [ ]\r\n", "[x] Colors\r\n- [ ]\r\n"),
]


@pytest.mark.parametrize(
    ("sample", "id_", "old", "new"),
    ROUND,
    ids=lambda value: value.format if isinstance(value, Sample) else "",
)
def test_a_completed_task_changes_its_flag_and_no_other_byte(
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
