"""The full-screen app on a real terminal: opened, watched, left; and the terminal given back."""

import signal
import time
import uuid
from pathlib import Path

import pytest

from ralph_tui.domain import events as ev
from ralph_tui.domain.plan.plan import TaskStatus
from ralph_tui.domain.project_state import DECISIONS, ApprovalKind
from tests.harness.model import serving_in_process
from tests.harness.projects import event_types, events_of, make_project, task, task_of
from tests.harness.real_processes import marked_processes, ralph_environment
from tests.harness.scenarios import scenario, works_forever
from tests.harness.waiting import wait_until
from tests.pty.terminal import Terminal, app_process, terminal

pytestmark = pytest.mark.serial


@pytest.mark.parametrize(
    "whole", [False, pytest.param(True, marks=pytest.mark.long)], ids=["planned", "built"]
)
def test_the_demo_in_a_small_terminal_answered_and_approved_by_keys_alone(
    tmp_path: Path, *, whole: bool
) -> None:
    project = tmp_path / "demo"
    mark = uuid.uuid4().hex
    environment = ralph_environment(None, tmp_path, mark)
    args = ["demo", "--ask", "--speed", "1000", "--keep-at", str(project)]
    with terminal(
        args, cwd=tmp_path, notes=tmp_path, environment=environment, size=(80, 24)
    ) as shown:
        shown.until_shown("Does a habit that is still open")
        shown.until_asked("enter choose")
        shown.press("\x1b")
        shown.until_shown("Press a to answer")
        require_quiet(shown)
        shown.press("a")
        shown.until_asked("enter choose")
        shown.press("2")
        shown.until_shown("Choose any number")
        for number in "23":
            shown.press(number)
            shown.until_shown(f"{number}  [x]")
        shown.press("\r")
        shown.until_shown("enter send")
        shown.press("\r")
        shown.until(lambda: len(answers(project)) == 2, "the answers")
        approve(shown, project, ApprovalKind.SPECS)
        approve(shown, project, ApprovalKind.PLAN)
        if whole:
            deny_the_call(shown, project)
            approve(shown, project, ApprovalKind.VALIDATION)
            shown.until_shown("5 of 5 tasks,")
        else:
            shown.until(lambda: "iteration_started" in event_types(project), "a task")
        assert max(len(line) for line in shown.text.splitlines()) <= 80
        shown.press("q")
        if not whole:
            shown.until_shown("Keep running")
            shown.press("s")
        assert shown.exit_status() == (0 if whole else 130)
        assert shown.left_over() == []
        if whole:
            told = [line.split() for line in shown.after_screen.splitlines()]
            assert [words[0] for words in told[:6]] == [
                "ralph:",
                "Built",
                "Verified",
                "Also",
                "Cost",
                "Per",
            ]
            assert "Try it" in shown.after_screen, "a command that starts it has passed"
        assert "tasks" in shown.after_screen
        wait_until(lambda: not marked_processes(mark), what="an empty machine")
    assert event_types(project)[-1] == "loop_finished"
    assert answers(project)[:2] == [
        ("It is missed until it is done",),
        ("The living streak", "The best streak ever"),
    ]
    assert set(approvals(project).values()) == {"screen"}


def require_quiet(shown: Terminal) -> None:
    """A screen that waits writes at most 1 kB in a second."""
    until = time.monotonic() + 1
    shown.until(lambda: time.monotonic() >= until, "a quiet screen")
    before, until = len(shown.raw), time.monotonic() + 3
    shown.until(lambda: time.monotonic() >= until, "three seconds of waiting")
    assert len(shown.raw) - before <= 3_000


def approve(shown: Terminal, project: Path, kind: ApprovalKind) -> None:
    shown.until_shown(f"Review {DECISIONS[kind]}", 90)
    shown.until_asked("ctrl+y approve")
    shown.press("\x19")
    shown.until(lambda: kind in approvals(project), f"approval of the {kind}")


def deny_the_call(shown: Terminal, project: Path) -> None:
    """Search the call that the demo asks about, and deny it with a reason."""
    shown.until_shown("asks for permission", 90)
    shown.until_asked("ctrl+y allow once")
    shown.press("/march\r")
    shown.until_shown("1 of 2")
    shown.press("\x12no copies\r")  # in one write, faster than the focus
    shown.until(lambda: denied(project), "the denial")
    assert answers(project)[2:] == [("Deny",)]
    assert denied(project) == ["no copies"]
    assert not (project / "march.backup").exists()


def answers(project: Path) -> list[tuple[str, ...]]:
    given = [e.question.answer for e in events_of(project) if isinstance(e, ev.QuestionAnswered)]
    return [answer.labels for answer in given if answer and answer.by == "screen"]


