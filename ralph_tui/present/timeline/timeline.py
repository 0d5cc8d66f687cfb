"""Build a bounded list of entries from events."""

from collections.abc import Callable
from dataclasses import fields, replace
from datetime import datetime
from itertools import takewhile
from typing import Any, TypeVar

from ralph_tui.domain import events as ev
from ralph_tui.domain.documents.questions import AskedQuestion
from ralph_tui.domain.permissions import NETWORK
from ralph_tui.domain.run.breaker import CircuitBreaker
from ralph_tui.domain.sanitize import head, one_line
from ralph_tui.present.events.event_sentences import Sentence, sentence_of
from ralph_tui.present.text.figures import in_local
from ralph_tui.present.timeline.changed_files import FileChange
from ralph_tui.present.timeline.entries import (
    CallEntry,
    CheckEntry,
    Entry,
    HeadingEntry,
    NoteEntry,
    TextEntry,
)
from ralph_tui.present.tools.calls import STATE_OF, Call, CallState, bounded, with_relative_paths
from ralph_tui.present.tools.file_tools import CHANGING, lines_changed
from ralph_tui.present.tools.renderers import renderer_for

ASK_TOOL = "AskUserQuestion"

Kept = TypeVar("Kept", bound=Entry)


def _asks(asked: AskedQuestion, call: Call) -> bool:
    if asked.permission is not None:
        return bool(call.tool_id) and asked.permission.tool_id == call.tool_id
    return call.name == ASK_TOOL


def _size(entry: Entry) -> int:
    if not isinstance(entry, CallEntry):
        return 0
    call = entry.call
    return len(call.output) + len(call.patch) + sum(len(str(v)) for v in call.input.values())


def _seconds(since: datetime | None, until: datetime | None) -> float:
    return max(0.0, (until - since).total_seconds()) if since and until else 0.0


MAX_ENTRIES = 10_000
MAX_CHARS = 16_000_000
MAX_TEXT = 20_000
MAX_LIVE = 4_000
MAX_OPEN_CALLS = 1_000
MAX_DEPTH = 6
MAX_FILES = 200


_CLEARING = frozenset({ev.IterationFinished, ev.LoopFinished, ev.LoopStarted, ev.LoopLost})
"""Events after which no call is running and no text is being written."""

MAX_PRINTED = 4_000
"""Maximum characters of a failed check's output in the verdict on the claim."""


_BEGUN = "in progress"
"""Shown by the iteration's heading."""


