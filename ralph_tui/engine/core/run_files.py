"""Keeps `.ralph/run_state.json` and `.ralph/aggregate.json` current for programs that know Wiggum's files."""

import asyncio
import threading
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path

from pydantic import Field

from ralph_tui import __version__
from ralph_tui.domain import events as ev
from ralph_tui.domain.base import Count, Record
from ralph_tui.domain.costs import Money
from ralph_tui.domain.errors import StoreError
from ralph_tui.domain.events import Event, IterationOutcome, LoopStatus
from ralph_tui.domain.redaction import redact
from ralph_tui.domain.run.steps import StepOutcome
from ralph_tui.domain.sanitize import one_line
from ralph_tui.store.io.files import utc_now, write_atomic
from ralph_tui.store.io.strict_json import json_text
from ralph_tui.store.layout import Layout
from ralph_tui.store.text_files import PROJECT_MODE

RUN_STATE, AGGREGATE = "run_state.json", "aggregate.json"

WORK = "work"
LONGEST_ERROR = 500

_WAITS = ev.LoopPaused | ev.ApprovalRequested | ev.LimitWait | ev.QuestionAsked
_GOES_ON = ev.LoopResumed | ev.ApprovalGiven | ev.LimitWaitEnded | ev.QuestionAnswered

_ENDS: Mapping[LoopStatus, str] = {LoopStatus.COMPLETE: "complete", LoopStatus.ERROR: "error"}
"""How a run ends; every other end waits for somebody to continue."""


class RunStateFile(Record):
    """What a run does now."""

    run_id: str = ""
    pid: int = 0
    started_at: datetime
    updated_at: datetime
    loop_number: Count = 0
    """The iteration, counted through all runs."""
    current_step: str = ""
    """The step around the work, `work` itself, or the phase."""
    step_started_at: datetime | None = None
    last_successful_step: str = ""
    current_task_id: str = ""
    current_task: str = ""
    status: str = "running"
    """running, blocked (it waits, or ended before the plan was done), complete or error."""
    last_error: str = ""


class RunMetrics(Record):
    """What a run has used."""

    started_at: datetime
    updated_at: datetime
    completed_at: datetime | None = None
    total_claude_calls: Count = 0
    """Responses of the model."""
    input_tokens: Count = 0
    """Everything that was sent, read from the cache or not."""
    output_tokens: Count = 0
    total_tokens: Count = 0
    total_cost_usd: Money = 0.0
    project_cost_usd: Money = 0.0
    """The cost of all runs."""
    last_run_id: str = ""
    elapsed_sec: Count = 0


class AggregateFile(Record):
    """What the run used, with the version and the model."""

    version: str = Field(default_factory=lambda: f"ralph-tui {__version__}")
    model: str = ""
    metrics: RunMetrics