def denied(project: Path) -> list[str]:
    return [e.reason for e in events_of(project) if isinstance(e, ev.ToolDenied) and e.by]


def approvals(project: Path) -> dict[ApprovalKind, str]:
    given = [e for e in events_of(project) if isinstance(e, ev.ApprovalGiven)]
    return {event.kind: event.by for event in given if event.approved}


def test_q_while_it_runs_asks_then_stops_and_leaves_nothing_behind(tmp_path: Path) -> None:
    project = make_project(tmp_path, [task("a"), task("b")])
    mark = uuid.uuid4().hex
    with serving_in_process(scenario(works_forever("a")), tmp_path) as server:
        environment = ralph_environment(server, tmp_path, mark)
        with terminal(["build"], cwd=project, notes=tmp_path, environment=environment) as shown:
            shown.until(lambda: "tool_finished" in event_types(project), "a tool call")
            shown.press(b"\xff")  # no text, as from a mouse of old
            shown.press("\x1b[200~\x1b[0mx\x1b[1mq\x1b[0m\x1b[201~")  # pasted where nobody types
            shown.press("/drop")  # in one write, faster than the focus
            shown.until_shown("/ drop")
            shown.press("\x1b")
            shown.until(lambda: "/ drop" not in shown.text, "the end of the search")
            shown.press("q")
            shown.until_shown("Keep running")
            assert task_of(project, "a").status is TaskStatus.IN_PROGRESS, "asking stops nothing"
            shown.press("s")
            assert shown.exit_status() == 130
            assert shown.left_over() == []
            assert shown.after_screen.startswith("ralph: project: stopped")
            assert "0 of 2 tasks" in shown.after_screen
            wait_until(lambda: not marked_processes(mark), what="an empty machine")
    assert task_of(project, "a").status is TaskStatus.PENDING
    assert event_types(project)[-1] == "loop_finished"


@pytest.mark.parametrize(
    "sent", [signal.SIGTERM, pytest.param(signal.SIGHUP, marks=pytest.mark.long)]
)
@pytest.mark.long
def test_a_signal_ends_the_loop_and_gives_the_terminal_back(
    tmp_path: Path, sent: signal.Signals
) -> None:
    project = make_project(tmp_path, [task("a")])
    mark = uuid.uuid4().hex
    with serving_in_process(scenario(works_forever("a")), tmp_path) as server:
        environment = ralph_environment(server, tmp_path, mark)
        with terminal(["build"], cwd=project, notes=tmp_path, environment=environment) as shown:
            shown.until(lambda: "tool_finished" in event_types(project), "a tool call")
            app_process(mark).send_signal(sent)
            status = shown.exit_status()
            assert shown.left_over() == []
            wait_until(lambda: not marked_processes(mark), what="an empty machine")
            assert status == 130
    assert task_of(project, "a").status is TaskStatus.PENDING
    assert event_types(project)[-1] == "loop_finished"


BREAKS = """
import sys
from pathlib import Path

if sys.orig_argv[1:3] == ["-m", "ralph_tui"]:
    from ralph_tui.tui.widgets.header import Header

    whole = Header.render

    def render(self):
        if Path("break-now").exists():
            raise ValueError("a bug in the drawing")
        return whole(self)

    Header.render = render
"""
"""Python reads it at its start when it is `sitecustomize.py`."""


@pytest.mark.long
def test_a_bug_in_a_widget_gives_the_terminal_back_and_ends_the_loop(tmp_path: Path) -> None:
    project = make_project(tmp_path, [task("a")])
    (tmp_path / "bug").mkdir()
    (tmp_path / "bug" / "sitecustomize.py").write_text(BREAKS)
    mark = uuid.uuid4().hex
    with serving_in_process(scenario(works_forever("a")), tmp_path) as server:
        environment = ralph_environment(server, tmp_path, mark)
        environment["PYTHONPATH"] = str(tmp_path / "bug")
        with terminal(["build"], cwd=project, notes=tmp_path, environment=environment) as shown:
            shown.until(lambda: "tool_finished" in event_types(project), "a tool call")
            (project / "break-now").touch()
            assert shown.exit_status() == 3
            assert shown.left_over() == []
            wait_until(lambda: not marked_processes(mark), what="an empty machine")
            assert shown.after_screen.startswith("ralph: the screen crashed: ValueError: a bug in")
            assert "Traceback" not in shown.after_screen
    reports = list((project / ".ralph" / "logs").glob("ralph-crash-*"))
    assert len(reports) == 1
    assert "a bug in the drawing" in reports[0].read_text()
