"""The circuit breaker: stops the loop for what would repeat with any task.

A task's own failures cost that task its attempts. The breaker counts how many tasks fail in a row, and it
opens for what one task alone cannot explain: denials, collapse, the same error across tasks, cost.
"""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum

from pydantic import Field

from ralph_tui.domain.base import Amount, Count, Model, Record, Timestamp
from ralph_tui.domain.costs import Money, plus
from ralph_tui.domain.plan.plan import ImplementationPlan
from ralph_tui.domain.run.oscillation import Files, Left, came_back, leaving, seen

KEPT_EVIDENCE = 5
"""How many of the last pieces of evidence a signal keeps."""

COLLAPSE = 0.30
"""Output below this share of the usual counts as collapsed (a drop by 70 %)."""


NOBODYS = ""
"""Represents a failure that no task is to blame for, such as a CLI that died."""

_ONE_PER_TASK = frozenset({"failures", "refused claims"})
"""Signals that count tasks, however often each fails; the others count iterations."""


class BreakerState(StrEnum):
    """Closed lets work through, open stops it, half-open lets one iteration try."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


class RecoveryAction(StrEnum):
    """What is done about a pattern of failure."""

    NONE = "none"
    RETRY = "retry"
    SKIP_CURRENT_TASK = "skip_current_task"
    HANDOFF = "handoff"
    REGENERATE_PLAN = "regenerate_plan"
    MANUAL_INTERVENTION = "manual_intervention"


class IterationVerdict(Model):
    """What the breaker needs to know of an iteration."""

    is_failure: bool
    task: str = NOBODYS
    """The task whose own doing this is; empty when it says nothing about the task."""
    tasks_completed: Count = 0
    cost_usd: Money = 0.0
    evidence: str = ""
    error: str = ""
    """Represents the failure itself: the same when it is the same, whatever its numbers and paths."""
    denied: str = ""
    """The command that was denied last; empty when none was. The same one again is what counts."""
    output_tokens: Count | None = None
    """None when there is no usual to compare with: only building is the same work again and again."""
    tests_only: bool = False
    """The iteration ran tests and changed nothing but tests."""
    refused_claim: bool = False
    """A claim was made and no gate passed."""
    files: Files = Files()
    """The project's files before the iteration and after it."""


class Signal(Model):
    """One counter with its threshold and the evidence that counted."""

    name: str
    count: float
    threshold: float
    evidence: tuple[str, ...] = ()

    @property
    def reached(self) -> bool:
        """Whether the count is at the threshold; a threshold of 0 is off."""
        return 0 < self.threshold <= self.count

    @property
    def cause(self) -> str:
        """What happened, as a clause without a full stop."""
        said = self._counted(_CAUSES)
        return f"{said}; the last: {self.evidence[-1]}" if self.evidence else said

    @property
    def cause_of_one(self) -> str:
        """The same, of the one task that all of it is about."""
        said = self._counted(_CAUSES_OF_ONE)
        last = self.evidence[-1].partition(": ")[2] if self.evidence else ""
        return f"{said}; the last: {last}" if last else said

    def _counted(self, words: Mapping[str, str]) -> str:
        plural = "" if self.count == 1 else "s"
        return words[self.name].format(count=self.count, threshold=self.threshold, s=plural)


_CAUSES: Mapping[str, str] = {
    "failures": "{count:g} failure{s} in a row",
    "stagnation": "{count:g} iteration{s} in a row finished no task",
    "same error": "{count:g} iteration{s} failed in the same way",
    "denials": "{count:g} iteration{s} were denied the same command",
    "output collapse": "the output of {count:g} iteration{s} was far below the usual",
    "tests only": "{count:g} iteration{s} only ran or wrote tests",
    "refused claims": "the checks refused {count:g} claim{s} in a row",
    "cost": "the project cost ${count:.2f} of ${threshold:.2f}",
}

_CAUSES_OF_ONE: Mapping[str, str] = {
    "stagnation": "{count:g} iteration{s} did not finish it",
    "same error": "it failed {count:g} time{s} in the same way",
    "denials": "it was denied the same command {count:g} time{s}",
    "output collapse": "the output of {count:g} iteration{s} was far below the usual",
    "tests only": "{count:g} iteration{s} only ran or wrote tests",
}


