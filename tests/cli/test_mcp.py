"""`ralph mcp`: what its tools say to good and bad calls, and whom it serves."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ralph_tui.cli.mcp_steering import answer_call, tool_specs
from ralph_tui.cli.project_lookup import chosen_project
from ralph_tui.domain.documents.questions import AskedQuestion, Option, Question
from ralph_tui.domain.project_state import Phase
from ralph_tui.store.io.files import utc_now
from ralph_tui.store.lock import LoopLock
from ralph_tui.store.project import Project
from ralph_tui.store.project_root import AGENT_OF
from tests.cli.processes import inside, ralph
from tests.harness.projects import make_project, plan_of, task, task_of

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_project(tmp_path, [task("a"), task("b", dependencies=["a"])])


def call(root: Path, name: str, *, fails: bool = False, **given: Any) -> str:
    with chosen_project(root):
        answer = answer_call(name, given)
    assert answer.is_error is fails, answer.text
    return answer.text


def asks(root: Path) -> Project:
    project = Project(root)
    asked = AskedQuestion(
        id="q-1",
        batch="x",
        phase=Phase.BUILDING,
        asked_at=utc_now(),
        question=Question(question="Which?", options=(Option(label="csv"), Option(label="json"))),
    )
    project.transact(
        lambda docs: docs.replacing(
            questions=docs.questions.model_copy(update={"questions": (asked,)})
        )
    )
    return project


def test_every_tool_says_what_it_is_for_and_takes(root: Path) -> None:
    specs = {spec.name: spec for spec in tool_specs()}
    assert set(specs) == {
        *("status", "tasks", "add", "inject", "answer", "pause", "resume", "stop"),
    }
    for spec in specs.values():
        properties = spec.input_schema["properties"]
        assert isinstance(properties, dict)
        assert spec.description.endswith(".")
        assert all(isinstance(p, dict) and p.get("description") for p in properties.values())
        assert spec.input_schema["additionalProperties"] is False


@pytest.mark.parametrize(
    ("name", "given", "says"),
    [
        ("add", {}, "text"),
        ("add", {"text": " "}, "empty"),
        ("add", {"text": "x", "after": ["ghost"]}, "ghost"),
        ("add", {"text": "x", "priority": "soon"}, "priority"),
        ("add", {"text": "x", "colour": "red"}, "colour"),
        ("add", {"text": "x", "plan": True}, "plan"),
        ("inject", {"text": ""}, "empty"),
        ("inject", {"text": " \n"}, "empty"),
        ("inject", {"text": "x" * 20_001}, "longer"),
        ("answer", {"question_id": "q-9", "text": "1"}, "q-9"),
        ("answer", {"question_id": "q-1"}, "empty"),
        ("answer", {"question_id": "q-1", "text": "1", "decline": True}, "exclude"),
        ("tasks", {"task_id": "ghost"}, "ghost"),
        ("pause", {}, "No loop is running"),
        ("resume", {}, "No loop is running"),
        ("stop", {"now": True}, "No loop is running"),
        ("approve", {}, "no tool"),
    ],
)
def test_a_bad_call_is_answered_in_words_and_changes_nothing(
    name: str, given: dict[str, Any], says: str, root: Path
) -> None:
    before = asks(root).load()
    assert says in call(root, name, fails=True, **given)
    assert Project(root).load() == before


def test_a_question_is_answered_once(root: Path) -> None:
    project = asks(root)
    assert json.loads(call(root, "status"))["questions"][0]["id"] == "q-1"
    assert call(root, "answer", question_id="q-1", text="2") == "Which?: answered: json"
    found = project.load().questions.find("q-1")
    assert found is not None
    assert found.answer is not None
    assert found.answer.labels == ("json",)
    assert "already" in call(root, "answer", question_id="q-1", text="1", fails=True)


def test_tasks_and_guidance_wait_on_disk_where_no_loop_runs(root: Path) -> None:
    assert "Added task-" in call(root, "add", text="Say how long it took", priority=1)
    added = plan_of(root).tasks[-1]
    assert (added.title, added.priority) == ("Say how long it took", 1)
    _, *shown = call(root, "tasks").splitlines()
    assert [line.split()[1] for line in shown] == ["a", "b", added.id]
    assert json.loads(call(root, "tasks", task_id="b"))["dependencies"] == ["a"]
    assert task_of(root, "b").dependencies == ("a",)
    (root / "notes.md").write_text("secret", encoding="utf-8")
    texts = ("Use argparse.", "-", f"@{root}/notes.md", "@")
    for text in texts:  # neither standard input, which has the protocol, nor a file is read
        assert (
            call(root, "inject", text=text) == "No loop is running. Queued for the next iteration."
        )
    assert tuple(one.guidance for one in Project(root).load().pending) == texts


def test_a_loop_is_paused_and_stopped(root: Path) -> None:
    lock = LoopLock(Project(root).layout)
    lock.acquire("run-1")
    try:
        assert "after this iteration" in call(root, "pause")
        assert "continues" in call(root, "resume")
        assert "after this iteration" in call(root, "stop")
        assert "stops now" in call(root, "stop")
    finally:
        lock.release()


def test_an_agent_of_the_loop_is_not_served(root: Path) -> None:
    environ = {**os.environ, AGENT_OF: os.path.realpath(root)}
    done = ralph("mcp", cwd=root, stdin=json.dumps(HELLO) + "\n", environ=environ)
    assert (done.returncode, done.stdout) == (3, "")
    assert "agent" in done.stderr


def test_there_must_be_a_project(tmp_path: Path) -> None:
    done = inside("mcp", cwd=tmp_path)
    assert done.returncode == 3
    assert "ralph init" in done.stderr


def test_an_end_of_input_ends_it_and_only_the_protocol_is_printed(root: Path) -> None:
    done = ralph("mcp", cwd=root, stdin=f"{json.dumps(HELLO)}\n")
    assert (done.returncode, done.stderr) == (0, "")
    (line,) = done.stdout.splitlines()
    assert json.loads(line)["result"]["serverInfo"]["name"] == "ralph"


def test_an_interrupt_ends_it_while_the_client_is_silent(root: Path) -> None:
    words = [sys.executable, "-m", "ralph_tui", "mcp"]
    with subprocess.Popen(
        words, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        running.stdin.write(f"{json.dumps(HELLO)}\n")
        running.stdin.flush()
        assert running.stdout.readline()
        running.send_signal(signal.SIGINT)
        assert running.wait(30) == -signal.SIGINT
