"""Text from models, tools and files is shown as it is, and does nothing."""

import asyncio
from typing import cast

import pytest
from rich.segment import Segment
from textual.pilot import Pilot

from ralph_tui.domain import events as ev
from ralph_tui.domain.documents.questions import Option, Permission, Question
from ralph_tui.domain.outcomes import FailureClass, LoopStatus, ToolOutcome
from ralph_tui.domain.permissions import NETWORK
from ralph_tui.domain.plan.plan import Task, TaskStatus
from ralph_tui.domain.project_state import ApprovalKind, Phase
from ralph_tui.domain.run.steps import StepOutcome
from ralph_tui.domain.verification.verification import Receipt, ReceiptStatus
from ralph_tui.tui.app.app import RalphApp
from ralph_tui.tui.screens.dialogs.confirm import Confirm
from ralph_tui.tui.screens.dialogs.text_reader import ToolDetail
from ralph_tui.tui.widgets.styled import pressing
from tests.tui import feed, waiting
from tests.tui.conftest import (
    Moment,
    Open,
    asks,
    drained,
    ralph,
    screen_text,
    script_of,
    through_the_menu,
    toasts,
    until,
)

HOSTILE = {
    "clipboard": "a\x1b]52;c;aGk=\x07b",
    "clipboard_st": "a\x1b]52;c;aGk=\x1b\\b",
    "title": "a\x1b]0;owned\x07b",
    "sgr": "a\x1b[31;1mred\x1b[0mb",
    "cursor": "a\x1b[2J\x1b[H\x1b[6nb",
    "dcs": "a\x1bPq#0\x1b\\b",
    "apc": "a\x1b_Gi=1\x1b\\b",
    "c1": "a\x9b31mb\x9d0;x\x9cc",
    "controls": "a\x00\x01\x08\x0b\x0c\x0e\x7fb",
    "overwrite": "rm -rf /\rls",
    "bidi": "a\u202eevil\u202c\u2066x\u2069b",
    "markup_link": "[@click=app.quit]x[/]",
    "markup_close": "[/]",
    "markup_wrong": "x[/y]",
    "markup_url": "[link=https://example.org]x[/link]",
    "type": "list[int]",
    "bold": "list[bold]",
    "path": "path [/tmp/x]",
    "variable": "$text-error [$primary]x",
    "fence": "```\n# not a heading\n```",
    "table": "|a|b|\n|-|-|\n" + "|x|y|\n" * 50,
    "surrogate": "a\ud800b",
    "wide": "\u6f22\u5b57" * 60 + "\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "long": "x" * 2_000,
    "tabs": "a\tb\nc\td",
    "backslash": "\\[/] \\",
}

FORBIDDEN = {chr(code) for code in (*range(32), *range(0x7F, 0xA0))} | set(
    "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ud800"
)


