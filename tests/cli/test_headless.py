"""Line mode as a process: what goes to standard output, how it is ended, what status it leaves."""

import json
import os
import pty
import signal
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pytest

from ralph_tui.cli.run.headless import json_printer, line_printer
from ralph_tui.domain import events as ev
from ralph_tui.engine.control.controls import ENDED_BY
from tests.cli.processes import REPOSITORY, python
from tests.cli.recorded import HOSTILE, whole_run
from tests.harness.waiting import PATIENCE

PROGRAM = "tests.cli.recorded"


def start(kind: str, *more: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-u", "-m", PROGRAM, kind, *more],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def await_line(process: "subprocess.Popen[str]", text: str) -> None:
    """Read standard output up to a line; then the run is under way."""
    assert process.stdout is not None
    for line in process.stdout:
        if text in line:
            return
    pytest.fail(f"{text!r} was never printed")


def await_error(process: "subprocess.Popen[str]", text: str) -> None:
    assert process.stderr is not None
    for line in process.stderr:
        if text in line:
            return
    pytest.fail(f"{text!r} was never said")


def test_json_is_one_event_per_line_and_the_end_is_last() -> None:
    done = python("-m", PROGRAM, "whole", "--json", cwd=REPOSITORY)
    assert (done.returncode, done.stderr) == (0, "")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert [e["type"] for e in events[:-1]] == [e.type for e in whole_run() if not e.transient]
    assert all(list(e)[:3] == ["type", "seq", "time"] for e in events)
    assert all(datetime.fromisoformat(e["time"]) for e in events)
    last = events[-1]
    assert (last["type"], last["status"], last["exit_code"]) == ("loop_finished", "complete", 0)
    assert last["reason"] == "Every task is complete."
    assert all(ev.EVENT.validate_python(e) for e in events)


def test_a_run_that_cannot_start_ends_in_json_too() -> None:
    done = python("-m", PROGRAM, "broken", "--json", cwd=REPOSITORY)
    (event,) = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == event["exit_code"] == 3
    assert event["type"] == "loop_finished"
    assert event["time"]
    assert "no tasks" in event["reason"]


def test_a_defect_ends_in_json_too() -> None:
    done = python("-m", PROGRAM, "buggy", "--json", cwd=REPOSITORY)
    (event,) = [json.loads(line) for line in done.stdout.splitlines()]
    assert (event["status"], event["exit_code"]) == ("error", 3)
    assert "LookupError" in event["reason"]


def test_a_pipe_gets_plain_lines_and_an_ascii_locale_ascii_signs() -> None:
    environ = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = python("-m", PROGRAM, "whole", cwd=REPOSITORY, environ=environ)
    assert done.returncode == 0
    assert done.stdout.isascii()
    assert "\x1b" not in done.stdout
    assert done.stdout.splitlines()[-1] == "ralph: complete: Every task is complete."


def test_ctrl_c_asks_first_and_insists_the_second_time() -> None:
    process = start("patient")
    await_line(process, "No network")
    process.send_signal(signal.SIGINT)
    await_error(process, "stopping after this iteration; Ctrl+C again stops at once.")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert out.splitlines()[-1].endswith("You asked it to stop. Asked: [False, True].")
    assert err == "ralph: stopping now.\n"


def test_a_third_ctrl_c_does_not_wait_for_the_loop() -> None:
    process = start("deaf", "--json")
    await_line(process, "No network")
    process.send_signal(signal.SIGINT)
    await_error(process, "stopping after")
    process.send_signal(signal.SIGINT)
    await_error(process, "stopping now")
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    last = json.loads(out.splitlines()[-1])
    assert (last["type"], last["reason"]) == ("loop_finished", "cut off by the person")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_being_ended_from_outside_stops_the_loop_at_once(number: signal.Signals) -> None:
    process = start("patient")
    await_line(process, "No network")
    process.send_signal(number)
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert f"Asked: [{ENDED_BY[number]!r}]" in out
    assert "so the loop stops now." in err


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_a_closed_pipe_ends_the_run_without_a_traceback(form: tuple[str, ...]) -> None:
    process = start("flood", *form)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.wait(timeout=PATIENCE) == 130
    assert process.stderr.read() == ("ralph: standard output was closed, so the loop stops now.\n")
    process.stderr.close()


@pytest.mark.parametrize(
    ("mode", "number"), [("patient", signal.SIGHUP), ("flood", signal.SIGTERM)]
)
def test_a_signal_stops_a_run_whose_reader_is_gone_or_stalled(mode: str, number: int) -> None:
    """As with `2>&1 | tee log` after tee died, or when nobody reads."""
    reader, writer = os.pipe()
    process = subprocess.Popen(
        [sys.executable, "-m", PROGRAM, mode], cwd=REPOSITORY, stdout=writer, stderr=writer
    )
    os.close(writer)
    os.read(reader, 10)
    if mode == "patient":
        os.close(reader)
    process.send_signal(number)
    assert process.wait(timeout=30) == 130
    if mode != "patient":
        os.close(reader)


def terminal_output(environ: dict[str, str]) -> str:
    reader, writer = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", PROGRAM, "whole"], cwd=REPOSITORY, stdout=writer, env=environ
    )
    os.close(writer)
    chunks = []
    while True:
        try:
            chunk = os.read(reader, 65_536)
        except OSError:  # EIO: the other side is closed
            break
        if not chunk:
            break
        chunks.append(chunk)
    os.close(reader)
    assert process.wait(timeout=PATIENCE) == 0
    return b"".join(chunks).decode()


@pytest.mark.long
def test_a_terminal_gets_colour_unless_it_is_not_wanted() -> None:
    environ = {**os.environ, "TERM": "xterm-256color"}
    assert "\x1b[32m" in terminal_output(environ)
    plain = terminal_output({**environ, "NO_COLOR": "1"})
    assert not any(f"\x1b[{code}m" in plain for code in (31, 32, 33, 36))
    assert "\x1b" not in terminal_output({**environ, "TERM": "dumb"})


def test_hostile_text_is_ascii_in_json(tmp_path: Path) -> None:
    path = tmp_path / "out"
    with path.open("w", encoding="utf-8") as file:
        json_printer(file)(ev.Notice(text=HOSTILE + "\ud800"))
    text = path.read_text(encoding="utf-8")
    assert text.isascii()
    assert "\x1b" not in text
    assert json.loads(text)["text"] == HOSTILE + "\ud800"


def test_hostile_text_is_inert_in_lines(tmp_path: Path) -> None:
    path = tmp_path / "out"
    with path.open("w", encoding="utf-8") as file:
        line_printer(file)(ev.Notice(text=HOSTILE))
    assert path.read_text(encoding="utf-8") == "· [/] [@click=app.quit]x[/]list[int]\n"
