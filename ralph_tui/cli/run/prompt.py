"""Prompts on the terminal of a headless run, and sends the answers through the controls.

A line answers what was shown when it was typed, never anything that came later: text typed before
a prompt appeared is thrown away, and so is a half-typed answer to a question answered elsewhere.
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
from ralph_tui.present.events.event_lines import question_lines
from ralph_tui.present.text import glyphs

BY: Final = "terminal"
_BACKGROUND_SECONDS = 1.0
"""How often a run in the background looks whether it is in front again."""


@dataclass
class _Matter:
    """A question or an approval that waits for a line from the person."""

    key: str
    prompt: str
    question: AskedQuestion | None = None


_APPROVE = "approve? [y/N] "
_WHY = "why not? (what the model works on next; empty asks again) "
_PERMIT = "allow? 1 once, 2 for this session, 3 and why not (empty denies): "
_ANSWER = "answer (number, label or your words; empty declines): "


class TerminalPrompts:
    """Prompts of one run. Create, use and close it on one event loop; only `around` may run in a thread."""

    def __init__(self, controls: Controls) -> None:
        """Answer through `controls`."""
        self._controls = controls
        self._loop = asyncio.get_running_loop()
        self._descriptor = sys.stdin.fileno()
        self._matters: list[_Matter] = []
        self._over: set[str] = set()
        self._asked: _Matter | None = None
        self._showing = False
        self._closed = False
        self._sending: set[asyncio.Task[None]] = set()

    def around(self, printer: Printer) -> Printer:
        """Return a printer that leaves a prompt's line before it prints, and prompts again afterwards."""

        def write(event: ev.Event) -> None:
            self._leave_line()
            printer(event)
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
                self._loop.call_soon_threadsafe(self._take, event)

        return write

    def close(self) -> None:
        """Stop prompting."""
        self._closed = True
        self._loop.remove_reader(self._descriptor)
        self._leave_line()

    def _take(self, event: ev.Event) -> None:
        match event:
            case ev.QuestionAsked(question=question) if question.is_open:
                self._add(
                    _Matter(question.id, _PERMIT if question.permission else _ANSWER, question)
                )
            case ev.QuestionAnswered(question=question):
                self._drop(question.id)
            case ev.ApprovalRequested(kind=kind):
                self._over.discard(kind)
                self._add(_Matter(kind, _APPROVE))
            case ev.ApprovalGiven(kind=kind):
                self._drop(kind)
            case ev.LoopFinished():
                self._matters.clear()
            case _:
                pass
        self._show()

    def _add(self, matter: _Matter) -> None:
        if matter.key not in {known.key for known in self._matters}:
            self._matters.append(matter)

    def _drop(self, key: str) -> None:
        self._over.add(key)
        self._matters = [matter for matter in self._matters if matter.key != key]

    def _show(self) -> None:
        """Prompt for the first matter, unless its prompt is already shown."""
        if self._closed or self._showing:
            return
        if not self._matters:
            self._loop.remove_reader(self._descriptor)
            return
        matter = self._matters[0]
        if matter is not self._asked:
            self._forget_typed()
            self._tell(matter)
            self._asked = matter
        sys.stderr.write(matter.prompt)
        sys.stderr.flush()
        self._showing = True
        self._listen()

    def _tell(self, matter: _Matter) -> None:
        """Show the question itself, where standard output does not show it on this terminal."""
        if matter.question is not None and not sys.stdout.isatty():
            for line in question_lines(
                glyphs.choose(encoding=sys.stderr.encoding), matter.question
            ):
                sys.stderr.write(f"{line}\n")

    def _forget_typed(self) -> None:
        with contextlib.suppress(termios.error):  # the terminal is gone; reading will say so
            termios.tcflush(self._descriptor, termios.TCIFLUSH)

    def _leave_line(self) -> None:
        if self._showing:
            self._showing = False
            sys.stderr.write("\n")
            sys.stderr.flush()

    def _listen(self) -> None:
        if self._matters and not self._closed:
            self._loop.add_reader(self._descriptor, self._read)

    def _read(self) -> None:
        """Take a line; the terminal hands over whole lines only."""
        if not _in_front(self._descriptor):  # reading from the background would stop the process
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
            note("nothing is asked here any more; answer with `ralph answer` or `ralph approve`.")
            return
        if self._matters and self._matters[0] is self._asked:
            self._answer(self._matters[0], inert(data.decode("utf-8", "replace")).strip())
        self._show()

    def _answer(self, matter: _Matter, text: str) -> None:
        if matter.question is None:
            self._decide(matter, text)
            return
        question = matter.question
        if wrong := slip(question.question, text):
            note(wrong)  # it is asked again
            return
        answer = (
            parse_answer(question.question, text, by=BY) if text else Answer(declined=True, by=BY)
        )
        self._send(matter, lambda: self._controls.answer(question.id, answer))

    def _decide(self, matter: _Matter, text: str) -> None:
        if matter.prompt == _WHY:
            matter.prompt = _APPROVE
            if text:
                self._send(
                    matter, lambda: self._controls.decide(approved=False, reason=text, by=BY)
                )
        elif text.lower() in ("y", "yes"):
            self._send(matter, lambda: self._controls.decide(approved=True, by=BY))
        elif text.lower() in ("", "n", "no"):
            if matter.key in REASONED:
                matter.prompt = _WHY
            else:
                self._send(matter, lambda: self._controls.decide(approved=False, by=BY))
        else:
            note("say y to approve, or n and then why not.")

    def _send(self, matter: _Matter, request: Callable[[], object]) -> None:
        self._matters.remove(matter)
        task = self._loop.create_task(self._request(matter, request))
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    async def _request(self, matter: _Matter, request: Callable[[], object]) -> None:
        try:
            await asyncio.to_thread(request)
        except RalphError as error:
            self._leave_line()
            note(str(error))
            if matter.key not in self._over:
                self._matters.insert(0, matter)
            self._show()


def _in_front(descriptor: int) -> bool:
    """Return whether this process may read from its terminal without being stopped."""
    try:
        return os.tcgetpgrp(descriptor) == os.getpgrp()
    except OSError:  # not our controlling terminal: nobody stops us
        return True
