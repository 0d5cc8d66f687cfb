"""The plan at any time: drawn, changed, split."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_tui.domain import events as ev
from ralph_tui.domain.errors import RalphError
from ralph_tui.domain.plan.plan import ImplementationPlan, Task, TaskStatus, work_order
from ralph_tui.engine.control.plan_edits import TaskFields
from ralph_tui.present.board.plan_graph import graph_blocks
from ralph_tui.present.text.glyphs import ASCII, UNICODE
from ralph_tui.present.text.spans import plain, width_of
from ralph_tui.tui.screens.dashboard import Dashboard
from ralph_tui.tui.screens.dialogs.edit_task import (
    AddTask,
    EditTask,
    FieldError,
    TypedFields,
    parse_fields,
)
from ralph_tui.tui.screens.dialogs.plan_review import PlanReview
from ralph_tui.tui.screens.dialogs.text_input import SplitTask
from tests.tui import feed
from tests.tui.conftest import Open, ralph, screen_text, script_of, through_the_menu, toasts, until


def task(name: str, *needs: str) -> Task:
    return Task(id=name, description=f"Do {name}", dependencies=needs)


def drawn(*tasks: Task, width: int = 40) -> list[str]:
    blocks = graph_blocks(work_order(tasks), {t.id: t for t in tasks}, width, UNICODE)
    return [plain(line).rstrip() for block in blocks for line in block.lines]


def test_the_graph_joins_every_task_with_what_it_waits_for() -> None:
    assert drawn(task("1"), task("2", "1"), task("3", "1"), task("4", "2", "3")) == [
        "○    1  Do 1",
        "├─◌  2  Do 2",
        "◌ │  3  Do 3",
        "└─◌  4  Do 4",
    ]
    crossing = (task("1"), task("2"), task("3"), task("4", "1", "3"), task("5", "2", "1"))
    assert drawn(*crossing) == [
        "○        1  Do 1",
        "│ ○      2  Do 2",
        "│ │ ○    3  Do 3",
        "├─│─┴─◌  4  Do 4",
        "◌─┘      5  Do 5",
    ]


def test_circles_and_unknown_tasks_are_drawn_and_named() -> None:
    text = "\n".join(drawn(task("a", "b"), task("b", "a"), task("c", "ghost"), width=60))
    assert "ghost is not in the plan" in text
    assert text.count("Do ") == 3


PLANS = st.lists(
    st.tuples(st.integers(0, 9), st.lists(st.integers(0, 14), max_size=4)), max_size=15
).map(
    lambda made: [
        Task(id=f"t{n}", priority=p, dependencies=tuple(f"t{d}" for d in deps))
        for n, (p, deps) in enumerate(made)
    ]
)


@given(PLANS, st.integers(20, 100), st.sampled_from([UNICODE, ASCII]))
def test_any_plan_is_drawn_once_in_the_order_of_work(
    tasks: list[Task], width: int, glyphs: object
) -> None:
    order = work_order(tasks)
    assert sorted(t.id for t in order) == sorted(t.id for t in tasks)
    plan = ImplementationPlan(tasks=tuple(tasks))
    for expected in order:  # the loop itself, as long as it finds something to do
        chosen = plan.get_next_task()
        if chosen is None:
            break
        assert chosen.id == expected.id
        plan = plan.with_task(chosen.id, status=TaskStatus.COMPLETE)
    signs = ASCII if glyphs is ASCII else UNICODE
    for block in graph_blocks(work_order(tasks), {t.id: t for t in tasks}, width, signs):
        assert all(width_of(line) <= width for line in block.lines)


async def test_v_draws_the_plan_and_tasks_are_changed_there(open_app: Open) -> None:
    script = script_of(feed.running())
    async with open_app(script, size=(80, 24)) as pilot:
        app = ralph(pilot)
        await pilot.press("v")
        await until(pilot, lambda: isinstance(app.screen, PlanReview))
        assert isinstance(app.screen, PlanReview)
        plan = app.screen.plan
        await until(pilot, lambda: plan.row_of("demo-04") is not None)
        await until(pilot, lambda: "─◌" in screen_text(app) or "├" in screen_text(app))
        plan.move_cursor("demo-04")
        await pilot.press("minus")
        await until(pilot, lambda: script.controls.asked[-1:] == ["move demo-04: +1"])
        await pilot.press("v")
        await until(pilot, lambda: "priority 4" in screen_text(app))
        assert app.screen.plan.cursor == "demo-04"
        script.news.put_nowait(ev.PlanLoaded(tasks=feed.TASKS[3:], source="disk"))
        await until(pilot, lambda: "demo-02  Turn" not in screen_text(app))
        assert app.screen.plan.cursor == "demo-04"
        await pilot.press("enter")
        await through_the_menu(pilot)
        await pilot.press("escape", "escape")
        await until(pilot, lambda: isinstance(app.screen, Dashboard))


async def test_a_task_is_split_and_a_refusal_keeps_the_parts(open_app: Open) -> None:
    script = script_of(feed.running())
    async with open_app(script) as pilot:
        app = ralph(pilot)
        await pilot.press("1")
        app.dashboard.board.move_cursor("demo-04")
        await pilot.press("S")
        await until(pilot, lambda: isinstance(app.screen, SplitTask))
        script.controls.error = RalphError("Task demo-04 is being worked.", "Pause first.")
        await pilot.press(*"and write", "ctrl+s")
        said = "Task demo-04 is being worked. Pause first."
        await until(pilot, lambda: said in screen_text(app))
        assert said not in toasts(app), "it stands beside what was typed"
        script.controls.error = None
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, Dashboard))
        await pilot.press("S")
        await until(
            pilot, lambda: isinstance(app.screen, SplitTask) and "and write" in app.screen.draft
        )
        await pilot.press("ctrl+s")
        await until(pilot, lambda: len(script.controls.asked) == 1)
        title = feed.TASKS[3].title
        assert script.controls.asked == [f"split demo-04: {[title, 'and write']}"]


@pytest.mark.parametrize(
    ("keys", "asked"),
    [
        (("tab", "tab", *", demo-04"), "{'after': ('demo-01', 'demo-04')}"),
        pytest.param(
            ("tab", "tab", "tab", "backspace", "7"), "{'priority': 7}", marks=pytest.mark.long
        ),
        (("tab", "tab", "tab", "tab", "ctrl+u", *"45k"), "{'tokens': 45000}"),
        pytest.param(
            ("tab", "tab", "tab", "tab", "ctrl+u"), "{'tokens': 0}", marks=pytest.mark.long
        ),
        pytest.param(("shift+tab", *"opus"), "{'model': 'opus'}", marks=pytest.mark.long),
    ],
)
async def test_every_field_is_edited(open_app: Open, keys: tuple[str, ...], asked: str) -> None:
    script = script_of(feed.running())
    async with open_app(script) as pilot:
        app = ralph(pilot)
        await pilot.press("1")
        app.dashboard.board.move_cursor("demo-02")
        await pilot.press("e")
        await until(pilot, lambda: isinstance(app.screen, EditTask))
        await pilot.press(*keys, "ctrl+s")
        await until(pilot, lambda: script.controls.asked == [f"edit demo-02: {asked}"])


async def test_a_refused_edit_stays_open_and_says_why_where_it_is_seen(open_app: Open) -> None:
    script = script_of(feed.running())
    async with open_app(script, size=(80, 24)) as pilot:
        app = ralph(pilot)
        await pilot.press("1")
        app.dashboard.board.move_cursor("demo-02")
        await pilot.press("e")
        await until(pilot, lambda: isinstance(app.screen, EditTask))
        form = app.screen
        await pilot.press("tab", "tab", "tab", "backspace", "x", "ctrl+s")
        await until(pilot, lambda: "must be a whole number" in screen_text(app))
        await pilot.press("backspace", "2", "shift+tab", *", ghost")
        script.controls.error = RalphError("Task demo-02 depends on ghost.", "Nothing was changed.")
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "Task demo-02 depends on ghost." in screen_text(app))
        assert app.screen is form
        assert "demo-01, ghost" in screen_text(app)
        assert not toasts(app), "they would lie over the fields"
        script.controls.error = None
        await pilot.press(*["backspace"] * len(", ghost"), *", demo-04", "ctrl+s")
        await until(pilot, lambda: isinstance(app.screen, Dashboard))
        assert script.controls.asked == ["edit demo-02: {'after': ('demo-01', 'demo-04')}"]


async def test_a_draft_is_not_laid_over_a_task_that_somebody_changed_meanwhile(
    open_app: Open,
) -> None:
    script = script_of(feed.running())
    async with open_app(script) as pilot:
        app = ralph(pilot)
        await pilot.press("1")
        app.dashboard.board.move_cursor("demo-04")
        for change in (None, Task(id="demo-04", description="Read them from a file", priority=4)):
            await pilot.press("e")
            await until(pilot, lambda: isinstance(app.screen, EditTask))
            assert isinstance(app.screen, EditTask)
            assert "Read titles" in app.screen.description.text, "as it is, or as it was typed"
            await pilot.press(*"Now: ", "escape")
            await until(pilot, lambda: isinstance(app.screen, Dashboard))
            if change is not None:
                script.news.put_nowait(ev.TaskChanged(task=change))
                await until(pilot, lambda: "Read them from a file" in screen_text(app))
        await pilot.press("e")
        await until(pilot, lambda: isinstance(app.screen, EditTask))
        assert isinstance(app.screen, EditTask)
        assert app.screen.description.text == "Read them from a file"


BEFORE = TypedFields("Do it", "tests", "a", "2", "30000", "")


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({}, TaskFields()),
        ({"description": " Do it\n", "tokens": "30000"}, TaskFields()),
        ({"description": "\n "}, "description"),
        ({"priority": ""}, "priority"),
        ({"priority": "soon"}, "priority"),
        ({"priority": "1.5"}, "priority"),
        ({"priority": "9" * 5_000}, "priority"),
        ({"priority": " -1 "}, TaskFields(priority=-1)),
        ({"tokens": "-5"}, "tokens"),
        ({"tokens": "many"}, "tokens"),
        ({"tokens": "k"}, "tokens"),
        ({"tokens": "9" * 30}, "tokens"),
        ({"tokens": "45K"}, TaskFields(tokens=45_000)),
        ({"tokens": "45 000"}, TaskFields(tokens=45_000)),
        ({"tokens": "45,000"}, TaskFields(tokens=45_000)),
        ({"tokens": " "}, TaskFields(tokens=0)),
        ({"dependencies": "a,, b ,"}, TaskFields(dependencies=("a", "b"))),
        ({"criteria": "\n"}, TaskFields(criteria=())),
        ({"model": " opus "}, TaskFields(model="opus")),
    ],
)
def test_what_is_typed_is_meant_or_its_field_is_named(
    changes: dict[str, str], found: TaskFields | str
) -> None:
    means = parse_fields(BEFORE, BEFORE._replace(**changes))
    assert (means.field if isinstance(means, FieldError) else means) == found


def test_a_new_task_needs_a_description_and_nothing_else() -> None:
    assert isinstance(parse_fields(TypedFields(), TypedFields(priority="3")), FieldError)
    assert parse_fields(TypedFields(), TypedFields("Do it")) == TaskFields("Do it")
    wrong = parse_fields(TypedFields(), TypedFields("Do it", priority="soon"))
    assert isinstance(wrong, FieldError)
    assert wrong.field == "priority"


async def test_a_task_is_added_where_the_plan_is_reviewed(open_app: Open) -> None:
    script = script_of(feed.running())
    async with open_app(script, size=(80, 24)) as pilot:
        app = ralph(pilot)
        await pilot.press("v")
        await until(pilot, lambda: isinstance(app.screen, PlanReview))
        await pilot.press("A", "ctrl+s")
        await until(pilot, lambda: "A task needs a description." in screen_text(app))
        await pilot.press(*"Say when", "tab", "tab", *"ghost", "tab", "tab", *"9k", "escape")
        await until(pilot, lambda: any("Press A to continue" in t for t in toasts(app)))
        script.controls.error = RalphError("Task 'demo-07' depends on 'ghost'.", "Look.")
        await pilot.press("A", "ctrl+s")
        await until(pilot, lambda: "Task 'demo-07' depends on 'ghost'. Look." in screen_text(app))
        script.controls.error = None
        await pilot.press("tab", "tab", "ctrl+u", *"demo-05", "ctrl+s")
        await until(pilot, lambda: "Added demo-07: Say when" in toasts(app))
        wanted = {"text": "Say when", "after": ("demo-05",), "tokens": 9_000}
        assert script.controls.asked == [f"add: {wanted}"]
        await pilot.press("A")
        await until(
            pilot, lambda: isinstance(app.screen, AddTask) and app.screen.typed == TypedFields()
        )


async def test_a_very_long_plan_is_a_line_a_task_and_moves_like_a_short_one(open_app: Open) -> None:
    tasks = tuple(Task(id=f"t{n}", description=f"Do {n}\nand more") for n in range(2_000))
    script = script_of([feed.started(), ev.PlanLoaded(tasks=tasks)])
    async with open_app(script) as pilot:
        app = ralph(pilot)
        await pilot.press("v", "v")
        await until(pilot, lambda: isinstance(app.screen, PlanReview))
        assert isinstance(app.screen, PlanReview)
        plan = app.screen.plan
        await until(pilot, lambda: plan.row_count() == 2_000)
        seen = []
        for key in ("j", "j", "G", "k"):
            await pilot.press(key)
            seen.append(plan.cursor)
        assert seen == ["t1", "t2", "t1999", "t1998"]
        await until(pilot, lambda: "Do 1999" in screen_text(app))
