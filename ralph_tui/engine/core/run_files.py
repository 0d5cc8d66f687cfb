"""Keep `.ralph/run_state.json` and `.ralph/aggregate.json` current for programs that read Wiggum's files."""

from collections.abc import Callable, Mapping
from datetime import datetime

from pydantic import Field

from ralph_tui import __version__
from ralph_tui.domain import events as ev
from ralph_tui.domain.base import Count, Record
from ralph_tui.domain.costs import Money
from ralph_tui.domain.errors import StoreError
from ralph_tui.domain.events import Event
from ralph_tui.domain.outcomes import IterationOutcome, LoopStatus
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

_ENDS: Mapping[LoopStatus, str] = {LoopStatus.COMPLETE: "complete", LoopStatus.ERROR: "error"}
"""The status of a finished run; every other end is blocked, because somebody must continue."""


class RunStateFile(Record):
    """The current state of a run."""

    run_id: str = ""
    pid: int = 0
    started_at: datetime
    updated_at: datetime
    loop_number: Count = 0
    """The iteration number, counted across all runs."""
    current_step: str = ""
    step_started_at: datetime | None = None
    last_successful_step: str = ""
    current_task_id: str = ""
    current_task: str = ""
    status: str = "running"
    """running, blocked (waiting, or ended before the plan was done), complete or error."""
    last_error: str = ""


class RunMetrics(Record):
    """The usage of a run."""

    started_at: datetime
    updated_at: datetime
    completed_at: datetime | None = None
    total_claude_calls: Count = 0
    input_tokens: Count = 0
    """Tokens sent, including cached reads."""
    output_tokens: Count = 0
    total_tokens: Count = 0
    total_cost_usd: Money = 0.0
    project_cost_usd: Money = 0.0
    last_run_id: str = ""
    elapsed_sec: Count = 0


class AggregateFile(Record):
    """The usage of a run, with the version and the model."""

    version: str = Field(default_factory=lambda: f"ralph-tui {__version__}")
    model: str = ""
    metrics: RunMetrics


class RunFiles:
    """Follows a run's events and writes the wanted files."""

    def __init__(
        self, layout: Layout, wanted: tuple[str, ...], clock: Callable[[], datetime] = utc_now
    ) -> None:
        """Write the files that `wanted` names; `clock` returns the time in UTC."""
        self._paths = [layout.home / name for name in (RUN_STATE, AGGREGATE) if name in wanted]
        self._clock = clock
        now = clock()
        self._state = RunStateFile(started_at=now, updated_at=now)
        self._metrics = RunMetrics(started_at=now, updated_at=now)
        self._model = ""
        self._finished = False
        self._due = False
        self._failures: set[str] = set()

    def note(self, event: Event) -> None:
        """Update the state from an event; never blocks."""
        if not self._paths:
            return
        if isinstance(event, ev.UsageReported):
            self._count(event)  # written with the next other event, because usage reports are many
            return
        if isinstance(event, ev.SessionStarted) and event.model:
            self._model = event.model
        changed = self._changed_fields(event)
        if changed:
            self._state = self._state.model_copy(update={**changed, "updated_at": self._clock()})
            self._due = True

    def close(self) -> None:
        """Write the end of a run that could not report it. Blocks."""
        if not self._finished:
            broken = {"status": "error", "last_error": "the run was cut short"}
            self._state = self._state.model_copy(update={**broken, **self._current_step("")})
            self._due = True
        self.write()

    def write(self) -> tuple[str, ...]:
        """Write what has changed; return a sentence about each file that cannot be written, once. Blocks."""
        told: list[str] = []
        due, self._due = self._due, False
        for path in self._paths if due else ():
            file = self._state if path.name == RUN_STATE else self._aggregate()
            data = json_text(file, indent=4).encode() + b"\n"
            try:
                write_atomic(path, data, mode=PROJECT_MODE)
            except StoreError as error:
                if path.name not in self._failures:
                    self._failures.add(path.name)
                    told.append(f"{path.name} cannot be kept up to date: {error}")
        return tuple(told)

    def _changed_fields(self, event: Event) -> dict[str, object]:
        match event:
            case ev.LoopStarted():
                self._model = event.model
                now_in = self._current_step(event.phase.value)
                return {"run_id": event.run_id, "pid": event.pid, **now_in}
            case ev.PhaseChanged():
                return self._current_step(event.phase.value)
            case ev.LoopFinished():
                self._finished = True
                self._change_metrics(
                    completed_at=self._clock(),
                    total_cost_usd=max(self._metrics.total_cost_usd, event.cost_usd),
                )
                error = "" if event.status is LoopStatus.COMPLETE else _safe(event.reason)
                status = _ENDS.get(event.status, "blocked")
                return {**self._current_step(""), "status": status, "last_error": error}
            case ev.LoopPaused() | ev.ApprovalRequested() | ev.LimitWait() | ev.QuestionAsked():
                return {"status": "blocked"}
            case (
                ev.LoopResumed() | ev.ApprovalGiven() | ev.LimitWaitEnded() | ev.QuestionAnswered()
            ):
                return {"status": "running"}
            case _:
                return self._work_fields(event)

    def _work_fields(self, event: Event) -> dict[str, object]:
        match event:
            case ev.StepStarted():
                return self._current_step(event.step)
            case ev.StepFinished() if event.outcome is StepOutcome.DONE:
                return {"last_successful_step": event.step}
            case ev.StepFinished():
                why = event.reason or event.outcome.value
                return {"last_error": _safe(f"step {event.step}: {why}")}
            case ev.IterationStarted():
                return {
                    "loop_number": event.iteration,
                    "current_task_id": event.task_id,
                    "current_task": _safe(event.title),
                    **self._current_step(WORK),
                    "status": "running",
                }
            case ev.IterationFinished() if event.outcome is IterationOutcome.COMPLETE:
                return {"last_successful_step": WORK, "last_error": ""}
            case ev.IterationFinished():
                return {"last_error": _safe(event.reason or event.outcome.value)}
            case _:
                return {}

    def _current_step(self, name: str) -> dict[str, object]:
        return {"current_step": name, "step_started_at": self._clock() if name else None}

    def _change_metrics(self, **changes: object) -> None:
        self._metrics = self._metrics.model_copy(update=changes)

    def _count(self, event: ev.UsageReported) -> None:
        before, usage = self._metrics, event.usage
        self._change_metrics(
            total_claude_calls=before.total_claude_calls + 1,
            input_tokens=before.input_tokens + usage.context - usage.output_tokens,
            output_tokens=before.output_tokens + usage.output_tokens,
            total_tokens=before.total_tokens + usage.context,
            total_cost_usd=max(before.total_cost_usd, event.costs.session),
            project_cost_usd=max(before.project_cost_usd, event.costs.total),
        )

    def _aggregate(self) -> AggregateFile:
        metrics, now = self._metrics, self._clock()
        elapsed = ((metrics.completed_at or now) - metrics.started_at).total_seconds()
        seconds = int(max(0.0, elapsed))
        changes = {"updated_at": now, "last_run_id": self._state.run_id, "elapsed_sec": seconds}
        return AggregateFile(model=self._model, metrics=metrics.model_copy(update=changes))


def _safe(text: str) -> str:
    return one_line(redact(text), LONGEST_ERROR)