def hostile_run(bad: str) -> list[ev.Event]:
    """A run in which every text is hostile."""
    task = Task(
        id=bad,
        description=bad,
        status=TaskStatus.BLOCKED,
        dependencies=(bad, "other"),
        verification_criteria=(bad,),
        blockers=(bad,),
        completion_notes=bad,
    )
    receipt = Receipt(
        command=bad, source="criterion", status=ReceiptStatus.FAILED, tail=bad, reason=bad
    )
    return [
        ev.LoopStarted(run_id="r", project=bad, phase=Phase.BUILDING, model=bad),
        ev.PlanLoaded(tasks=(task, Task(id="waits", dependencies=(bad,)))),
        ev.TaskChanged(task=task, reason=bad),
        ev.IterationStarted(iteration=1, task_id=bad, title=bad, why=bad, attempt=2),
        ev.SessionStarted(session_id=bad, model=bad, tools=(bad,), cli_version=bad),
        ev.AssistantText(text=bad),
        ev.ToolStarted(tool_id="1", name=bad, input={bad: bad}),
        ev.ToolFinished(tool_id="1", outcome=ToolOutcome.ERROR, output=bad),
        ev.ToolStarted(tool_id="2", name="Bash", input={"command": bad, "description": bad}),
        ev.ToolRewritten(tool_id="2", before=bad, after=bad, rule=bad),
        ev.ToolDenied(tool_id="2", name="Bash", rule=bad, part=bad, reason=bad, instead=bad),
        ev.ToolStarted(
            tool_id="3", name="Edit", input={"file_path": bad, "old_string": bad, "new_string": "x"}
        ),
        ev.ToolFinished(tool_id="3", outcome=ToolOutcome.OK, output=bad),
        ev.GateStarted(task_id=bad, notes=bad, commands=(bad,)),
        ev.GateChecked(task_id=bad, receipt=receipt),
        ev.GateFinished(task_id=bad, passed=False, receipts=(receipt,), unchecked=(bad,)),
        ev.StepFinished(
            step=bad, kind=bad, what=bad, outcome=StepOutcome.FAILED, reason=bad, tail=bad
        ),
        ev.StepStarted(step=bad, kind=bad, what=bad),
        ev.LearningRecorded(category=bad, text=bad),
        ev.InjectionQueued(id=bad, text=bad),
        ev.HandoffStarted(reason=bad, percent=61),
        ev.HandoffFinished(path=bad),
        ev.AgentFailed(failure=FailureClass.UNKNOWN, message=bad, hint=bad),
        ev.ApiRetry(attempt=1, max_attempts=2, delay_seconds=1, error=bad),
        ev.Notice(level="error", text=bad),
        ev.TextDelta(text=bad),
    ]


def assert_inert(app: RalphApp) -> None:
    """Nothing on the screen can do anything to the terminal or the app."""
    for strip in app.screen._compositor.render_strips():
        before = None
        for segment in cast("list[Segment]", list(strip)):
            assert not FORBIDDEN & set(segment.text), repr(segment.text)
            meta = segment.style.meta if segment.style else {}
            click = meta.get("@click")
            if click is not None and click != before:  # a key of ours, and the one that it says
                assert click == pressing(segment.text.split()[0])["@click"]
            before = click  # what a key does is as good a place to click as the key before it
            assert not (segment.style and segment.style.link)


CHUNKS = [" ".join(list(HOSTILE.values())[part::3]) for part in range(3)]


@pytest.mark.parametrize(
    "texts",
    [CHUNKS, pytest.param(list(HOSTILE.values()), marks=pytest.mark.long)],
    ids=["together", "each"],
)
async def test_every_hostile_text_is_inert_on_the_dashboard(
    open_app: Open, texts: list[str]
) -> None:
    script = script_of()
    async with open_app(script, size=(150, 60)) as pilot:
        app = ralph(pilot)
        for bad in texts:
            events = hostile_run(bad)
            for event in events:
                script.news.put_nowait(event)
            await until(pilot, script.news.empty)
            await drained(pilot)
            assert app.view.tasks.keys() == {bad, "waits"}
            assert_inert(app)


@pytest.mark.parametrize(
    "bad",
    [CHUNKS[0], *(pytest.param(chunk, marks=pytest.mark.long) for chunk in CHUNKS[1:])],
    ids=["first", "second", "third"],
)
@pytest.mark.long
async def test_every_screen_is_inert(open_app: Open, bad: str) -> None:
    script = script_of(hostile_run(bad))
    async with open_app(script, size=(80, 24)) as pilot:
        app = ralph(pilot)
        assert_inert(app)
        await _details(pilot, app)
        await pilot.press("1", "j", "k", "enter")
        await through_the_menu(pilot)
        assert_inert(app)
        await pilot.press("escape", "3")
        await pilot.pause()
        assert_inert(app)
        await pilot.press("ctrl+p")
        await pilot.pause()
        assert_inert(app)
        await pilot.press("escape")
        script.news.put_nowait(
            ev.LoopFinished(status=LoopStatus.ERROR, reason=bad, hint=bad, exit_code=3)
        )
        await until(pilot, lambda: not app.bridge.running)
        await pilot.pause()
        assert_inert(app)


