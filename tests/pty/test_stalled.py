"""A terminal that takes nothing more, or is gone: the loop goes on, or ends in order; it never hangs."""

import contextlib
import os
import pty
import threading
import uuid
from pathlib import Path

import pytest

from ralph_tui.tui.terminal import writer as drawing
from tests.harness.model import serving_in_process
from tests.harness.projects import event_types, make_project, task
from tests.harness.real_processes import marked_processes, ralph_environment
from tests.harness.scenarios import scenario, works_forever
from tests.harness.waiting import wait_until
from tests.pty.terminal import terminal

pytestmark = pytest.mark.serial

UNREAD = 15
"""Pages opened and closed unseen; what they draw is several times what a terminal holds unread."""

LITTLE = """
import sys

if sys.orig_argv[1:3] == ["-m", "ralph_tui"]:
    from ralph_tui.tui.terminal import writer

    writer.MAX_QUEUED_BYTES = 4_000
"""
"""Python reads it at its start when it is `sitecustomize.py`."""


def test_the_loop_goes_on_while_the_terminal_is_stalled_and_ends_when_it_is_gone(
    tmp_path: Path,
) -> None:
    def calls() -> int:
        return event_types(project).count("tool_finished")

    (tmp_path / "sitecustomize.py").write_text(LITTLE)
    project = make_project(tmp_path, [task("a")])
    mark = uuid.uuid4().hex
    with serving_in_process(scenario(works_forever("a")), tmp_path) as server:
        environment = ralph_environment(server, tmp_path, mark) | {"PYTHONPATH": str(tmp_path)}
        with terminal(["build"], cwd=project, notes=tmp_path, environment=environment) as shown:
            shown.until_shown("uv run python")
            for keys in ("71" * UNREAD, "6"):  # and nobody reads
                before = calls()
                shown.press(keys)
                wait_until(lambda n=before: calls() > n + 5, what="more calls")  # type: ignore[misc]  # the default binds the loop's value
            shown.until_shown("AGENTS.md")
            shown.press("\x1b")
            shown.until(lambda: "AGENTS.md" not in shown.text, "the dashboard")
            shown.press("71" * UNREAD)
            shown.hang_up()
            wait_until(lambda: event_types(project)[-1] == "loop_finished", what="the loop's end")
            wait_until(lambda: not marked_processes(mark), what="an empty machine")


def test_what_a_terminal_does_not_take_is_dropped_whole_and_drawn_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(drawing, "MAX_QUEUED_BYTES", 100_000)
    anew, gone = threading.Event(), threading.Event()
    reader, writer = pty.openpty()
    os.set_blocking(reader, False)
    file = drawing.TerminalWriter(writer, redraw=anew.set, hang_up=gone.set)
    for number in range(2_000):
        file.write(f"<{number:0500}>")
        if number == 500:
            file.flush()  # gives up: more than a terminal holds unread
    taken = b""

    def read_all() -> bool:
        nonlocal taken
        with contextlib.suppress(BlockingIOError):
            while data := os.read(reader, 1 << 16):
                taken += data
        return anew.is_set()

    wait_until(read_all, what="the terminal taken up again")
    file.write("<the end>")
    file.flush()
    read_all()
    pieces = taken.decode().split("<")[1:]
    assert pieces.pop() == "the end>"
    assert all(len(piece) == 501 for piece in pieces), "a piece was cut"
    assert 0 < len(pieces) < 2_000
    os.close(reader)
    file.write("<nobody>")
    wait_until(gone.is_set, what="the hang-up")
    file.write("<nobody>")
    file.end()