class CircuitBreaker(Record):
    """Counters and thresholds, `.ralph/circuit_breaker.json`; a threshold of 0 is off."""

    state: BreakerState = BreakerState.CLOSED
    half_open_at: Timestamp | None = None
    """When the open breaker allows one iteration; None: only a person can reset it."""
    failure_count: Count = 0
    stagnation_count: Count = 0
    same_error_count: Count = 0
    denied_count: Count = 0
    collapse_count: Count = 0
    tests_only_count: Count = 0
    refused_claims_count: Count = 0
    total_cost: Money = 0.0
    max_consecutive_failures: Count = 3
    max_stagnation_iterations: Count = 5
    max_same_error: Count = 5
    max_denied: Count = 5
    max_collapses: Count = 3
    max_tests_only: Count = 3
    max_refused_claims: Count = 3
    max_cost_usd: Money = 200.0
    last_error: str = ""
    last_denied: str = ""
    usual_output: Amount = 0.0
    """Output tokens of an iteration, as a moving average."""
    evidence: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)
    blamed: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)
    """The tasks that each signal's count is about; `NOBODYS` is for a failure of no task."""
    opened_by: str = ""
    """What opened it, as a clause."""
    reset_reason: str = ""
    left: tuple[Left, ...] = ()
    """What the last iterations left, to see when they go round in circles."""

    def signals(self) -> tuple[Signal, ...]:
        """Return every counter as n/threshold."""
        counted = (
            ("failures", self.failure_count, self.max_consecutive_failures),
            ("stagnation", self.stagnation_count, self.max_stagnation_iterations),
            ("same error", self.same_error_count, self.max_same_error),
            ("denials", self.denied_count, self.max_denied),
            ("output collapse", self.collapse_count, self.max_collapses),
            ("tests only", self.tests_only_count, self.max_tests_only),
            ("refused claims", self.refused_claims_count, self.max_refused_claims),
            ("cost", self.total_cost, self.max_cost_usd),
        )
        return tuple(
            Signal(name=name, count=count, threshold=limit, evidence=self.evidence.get(name, ()))
            for name, count, limit in counted
        )

    def record_iteration(self, verdict: IterationVerdict) -> "CircuitBreaker":
        """Return a copy after one more iteration, opened when a threshold is reached."""
        progress = verdict.tasks_completed > 0
        counts = {
            "failures": self._tasks("failures", self.failure_count, verdict, on=verdict.is_failure),
            # What undoes what others did is no step on, even when its own checks are green.
            "stagnation": _next(self.stagnation_count, on=not progress or self._undone(verdict)),
            "same error": self._same(verdict.error, self.last_error, self.same_error_count),
            "denials": self._same(verdict.denied, self.last_denied, self.denied_count),
            "output collapse": _next(
                self.collapse_count, on=self._collapsed(verdict) and not progress
            ),
            "tests only": _next(self.tests_only_count, on=verdict.tests_only and not progress),
            "refused claims": self._tasks(
                "refused claims", self.refused_claims_count, verdict, on=verdict.refused_claim
            ),
        }
        counted = self.model_copy(
            update={
                "failure_count": counts["failures"],
                "stagnation_count": counts["stagnation"],
                "same_error_count": counts["same error"],
                "denied_count": counts["denials"],
                "collapse_count": counts["output collapse"],
                "tests_only_count": counts["tests only"],
                "refused_claims_count": counts["refused claims"],
                "last_error": verdict.error,
                "last_denied": verdict.denied,
                "usual_output": self._usual(verdict),
                "evidence": self._with_evidence(counts, verdict),
                "blamed": self._blamed(counts, verdict.task),
                "total_cost": plus(self.total_cost, verdict.cost_usd),
                "left": leaving(self.left, verdict.files),
            }
        )
        return counted._opened(verdict, tried=self.state is BreakerState.HALF_OPEN)  # noqa: SLF001

    def _opened(self, verdict: IterationVerdict, *, tried: bool) -> "CircuitBreaker":
        """Return a copy that is open when a threshold is reached or the trial iteration failed."""
        signal = self.tripped()
        trial_failed = tried and (verdict.is_failure or not verdict.tasks_completed)
        if signal is not None:
            return self.opened(signal.cause)
        if trial_failed:
            return self.opened(f"the trial iteration failed as well: {verdict.evidence}")
        return self.model_copy(
            update={"state": BreakerState.CLOSED, "half_open_at": None, "opened_by": ""}
        )

    def opened(self, cause: str) -> "CircuitBreaker":
        """Return a copy that stops the loop."""
        update = {"state": BreakerState.OPEN, "half_open_at": None, "opened_by": cause}
        return self.model_copy(update=update)

    def _undone(self, verdict: IterationVerdict) -> bool:
        return came_back(self.left, verdict.files) is not None

    @staticmethod
    def _same(now: str, before: str, count: int) -> int:
        if not now:
            return 0
        return count + 1 if now == before else 1

    def _tasks(self, name: str, count: int, verdict: IterationVerdict, *, on: bool) -> int:
        """Count one more, unless this task is counted already: another failure costs it another attempt."""
        if count and on and verdict.task and verdict.task in self.blamed.get(name, ()):
            return count
        return _next(count, on=on)

    def _blamed(self, counts: Mapping[str, int], task: str) -> dict[str, tuple[str, ...]]:
        """Return the tasks behind each signal above zero."""
        blamed: dict[str, tuple[str, ...]] = {}
        for name, count in counts.items():
            before = self.blamed.get(name, ()) if count > 1 else ()
            if count:
                blamed[name] = before if task in before else (*before, task)
        return blamed

    def _is_one_tasks(self, signal: Signal) -> bool:
        """Return whether one task alone is behind a signal that others would have to confirm."""
        blamed = self.blamed.get(signal.name, ())
        alone = len(blamed) == 1 and NOBODYS not in blamed
        return alone and signal.name in _CAUSES_OF_ONE

    def given_up(self) -> Signal | None:
        """Return the first signal that reached its threshold because of one task alone, or None."""
        return next((s for s in self.signals() if s.reached and self._is_one_tasks(s)), None)

    def without_blocked(self) -> "CircuitBreaker":
        """Return a copy whose stagnation counts the task that was just blocked as one iteration only."""
        tasks = len(self.blamed.get("stagnation", ()))
        return self.model_copy(update={"stagnation_count": min(self.stagnation_count, tasks)})

    def _collapsed(self, verdict: IterationVerdict) -> bool:
        said = verdict.output_tokens
        return said is not None and said < COLLAPSE * self.usual_output

    def _usual(self, verdict: IterationVerdict) -> float:
        """Return the usual output in tokens, averaged over iterations; a collapse does not count."""
        said = verdict.output_tokens
        if said is None or self._collapsed(verdict):
            return self.usual_output
        return (2 * (self.usual_output or said) + said) / 3

    def _with_evidence(
        self, counts: Mapping[str, int], verdict: IterationVerdict
    ) -> dict[str, tuple[str, ...]]:
        """Return what counted for each signal above zero."""
        kept: dict[str, tuple[str, ...]] = {}
        for name, count in counts.items():
            if count:
                before = self.evidence.get(name, ()) if count > 1 else ()
                again = verdict.task and verdict.task in self.blamed.get(name, ())
                if name in _ONE_PER_TASK and again:
                    before = before[:-1]  # what it failed with before is in its history
                kept[name] = (*before, self._seen(name, verdict))[-KEPT_EVIDENCE:]
        return kept

    def _seen(self, name: str, verdict: IterationVerdict) -> str:
        """Return what counted for one signal, beginning with the task, as the verdict's evidence does."""
        details = {
            "denials": f"denied: {verdict.denied}",
            "output collapse": f"{verdict.output_tokens} output tokens, usual {self.usual_output:.0f}",
            "stagnation": seen(self.left, verdict.files),
        }
        return f"{verdict.evidence} ({details[name]})" if details.get(name) else verdict.evidence

    def tripped(self) -> Signal | None:
        """Return the first signal that opens the breaker, or None; one task alone does not."""
        return next((s for s in self.signals() if s.reached and not self._is_one_tasks(s)), None)

    @property
    def is_spent(self) -> bool:
        """The money is used up, which no time brings back."""
        return 0 < self.max_cost_usd <= self.total_cost

    @property
    def is_cooling(self) -> bool:
        """Whether the breaker is open and will try again automatically."""
        return self.state is BreakerState.OPEN and self.half_open_at is not None

    def cooling(self, until: datetime | None) -> "CircuitBreaker":
        """Return a copy that attempts one iteration at `until`; None: not automatically."""
        return self.model_copy(update={"half_open_at": until})

    def half_open(self) -> "CircuitBreaker":
        """Return a copy that lets exactly one iteration through."""
        return self._cleared(BreakerState.HALF_OPEN)

    def reset(self, reason: str) -> "CircuitBreaker":
        """Return a closed copy with its counters at zero and the reason."""
        cleared = self._cleared(BreakerState.CLOSED)
        return cleared.model_copy(update={"evidence": {}, "reset_reason": reason, "left": ()})

    def _cleared(self, state: BreakerState) -> "CircuitBreaker":
        counters = {n: 0 for n in CircuitBreaker.model_fields if n.endswith("_count")}
        return self.model_copy(
            update={
                **counters,
                "state": state,
                "half_open_at": None,
                "blamed": {},
                "opened_by": "",
                "last_error": "",
                "last_denied": "",
            }
        )


def _next(count: int, *, on: bool) -> int:
    return count + 1 if on else 0


REGENERATE_BELOW = 0.5
"""Share of the plan complete below which a plan without progress is made again."""


def recovery_for(plan: ImplementationPlan, breaker: CircuitBreaker) -> RecoveryAction:
    """Choose a recovery in the seeds' order: replan where the loop makes no progress, otherwise a person decides."""
    signal = breaker.tripped()
    if signal is not None and signal.name == "stagnation":
        return recovery_of_plan(plan)
    return RecoveryAction.MANUAL_INTERVENTION


def recovery_of_plan(plan: ImplementationPlan) -> RecoveryAction:
    """Choose what to do about a plan that cannot continue."""
    if plan.completion_percentage < REGENERATE_BELOW:
        return RecoveryAction.REGENERATE_PLAN
    return RecoveryAction.MANUAL_INTERVENTION
