"""Report the state of each step around the work, and reset a step so that it runs again."""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from ralph_tui.config.step_settings import COMMIT, WORK, StepSettings
from ralph_tui.domain.base import Model, Timestamp
from ralph_tui.domain.errors import RalphError
from ralph_tui.domain.formatting import plural
from ralph_tui.domain.run.steps import StepLog, StepOutcome, StepRecord, digest_of
from ralph_tui.domain.sanitize import one_line
from ralph_tui.store.project import Documents, Project

PROMPT_LIMIT = 40_000
"""Characters of a step's instructions."""

REASON_CHARS = 200

COMMITS_OFF = "git.commit is off"


class StepState(Model):
    """The state of a step, for a person."""

    name: str
    type: str
    what: str
    when: str
    once: bool
    state: str
    """In words, such as `ready` or `done once, 2026-01-02 03:04 UTC`."""
    done_at: Timestamp | None = None
    failures: int = 0
    open_until: Timestamp | None = None
    last_outcome: StepOutcome | None = None
    last_at: Timestamp | None = None
    last_reason: str = ""


def step_text(project: Project, step: StepSettings) -> str:
    if not step.prompt:
        return step.run
    return project.read_text(project.root / step.prompt, PROMPT_LIMIT)


def has_changed(project: Project, step: StepSettings, record: StepRecord) -> bool:
    text = step_text(project, step)
    return bool(text and record.done_hash) and digest_of(text) != record.done_hash


def step_states(
    project: Project,
    steps: Mapping[str, StepSettings],
    log: StepLog,
    *,
    running: bool,
    commits: bool,
) -> tuple[StepState, ...]:
    now = datetime.now(UTC)
    states = []
    for name, step in steps.items():
        record = log.of(name)
        off = COMMITS_OFF if step.type == COMMIT and not commits else ""
        states.append(
            StepState(
                name=name,
                type=step.type,
                what="" if step.what == step.type else step.what,
                when="" if step.type == WORK else step.runs.value,
                once=step.once,
                state="running"
                if running and log.running == name
                else off or _state(project, step, record, now),
                done_at=record.done_at,
                failures=record.failures,
                open_until=record.open_until,
                last_outcome=record.last_outcome,
                last_at=record.last_at,
                last_reason=record.last_reason,
            )
        )
    return tuple(states)


def _state(project: Project, step: StepSettings, record: StepRecord, now: datetime) -> str:
    if step.type == WORK:
        return ""
    if not step.enabled:
        return "off"
    if step.once and record.done_at is not None:
        changed = has_changed(project, step, record)
        since = ", changed since" if changed else ""
        return f"done once, {record.done_at:%Y-%m-%d %H:%M} UTC{since}"
    if record.open_until is not None and record.is_open(now):
        times = plural(record.failures, "failure")
        return f"breaker open until {record.open_until:%Y-%m-%d %H:%M:%S} UTC ({times})"
    if step.once and record.reset_at is not None:
        return f"ready again: {record.reset_reason}"
    return "ready"


def reset_step(root: Path, steps: Mapping[str, StepSettings], name: str, reason: str) -> StepRecord:
    """Let a step run again: close its breaker and record the reason."""
    if name not in steps or name == WORK:
        known = ", ".join(other for other in steps if other != WORK) or "none"
        raise RalphError(f"There is no step {one_line(name, 60)!r} to reset.", f"Known: {known}.")
    shown_reason = one_line(reason, REASON_CHARS)
    if not shown_reason:
        raise RalphError(
            "A reset needs a reason.", f"ralph steps --reset {name} --reason 'Why it runs again'"
        )

    def change(docs: Documents) -> Documents:
        return docs.replacing(steps=docs.steps.reset(name, shown_reason, datetime.now(UTC)))

    return Project(root).transact(change).steps.of(name)
