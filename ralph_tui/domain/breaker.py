"""The circuit breaker: stops the loop when it fails, stands still, or goes round in circles."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum

from pydantic import Field

from ralph_tui.domain.circles import Files, Left, came_back, leaving, seen
from ralph_tui.domain.model import Count, Model, Money, Record, Timestamp

KEPT_EVIDENCE = 5
"""How many of the last pieces of evidence a signal keeps."""

COLLAPSE = 0.30
"""Output below this share of the usual counts as collapsed (a drop by 70 %)."""


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
    tasks_completed: Count = 0
    cost_usd: Money = 0.0
    evidence: str = ""
    error: str = ""
    """What went wrong, in words that are the same when it is the same."""
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


class CircuitBreaker(Record):
    """Counters and thresholds, `.ralph/circuit_breaker.json`; a threshold of 0 is off."""

    state: BreakerState = BreakerState.CLOSED
    half_open_at: Timestamp | None = None
    """When the open breaker lets one iteration try by itself; None: only a person does."""
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
    max_refused_claims: Count = 2
    max_cost_usd: Money = 200.0
    last_error: str = ""
    last_denied: str = ""
    usual_output: Money = 0.0
    """Output tokens of an iteration, as a moving average."""
    evidence: Mapping[str, tuple[str, ...]] = Field(default_factory=dict)
    reset_reason: str = ""
    left: tuple[Left, ...] = ()
    """What the last iterations left, to see when they go round in circles."""

    def signals(self) -> tuple[Signal, ...]:
        """Every counter as n/threshold."""
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
        """A copy after one more iteration, opened when a threshold is reached."""
        progress = verdict.tasks_completed > 0
        counts = {
            "failures": _next(self.failure_count, on=verdict.is_failure),
            # What undoes what others did is no step on, even when its own checks are green.
            "stagnation": _next(self.stagnation_count, on=not progress or self._undone(verdict)),
            "same error": self._same(verdict.error, self.last_error, self.same_error_count),
            "denials": self._same(verdict.denied, self.last_denied, self.denied_count),
            "output collapse": _next(
                self.collapse_count, on=self._collapsed(verdict) and not progress
            ),
            "tests only": _next(self.tests_only_count, on=verdict.tests_only and not progress),
            "refused claims": _next(self.refused_claims_count, on=verdict.refused_claim),
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
                "total_cost": self.total_cost + verdict.cost_usd,
                "left": leaving(self.left, verdict.files),
            }
        )
        probe_failed = self.state is BreakerState.HALF_OPEN and (verdict.is_failure or not progress)
        opened = counted.tripped() is not None or probe_failed
        state = BreakerState.OPEN if opened else BreakerState.CLOSED
        return counted.model_copy(update={"state": state, "half_open_at": None})

    def _undone(self, verdict: IterationVerdict) -> bool:
        return came_back(self.left, verdict.files) is not None

    @staticmethod
    def _same(now: str, before: str, count: int) -> int:
        if not now:
            return 0
        return count + 1 if now == before else 1

    def _collapsed(self, verdict: IterationVerdict) -> bool:
        said = verdict.output_tokens
        return said is not None and said < COLLAPSE * self.usual_output

    def _usual(self, verdict: IterationVerdict) -> float:
        """A collapse does not become the new usual."""
        said = verdict.output_tokens
        if said is None or self._collapsed(verdict):
            return self.usual_output
        return (2 * (self.usual_output or said) + said) / 3

    def _with_evidence(
        self, counts: Mapping[str, int], verdict: IterationVerdict
    ) -> dict[str, tuple[str, ...]]:
        """What counted for each signal that stands above zero."""
        kept: dict[str, tuple[str, ...]] = {}
        for name, count in counts.items():
            if count:
                before = self.evidence.get(name, ()) if count > 1 else ()
                kept[name] = (*before, self._seen(name, verdict))[-KEPT_EVIDENCE:]
        return kept

    def _seen(self, name: str, verdict: IterationVerdict) -> str:
        """What counted for one signal; it begins with the task, as the verdict's evidence does."""
        details = {
            "denials": f"denied: {verdict.denied}",
            "output collapse": f"{verdict.output_tokens} output tokens, usual {self.usual_output:.0f}",
            "stagnation": seen(self.left, verdict.files),
        }
        return f"{verdict.evidence} ({details[name]})" if details.get(name) else verdict.evidence

    def tripped(self) -> Signal | None:
        """The first signal that reached its threshold, or None."""
        return next((s for s in self.signals() if 0 < s.threshold <= s.count), None)

    def should_halt(self) -> tuple[bool, str | None]:
        """Whether to stop, and the reason in the seeds' form (`consecutive_failures:3`)."""
        signal = self.tripped()
        if signal is None:
            return self.state is BreakerState.OPEN, None
        if signal.name == "cost":
            return True, f"cost_limit:${self.total_cost:.2f}"
        name = "consecutive_failures" if signal.name == "failures" else signal.name
        return True, f"{name.replace(' ', '_')}:{signal.count:.0f}"

    def attempt_recovery(self) -> RecoveryAction:
        """The seeds' choice of recovery for the pattern that opened the breaker."""
        if self.tripped() is None:
            return RecoveryAction.NONE
        if self.failure_count >= self.max_consecutive_failures > 0:
            return RecoveryAction.SKIP_CURRENT_TASK
        return RecoveryAction.REGENERATE_PLAN if self.stagnation_count else RecoveryAction.NONE

    @property
    def is_spent(self) -> bool:
        """The money is used up, which no time brings back."""
        return 0 < self.max_cost_usd <= self.total_cost

    @property
    def is_cooling(self) -> bool:
        """Open, and trying again by itself after a while."""
        return self.state is BreakerState.OPEN and self.half_open_at is not None

    def cooling(self, until: datetime | None) -> "CircuitBreaker":
        """A copy that lets one iteration try at `until`; None: not by itself."""
        return self.model_copy(update={"half_open_at": until})

    def half_open(self) -> "CircuitBreaker":
        """A copy that lets exactly one iteration through."""
        return self._cleared(BreakerState.HALF_OPEN)

    def reset(self, reason: str) -> "CircuitBreaker":
        """A closed copy with its counters at zero and the reason kept."""
        cleared = self._cleared(BreakerState.CLOSED)
        return cleared.model_copy(update={"evidence": {}, "reset_reason": reason, "left": ()})

    def _cleared(self, state: BreakerState) -> "CircuitBreaker":
        counters = {n: 0 for n in CircuitBreaker.model_fields if n.endswith("_count")}
        return self.model_copy(
            update={
                **counters,
                "state": state,
                "half_open_at": None,
                "last_error": "",
                "last_denied": "",
            }
        )


def _next(count: int, *, on: bool) -> int:
    return count + 1 if on else 0
