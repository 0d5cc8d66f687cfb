"""Asks questions on the terminal of a headless run, and sends the answers through the controls.

A line answers only the question that was shown when it was typed. Text typed before a prompt appeared is
discarded, and so is a half-typed answer to a question that was answered elsewhere.
"""

import asyncio
import contextlib
import os
import sys
import termios
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from ralph_tui.cli.console import note
from ralph_tui.cli.printer import Printer
from ralph_tui.domain import events as ev
from ralph_tui.domain.documents.questions import Answer, AskedQuestion, parse_answer, slip
from ralph_tui.domain.errors import RalphError
from ralph_tui.domain.project_state import REASONED
from ralph_tui.domain.sanitize import inert
from ralph_tui.engine.control.controls import Controls
from ralph_tui.present.text import glyphs
from ralph_tui.present.timeline.event_lines import question_lines

BY: Final = "terminal"
_BACKGROUND_SECONDS = 1.0
"""How often a run in the background checks whether it is in the foreground again."""


@dataclass
class _Pending:
    """A question or an approval that waits for a line from the person."""

    key: str
    prompt: str
    question: AskedQuestion | None = None


_APPROVE = "approve? [y/N] "
_WHY = "why not? (the model works on this next; leave empty to decide again) "
_PERMIT = "allow? 1 once, 2 for this session, 3 and why not (empty denies): "
_ANSWER = "answer (number, label or your words; empty declines): "


class TerminalPrompts:
    """The prompts of one run. Create, use and close it on one event loop; only the printer may run in a thread."""

    def __init__(self, controls: Controls) -> None:
        self._controls = controls
        self._loop = asyncio.get_running_loop()
        self._descriptor = sys.stdin.fileno()
        self._pending: list[_Pending] = []
        self._settled: set[str] = set()
        self._asked: _Pending | None = None
        self._showing = False
        self._closed = False
        self._sending: set[asyncio.Task[None]] = set()

    def around(self, printer: Printer) -> Printer:
        """Return a printer that ends a prompt's line before it prints, and shows the prompt again afterwards."""

        def write(event: ev.Event) -> None:
            self._end_line()
            printer(event)
            with contextlib.suppress(RuntimeError):  # the event loop is closed
                self._loop.call_soon_threadsafe(self._handle, event)

        return write

    def close(self) -> None:
        self._closed = True
        self._loop.remove_reader(self._descriptor)
        self._end_line()

    def _handle(self, event: ev.Event) -> None:
        match event:
            case ev.QuestionAsked(question=question) if question.is_open:
                self._add(
                    _Pending(question.id, _PERMIT if question.permission else _ANSWER, question)
                )
            case ev.QuestionAnswered(question=question):
                self._drop(question.id)
            case ev.ApprovalRequested(kind=kind):
                self._settled.discard(kind)
                self._add(_Pending(kind, _APPROVE))
            case ev.ApprovalGiven(kind=kind):
                self._drop(kind)
            case ev.LoopFinished():
                self._pending.clear()
            case _:
                pass
        self._show()

    def _add(self, pending: _Pending) -> None:
        if pending.key not in {known.key for known in self._pending}:
            self._pending.append(pending)

    def _drop(self, key: str) -> None:
        self._settled.add(key)
        self._pending = [pending for pending in self._pending if pending.key != key]

    def _show(self) -> None:
        if self._closed or self._showing:
            return
        if not self._pending:
            self._loop.remove_reader(self._descriptor)
            return
        pending = self._pending[0]
        if pending is not self._asked:
            with contextlib.suppress(termios.error):  # the terminal is gone; reading fails, too
                termios.tcflush(self._descriptor, termios.TCIFLUSH)
            if pending.question is not None and not sys.stdout.isatty():
                for line in question_lines(
                    glyphs.choose(encoding=sys.stderr.encoding), pending.question
                ):
                    sys.stderr.write(f"{line}\n")
            self._asked = pending
        sys.stderr.write(pending.prompt)
        sys.stderr.flush()
        self._showing = True
        self._listen()

    def _end_line(self) -> None:
        if self._showing:
            self._showing = False
            sys.stderr.write("\n")
            sys.stderr.flush()

    def _listen(self) -> None:
        if self._pending and not self._closed:
            self._loop.add_reader(self._descriptor, self._read)

    def _read(self) -> None:
        if not _is_in_foreground(
            self._descriptor
        ):  # reading from the background would stop the process
            self._loop.remove_reader(self._descriptor)
            self._loop.call_later(_BACKGROUND_SECONDS, self._listen)
            return
        try:
            data = os.read(self._descriptor, 65_536)
        except OSError:  # the terminal is gone; SIGHUP ends the run
            data = b""
        self._showing = False
        if not data:
            self.close()
            note("no more questions are asked here. Use `ralph answer` or `ralph approve`.")
            return
        if self._pending and self._pending[0] is self._asked:
            self._answer(self._pending[0], inert(data.decode("utf-8", "replace")).strip())
        self._show()

    def _answer(self, pending: _Pending, text: str) -> None:
        if pending.question is None:
            self._decide(pending, text)
            return
        question = pending.question
        if wrong := slip(question.question, text):
            note(wrong)  # the prompt is shown again
            return
        answer = (
            parse_answer(question.question, text, by=BY) if text else Answer(declined=True, by=BY)
        )
        self._send(pending, lambda: self._controls.answer(question.id, answer))

    def _decide(self, pending: _Pending, text: str) -> None:
        if pending.prompt == _WHY:
            pending.prompt = _APPROVE
            if text:
                self._send(
                    pending, lambda: self._controls.decide(approved=False, reason=text, by=BY)
                )
        elif text.lower() in ("y", "yes"):
            self._send(pending, lambda: self._controls.decide(approved=True, by=BY))
        elif text.lower() in ("", "n", "no"):
            if pending.key in REASONED:
                pending.prompt = _WHY
            else:
                self._send(pending, lambda: self._controls.decide(approved=False, by=BY))
        else:
            note("enter y to approve, or n and then the reason.")

    def _send(self, pending: _Pending, request: Callable[[], object]) -> None:
        self._pending.remove(pending)
        task = self._loop.create_task(self._request(pending, request))
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    async def _request(self, pending: _Pending, request: Callable[[], object]) -> None:
        try:
            await asyncio.to_thread(request)
        except RalphError as error:
            self._end_line()
            note(str(error))
            if pending.key not in self._settled:
                self._pending.insert(0, pending)
            self._show()


def _is_in_foreground(descriptor: int) -> bool:
    try:
        return os.tcgetpgrp(descriptor) == os.getpgrp()
    except OSError:  # not our controlling terminal: reading does not stop us
        return True
