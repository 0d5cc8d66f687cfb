"""Notifications: what is told, once, to a real command."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from ralph_tui.config.settings import Settings
from ralph_tui.domain import events as ev
from ralph_tui.domain.documents.questions import AskedQuestion, Option, Question
from ralph_tui.domain.events import LoopFinished
from ralph_tui.domain.outcomes import LoopStatus
from ralph_tui.domain.project_state import ApprovalKind, Phase
from ralph_tui.engine.run.notifications import Notification, NotificationTargets, Notifier
from ralph_tui.store.io.files import utc_now
from ralph_tui.store.project import Project
from tests.harness.waiting import until

KEEP = "cat >>told.jsonl"
HOSTILE = 'Delete `rm -rf ~`? $(touch owned) \'; touch owned #\x1b[31m\n"quoted"'


def notifier_for(
    root: Path, told: list[ev.Event], *, waits: bool = True, **more: object
) -> Notifier:
    notify = {"commands": [KEEP], **more}
    settings = Settings.model_validate({"project": {"name": "tracker"}, "notify": notify})
    path = {"PATH": "/usr/bin:/bin"}
    targets = NotificationTargets(Project(root), settings, None, path)
    return Notifier(targets, told.append, waits=waits)


def bodies(root: Path) -> list[dict[str, JsonValue]]:
    path = root / "told.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [json.loads(line) for line in lines]


def question(number: int, text: str = "Which?") -> ev.QuestionAsked:
    options = (Option(label="Red"), Option(label="Green"))
    asked = AskedQuestion(
        id=f"q-{number}",
        batch="b",
        phase=Phase.DISCOVERY,
        question=Question(question=text, options=options),
        asked_at=utc_now(),
    )
    return ev.QuestionAsked(question=asked)


def end(status: LoopStatus, code: int, reason: str = "why") -> LoopFinished:
    return LoopFinished(status=status, reason=reason, hint="Do it.", exit_code=code, iterations=2)


async def test_questions_of_one_call_are_told_together_and_an_end_is_told_once(
    tmp_path: Path,
) -> None:
    told: list[ev.Event] = []
    made = notifier_for(tmp_path, told)
    made.note(ev.IterationStarted(iteration=1, task_id="a", title="Do a"))
    made.note(question(1))
    made.note(question(2, "How many?"))
    await until(lambda: len(bodies(tmp_path)) == 1, what="the notification")
    await made.finish(end(LoopStatus.WAITING, 4))
    (body,) = bodies(tmp_path)
    assert [one["id"] for one in body["questions"]] == ["q-1", "q-2"]  # type: ignore[union-attr,call-overload,index]  # JSON
    assert (body["event"], body["reason"]) == ("waiting", "Which?, How many?")
    assert body["text"] == "tracker is waiting for you: Which?, How many?"
    assert body["task"] == {"id": "a", "title": "Do a"}
    assert body["exit_code"] is None
    assert not told


async def test_a_run_without_a_person_tells_at_its_end_what_was_asked(tmp_path: Path) -> None:
    made = notifier_for(tmp_path, [], waits=False)
    made.note(ev.ApprovalRequested(kind=ApprovalKind.PLAN, summary="3 tasks"))
    await made.finish(end(LoopStatus.WAITING, 4))
    (body,) = bodies(tmp_path)
    assert (body["event"], body["approval"], body["exit_code"]) == ("waiting", "plan", 4)


@pytest.mark.parametrize(
    ("status", "code", "event"),
    [
        (LoopStatus.COMPLETE, 0, "done"),
        (LoopStatus.STOPPED, 1, "stopped"),
        (LoopStatus.USAGE_LIMIT, 2, "stopped"),
        (LoopStatus.ERROR, 3, "failed"),
        (LoopStatus.WAITING, 4, "waiting"),
        (LoopStatus.INTERRUPTED, 130, ""),
    ],
)
async def test_every_end_but_an_interruption_is_told(
    tmp_path: Path, status: LoopStatus, code: int, event: str
) -> None:
    await notifier_for(tmp_path, []).finish(end(status, code))
    await notifier_for(tmp_path, [], on=["failed"]).finish(end(status, code))
    told = [(body["event"], body["exit_code"], body["iterations"]) for body in bodies(tmp_path)]
    again = [(event, code, 2)] if event == "failed" else []
    assert told == ([(event, code, 2)] if event else []) + again


async def test_a_command_reads_hostile_text_as_data(tmp_path: Path) -> None:
    told: list[ev.Event] = []
    made = notifier_for(tmp_path, told, commands=["cat >got.json", "true"], on=["waiting"])
    made.note(question(1, HOSTILE + " sk-ant-" + "x" * 30))
    await until((tmp_path / "got.json").exists, what="the command")
    await made.finish(end(LoopStatus.COMPLETE, 0))
    got = Notification.model_validate_json((tmp_path / "got.json").read_bytes())
    assert "touch owned" in got.questions[0].text
    assert "[redacted]" in got.questions[0].text
    assert not {"\x1b", "\n"} & set(got.questions[0].text)
    assert "sk-ant" not in (tmp_path / "got.json").read_text(encoding="utf-8")
    assert not (tmp_path / "owned").exists()
    assert not told


async def test_what_does_not_arrive_is_a_notice_and_no_more(tmp_path: Path) -> None:
    told: list[ev.Event] = []
    commands = ["echo no way >&2; exit 3", "true"]
    made = notifier_for(tmp_path, told, commands=commands)
    await made.finish(end(LoopStatus.STOPPED, 1))
    texts = [event.text for event in told if isinstance(event, ev.Notice)]
    assert texts == [
        "Sending the notification 'stopped' with `echo no way >&2; exit 3` failed: exit status 3: no way.",
    ]


@given(st.text(), st.text())
def test_any_text_makes_one_bounded_line_of_json(reason: str, title: str) -> None:
    told = Notification(event="done", text=reason, project=title, root="/p", reason=reason)
    body = told.body()
    assert body.count(b"\n") == 1
    assert json.loads(body)["reason"] == reason
