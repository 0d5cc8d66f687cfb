"""The model's questions on the screen: asked in time, answered in full, never lost."""

from collections.abc import Callable
from typing import cast

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, TextArea

from ralph_tui.domain import events as ev
from ralph_tui.domain.documents.questions import Option, Question
from ralph_tui.domain.errors import RalphError
from ralph_tui.domain.view.loop_view import RunState
from ralph_tui.tui.app.app import RalphApp
from ralph_tui.tui.screens.dashboard import Dashboard
from ralph_tui.tui.screens.dialogs.question import QuestionDialog
from ralph_tui.tui.screens.dialogs.text_input import GuidanceDialog
from tests.tui import feed
from tests.tui.conftest import Moment, Opened, click_on, screen_text, script_of, toasts, until
from tests.tui.test_hostile import HOSTILE, assert_inert
from tests.tui.waiting import LANGUAGE, PARTS, STORE, answered, asked, asking, discovery

Open = Callable[..., Opened]


def ralph(pilot: Pilot[int]) -> RalphApp:
    return cast("RalphApp", pilot.app)


async def asks(pilot: Pilot[int], moment: Moment) -> RalphApp:
    app = ralph(pilot)
    await until(pilot, lambda: isinstance(app.screen, QuestionDialog))
    await pilot.pause()
    moment.passes(2)
    return app


async def back(pilot: Pilot[int]) -> None:
    await until(pilot, lambda: isinstance(ralph(pilot).screen, Dashboard))


async def test_a_question_appears_with_who_asks_and_what_was_said_before(open_app: Open) -> None:
    moment = Moment()
    async with open_app(script_of(asking()), clock=moment) as pilot:
        app = await asks(pilot, moment)
        text = screen_text(app)
        for part in (
            "discovery asks",
            "Before I write the spec I need to know who it is for.",
            "Which language shall the greeter speak?",
            "What the first customers asked for.",
            "In my own words",
            "Decline",
        ):
            assert part in text
        assert app.view.run_state is RunState.WAITING
        assert app.title == "? slug-demo waiting for you - ralph"


async def test_a_digit_chooses_and_enter_sends_after_a_look(open_app: Open) -> None:
    moment = Moment()
    script = script_of(asking())
    async with open_app(script, clock=moment) as pilot:
        app = await asks(pilot, moment)
        await pilot.press("2")
        await until(pilot, lambda: "Send the answer" in screen_text(app))
        assert "French" in screen_text(app)
        assert script.controls.asked == []
        await pilot.press("enter")
        await until(pilot, lambda: script.controls.asked == ["answer q-b1-1: French by screen"])
        await back(pilot)
        await pilot.pause()
        assert isinstance(app.screen, Dashboard), "it does not open again before the loop says so"


async def test_several_questions_with_every_kind_of_answer(open_app: Open) -> None:
    moment = Moment()
    script = script_of(asking(LANGUAGE, PARTS, STORE))
    async with open_app(script, clock=moment) as pilot:
        app = await asks(pilot, moment)
        await pilot.press("down", "enter")
        await until(pilot, lambda: "Which parts" in screen_text(app))
        await pilot.press("enter")
        await until(pilot, lambda: any("Mark at least one" in t for t in toasts(app)))
        await pilot.press("space", "3", "4", *"a b", "enter")
        await until(pilot, lambda: "In my own words: a b" in screen_text(app))
        await pilot.press("space", *"ot", "enter")
        await until(pilot, lambda: "In my own words: a bot" in screen_text(app))
        await pilot.press("enter")
        await until(pilot, lambda: "How are names stored?" in screen_text(app))
        await pilot.press("4")
        await until(pilot, lambda: "Send the answers" in screen_text(app))
        assert "declined" in screen_text(app)
        await pilot.press("enter")
        await until(pilot, lambda: len(script.controls.asked) == 3)
        assert script.controls.asked == [
            "answer q-b1-1: French by screen",
            "answer q-b1-2: Command line, Library, a bot by screen",
            "answer q-b1-3: declined by screen",
        ]


async def test_the_review_leads_back_and_what_is_missing_is_named(open_app: Open) -> None:
    moment = Moment()
    script = script_of(asking(LANGUAGE, STORE))
    async with open_app(script, clock=moment) as pilot:
        app = await asks(pilot, moment)
        await pilot.press("1", "right", "enter")
        await until(pilot, lambda: any("no answer yet" in t for t in toasts(app)))
        await until(pilot, lambda: "How are names stored?" in screen_text(app))
        await pilot.press("left", "3", "1")
        await until(pilot, lambda: "Send the answers" in screen_text(app))
        assert "Both" in screen_text(app)
        await pilot.press("1")
        await until(pilot, lambda: "Which language" in screen_text(app))
        await pilot.press("1", "right", "enter")
        await until(pilot, lambda: len(script.controls.asked) == 2)
        assert script.controls.asked[0] == "answer q-b1-1: English by screen"


