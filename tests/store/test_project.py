import json
import os
import re
import stat
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ralph_tui.domain.errors import StoreError
from ralph_tui.domain.plan.foreign_plans import foreign_part
from ralph_tui.domain.plan.plan import ImplementationPlan, Task, TaskStatus
from ralph_tui.domain.project_state import RalphState
from ralph_tui.domain.run.breaker import BreakerState, CircuitBreaker
from ralph_tui.store.documents import snapshot
from ralph_tui.store.project import Documents, Project
from tests.harness.effort import effort
from tests.store.helpers import NOW, count_up, with_tasks

SEEDS = Path(__file__).with_name("seed_examples.md")


def test_create_makes_private_directories_that_git_ignores(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        project = Project(tmp_path)
        project.create()
    finally:
        os.umask(old)
    directories = [project.layout.dot, *(p for p in project.layout.dot.rglob("*") if p.is_dir())]
    assert len(directories) == 8
    assert {stat.S_IMODE(d.stat().st_mode) for d in directories} == {0o700}
    assert project.layout.gitignore.read_text() == "*\n"


def test_create_again_changes_nothing(project: Project) -> None:
    before = with_tasks(project, "a")
    project.layout.gitignore.write_text("logs\n")
    project.create()
    assert project.load() == before
    assert project.layout.gitignore.read_text() == "logs\n"


@pytest.mark.parametrize("kind", ["file", "dangling", "circle", "outside", "missing"])
def test_a_dot_directory_that_cannot_be_used_is_refused(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, kind: str
) -> None:
    outside = tmp_path_factory.mktemp("outside")
    dot = tmp_path / ".ralph"
    if kind == "file":
        dot.write_text("")
    elif kind == "dangling":
        dot.symlink_to(tmp_path / "nowhere")
    elif kind == "circle":
        dot.symlink_to(".ralph")
    elif kind == "outside":
        dot.symlink_to(outside)
    project = Project(tmp_path)
    for act in (
        project.load,
        lambda: project.transact(count_up),
        lambda: project.queue_injection("x"),
    ):
        with pytest.raises(StoreError) as caught:
            act()
        assert caught.value.hint
    if kind != "missing":
        with pytest.raises(StoreError):
            project.create()
    assert list(outside.iterdir()) == []


def test_a_dot_directory_may_be_a_symlink_within_the_project(tmp_path: Path) -> None:
    (tmp_path / "var").mkdir()
    (tmp_path / ".ralph").symlink_to("var")
    project = Project(tmp_path)
    project.create()
    with_tasks(project, "a")
    assert (tmp_path / "var" / "implementation_plan.json").exists()


def test_a_project_that_went_away_is_not_made_up_again(project: Project) -> None:
    with_tasks(project, "a")
    project.layout.dot.rename(project.root / "elsewhere")
    with pytest.raises(StoreError, match=r"\.ralph is missing"):
        project.transact(count_up)
    assert not project.layout.dot.exists()


def test_find_walks_up(project: Project) -> None:
    deep = project.root / "a" / "b"
    deep.mkdir(parents=True)
    assert Project.find(deep).root == project.root


def test_find_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(StoreError) as caught:
        Project.find(tmp_path)
    assert "ralph init" in caught.value.hint


def test_a_new_project_has_defaults_and_no_files(project: Project) -> None:
    assert project.load() == Documents()
    assert project.transact(lambda d: d) == Documents()
    assert not project.layout.plan.exists()


def test_transact_writes_only_what_changed(project: Project) -> None:
    with_tasks(project, "a")
    before = project.layout.plan.stat()
    project.transact(
        lambda d: d.model_copy(update={"state": d.state.model_copy(update={"paused": True})})
    )
    after = project.layout.plan.stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)
    assert project.load().state.paused


def test_transact_stamps_what_changed(tmp_path: Path) -> None:
    now = NOW
    project = Project(tmp_path, clock=lambda: now)
    project.create()
    first = with_tasks(project, "a")
    assert (first.plan.last_modified, first.state.last_activity_at) == (NOW, None)
    now = NOW + timedelta(minutes=1)
    second = project.transact(
        lambda d: d.model_copy(update={"state": d.state.model_copy(update={"iteration_count": 1})})
    )
    assert second.plan.last_modified == NOW
    assert second.state.last_activity_at == now
    assert Project(tmp_path).load() == second


