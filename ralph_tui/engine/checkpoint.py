"""What is looked at before money is spent on another iteration, in every phase."""

from ralph_tui.domain import events as ev
from ralph_tui.domain.breaker import BreakerState, CircuitBreaker, RecoveryAction
from ralph_tui.domain.costs import CostLevel, CostMeter
from ralph_tui.domain.recovery import given_up, recovery_for
from ralph_tui.domain.state import ApprovalKind, Halt, RalphState
from ralph_tui.engine.allowances import Allowances
from ralph_tui.engine.asking import decide
from ralph_tui.engine.custody import Custody
from ralph_tui.engine.ending import End, failed, fatal, interrupted, stopped
from ralph_tui.engine.mission import Mission
from ralph_tui.engine.pacing import Pace
from ralph_tui.engine.ports import Failure
from ralph_tui.engine.waiting import Patience, forgive
from ralph_tui.engine.workshop import Workshop
from ralph_tui.store.project import Documents


class Checkpoint:
    """Counts the iterations of a run and holds the run against its limits."""

    def __init__(
        self,
        shop: Workshop,
        mission: Mission,
        *,
        custody: Custody,
        allowances: Allowances,
    ) -> None:
        """Let iterations begin while the repository stays as it was and no limit is reached."""
        self.done = 0
        self._shop = shop
        self._mission = mission
        self._patience = Patience(shop, mission)
        self._pace = Pace(shop)
        self._allowances = allowances
        self._custody = custody
        self._paused = False

    async def reason_to_stop(self) -> End | None:
        """Wait while paused; then the stop that was asked for or the limit reached, or None."""
        await self._wait_while_paused()
        if self._state.stop is not Halt.NONE:
            return interrupted(self._state)
        unwritten = await self._shop.unwritten()
        if unwritten is not None:  # what cannot be written down must not be paid for
            return failed(unwritten)
        changed = await self._custody.check()
        if changed is not None:
            return changed
        if self._shop.ledger.docs.breaker.state is BreakerState.OPEN:
            end = await self._breaker_open()
            if end is not None:
                return end
        return self._limit_reached() or await self._allowed()

    async def _allowed(self) -> End | None:
        """Wait while the hour's requests are used up; an end when the allowance is."""
        used_up = self._allowances.used_up(self._shop.clock())
        if used_up is not None:
            return used_up
        await self._pace.hold()
        return interrupted(self._state) if self._state.stop is not Halt.NONE else None

    @property
    def _state(self) -> RalphState:
        return self._shop.ledger.docs.state

    async def _breaker_open(self) -> End | None:
        """Recover by policy; the person may let one more iteration try."""
        docs = self._shop.ledger.docs
        reason = _why_open(docs.breaker)
        action = recovery_for(docs.plan, docs.breaker)
        if action is RecoveryAction.SKIP_CURRENT_TASK:
            await self._go_on_with_the_next(docs)
            return None
        hint = "Put right what failed, then run again; a new run resets it."
        end = stopped(reason, hint).model_copy(update={"recovery": action})
        if action is not RecoveryAction.MANUAL_INTERVENTION or not self._mission.interactive:
            return end
        summary = (
            f"{reason}. Let one more iteration try? Yes runs exactly one: if it completes a task the loop "
            "goes on, if not it asks again. No ends this run; nothing is lost."
        )
        decided = await decide(self._shop, self._mission, ApprovalKind.RECOVERY, summary)
        if isinstance(decided, End):
            return decided
        if not decided.approved:
            return end
        if self._shop.ledger.docs.breaker.state is not BreakerState.OPEN:
            return None  # a reset is more than one try
        await self.set_breaker(docs.breaker.half_open(), "the person lets one iteration try")
        return None

    async def _go_on_with_the_next(self, docs: Documents) -> None:
        """The task that failed is blocked already; one iteration shows whether the others can be worked."""
        signal = docs.breaker.tripped()
        task = given_up(docs.plan, signal) if signal else None
        if task is not None:
            text = (
                f"{task.id} failed {task.retry_count} times and is blocked; the next task is tried."
            )
            self._shop.emit(ev.Notice(level="warning", text=text))
        await self.set_breaker(docs.breaker.half_open(), "on to the next task")

    async def set_breaker(self, breaker: CircuitBreaker, reason: str) -> None:
        """Put the breaker into another state, with the reason told."""

        def change(docs: Documents) -> Documents:
            return docs.model_copy(update={"breaker": breaker})

        await self._shop.ledger.transact(change, reason)

    async def after(self, failure: Failure | None) -> End | None:
        """Wait where waiting helps; an end when another iteration cannot get past the failure."""
        if await self._patience.after(failure):
            self.done -= 1
            await forgive(self._shop)
            return None
        stopped_meanwhile = self._state.stop is not Halt.NONE
        return interrupted(self._state) if failure and stopped_meanwhile else fatal(failure)

    def costs(self) -> CostMeter:
        """What was spent before the next iteration."""
        state = self._shop.ledger.docs.state
        return CostMeter(session=state.session_cost_usd, total=state.total_cost_usd)

    def _limit_reached(self) -> End | None:
        costs, limits = self.costs(), self._shop.settings.safety.cost_limits
        level = costs.exceeded(limits)
        if level in (CostLevel.SESSION, CostLevel.TOTAL):
            reason = f"the {level.value} cost ${costs.of(level):.2f} of ${limits.of(level):.2f}"
            setting = "per_session" if level is CostLevel.SESSION else "total"
            return stopped(reason, f"Raise safety.cost_limits.{setting} to go on.")
        most = self._shop.settings.phases.building.max_iterations
        if self.done >= most:
            count = f"{most} iteration{'' if most == 1 else 's'}"
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


def _why_open(breaker: CircuitBreaker) -> str:
    signal = breaker.tripped()
    if signal is None:
        return "the circuit breaker is open: its try failed"
    evidence = f" (last: {signal.evidence[-1]})" if signal.evidence else ""
    counts = f"{signal.name} {signal.count:g}/{signal.threshold:g}"
    return f"the circuit breaker is open: {counts}{evidence}"
