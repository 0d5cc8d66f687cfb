"""Features: folders of their own, one list, limits that span them, and no half-made one after a crash."""

import json
import shutil
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_tui.domain.errors import LockedError, StoreError
from ralph_tui.domain.features import FeatureRecord, ProjectFeatures, is_name
from ralph_tui.domain.project_state import Phase, WorkBranch
from ralph_tui.domain.run.rate_limit import RequestRate
from ralph_tui.store.documents.documents import STATE, decode_document
from ralph_tui.store.feature_choice import layout_of, pinned_feature
from ralph_tui.store.feature_folders import FeatureFiles, Features
from ralph_tui.store.layout import Layout
from ralph_tui.store.lock import LoopLock
from ralph_tui.store.project import Project
from ralph_tui.store.reset import made_by_ralph, reset
from ralph_tui.store.restore import restore_from_mirror
from tests.store.helpers import NOW, with_tasks


@pytest.fixture
def root(tmp_path: Path) -> Path:
    project = Project(tmp_path)
    project.create()
    with_tasks(project, "a", "b")
    return project.root


def make(root: Path, name: str) -> bool:
    return Features(root).new(name, FeatureFiles(), branch=f"feature/{name}")


def check_out(root: Path, branch: str) -> None:
    (root / ".git").mkdir(exist_ok=True)
    (root / ".git" / "HEAD").write_text(f"ref: refs/heads/{branch}\n", encoding="utf-8")


def files(root: Path) -> set[str]:
    return {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}


def test_a_project_with_one_plan_has_no_list_and_keeps_its_paths(root: Path) -> None:
    assert layout_of(root) == Layout(root)
    assert Features(root).summaries() == ()
    assert not Layout(root).project.exists()
    assert (
        json.loads(Layout(root).state.read_bytes() if Layout(root).state.exists() else b"{}").get(
            "schema_version", 1
        )
        == 1
    )
    names = (
        "state",
        "plan",
        "budget",
        "breaker",
        "steps",
        "questions",
        "injections",
        "active_memory",
    )
    assert {getattr(Layout(root), name).parent for name in names} == {root / ".ralph"}
    assert Layout(root).memory == root / "MEMORY.md"
    assert Layout(root).specs == root / "specs"


def test_a_feature_is_a_small_project_directory(root: Path) -> None:
    make(root, "login")
    layout = layout_of(root)
    assert layout.home == root / ".ralph" / "features" / "login"
    assert layout.specs == root / "specs" / "login"
    with_tasks(Project(root), "a")
    assert [task.id for task in Project(root).load().plan.tasks] == ["a"]
    assert [task.id for task in Project(root, "").load().plan.tasks] == ["a", "b"]
    Project(root).append_learning("note", "x")
    Project(root).write_memory("hand-off")
    assert not (root / "progress.txt").exists()
    assert not (root / "MEMORY.md").exists()
    assert Project(root, "").read_memory() == ""
    assert layout.lock == Layout(root).lock
    assert layout.events == Layout(root).events
    (own := layout.home / "PROMPT_build.md").write_text("Build.", encoding="utf-8")
    assert layout.prompt(Phase.BUILDING) == own
    assert layout.prompt(Phase.PLANNING) == root / "PROMPT_plan.md"


def test_an_older_ralph_refuses_a_project_with_features(root: Path) -> None:
    make(root, "login")
    path = Layout(root).state
    with pytest.raises(StoreError, match="newer ralph"):
        decode_document(STATE._replace(newest=0), path.read_bytes(), path)
    assert Project(root, "").load().plan.tasks, "this one reads it"


@given(st.text(alphabet="abzA09._-/ é\n", max_size=70))
def test_a_name_is_a_plain_word_that_leaves_no_directory(text: str) -> None:
    if is_name(text):
        assert Path("x", text).resolve().parent == Path("x").resolve()
        assert text == text.lower()
        assert 1 <= len(text) <= 64
    else:
        with pytest.raises(StoreError, match="is not a valid"):
            Features(Path("/nowhere")).new(text, FeatureFiles(), branch="")


def test_what_decides_which_feature_is_meant(root: Path) -> None:
    make(root, "login")
    make(root, "search")
    assert layout_of(root).feature == "search"
    with pinned_feature("login"):
        assert layout_of(root).feature == "login"
        with pinned_feature(""):
            assert layout_of(root).feature == ""
    Features(root).use("", prefix="feature/")
    assert layout_of(root).feature == ""
    check_out(root, "feature/login")
    assert layout_of(root).feature == "login", "nothing was chosen, so the branch decides"
    check_out(root, "main")
    Features(root).use("search", prefix="feature/")
    check_out(root, "feature/login")
    with pytest.raises(StoreError) as refused:
        layout_of(root)
    for words in ("login", "search", "ralph feature use login", "git switch feature/search"):
        assert words in str(refused.value)
    with pytest.raises(StoreError, match="is checked out"):
        Features(root).use("", prefix="feature/")
    with pinned_feature("search"):
        assert layout_of(root).feature == "search"


