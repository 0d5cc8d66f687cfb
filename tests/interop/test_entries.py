"""Every importer ends in the same checks: ids, dependencies, priorities, criteria, bounds."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_tui.domain.plan.plan import ImplementationPlan, TaskStatus
from ralph_tui.domain.plan.plan_validation import odd_id
from ralph_tui.domain.verification.check_commands import runnable_command
from ralph_tui.interop.foreign_tasks import (
    MAX_TITLE,
    Listing,
    PlanEntry,
    criterion,
    import_listing,
    priority_of,
    slug,
    tasks_by_foreign_id,
)
from ralph_tui.interop.formats import MAX_TASKS, Imported, ImportOptions, InteropError, Source

SOURCE = Source("plan.json", "")


def entry(id_: str, *waits: str, line: int = 1, **more: object) -> PlanEntry:
    made = PlanEntry(id=id_, title=f"do {id_}", line=line, waits_for=dict.fromkeys(waits, line))
    return replace(made, **more)  # type: ignore[arg-type]


def read(entries: Sequence[PlanEntry], by: str = "task") -> Imported:
    wanted = ImportOptions(by="group" if by == "group" else "task")
    return import_listing(Listing(entries), "x", SOURCE, wanted)


def test_an_entry_becomes_a_task_that_knows_where_it_comes_from() -> None:
    got = read(
        [entry("A", text="Details.", line=4, labels=("ui",), notes="later", group="Phase 1")]
    )
    (task,) = got.tasks
    assert task.description == "do A\n\nDetails."
    assert (task.title, task.group, task.labels, task.notes) == (
        "do A",
        "Phase 1",
        ("ui",),
        "later",
    )
    assert task.origin is not None
    assert (task.origin.format, task.origin.path, task.origin.id) == ("x", "plan.json", "A")
    assert got.lines == {"A": 4}


def test_the_hash_changes_with_the_words_and_not_with_the_state() -> None:
    def hash_of(made: PlanEntry) -> str:
        origin = read([made]).tasks[0].origin
        assert origin is not None
        return origin.hash

    assert hash_of(entry("A")) == hash_of(entry("A", done=True)) == hash_of(entry("A", line=9))
    assert hash_of(entry("A")) == hash_of(entry("A", held=True, blocked="why"))
    assert hash_of(entry("A")) != hash_of(entry("A", text="more"))
    assert hash_of(entry("A")) != hash_of(entry("A", criteria=("x",)))


@pytest.mark.parametrize(
    ("entries", "line", "what"),
    [
        ([entry("A", "A", line=3)], 3, "in a cycle: A → A"),
        ([entry("A", *map(str, range(200_001)), line=8)], 8, "more than 200,000 dependencies"),
        ([entry("x" * 1_001, line=6)], 6, "an ID has 1,001 characters"),
        ([entry("A", criteria=["c"] * 201, line=6)], 6, "201 criteria"),
        ([entry(str(i), line=i) for i in range(MAX_TASKS + 1)], MAX_TASKS, "more than 5,000 tasks"),
    ],
)
def test_an_unusable_file_is_refused_with_its_line(
    entries: Sequence[PlanEntry], line: int, what: str
) -> None:
    with pytest.raises(InteropError) as told:
        read(entries)
    assert told.value.line == line
    assert what in told.value.what


@given(st.lists(st.text(max_size=40), min_size=1, max_size=8, unique=True))
def test_ralph_can_use_every_id_and_finds_the_task_by_the_foreign_one(ids: list[str]) -> None:
    chain = [entry(id_, *ids[index - 1 : index]) for index, id_ in enumerate(ids)]
    got = read(chain)
    plan = ImplementationPlan(tasks=got.tasks)
    assert not plan.problems()
    assert not any(odd_id(task.id) for task in got.tasks)
    found = tasks_by_foreign_id(plan, "x", "plan.json")
    assert [found[id_].id for id_ in ids] == [task.id for task in got.tasks]
    assert not tasks_by_foreign_id(plan, "x", "other.json")


def test_an_id_that_cannot_be_typed_is_replaced_and_said() -> None:
    got = read([entry("a-b"), entry(" a\nb"), entry("\x1b[2J", "a-b")])
    assert [task.id for task in got.tasks] == ["a-b", "a-b-2", "task-003"]
    assert got.tasks[2].dependencies == ("a-b",)
    assert "'a b' becomes a-b-2" in got.remarks[0]


def test_groups_become_tasks_that_wait_for_each_other() -> None:
    got = read(
        [
            entry("1", group="Set up", done=True, priority=1),
            entry("2", group="Set up", criteria=("It starts.",), priority=2),
            entry("3", "1", "2", group="The API", priority=3),
            entry("4", "3"),
        ],
        by="group",
    )
    first, second, third = got.tasks
    assert [task.id for task in got.tasks] == ["set-up", "the-api", "4"]
    assert (first.status, first.priority) == (TaskStatus.PENDING, 2)
    assert first.description == "Set up\n\n- done: 1: do 1\n- 2: do 2"
    assert first.verification_criteria == ("It starts.",)
    assert (second.dependencies, third.dependencies) == (("set-up",), ("the-api",))
    plan = ImplementationPlan(tasks=got.tasks)
    by_id = tasks_by_foreign_id(plan, "x", "plan.json")
    assert {key: task.id for key, task in by_id.items()} == {
        "1": "set-up",
        "2": "set-up",
        "3": "the-api",
        "4": "4",
    }


def test_a_file_without_groups_is_read_by_task_and_says_so() -> None:
    got = read([entry("1"), entry("2", "1")], by="group")
    assert [task.id for task in got.tasks] == ["1", "2"]
    assert got.remarks == ("The file has no groups, so `--by group` changes nothing.",)


def test_groups_have_ids_of_their_own_and_a_hash_without_their_state() -> None:
    def grouped(*, done: bool, blocked: str = "") -> Imported:
        return read(
            [
                entry("1", group="Set up", done=done),
                entry("2", group="Set up", blocked=blocked),
                entry("3", group="set-up!"),
                entry("set-up-2"),
            ],
            by="group",
        )

    before, after = grouped(done=False), grouped(done=True)
    assert [task.id for task in before.tasks] == ["set-up", "set-up-3", "set-up-2"]
    assert before.tasks[0].description != after.tasks[0].description
    for old, new in zip(before.tasks, after.tasks, strict=True):
        assert old.origin is not None
        assert new.origin is not None
        assert old.origin.hash == new.origin.hash
    assert grouped(done=False, blocked="why").tasks[0].status is TaskStatus.PENDING
    stuck = grouped(done=True, blocked="why").tasks[0]
    assert (stuck.status, stuck.blockers) == (TaskStatus.BLOCKED, ("2: why",))


def test_groups_in_a_circle_are_refused_with_the_way_out() -> None:
    woven = [entry("1", group="A"), entry("2", "1", group="B"), entry("3", "2", group="A")]
    assert len(read(woven).tasks) == 3
    with pytest.raises(InteropError, match="--by task"):
        read(woven, by="group")


@pytest.mark.parametrize(
    ("word", "number"),
    [
        ("critical", 0),
        ("HIGH", 1),
        (" medium ", 2),
        ("Low", 3),
        ("backlog", 4),
        ("P0", 0),
        ("p3", 3),
        ("P1: soon", 1),
        ("priority: high", 1),
        ("priority/P2", 2),
        ("High Priority", 1),
        ("p5", None),
        ("p10", None),
        ("bug", None),
        ("", None),
    ],
)
def test_priorities_are_on_one_scale(word: str, number: int | None) -> None:
    assert priority_of(word) == number


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("`npm test` passes", "npm test"),
        ("`uv run pytest -q`", "uv run pytest -q"),
        ("`make`", "make"),
        ("`./check.sh`", "./check.sh"),
        ("`CI=1 pnpm build`", "CI=1 pnpm build"),
        ("`frobnicate --version`", "frobnicate --version"),
        ("$ cargo test", "cargo test"),
        ("`GET /api/users`", None),
        ("`README.md`", None),
        ("`user_id column`", None),
        ("`Button` passes", None),
        ("Typecheck passes", None),
        ("Run `npm test` and see", None),
        ("$ 5 per month", None),
        ("`npm test" + " x" * 2_000 + "`", None),
    ],
)
def test_only_what_reads_as_a_command_is_one(text: str, command: str | None) -> None:
    assert runnable_command(criterion(text)) == command


def test_text_loses_what_moves_a_terminal_and_is_bounded() -> None:
    long = entry(
        "A", title="t" * 400, text="a\x1b[2Jb\r\nc", criteria=("`npm\x07 test`", "x" * 3_000)
    )
    got = read([long])
    (task,) = got.tasks
    assert task.description == "t" * (MAX_TITLE - 1) + "…\n\nab\nc"
    assert task.verification_criteria[0] == "`npm test`"
    assert len(str(task.verification_criteria[1])) == 2_000
    assert got.remarks == ("Long text was cut in A. The file still has the whole text.",)


def test_a_slug_has_no_more_than_its_words() -> None:
    assert slug("Add a *login* page!") == "add-a-login-page"
    assert slug("one two three", 8) == "one-two"
    assert slug("…!") == ""
