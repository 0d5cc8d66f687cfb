"""What is looked at before money is spent on another iteration, in every phase."""

from ralph_tui.domain import events as ev
from ralph_tui.domain.breaker import BreakerState
from ralph_tui.domain.costs import CostLevel, CostMeter
from ralph_tui.domain.state import Halt
from ralph_tui.engine.ending import End, interrupted, stopped
from ralph_tui.engine.workshop import Workshop


class Checkpoint:
    """Counts the iterations of a run and holds the run against its limits."""

    def __init__(self, shop: Workshop, *, max_iterations: int) -> None:
        """Allow `max_iterations` iterations."""
        self.done = 0
        self._shop = shop
        self._max_iterations = max_iterations
        self._paused = False

    async def reason_to_stop(self) -> End | None:
        """Wait while paused; then the stop that was asked for or the limit reached, or None."""
        await self._wait_while_paused()
        if self._shop.ledger.docs.state.stop is not Halt.NONE:
            return interrupted()
        return self._limit_reached()

    def costs(self) -> CostMeter:
        """What was spent before the next iteration."""
        state = self._shop.ledger.docs.state
        return CostMeter(session=state.session_cost_usd, total=state.total_cost_usd)

    def _limit_reached(self) -> End | None:
        breaker = self._shop.ledger.docs.breaker
        if breaker.state is BreakerState.OPEN:
            signal = breaker.tripped()
            counts = "its try failed"
            if signal is not None:
                counts = f"{signal.name} {signal.count:g}/{signal.threshold:g}"
            evidence = f" (last: {signal.evidence[-1]})" if signal and signal.evidence else ""
            reason = f"the circuit breaker is open: {counts}{evidence}"
            return stopped(reason, "Put right what failed, then run again; a new run resets it.")
        costs, limits = self.costs(), self._shop.settings.safety.cost_limits
        level = costs.exceeded(limits)
        if level in (CostLevel.SESSION, CostLevel.TOTAL):
            reason = f"the {level.value} cost ${costs.of(level):.2f} of ${limits.of(level):.2f}"
            setting = "per_session" if level is CostLevel.SESSION else "total"
            return stopped(reason, f"Raise safety.cost_limits.{setting} to go on.")
        if self.done >= self._max_iterations:
            count = f"{self._max_iterations} iteration{'' if self._max_iterations == 1 else 's'}"
            reason = f"{count} ran, the most this run may"
            return stopped(reason, "Run again, or raise --max-iterations.")
        return None

    async def _wait_while_paused(self) -> None:
        ledger = self._shop.ledger
        while (state := ledger.docs.state).pause is not Halt.NONE and state.stop is Halt.NONE:
            if not self._paused:
                self._paused = True
                self._shop.emit(ev.LoopPaused())
            await ledger.wait_changed()
        self._paused = False