def test_nothing_is_written_when_the_change_raises(project: Project) -> None:
    before = with_tasks(project, "a")

    def fail(documents: Documents) -> Documents:
        count_up(documents)
        raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        project.transact(fail)
    assert project.load() == before
    project.transact(count_up)  # and the lock is free


def replace_state(state: RalphState, documents: Documents) -> Documents:
    return documents.model_copy(update={"state": state})


def test_a_change_that_breaks_the_rules_is_not_written(project: Project) -> None:
    before = with_tasks(project, "a")
    for bad in (float("nan"), -1.0, "much"):
        state = before.state.model_copy(update={"total_cost_usd": bad})
        with pytest.raises(StoreError, match="total_cost_usd"):
            project.transact(partial(replace_state, state))
    assert project.load() == before


def test_files_are_readable_by_people_and_private(project: Project) -> None:
    with_tasks(project, "ä")
    text = project.layout.plan.read_text(encoding="utf-8")
    assert text.startswith('{\n  "schema_version": 1,\n  "tasks": [\n    {\n      "id": "ä",\n')
    assert text.endswith("}\n")
    assert stat.S_IMODE(project.layout.plan.stat().st_mode) == 0o600


def test_every_document_carries_its_schema_version(project: Project) -> None:
    with_tasks(project, "a")
    project.transact(count_up)
    project.transact(
        lambda d: d.model_copy(
            update={"budget": d.budget.using(5), "breaker": d.breaker.reset("by hand")}
        )
    )
    for path in (
        project.layout.plan,
        project.layout.state,
        project.layout.budget,
        project.layout.breaker,
    ):
        assert json.loads(path.read_bytes())["schema_version"] == 1


def test_the_summary_of_the_breaker_follows_the_breaker(project: Project) -> None:
    breaker = CircuitBreaker(state=BreakerState.OPEN, failure_count=3, stagnation_count=2)
    after = project.transact(lambda d: d.model_copy(update={"breaker": breaker}))
    summary = json.loads(project.layout.state.read_bytes())["circuit_breaker"]
    assert summary == {"state": "open", "failure_count": 3, "stagnation_count": 2}
    assert after.state.last_activity_at is not None


def test_the_summary_stands_in_for_a_missing_breaker(project: Project) -> None:
    breaker = {"state": "closed", "failure_count": 2, "stagnation_count": 1}
    state = {"total_cost_usd": 12.34, "circuit_breaker": breaker}
    project.layout.state.write_text(json.dumps(state))
    found = project.load().breaker
    assert (found.failure_count, found.stagnation_count, found.total_cost) == (2, 1, 12.34)
    after = project.transact(count_up)
    assert after.state.circuit_breaker.failure_count == 2


def seed_examples() -> list[dict[str, object]]:
    """Every complete JSON object printed in the seeds, on one line or several."""
    found = []
    text = SEEDS.read_text(encoding="utf-8").replace("{...}", "{}")
    for block in re.findall(r"```json\n(.*?)```", text, re.DOTALL):
        for part in [block, *block.splitlines()]:
            try:
                value = json.loads(part)
            except ValueError:
                continue
            if isinstance(value, dict):
                found.append(value)
    return found


def test_the_examples_of_the_seeds_load_as_they_stand(project: Project) -> None:
    states = sessions = 0
    for example in seed_examples():
        text = json.dumps(example)
        if "current_phase" in example:
            project.layout.state.write_text(text)
            state = project.load().state
            assert state.iteration_count == example["iteration_count"]
            assert state.started_at is None or state.started_at.tzinfo is not None
            states += 1
        elif "handoff_reason" in example:
            with project.layout.sessions.open("a") as file:
                file.write(text + "\n")
            sessions += 1
    assert (states, sessions) == (2, 2)
    assert [record.tokens_used for record in project.read_sessions()] == [250_000, 180_000]
    assert project.damage() == ()