def test_a_loop_decides_while_it_runs_and_nothing_is_chosen(root: Path) -> None:
    make(root, "login")
    make(root, "search")
    lock = LoopLock(Layout(root, "login"))
    lock.acquire("run")
    try:
        assert layout_of(root).feature == "login"
        assert make(root, "third") is False
        with pytest.raises(LockedError, match="A loop is running on `login`"):
            Features(root).use("", prefix="feature/")
    finally:
        lock.release()
    assert layout_of(root).feature == "search"


@pytest.mark.parametrize("name", ["login", "", "A", "../x", "x/y", "-x", "x" * 65])
def test_a_name_that_is_taken_or_is_none_changes_nothing(root: Path, name: str) -> None:
    make(root, "login")
    before = files(root)
    with pytest.raises(StoreError):
        make(root, name)
    assert files(root) == before


def test_money_and_requests_of_all_features_count(root: Path) -> None:
    def spend(feature: str, usd: float, requests: int) -> None:
        Project(root, feature).transact(
            lambda docs: docs.with_state(
                total_cost_usd=usd, requests=RequestRate().counting(requests, NOW)
            )
        )

    spend("", 1.25, 3)
    make(root, "login")
    spend("login", 2.5, 4)
    make(root, "search")
    docs = Project(root, "search").load()
    assert (docs.project_cost, docs.requests.in_hour(NOW)) == (3.75, 7)
    docs = Project(root, "login").load()
    assert (docs.project_cost, docs.cost_elsewhere) == (3.75, 1.25)
    assert docs.requests.free_at(7, NOW + timedelta(minutes=1)) is not None
    # Who removes a feature's folder and makes it anew has the money back no more than before.
    for path in sorted(Layout(root, "login").home.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    Layout(root, "login").home.rmdir()
    assert Project(root, "").load().project_cost == 3.75
    make(root, "login")
    assert Project(root, "").load().project_cost == 3.75
    assert Project(root, "login").load().state.total_cost_usd == 2.5


@given(
    st.dictionaries(
        st.sampled_from(["", "a", "b", "c"]), st.floats(0, 50).map(lambda usd: round(usd, 4))
    ),
    st.sampled_from(["", "a", "b"]),
)
def test_what_others_cost_is_all_but_ones_own(costs: dict[str, float], own: str) -> None:
    known = ProjectFeatures(features={n: FeatureRecord(cost_usd=usd) for n, usd in costs.items()})
    others = sum(round(usd * 1e6) for name, usd in costs.items() if name != own)
    assert round(known.cost_elsewhere(own) * 1e6) == others


def test_git_clean_costs_no_feature_anything(root: Path) -> None:
    make(root, "login")
    with_tasks(Project(root, "login"), "a")
    Project(root, "login").write_memory("hand-off of login\n")
    (root / "specs" / "login" / "what--not.md").write_text("# What\n", encoding="utf-8")
    Project(root, "login").transact(lambda docs: docs)
    before = {name: Project(root, name).load() for name in ("", "login")}
    for path in (root / ".ralph", root / "specs"):
        shutil.rmtree(path)

    names = restore_from_mirror(root)

    assert ".ralph/features/login/implementation_plan.json" in names
    assert Features(root).names == ("login",)
    assert {name: Project(root, name).load() for name in before} == before
    assert Project(root, "login").read_memory() == "hand-off of login\n"
    assert [spec.name for spec in Project(root, "login").read_specs()] == ["what--not.md"]
    shutil.rmtree(Layout(root, "login").home)
    assert ".ralph/features/login/state.json" in restore_from_mirror(root)
    assert Project(root, "login").load() == before["login"]


@pytest.mark.parametrize("feature", ["", "login"])
def test_a_reset_of_one_feature_leaves_the_others_and_can_be_undone(
    root: Path, feature: str
) -> None:
    make(root, "login")
    with_tasks(Project(root, "login"), "a")
    Project(root, feature).write_iteration_memory(1, "text\n")
    other = "login" if not feature else ""
    before = {name: Project(root, name).load().plan for name in (feature, other)}
    layout = Layout(root, feature)

    assert reset(layout, made_by_ralph(layout, (), keep_specs=True), lambda _: None)
    project = Project(root, feature)
    project.create()
    assert project.load().plan.tasks == ()
    assert Project(root, other).load().plan == before[other]
    assert not list(layout.memory_iterations.iterdir())
    assert Features(root).names == ("login",)

    restore_from_mirror(root)
    assert Project(root, feature).load().plan == before[feature]
    Project(root, "").transact(lambda docs: docs)
    state = json.loads(Layout(root).state.read_bytes())
    assert state["schema_version"] == 2, "an older ralph still refuses"


def test_a_list_that_is_written_again_gives_each_feature_its_branch(root: Path) -> None:
    """The list and its copy are damaged: a branch is the one that work has begun on, or prefix and name."""
    make(root, "login")
    make(root, "search")
    begun = WorkBranch(name="work/search")
    Project(root, "search").transact(
        lambda docs: docs.replacing(state=docs.state.model_copy(update={"branch": begun}))
    )
    for path in Layout(root).dot.glob("project.json*"):
        path.unlink()
    with pinned_feature(""):
        Features(root).use("login", prefix="ours/")
    found = {one.name: one.branch for one in Features(root).summaries()}
    assert found == {"": "", "login": "ours/login", "search": "work/search"}