async def test_keys_are_ignored_until_the_person_has_paused(open_app: Open) -> None:
    moment = Moment()
    script = script_of(asking())
    async with open_app(script, clock=moment) as pilot:
        app = ralph(pilot)
        await until(pilot, lambda: isinstance(app.screen, QuestionDialog))
        await pilot.press("2", "enter", "escape", "right")
        for _ in range(3):
            moment.passes(1.4)
            await pilot.press("2", "enter", "escape")
        assert isinstance(app.screen, QuestionDialog)
        assert "Which language" in screen_text(app)
        moment.passes(1.5)
        await pilot.press("escape")
        await back(pilot)


async def test_escape_defers_keeps_what_was_marked_and_a_reopens(open_app: Open) -> None:
    moment = Moment()
    script = script_of(asking(LANGUAGE, PARTS))
    async with open_app(script, clock=moment) as pilot:
        app = await asks(pilot, moment)
        await pilot.press("3", "2", "4", *"and more", "escape", "escape")
        await back(pilot)
        for _ in range(3):
            await pilot.pause()
        assert isinstance(app.screen, Dashboard)
        assert "Press a to answer" in screen_text(app)
        assert "a answer " in screen_text(app).splitlines()[-1]
        await pilot.press("a")
        await asks(pilot, moment)
        await until(pilot, lambda: "Language ✓" in screen_text(app))
        assert "Your answers" in screen_text(app), "all are given, so what is left is to send them"
        await pilot.press("left", "4", "!", "enter", "right", "enter")
        await until(pilot, lambda: len(script.controls.asked) == 2)
        assert script.controls.asked[1] == "answer q-b1-2: Web page, and more! by screen"


@pytest.mark.parametrize(
    ("forward", "back_again"),
    [("right", "left"), pytest.param("tab", "shift+tab", marks=pytest.mark.long)],
)
async def test_questions_are_paged_with_arrows_and_tab_and_tab_also_leaves_the_text(
    open_app: Open, forward: str, back_again: str
) -> None:
    moment = Moment()
    async with open_app(script_of(asking(LANGUAGE, PARTS)), clock=moment) as pilot:
        app = await asks(pilot, moment)
        await pilot.press(forward)
        await until(pilot, lambda: "Which parts" in screen_text(app))
        await pilot.press("4", *"ab", "left", "c", "tab")
        await until(pilot, lambda: "Your answers" in screen_text(app))
        assert "acb" in screen_text(app), "an arrow moves in the text"
        await pilot.press(back_again, back_again)
        await until(pilot, lambda: "Which language" in screen_text(app))
        await pilot.press(back_again)
        await pilot.pause()
        assert "Which language" in screen_text(app), "the first question has none before it"