class Timeline:
    """The newest entries of a run, and the text that is being written.

    The number of an entry never changes; `entries[0]` has the number `first`. Each method `on_TYPE` takes the events
    of this type; the other types become notes.
    """

    def __init__(
        self,
        max_entries: int = MAX_ENTRIES,
        max_chars: int = MAX_CHARS,
        *,
        roots: tuple[str, ...] = (),
        with_times: Callable[[str, datetime | None], str] = in_local,
    ) -> None:
        """Start without entries.

        Args:
            max_entries: How many entries are kept; there may be a tenth more between two trims.
            max_chars: How many characters of calls are kept.
            roots: Paths below one of these directories are shown relative to it.
            with_times: Returns a note with its times as the reader wants them, at the time of its event.
        """
        self.entries: list[Entry] = []
        self.first = 0
        self.changed: set[int] = set()
        """Numbers of the entries that were replaced since the reader last cleared this set."""
        self._roots = roots
        self._with_times = with_times
        self._files: dict[str, FileChange] = {}
        self._breaker = CircuitBreaker()
        self._task_states: dict[str, str] = {}
        self._is_unreadable = False
        self._asked: dict[str, AskedQuestion] = {}
        """The questions that wait for an answer."""
        self._max_entries = max_entries
        self._max_chars = max_chars
        self._chars = 0
        self._open: dict[str, CallEntry] = {}
        self._heading_iteration = 0
        """The iteration of the last heading."""
        self._pending_heading: int | None = None
        """The number of the last heading while the iteration's work has not begun."""
        self._last_heading = -1
        """The number of the heading of the current work."""
        self.refused: list[int] = []
        """Numbers of the verdicts on rejected claims since the reader last cleared this list."""
        self.folded: dict[int, int] = {}
        """The entries of rejected claims, with the number of the verdict into which each is folded."""
        self._claim_start: int | None = None
        """The number of the entry that started the gate."""
        self._live: dict[str | None, str] = {}

    @property
    def changed_files(self) -> tuple[FileChange, ...]:
        return tuple(self._files.values())

    @property
    def live_text(self) -> str:
        return next(reversed(self._live.values()), "")[-MAX_LIVE:]

    def last_text(self) -> str:
        newest = reversed(self.entries[-200:])
        current = takewhile(lambda entry: not isinstance(entry, HeadingEntry), newest)
        message = next((e.text for e in current if isinstance(e, TextEntry) and not e.depth), "")
        return self.live_text or message

    @property
    def end(self) -> int:
        return self.first + len(self.entries)

    def entry(self, number: int) -> Entry | None:
        index = number - self.first
        return self.entries[index] if 0 <= index < len(self.entries) else None

    def feed(self, event: ev.Event) -> Entry | None:
        """Add an event, and return the entry that tells it; None if it says nothing new."""
        entry: Entry | None = None
        if handler := getattr(self, f"on_{event.type}", None):
            entry = handler(event)
        elif self._is_news(event):
            entry = self._add_note(event)
        if type(event) in _CLEARING:
            self._interrupt_open()
            self._live.clear()
            self._open.clear()
            self._asked.clear()
        return entry

    def _is_news(self, event: ev.Event) -> bool:
        if isinstance(event, ev.Standing):
            self._breaker = event.breaker
            again, self._is_unreadable = self._is_unreadable, False
            return again or isinstance(event, ev.LoopStarted)
        if isinstance(event, ev.ProjectUnreadable | ev.LoopFound):
            self._is_unreadable = isinstance(event, ev.ProjectUnreadable)
        elif isinstance(event, ev.PlanLoaded):
            self._task_states = {task.id: task.status_word for task in event.tasks}
        elif isinstance(event, ev.TaskChanged):
            known, now = self._task_states.get(event.task.id), event.task.status_word
            self._task_states[event.task.id] = now
            return now not in (known, _BEGUN)
        elif isinstance(event, ev.BreakerChanged):
            before, self._breaker = self._breaker, event.breaker
            counts = {signal.name: signal.count for signal in before.signals()}
            return before.state is not event.breaker.state or any(
                signal.count > counts[signal.name]
                for signal in event.breaker.signals()
                if signal.name != "cost"  # it always rises
            )
        return True

    def _add_note(self, event: ev.Event) -> NoteEntry | None:
        if (note := sentence_of(event)) is None:
            return None
        said = {field.name: getattr(note, field.name) for field in fields(Sentence)}
        said["text"] = self._with_times(note.text, event.time)
        return self._add(NoteEntry(**said, number=self.end))

    def on_question_asked(self, e: ev.QuestionAsked | ev.QuestionAnswered) -> NoteEntry | None:
        if isinstance(e, ev.QuestionAsked):
            self._asked[e.question.id] = e.question
        else:
            self._asked.pop(e.question.id, None)
        for entry in list(self._open.values()):
            self._wait_or_run(entry, e.time)
        return self._add_note(e)

    on_question_answered = on_question_asked

    def _wait_or_run(self, entry: CallEntry, time: datetime | None) -> CallEntry:
        """Replace a call that begins or ends to wait for the person. A question may arrive before its call."""
        call = entry.call
        waits = any(_asks(asked, call) for asked in self._asked.values())
        if waits and call.state is CallState.RUNNING:
            call = replace(call, state=CallState.WAITING, waits_since=time)
        elif not waits and call.state is CallState.WAITING:
            waited = call.waited + _seconds(call.waits_since, time)
            call = replace(call, state=CallState.RUNNING, waited=waited)
        else:
            return entry
        entry = self._open[call.tool_id] = replace(entry, call=call)
        self._replace(entry)
        return entry

    def on_gate_started(self, e: ev.GateStarted) -> NoteEntry | None:
        self._claim_start = self.end
        return self._add_note(e)

    def on_gate_finished(self, e: ev.GateFinished) -> NoteEntry | None:
        """Add the verdict on a claim; one that rejects it hides the checks before it."""
        start, self._claim_start = self._claim_start, None
        verdict = self._add_note(e)
        if e.passed or start is None or verdict is None:
            return verdict
        between = (self.entry(n) for n in range(max(start, self.first), verdict.number))
        hides = tuple(
            entry.number
            for entry in between
            if isinstance(entry, CheckEntry) or (entry is not None and entry.number == start)
        )
        failed = next((r for r in e.receipts if not r.ok), None)
        text = f"{verdict.text}: {one_line(failed.command, 200)}" if failed else verdict.text
        checks = "\n".join(
            f"{r.status.value}  {one_line(r.command)}  {one_line(r.reason)}".rstrip()
            for r in e.receipts
        )
        printed = failed.tail[-MAX_PRINTED:] if failed else ""
        more = "\n\n".join(part for part in (checks, printed, verdict.more) if part)
        self._replace(replace(verdict, text=text, more=more, hides=hides))
        self.folded.update(dict.fromkeys(hides, verdict.number))
        self.refused.append(verdict.number)
        return verdict

    def _interrupt_open(self) -> None:
        """Mark open calls as interrupted, because no event will report their end."""
        for entry in self._open.values():
            if entry.call.state in (CallState.RUNNING, CallState.WAITING):
                self._replace(replace(entry, call=replace(entry.call, state=CallState.INTERRUPTED)))

    def tick(self, now: datetime) -> None:
        for tool_id, entry in self._open.items():
            call = entry.call
            if call.state is CallState.RUNNING and call.since is not None:
                running = max(0.0, (now - call.since).total_seconds() - call.waited)
                aged = replace(entry, call=replace(call, seconds=running))
                self._open[tool_id] = aged
                self._replace(aged)

    def _add(self, entry: Kept) -> Kept:
        self.entries.append(entry)
        self._chars += _size(entry)
        self._drop_oldest()
        return entry

    def _drop_oldest(self) -> None:
        count, chars = len(self.entries), self._chars
        if count <= self._max_entries + self._max_entries // 10 and chars <= self._max_chars:
            return
        surplus, most = 0, self._max_chars - self._max_chars // 10
        while surplus < count - 1 and (count - surplus > self._max_entries or chars > most):
            chars -= _size(self.entries[surplus])
            surplus += 1
        self._chars = chars
        del self.entries[:surplus]
        self.first += surplus
        self.changed = {number for number in self.changed if number >= self.first}
        for number in [n for n in self.folded if n < self.first]:
            del self.folded[number]

    def _replace(self, entry: Entry) -> None:
        index = entry.number - self.first
        if 0 <= index < len(self.entries):
            self._chars += _size(entry) - _size(self.entries[index])
            self.entries[index] = entry
            self.changed.add(entry.number)

    def on_text_delta(self, e: ev.TextDelta) -> None:
        known = self._live.pop(e.parent_id, "") + e.text
        # Cut rarely, because copying the text for every word would be expensive.
        self._live[e.parent_id] = known if len(known) < 2 * MAX_LIVE else known[-MAX_LIVE:]
        while len(self._live) > MAX_DEPTH:
            del self._live[next(iter(self._live))]

    def on_assistant_text(self, e: ev.AssistantText) -> TextEntry | None:
        self._live.pop(e.parent_id, None)
        if not (text := head(e.text.strip(), MAX_TEXT)):
            return None
        return self._add(TextEntry(self.end, self._depth(e.parent_id), text))

    def on_iteration_started(self, e: ev.IterationStarted) -> HeadingEntry:
        named = "" if e.title.casefold() == e.task_id.casefold() else f"  {e.title}"
        title = f"iteration {e.iteration}  {e.task_id}{named}".rstrip()
        number = self._pending_heading if self._heading_iteration == e.iteration else None
        right = f"attempt {e.attempt}" if e.attempt > 1 else ""
        self._files.clear()
        self._last_heading = self.end if number is None else number
        heading = HeadingEntry(self._last_heading, title, right)
        if number is None:
            self._add(heading)
        else:  # the steps before the work have made the heading
            self._replace(heading)
        self._heading_iteration, self._pending_heading = e.iteration, None
        if e.why:
            self._add(NoteEntry("note", "chosen", e.why, number=self.end))
        return heading

    def on_iteration_finished(self, e: ev.IterationFinished) -> NoteEntry | None:
        for path in e.files_changed:
            self._add_change(FileChange(path))
        heading = self.entry(self._last_heading)
        if isinstance(heading, HeadingEntry) and self._heading_iteration == e.iteration:
            self._replace(replace(heading, ended=e, files=self.changed_files))
        return self._add_note(e)

    def on_step_started(self, e: ev.StepStarted) -> NoteEntry | None:
        if e.iteration != self._heading_iteration:  # a step before the work
            self._heading_iteration, self._pending_heading = e.iteration, self.end
            title = f"iteration {e.iteration}  {e.task_id}".rstrip()
            self._add(HeadingEntry(self.end, title, ""))
        return self._add_note(e)

    def on_gate_checked(self, e: ev.GateChecked) -> CheckEntry:
        return self._add(CheckEntry(self.end, e.receipt))

    def on_tool_started(self, e: ev.ToolStarted) -> CallEntry:
        data = with_relative_paths(bounded(e.input), self._roots)
        known = self._open.get(e.tool_id)
        if known is not None and known.call.denial is not None:  # it arrived before the start
            return self._update_call(e.tool_id, e.name, e.parent_id, input=data, since=e.time)
        begun = self._begin_call(Call(e.tool_id, e.name, data, since=e.time), e.parent_id)
        return self._wait_or_run(begun, e.time)

    def _begin_call(self, call: Call, parent_id: str | None = None) -> CallEntry:
        entry = CallEntry(self.end, self._depth(parent_id), call)
        self._open[call.tool_id] = entry
        if len(self._open) > MAX_OPEN_CALLS:
            del self._open[next(iter(self._open))]
        self._add(entry)
        return entry

    def _update_call(
        self, tool_id: str, name: str, parent_id: str | None = None, **changes: Any
    ) -> CallEntry:
        known = self._open.get(tool_id) or self._begin_call(Call(tool_id, name, {}), parent_id)
        entry = replace(known, call=replace(known.call, **changes))
        self._open[tool_id] = entry
        self._replace(entry)
        return entry

    def on_tool_rewritten(self, e: ev.ToolRewritten) -> CallEntry:
        return self._update_call(e.tool_id, "Bash", rewrite=e)

    def on_tool_denied(self, e: ev.ToolDenied) -> CallEntry | NoteEntry | None:
        if e.name == NETWORK and e.tool_id not in self._open:
            return self._add_note(e)  # access to a host is not a tool call
        return self._update_call(e.tool_id, e.name, denial=e, state=CallState.DENIED)

    def on_tool_allowed(self, e: ev.ToolAllowed) -> CallEntry | NoteEntry | None:
        if e.tool_id in self._open:
            return self._update_call(e.tool_id, e.name, allowance=e)
        return self._add_note(e)

    def on_tool_finished(self, e: ev.ToolFinished) -> CallEntry:
        known = self._open.get(e.tool_id)
        denied = known is not None and known.call.state is CallState.DENIED
        state = CallState.DENIED if denied else STATE_OF[e.outcome]
        own = max(0.0, e.seconds - known.call.waited) if known is not None else e.seconds
        result: dict[str, Any] = {"seconds": own, "output": e.output, "patch": e.patch}
        entry = self._update_call(e.tool_id, e.name, e.parent_id, state=state, **result)
        self._open.pop(e.tool_id, None)
        if state is CallState.OK and entry.call.name in CHANGING:
            path = renderer_for(entry.call).argument(entry.call)
            self._add_change(FileChange(path, *lines_changed(entry.call)))
        self._drop_oldest()
        return entry

    def _add_change(self, change: FileChange) -> None:
        path, known = change.path, self._files.get(change.path, FileChange(change.path))
        if path in self._files or len(self._files) < MAX_FILES:
            added, removed = known.added + change.added, known.removed + change.removed
            self._files[path] = FileChange(path, added, removed)

    def _depth(self, parent_id: str | None) -> int:
        if parent_id is None:
            return 0
        parent = self._open.get(parent_id)
        return min(MAX_DEPTH, parent.depth + 1) if parent else 1
