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
from typing import Final

from ralph_tui.cli.console import note
from ralph_tui.cli.run.headless import Printer
from ralph_tui.domain import events as ev
from ralph_tui.domain.documents.questions import Answer, AskedQuestion, parse_answer, slip
from ralph_tui.domain.errors import RalphError
from ralph_tui.domain.project_state import REASONED
from ralph_tui.domain.sanitize import inert
from ralph_tui.domain.view.loop_view import LoopView
from ralph_tui.domain.view.reducer import reduce
from ralph_tui.engine.control.controls import Controls
from ralph_tui.present.text import glyphs
from ralph_tui.present.timeline.event_lines import question_lines

BY: Final = "terminal"
_BACKGROUND_SECONDS = 1.0
"""How often a run in the background checks whether it is in the foreground again."""


_Open = AskedQuestion | ev.ApprovalRequested
"""What waits for a line from the person."""

_APPROVE = "approve? [y/N] "
_WHY = "why not? (the model works on this next; leave empty to decide again) "
_PERMIT = "allow? 1 once, 2 for this session, 3 and why not (empty denies): "
_ANSWER = "answer (number, label or your words; empty declines): "


def _key(asked: _Open) -> str:
    return asked.id if isinstance(asked, AskedQuestion) else asked.kind


class TerminalPrompts:
    """The prompts of one run. Create, use and close it on one event loop; only the printer may run in a thread."""

    def __init__(self, controls: Controls) -> None:
        self._controls = controls
        self._loop = asyncio.get_running_loop()
        self._descriptor = sys.stdin.fileno()
        self._view = LoopView()
        self._sent: set[str] = set()
        """What was answered here and is still open in the view."""
        self._asked: _Open | None = None
        self._prompt = ""
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
        self._view = reduce(self._view, event)
        match event:
            case ev.QuestionAnswered(question=question):
                self._sent.discard(question.id)
            case ev.ApprovalRequested(kind=kind) | ev.ApprovalGiven(kind=kind):
                self._sent.discard(kind)
            case ev.LoopFinished():
                self._view = LoopView()
            case _:
                pass
        self._show()

    def _pending(self) -> _Open | None:
        questions = (question for question in self._view.questions if question.is_open)
        waiting: tuple[_Open | None, ...] = (*questions, self._view.approval)
        return next((one for one in waiting if one and _key(one) not in self._sent), None)

    def _show(self) -> None:
        if self._closed or self._showing:
            return
        pending = self._pending()
        if pending is None:
            self._loop.remove_reader(self._descriptor)
            return
        if pending is not self._asked:
            with contextlib.suppress(termios.error):  # the terminal is gone; reading fails, too
                termios.tcflush(self._descriptor, termios.TCIFLUSH)
            self._asked, self._prompt = pending, _APPROVE
            if isinstance(pending, AskedQuestion):
                self._prompt = _PERMIT if pending.permission else _ANSWER
                signs = glyphs.choose(encoding=sys.stderr.encoding)
                for line in question_lines(signs, pending) if not sys.stdout.isatty() else ():
                    sys.stderr.write(f"{line}\n")
        sys.stderr.write(self._prompt)
        sys.stderr.flush()
        self._showing = True
        self._listen()

    def _end_line(self) -> None:
        if self._showing:
            self._showing = False
            sys.stderr.write("\n")
            sys.stderr.flush()

    def _listen(self) -> None:
        if self._pending() and not self._closed:
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
        pending = self._pending()
        if pending is not None and pending is self._asked:
            text = inert(data.decode("utf-8", "replace")).strip()
            if isinstance(pending, AskedQuestion):
                self._answer(pending, text)
            else:
                self._decide(pending, text)
        self._show()

    def _answer(self, question: AskedQuestion, text: str) -> None:
        if wrong := slip(question.question, text):
            note(wrong)  # the prompt is shown again
            return
        answer = (
            parse_answer(question.question, text, by=BY) if text else Answer(declined=True, by=BY)
        )
        self._send(question, lambda: self._controls.answer(question.id, answer))

    def _decide(self, pending: ev.ApprovalRequested, text: str) -> None:
        if self._prompt == _WHY:
            self._prompt = _APPROVE
            if text:
                self._send(
                    pending, lambda: self._controls.decide(approved=False, reason=text, by=BY)
                )
        elif text.lower() in ("y", "yes"):
            self._send(pending, lambda: self._controls.decide(approved=True, by=BY))
        elif text.lower() in ("", "n", "no"):
            if pending.kind in REASONED:
                self._prompt = _WHY
            else:
                self._send(pending, lambda: self._controls.decide(approved=False, by=BY))
        else:
            note("enter y to approve, or n and then the reason.")

    def _send(self, pending: _Open, request: Callable[[], object]) -> None:
        self._sent.add(_key(pending))
        task = self._loop.create_task(self._request(_key(pending), request))
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    async def _request(self, key: str, request: Callable[[], object]) -> None:
        try:
            await asyncio.to_thread(request)
        except RalphError as error:
            self._end_line()
            note(str(error))
            self._sent.discard(key)
            self._show()


def _is_in_foreground(descriptor: int) -> bool:
    try:
        return os.tcgetpgrp(descriptor) == os.getpgrp()
    except OSError:  # not our controlling terminal: reading does not stop us
        return True