async def test_it_waits_while_the_person_writes_and_rings_once(
    open_app: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    rung: list[bool] = []
    monkeypatch.setattr(RalphApp, "bell", lambda self: rung.append(True))
    moment = Moment()
    script = script_of(discovery())
    async with open_app(script, clock=moment) as pilot:
        app = ralph(pilot)
        await pilot.press("i")
        await until(pilot, lambda: isinstance(app.screen, GuidanceDialog))
        script.news.put_nowait(ev.QuestionAsked(question=asked(LANGUAGE)))
        await until(pilot, lambda: app.view.run_state is RunState.WAITING)
        await pilot.press(*"12 a")
        assert isinstance(app.screen, GuidanceDialog)
        editor = app.screen.query_one(TextArea)
        await until(pilot, lambda: editor.text == "12 a")
        assert rung == [True]
        assert any("Ralph needs your answer" in t for t in toasts(app))
        await pilot.press("escape")
        await asks(pilot, moment)
        assert rung == [True]


@pytest.mark.long
async def test_a_search_is_not_broken_off(open_app: Open) -> None:
    moment = Moment()
    script = script_of(discovery())
    async with open_app(script, clock=moment) as pilot:
        app = ralph(pilot)
        await pilot.press("slash", *"read")
        script.news.put_nowait(ev.QuestionAsked(question=asked(LANGUAGE)))
        await until(pilot, lambda: app.view.run_state is RunState.WAITING)
        await pilot.press("2")
        assert isinstance(app.screen, Dashboard)
        assert isinstance(app.focused, Input)
        assert app.focused.value == "read2"
        await pilot.press("escape")
        await asks(pilot, moment)


async def test_it_closes_when_somebody_else_answered(open_app: Open) -> None:
    moment = Moment()
    script = script_of(asking(LANGUAGE, PARTS))
    async with open_app(script, clock=moment) as pilot:
        app = await asks(pilot, moment)
        await pilot.press("right")
        script.news.put_nowait(answered(asked(LANGUAGE)))
        await until(
            pilot, lambda: len(app.view.questions) == 1 and "Language" not in screen_text(app)
        )
        assert "Which parts" in screen_text(app)
        script.news.put_nowait(answered(asked(PARTS, 2)))
        await back(pilot)
        assert "Answered elsewhere." in toasts(app)
        assert script.controls.asked == []
        await pilot.press("a")
        await until(pilot, lambda: "Nothing needs your answer." in toasts(app))


async def test_the_next_batch_is_asked_after_the_first(open_app: Open) -> None:
    moment = Moment()
    script = script_of(asking())
    async with open_app(script, clock=moment) as pilot:
        app = await asks(pilot, moment)
        await pilot.press("1", "enter")
        await until(pilot, lambda: len(script.controls.asked) == 1)
        script.news.put_nowait(answered(asked(LANGUAGE)))
        script.news.put_nowait(ev.QuestionAsked(question=asked(STORE, batch="b2", task="demo-02")))
        await until(pilot, lambda: "How are names stored?" in screen_text(app))
        assert "building, task demo-02, asks" in screen_text(app)


async def test_an_answer_that_cannot_be_written_is_said_and_kept(open_app: Open) -> None:
    moment = Moment()
    script = script_of(asking())
    async with open_app(script, clock=moment) as pilot:
        app = await asks(pilot, moment)
        script.controls.error = RalphError("The disk is full.", "Make room.")
        await pilot.press("2", "enter")
        await until(pilot, lambda: "The disk is full. Make room." in toasts(app))
        script.controls.error = None
        await pilot.press("a")
        await asks(pilot, moment)
        await until(pilot, lambda: "→ French" in screen_text(app))


async def test_a_click_chooses(open_app: Open) -> None:
    moment = Moment()
    async with open_app(script_of(asking()), clock=moment) as pilot:
        app = await asks(pilot, moment)
        lines = screen_text(app).splitlines()
        y = next(i for i, line in enumerate(lines) if "French" in line)
        await pilot.click(offset=(lines[y].index("French"), y), times=2)
        await until(pilot, lambda: "Send the answer" in screen_text(app))


async def test_several_answers_are_given_with_the_mouse_alone(open_app: Open) -> None:
    moment = Moment()
    async with open_app(script_of(asking(LANGUAGE, PARTS)), clock=moment) as pilot:
        app = await asks(pilot, moment)
        await click_on(pilot, "Scope")
        await click_on(pilot, "Web page")
        await until(pilot, lambda: "[x] Web page" in screen_text(app))
        y = next(n for n, text in enumerate(screen_text(app).splitlines()) if "Library" in text)
        await pilot.click(offset=(30, y), times=2)  # who clicks twice means it once
        await until(pilot, lambda: "[x] Library" in screen_text(app))
        await click_on(pilot, "Web page")
        await until(pilot, lambda: "[ ] Web page" in screen_text(app))
        await click_on(pilot, "review")
        await until(pilot, lambda: "Send the answers" in screen_text(app))
        assert "Library" in screen_text(app)


async def test_a_long_question_fits_and_every_option_can_be_reached(open_app: Open) -> None:
    moment = Moment()
    options = tuple(Option(label=f"Option {n}", description="words " * 40) for n in range(12))
    question = Question(question="Why? " * 60, header="A header " * 9, options=options)
    async with open_app(script_of(asking(question)), size=(60, 16), clock=moment) as pilot:
        app = await asks(pilot, moment)
        await pilot.press("end", "k", "k")
        await until(pilot, lambda: "Option 11" in screen_text(app))
        await pilot.press("enter")
        await until(pilot, lambda: "Send the answer" in screen_text(app))
        assert "Option 11" in screen_text(app)


async def test_a_hostile_question_is_inert(open_app: Open) -> None:
    moment = Moment()
    bad = " ".join(HOSTILE.values())
    question = Question(
        question=bad,
        header=bad,
        options=(Option(label=bad, description=bad, preview=bad), Option(label="b")),
    )
    events: list[ev.Event] = [
        feed.started(),
        ev.AssistantText(text=bad),
        ev.QuestionAsked(question=asked(question, task=bad)),
    ]
    async with open_app(script_of(events), clock=moment) as pilot:
        app = await asks(pilot, moment)
        assert_inert(app)
        await pilot.press("1")
        await pilot.pause()
        assert_inert(app)
        await pilot.press("escape")
        await back(pilot)
        assert_inert(app)