async def _details(pilot: Pilot[int], app: RalphApp) -> None:
    stream = app.dashboard.stream
    await pilot.press("2")
    for number in range(stream.timeline.end):
        if type(stream.timeline.entry(number)).__name__ == "NoteEntry" and number % 5:
            continue
        stream.move_cursor(number)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, ToolDetail))
        await pilot.pause()
        assert_inert(app)
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, ToolDetail))


async def test_markup_is_literal_text(open_app: Open) -> None:
    texts = [HOSTILE[n] for n in ("markup_link", "markup_close", "type", "bold", "path")]
    events = [ev.Notice(text=f"before {bad} after") for bad in texts]
    async with open_app(script_of(events)) as pilot:
        shown = screen_text(ralph(pilot))
        for bad in texts:
            assert f"before {bad} after" in shown


@pytest.mark.parametrize(
    "name",
    [
        "clipboard",
        "markup_link",
        *(pytest.param(n, marks=pytest.mark.long) for n in ("c1", "markup_close", "long")),
    ],
)
async def test_dialogs_and_toasts_are_inert(open_app: Open, name: str) -> None:
    bad = HOSTILE[name]
    tasks = (Task(id=f"a{bad}", description=bad),)
    script = script_of([feed.started(), ev.PlanLoaded(tasks=tasks)])
    async with open_app(script) as pilot:
        app = ralph(pilot)
        script.controls.error = RuntimeError(bad)
        await pilot.press("1", "t")
        await until(pilot, lambda: bool(toasts(app)))
        await pilot.press("s")
        await until(pilot, lambda: isinstance(app.screen, Confirm))
        await pilot.pause()
        assert_inert(app)
        await pilot.press("s")
        await until(pilot, lambda: any("Unexpected error" in toast for toast in toasts(app)))
        await asyncio.sleep(0)
        await pilot.pause()
        assert_inert(app)


BAD = " ".join(HOSTILE.values())
ASKED = Question(
    question=BAD,
    header=BAD,
    options=(Option(label=BAD, description=BAD, preview=BAD), Option(label="b")),
)


def hostile_call(tool: str) -> list[ev.Event]:
    call = Permission(
        tool=tool, argument=BAD, asked=BAD, rule=BAD, reason=BAD, patterns=(BAD,), sub_agent=True
    )
    return [feed.started(), *waiting.permitting(call)]


@pytest.mark.parametrize(
    ("events", "keys"),
    [
        (
            [*hostile_run(BAD)[:2], ev.ApprovalRequested(kind=ApprovalKind.PLAN, summary=BAD)],
            ("e",),
        ),
        (
            [
                feed.started(),
                ev.AssistantText(text=BAD),
                ev.QuestionAsked(question=waiting.asked(ASKED, task=BAD)),
            ],
            ("1", "escape"),
        ),
        *(
            pytest.param(hostile_call(tool), ("ctrl+r", *"why", "escape"), marks=pytest.mark.long)
            for tool in ("Bash", NETWORK, "mcp__eyes__look_at")
        ),
    ],
    ids=["plan", "question", "command", "network", "tool"],
)
async def test_what_a_person_is_asked_is_inert(
    open_app: Open, events: list[ev.Event], keys: tuple[str, ...]
) -> None:
    moment = Moment()
    async with open_app(script_of(events), clock=moment) as pilot:
        app = await asks(pilot, moment)
        assert_inert(app)
        for key in keys:
            before = screen_text(app)
            await pilot.press(key)
            await until(pilot, lambda seen=before: screen_text(app) != seen)  # type: ignore[misc]  # binds it
            assert_inert(app)


async def test_the_terminal_title_is_inert(open_app: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []
    async with open_app(script_of()) as pilot:
        app = ralph(pilot)
        assert app._driver is not None
        monkeypatch.setattr(app._driver, "write", written.append)
        app.bridge.sink(
            ev.LoopStarted(run_id="r", project="x\x07\x1b]52;c;aGk=\x07y", phase=Phase.BUILDING)
        )
        app.lifecycle.flush()
        titles = [text for text in written if text.startswith("\x1b]0;")]
        assert titles == ["\x1b]0;● xy running - ralph\x07"]