def test_unknown_fields_survive_a_change(project: Project) -> None:
    project.layout.plan.write_text(
        '{"owner": {"team": [1, null]}, "tasks": [{"id": "a", "labels": ["x"], "note": null},'
        ' {"id": "b", "verification_criteria": [{"command": "true", "shell": "sh"}]}]}'
    )
    project.layout.state.write_text(
        '{"context_budget": {"used": 1.5}, "circuit_breaker": {"x": 1}}'
    )
    project.layout.breaker.write_text('{"cool_down": 5}')
    project.transact(count_up)
    project.transact(lambda d: d.model_copy(update={"breaker": d.breaker.reset("why")}))
    plan = json.loads(project.layout.plan.read_bytes())
    assert plan["owner"] == {"team": [1, None]}
    assert (plan["tasks"][0]["labels"], plan["tasks"][0]["note"]) == (["x"], None)
    assert plan["tasks"][1]["verification_criteria"][0]["shell"] == "sh"
    state = json.loads(project.layout.state.read_bytes())
    assert (state["context_budget"], state["circuit_breaker"]["x"]) == ({"used": 1.5}, 1)
    assert json.loads(project.layout.breaker.read_bytes())["cool_down"] == 5


def _is_ours_to_keep(name: str) -> bool:
    """Leave out names that mean a criterion or a status (`x_test`), which a plan may not have."""
    return foreign_part({"tasks": [{"id": "a", "description": "a", name: ""}]}) is None


TEXT = st.text(max_size=30)
UNKNOWN = st.dictionaries(
    st.text(min_size=1, max_size=8).map(lambda name: f"x_{name}").filter(_is_ours_to_keep),
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**60), 2**60) | TEXT,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
        max_leaves=6,
    ),
    max_size=3,
)
TASKS = st.lists(
    st.builds(
        lambda unknown, **known: Task.model_validate({**unknown, **known}),
        UNKNOWN,
        id=st.text(min_size=1, max_size=12),
        description=TEXT,
        status=st.sampled_from(TaskStatus),
        priority=st.integers(-5, 500),
        dependencies=st.lists(TEXT, max_size=3),
        verification_criteria=st.lists(TEXT, max_size=2),
        retry_count=st.integers(0, 9),
    ),
    max_size=4,
)


@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(tasks=TASKS)
def test_any_plan_comes_back_as_it_was(project: Project, tasks: list[Task]) -> None:
    plan = ImplementationPlan(tasks=tuple(tasks))
    after = project.transact(lambda d: d.model_copy(update={"plan": plan}))
    assert after.plan.tasks == plan.tasks
    assert Project(project.root).load() == after
    assert project.damage() == ()


def test_lone_surrogates_are_replaced_and_do_not_crash(project: Project) -> None:
    with_tasks(project, "a")
    project.transact(
        lambda d: d.model_copy(update={"plan": d.plan.with_task("a", completion_notes="x\ud800y")})
    )
    assert project.load().plan.tasks[0].completion_notes == "x\N{REPLACEMENT CHARACTER}y"
    project.layout.plan.write_text('{"tasks": [{"id": "b", "description": "\\ud800!"}]}')
    assert project.load().plan.tasks[0].description == "\N{REPLACEMENT CHARACTER}!"


def test_an_edit_by_hand_during_a_transaction_is_not_lost(project: Project) -> None:
    with_tasks(project, "a")
    edited: list[bool] = []

    def change(documents: Documents) -> Documents:
        if not edited:
            edited.append(True)
            project.layout.plan.write_text('{"tasks": [{"id": "a"}, {"id": "by hand"}]}')
        return count_up(documents)

    after = project.transact(change)
    assert [task.id for task in after.plan.tasks] == ["a", "by hand"]
    assert after.plan.tasks[0].retry_count == after.state.iteration_count == 1
    assert Project(project.root).load() == after