class RunFiles:
    """Listens to a run and writes the files that are wanted."""

    def __init__(
        self, layout: Layout, wanted: tuple[str, ...], clock: Callable[[], datetime] = utc_now
    ) -> None:
        """Write those of the two files that `wanted` names; `clock` tells the time in UTC."""
        self._places = [layout.home / name for name in (RUN_STATE, AGGREGATE) if name in wanted]
        self._clock = clock
        now = clock()
        self._state = RunStateFile(started_at=now, updated_at=now)
        self._used = AggregateFile(metrics=RunMetrics(started_at=now, updated_at=now))
        self._finished = False
        self._due = asyncio.Event()
        self._one_writes = threading.Lock()
        self._failures: set[str] = set()
        self._writing: asyncio.Task[None] | None = None
        self._tell: Callable[[str], None] = lambda _: None

    def begin(self, tell: Callable[[str], None]) -> None:
        """Write from now on whenever something changes; `tell` hears once of each file that cannot be written."""
        self._tell = tell
        if self._places:
            self._writing = asyncio.create_task(self._write_forever(), name="ralph-run-files")

    def note(self, event: Event) -> None:
        """Take in what an event says; never blocks."""
        if not self._places:
            return
        if isinstance(event, ev.UsageReported):
            self._count(event)  # written with the next thing that happens: there are many
            return
        changed = self._changed(event)
        if changed:
            self._state = self._state.model_copy(update={**changed, "updated_at": self._clock()})
            self._due.set()

    async def close(self) -> None:
        """Write the last state and stop."""
        if self._writing is None:
            return
        self._writing.cancel()
        await asyncio.wait([self._writing])
        if not self._finished:
            broken = {"status": "error", "last_error": "the run broke off", **self._step("")}
            self._state = self._state.model_copy(update=broken)
        await asyncio.to_thread(self._write)

    async def _write_forever(self) -> None:
        while True:
            await self._due.wait()
            self._due.clear()
            await asyncio.shield(asyncio.to_thread(self._write))

    def _write(self) -> None:
        with self._one_writes:  # or an older state could land last
            for place in self._places:
                file = self._state if place.name == RUN_STATE else self._aggregate()
                self._put(place, json_text(file, indent=4).encode() + b"\n")

    def _put(self, place: Path, data: bytes) -> None:
        try:
            write_atomic(place, data, mode=PROJECT_MODE)
        except StoreError as error:
            if place.name not in self._failures:
                self._failures.add(place.name)
                self._tell(f"{place.name} is not kept current: {error}")

    def _changed(self, event: Event) -> dict[str, object]:
        """Return what of the state is different after an event."""
        if isinstance(event, ev.LoopStarted):
            self._used = self._used.model_copy(update={"model": event.model})
            return {"run_id": event.run_id, "pid": event.pid, **self._step(event.phase.value)}
        if isinstance(event, ev.SessionStarted):
            self._used = self._used.model_copy(update={"model": event.model or self._used.model})
        if isinstance(event, ev.PhaseChanged):
            return self._step(event.phase.value)
        if isinstance(event, ev.StepStarted | ev.StepFinished):
            return self._around_work(event)
        if isinstance(event, ev.IterationStarted | ev.IterationFinished):
            return self._work(event)
        if isinstance(event, ev.LoopFinished):
            self._finished = True
            status = _ENDS.get(event.status, "blocked")
            error = "" if event.status is LoopStatus.COMPLETE else _said(event.reason)
            self._used = self._used.model_copy(update={"metrics": self._ended(event)})
            return {**self._step(""), "status": status, "last_error": error}
        if isinstance(event, _WAITS):
            return {"status": "blocked"}
        return {"status": "running"} if isinstance(event, _GOES_ON) else {}

    def _work(self, event: ev.IterationStarted | ev.IterationFinished) -> dict[str, object]:
        if isinstance(event, ev.IterationStarted):
            task = {"current_task_id": event.task_id, "current_task": _said(event.title)}
            return {"loop_number": event.iteration, **task, **self._step(WORK), "status": "running"}
        if event.outcome is IterationOutcome.COMPLETE:
            return {"last_successful_step": WORK, "last_error": ""}
        return {"last_error": _said(event.reason or event.outcome.value)}

    def _around_work(self, event: ev.StepStarted | ev.StepFinished) -> dict[str, object]:
        if isinstance(event, ev.StepStarted):
            return self._step(event.step)
        if event.outcome is StepOutcome.DONE:
            return {"last_successful_step": event.step}
        return {"last_error": _said(f"step {event.step}: {event.reason or event.outcome.value}")}

    def _step(self, name: str) -> dict[str, object]:
        return {"current_step": name, "step_started_at": self._clock() if name else None}

    def _count(self, event: ev.UsageReported) -> None:
        before, usage = self._used.metrics, event.usage
        sent = usage.context - usage.output_tokens
        counted = {
            "total_claude_calls": before.total_claude_calls + 1,
            "input_tokens": before.input_tokens + sent,
            "output_tokens": before.output_tokens + usage.output_tokens,
            "total_tokens": before.total_tokens + usage.context,
            "total_cost_usd": max(before.total_cost_usd, event.costs.session),
            "project_cost_usd": max(before.project_cost_usd, event.costs.total),
        }
        metrics = before.model_copy(update=counted)
        self._used = self._used.model_copy(update={"metrics": metrics})

    def _ended(self, event: ev.LoopFinished) -> RunMetrics:
        before = self._used.metrics
        cost = max(before.total_cost_usd, event.cost_usd)
        return before.model_copy(update={"completed_at": self._clock(), "total_cost_usd": cost})

    def _aggregate(self) -> AggregateFile:
        metrics, now = self._used.metrics, self._clock()
        figures = {
            "updated_at": now,
            "last_run_id": self._state.run_id,
            "elapsed_sec": int(
                max(0.0, ((metrics.completed_at or now) - metrics.started_at).total_seconds())
            ),
        }
        return self._used.model_copy(update={"metrics": metrics.model_copy(update=figures)})


def _said(text: str) -> str:
    """Return words for another program: on one line, inert, without secrets."""
    return one_line(redact(text), LONGEST_ERROR)
