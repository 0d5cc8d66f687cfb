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


def test_a_feature_that_is_there_gets_the_branch_only_with_the_import(root: Path) -> None:
    said("feature", "new", "habits", cwd=root)
    preview = json.loads(said("import", "prd.json", "--dry-run", "--json", cwd=root))
    assert preview["branch"] == BRANCH
    assert branches(root)["habits"] == "feature/habits"
    told = said("import", "prd.json", "--yes", cwd=root)
    assert "Ralph does not switch to it, because git.branch is off." in told
    assert branches(root)["habits"] == BRANCH
    write(root, "prd.json", BRANCH, "Add a habit")
    assert BRANCH not in said("import", "prd.json", "--yes", cwd=root), "it has the branch already"
    assert branches(root)["habits"] == BRANCH


def test_the_plan_without_a_name_has_no_branch_and_says_how_to_get_one(root: Path) -> None:
    told = said("import", "prd.json", "--yes", cwd=root)
    assert "ralph does not switch to it" in told
    assert "--into NAME" in told
    assert "one plan" in said("feature", cwd=root)


@pytest.mark.parametrize(
    ("branch", "why"),
    [
        ("main", "the other branch is listed in git.protected_branches"),
        ("feature/search", "the other branch belongs to the feature search"),
        ("a b..c", "is not a valid git branch name"),
        ("-f", "is not a valid git branch name"),
    ],
)
def test_a_branch_that_cannot_be_the_features_is_left(root: Path, branch: str, why: str) -> None:
    said("feature", "new", "search", cwd=root)
    write(root, "prd.json", branch)
    told = said("import", "prd.json", "--into", "habits", "--yes", cwd=root)
    assert "habits keeps feature/habits because" in told
    assert why in told
    assert branches(root) == {
        "": "",
        "habits": "feature/habits",
        "search": "feature/search",
    }


def test_work_that_has_begun_keeps_its_branch(root: Path) -> None:
    said("feature", "new", "habits", cwd=root)
    begun = WorkBranch(name="feature/habits", base="a" * 40, head="a" * 40)
    Project(root, "habits").transact(
        lambda docs: docs.replacing(state=docs.state.model_copy(update={"branch": begun}))
    )
    told = said("import", "prd.json", "--yes", cwd=root)
    assert "because work on it has already started" in told
    assert branches(root)["habits"] == "feature/habits"