def test_a_burst_of_edits_is_waited_out(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "LONGEST_PAUSE", 0.005)
    with_tasks(project, "a")
    edits = 0

    def change(documents: Documents) -> Documents:
        nonlocal edits
        if edits < 25:  # more than a few quick tries would get through
            edits += 1
            project.layout.plan.write_text(f'{{"tasks": [{{"id": "a"}}, {{"id": "e{edits}"}}]}}')
        return count_up(documents)

    project.transact(change)
    tasks = Project(project.root).load().plan.tasks
    assert [(t.id, t.retry_count) for t in tasks] == [("a", 1), ("e25", 0)]


def test_a_file_that_is_never_still_is_named_and_left_as_its_writer_left_it(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot, "RETRY_SECONDS", 0.1)
    with_tasks(project, "a")
    rounds = 0

    def change(documents: Documents) -> Documents:
        nonlocal rounds
        rounds += 1
        project.layout.plan.write_text(f'{{"tasks": [{{"id": "t{rounds}"}}]}}')
        return count_up(documents)

    with pytest.raises(
        StoreError, match=r"keeps changing .*plan\.json\. It changed continuously for 0\.1 s"
    ):
        project.transact(change)
    assert [t.id for t in Project(project.root).load().plan.tasks] == [f"t{rounds}"]
    assert project.load().state.iteration_count == 0, "not one half of the change either"


def test_a_large_plan_is_quick(project: Project) -> None:
    with_tasks(project, *(f"task-{n}" for n in range(10_000)))
    fresh = Project(project.root)
    assert effort(lambda: fresh.transact(count_up)) < 20
    assert len(fresh.load().plan.tasks) == 10_000


def consume(project: Project, *ids: str) -> None:
    project.transact(lambda d: d.replacing(pending=tuple(i for i in d.pending if i.id not in ids)))


def test_injections_are_queued_and_consumed(project: Project) -> None:
    first = project.queue_injection("Use the existing parser")
    second = project.queue_injection("And\nbe brief", by="alice")
    assert project.load().pending == (first, second)
    assert len(project.layout.injections.read_bytes().splitlines()) == 2
    consume(project, first.id)
    assert project.load().pending == (second,)


def test_injections_appended_by_hand_get_a_stable_id(project: Project) -> None:
    queued = project.queue_injection("one")
    line = '{"timestamp": "2026-01-26T14:30:00", "guidance": "two", "injected_by": "user"}\n'
    with project.layout.injections.open("a") as file:
        file.write(line + line + '{"guidance": "three"}\n')
    pending = project.load().pending
    assert [i.guidance for i in pending] == ["one", "two", "two", "three"]
    assert len({i.id for i in pending}) == 4
    assert Project(project.root).load().pending == pending
    consume(project, queued.id, pending[1].id)
    assert project.load().pending == pending[2:]


def test_lines_that_are_no_guidance_stay_and_are_told_once(project: Project) -> None:
    project.layout.injections.write_text('look at the tests\n{"guidance": "ok"}\n{"guidance": 5}\n')
    pending = project.load().pending
    assert [i.guidance for i in pending] == ["ok"]
    told = project.damage()
    assert len(told) == 2
    assert "look at the tests" in told[0]
    consume(project, pending[0].id)
    assert project.damage() == ()
    assert project.layout.injections.read_text() == 'look at the tests\n{"guidance": 5}\n'


def test_guidance_with_bytes_that_are_no_text_is_taken(project: Project) -> None:
    queued = project.queue_injection("caf\udce9", by="\udcff")
    assert queued.guidance == "caf\N{REPLACEMENT CHARACTER}"
    assert project.load().pending == (queued,)


def test_a_breaker_without_a_file_is_what_the_last_change_left(project: Project) -> None:
    """Else what the state sums up was taken for it, and a first run's money counted there twice."""

    def spend(docs: Documents) -> Documents:
        state = docs.state.model_copy(update={"total_cost_usd": 0.5})
        return docs.model_copy(update={"state": state})

    assert not project.layout.breaker.exists()
    left = project.transact(spend)
    assert left.breaker.total_cost == 0
    assert Project(project.root).load() == left
