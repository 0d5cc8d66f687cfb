"""The branch that a prd.json names becomes the branch of the feature it is imported into."""

import json
import subprocess
from pathlib import Path

import pytest

from ralph_tui.domain.project_state import WorkBranch
from ralph_tui.store.project import Project
from tests.cli.processes import inside
from tests.cli.test_feature import said
from tests.harness.projects import make_project

BRANCH = "ralph/habits"
NOBODY = ("-c", "user.name=Nobody", "-c", "user.email=nobody@localhost")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = make_project(tmp_path)
    write(root, "prd.json", BRANCH)
    subprocess.run(["git", "init", "-q", root], check=True)
    return root


def write(root: Path, name: str, branch: str, title: str = "Add") -> None:
    story = {"id": "US-001", "title": title, "acceptanceCriteria": ["It works"], "passes": False}
    text = json.dumps({"branchName": branch, "userStories": [story]})
    (root / name).write_text(text, encoding="utf-8")


def branches(root: Path) -> dict[str, str]:
    rows = json.loads(said("feature", "--json", cwd=root))["features"]
    return {row["name"]: row["branch"] for row in rows}


def test_a_new_feature_works_on_the_branch_of_its_file(root: Path) -> None:
    said("config", "set", "git.branch", "feature", cwd=root)
    told = said("import", "prd.json", "--into", "habits", "--yes", cwd=root)
    assert f"habits uses the branch {BRANCH} named in prd.json." in told
    assert branches(root)["habits"] == BRANCH
    for words in (("add", "-A"), ("commit", "-qm", "Start")):
        subprocess.run(["git", *NOBODY, *words], cwd=root, check=True)
    done = inside("build", "--dry-run", "--json", cwd=root)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["branch"] == BRANCH


def test_work_that_has_begun_keeps_its_branch(root: Path) -> None:
    said("feature", "new", "habits", cwd=root)
    begun = WorkBranch(name="feature/habits", base="a" * 40, head="a" * 40)
    Project(root, "habits").transact(
        lambda docs: docs.replacing(state=docs.state.model_copy(update={"branch": begun}))
    )
    told = said("import", "prd.json", "--yes", cwd=root)
    assert "because work on it has already started" in told
    assert branches(root)["habits"] == "feature/habits"
