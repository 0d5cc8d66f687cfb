"""Notifications: what is told, once, to a real command and to a webhook on this machine; never off it."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from ralph_tui.config.settings import Settings
from ralph_tui.domain import events as ev
from ralph_tui.domain.documents.questions import AskedQuestion, Option, Question
from ralph_tui.domain.errors import ConfigError
from ralph_tui.domain.events import LoopFinished
from ralph_tui.domain.outcomes import LoopStatus
from ralph_tui.domain.project_state import ApprovalKind, Phase
from ralph_tui.engine.run import notifications
from ralph_tui.engine.run.notifications import (
    Notification,
    NotificationTargets,
    Notifier,
    Webhook,
    webhook_of,
)
from ralph_tui.store.io.files import utc_now
from ralph_tui.store.project import Project
from tests.harness.tables import Case, Line, each_case, spelled
from tests.harness.waiting import until

OK = b"HTTP/1.1 204 No Content\r\n\r\n"
HOSTILE = 'Delete `rm -rf ~`? $(touch owned) \'; touch owned #\x1b[31m\n"quoted"'


@dataclass
class Hook:
    """A loopback server that keeps what was posted."""

    answer: bytes
    port: int = 0
    heads: list[str] = field(default_factory=list)
    bodies: list[dict[str, JsonValue]] = field(default_factory=list)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook?room=1"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        size = int(head.lower().split("content-length: ")[1].split("\r\n")[0])
        self.heads.append(head)
        self.bodies.append(json.loads(await reader.readexactly(size)))
        writer.write(self.answer)
        writer.close()


@asynccontextmanager
async def hook_of(answer: bytes = OK) -> AsyncIterator[Hook]:
    hook = Hook(answer)
    server = await asyncio.start_server(hook.serve, "127.0.0.1", 0)
    hook.port = server.sockets[0].getsockname()[1]
    async with server:
        yield hook


def notifier_for(
    root: Path, told: list[ev.Event], address: str = "", *, waits: bool = True, **more: object
) -> Notifier:
    settings = Settings.model_validate({"project": {"name": "tracker"}, "notify": more})
    path = {"PATH": "/usr/bin:/bin"}
    targets = NotificationTargets(Project(root), settings, webhook_of(address, {}), None, path)
    return Notifier(targets, told.append, waits=waits)


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
    async with hook_of() as hook:
        made = notifier_for(tmp_path, told, hook.address)
        made.note(ev.IterationStarted(iteration=1, task_id="a", title="Do a"))
        made.note(question(1))
        made.note(question(2, "How many?"))
        await until(lambda: len(hook.bodies) == 1, what="the notification")
        await made.finish(end(LoopStatus.WAITING, 4))
    (body,) = hook.bodies
    assert [one["id"] for one in body["questions"]] == ["q-1", "q-2"]  # type: ignore[union-attr,call-overload,index]  # JSON
    assert (body["event"], body["reason"]) == ("waiting", "Which?, How many?")
    assert body["text"] == "tracker is waiting for you: Which?, How many?"
    assert body["task"] == {"id": "a", "title": "Do a"}
    assert body["exit_code"] is None
    assert "Content-Type: application/json" in hook.heads[0]
    assert hook.heads[0].startswith("POST /hook?room=1 HTTP/1.1\r\n")
    assert not told


async def test_a_run_without_a_person_tells_at_its_end_what_was_asked(tmp_path: Path) -> None:
    async with hook_of() as hook:
        made = notifier_for(tmp_path, [], hook.address, waits=False)
        made.note(ev.ApprovalRequested(kind=ApprovalKind.PLAN, summary="3 tasks"))
        await made.finish(end(LoopStatus.WAITING, 4))
    (body,) = hook.bodies
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
    async with hook_of() as hook:
        made = notifier_for(tmp_path, [], hook.address)
        await made.finish(end(status, code))
        only = notifier_for(tmp_path, [], hook.address, on=["failed"])
        await only.finish(end(status, code))
    told = [(body["event"], body["exit_code"], body["iterations"]) for body in hook.bodies]
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
    async with hook_of(b"HTTP/1.1 302 Found\r\nLocation: https://example.org/\r\n\r\n") as hook:
        made = notifier_for(tmp_path, told, hook.address, commands=commands)
        await made.finish(end(LoopStatus.STOPPED, 1))
    texts = [event.text for event in told if isinstance(event, ev.Notice)]
    assert texts == [
        "Sending the notification 'stopped' with `echo no way >&2; exit 3` failed: exit status 3: no way.",
        "Sending the notification 'stopped' with the webhook at 127.0.0.1 failed: a redirect (status 302), which ralph does not follow.",
    ]
    assert len(hook.bodies) == 1


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (b"HTTP/1.1 500 Oh\r\n\r\n", "status 500"),
        (b"", "no HTTP response"),
        (b"SSH-2.0 hello there\r\n", "no HTTP response"),
        (b"HTTP/1.1 x y\r\n", "no HTTP response"),
        (b"x" * 100_000, "no HTTP response"),
    ],
)
async def test_an_answer_that_is_no_success_has_a_reason(answer: bytes, why: str) -> None:
    async with hook_of(answer) as hook:
        assert await Webhook(hook.address).post(b"{}\n") == why


async def test_a_webhook_that_is_not_there_or_silent_is_given_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with hook_of() as hook:
        address = hook.address
    assert "connection attempts failed" in await Webhook(address).post(b"{}\n")
    monkeypatch.setattr(notifications, "WEBHOOK_SECONDS", 0.1)
    gone = asyncio.Event()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()
        gone.set()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        posted = await Webhook(f"http://127.0.0.1:{port}/").post(b"{}\n")
        assert posted.startswith("no response within")
        await gone.wait()


def address(line: Line, _: Path) -> str:
    environ = {"OTHER": "tell-nobody", "SET_KEY": "abcdefgh12345678"}
    try:
        found = webhook_of(spelled(line.rest).decode(), environ)
    except ConfigError as error:
        return f"! {error}"
    assert found is not None
    return f"{found.host}, hides {', '.join(found.secrets)}"


@each_case(__file__)
def test_addresses(case: Case, tmp_path: Path, pytestconfig: pytest.Config) -> None:
    case.play({"address": address}, tmp_path, pytestconfig)


@given(st.text(), st.text())
def test_any_text_makes_one_bounded_line_of_json(reason: str, title: str) -> None:
    told = Notification(event="done", text=reason, project=title, root="/p", reason=reason)
    body = told.body()
    assert body.count(b"\n") == 1
    assert json.loads(body)["reason"] == reason
