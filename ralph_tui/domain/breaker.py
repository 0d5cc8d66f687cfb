"""The circuit breaker: stops the loop when it fails or stands still."""

from enum import StrEnum

from ralph_tui.domain.model import Count, Model, Money, Record


class BreakerState(StrEnum):
    """Closed lets work through, open stops it, half-open lets one iteration try."""

    CLOSED = "closed"
    OPEN = "open"
    HALF_OPEN = "half_open"


class RecoveryAction(StrEnum):
    """What the seeds' breaker suggests after it opened."""

    NONE = "none"
    REGENERATE_PLAN = "regenerate_plan"
    SKIP_CURRENT_TASK = "skip_current_task"


class IterationVerdict(Model):
    """What the breaker needs to know of an iteration."""

    is_failure: bool
    tasks_completed: Count = 0
    cost_usd: Money = 0.0
    evidence: str = ""


class Signal(Model):
    """One counter with its threshold and the evidence that counted."""

    name: str
    count: float
    threshold: float
    evidence: tuple[str, ...] = ()


class CircuitBreaker(Record):
    """Counters and thresholds, `.ralph/circuit_breaker.json`; a threshold of 0 is off."""

    state: BreakerState = BreakerState.CLOSED
    failure_count: Count = 0
    stagnation_count: Count = 0
    total_cost: Money = 0.0
    max_consecutive_failures: Count = 3
    max_stagnation_iterations: Count = 5
    max_cost_usd: Money = 200.0
    failure_evidence: tuple[str, ...] = ()
    stagnation_evidence: tuple[str, ...] = ()
    reset_reason: str = ""

    def signals(self) -> tuple[Signal, ...]:
        """Every counter as n/threshold."""
        return (
            Signal(
                name="failures",
                count=self.failure_count,
                threshold=self.max_consecutive_failures,
                evidence=self.failure_evidence,
            ),
            Signal(
                name="stagnation",
                count=self.stagnation_count,
                threshold=self.max_stagnation_iterations,
                evidence=self.stagnation_evidence,
            ),
            Signal(name="cost", count=self.total_cost, threshold=self.max_cost_usd),
        )

    def record_iteration(self, verdict: IterationVerdict) -> "CircuitBreaker":
        """A copy after one more iteration, opened when a threshold is reached."""
        progress = verdict.tasks_completed > 0
        evidence = (verdict.evidence,) if verdict.evidence else ()
        counted = self.model_copy(
            update={
                "failure_count": self.failure_count + 1 if verdict.is_failure else 0,
                "failure_evidence": (*self.failure_evidence, *evidence)
                if verdict.is_failure
                else (),
                "stagnation_count": 0 if progress else self.stagnation_count + 1,
                "stagnation_evidence": () if progress else (*self.stagnation_evidence, *evidence),
                "total_cost": self.total_cost + verdict.cost_usd,
            }
        )
        probe_failed = self.state is BreakerState.HALF_OPEN and (verdict.is_failure or not progress)
        opened = counted.tripped() is not None or probe_failed
        state = BreakerState.OPEN if opened else BreakerState.CLOSED
        return counted.model_copy(update={"state": state})

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
        return True, f"{name}:{signal.count:.0f}"

    def attempt_recovery(self) -> RecoveryAction:
        """The seeds' choice of recovery for the pattern that opened the breaker."""
        if self.tripped() is None:
            return RecoveryAction.NONE
        if self.failure_count >= self.max_consecutive_failures > 0:
            return RecoveryAction.SKIP_CURRENT_TASK
        return RecoveryAction.REGENERATE_PLAN if self.stagnation_count else RecoveryAction.NONE

    def half_open(self) -> "CircuitBreaker":
        """A copy that lets exactly one iteration through."""
        return self.model_copy(
            update={"state": BreakerState.HALF_OPEN, "failure_count": 0, "stagnation_count": 0}
        )

    def reset(self, reason: str) -> "CircuitBreaker":
        """A closed copy with its counters at zero and the reason kept."""
        return self.model_copy(
            update={
                "state": BreakerState.CLOSED,
                "failure_count": 0,
                "stagnation_count": 0,
                "failure_evidence": (),
                "stagnation_evidence": (),
                "reset_reason": reason,
            }
        )
