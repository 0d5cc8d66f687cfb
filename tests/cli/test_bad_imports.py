"""Files to import that are too much, or no files. `sessions/unusable-imports.txt` has what can be written down."""

import json
import os
from pathlib import Path

import pytest

from tests.cli.processes import inside
from tests.harness.projects import make_project, task

STORY = {"title": "Do it", "acceptanceCriteria": ["works"], "priority": 1, "passes": False}
STORIES = [{"id": f"t{number}", **STORY} for number in range(5_001)]
TEXTS = {
    "nested.json:1: ": f'{{"userStories": {"[" * 50_000}{"]" * 50_000}}}',
    "many.json:": json.dumps({"userStories": STORIES}, indent=1),
    "many.md:5001: ": "".join(f"- [ ] Do {n}\n" for n in range(5_001)),
    "nested.md:1: ": "".join(f"{'  ' * n}- [ ] Do {n}\n" for n in range(330)),
}


@pytest.mark.parametrize("said", [*TEXTS, "pipe: it is not a regular file"])
def test_a_file_that_is_too_much_is_one_sentence(tmp_path: Path, said: str) -> None:
    project = make_project(tmp_path, [task("mine")])
    plan = project / ".ralph" / "implementation_plan.json"
    before, path = plan.read_bytes(), project / said.partition(":")[0]
    if said in TEXTS:
        path.write_text(TEXTS[said], encoding="utf-8")
    else:
        os.mkfifo(path)
    done = inside("import", path.name, "--yes", cwd=project)
    assert (done.returncode, done.stdout, plan.read_bytes()) == (3, "", before)
    sentence, *advice = done.stderr.splitlines()
    assert sentence.startswith(f"ralph: {said}")
    assert len(advice) <= 1, "one sentence, then what to do"
    assert len(sentence) < 400
