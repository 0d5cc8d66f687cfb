"""Check the limits of a run before money is spent on another iteration, in every phase."""

from ralph_tui.domain import events as ev
from ralph_tui.domain.costs import CostMeter
from ralph_tui.domain.formatting import plural
from ralph_tui.domain.project_state import RalphState, StopMode
from ralph_tui.domain.run.breaker import BreakerState
from ralph_tui.engine.context import RunContext
from ralph_tui.engine.control.request import RunRequest
from ralph_tui.engine.core.outcome import End, failed_end, fatal_end, interrupted_end, stopped_end
from ralph_tui.engine.core.ports import Failure
from ralph_tui.engine.limits.backoff import Backoff, forgive
from ralph_tui.engine.limits.cost_limits import cost_limit_reached
from ralph_tui.engine.limits.open_breaker import change_breaker, get_past_open
from ralph_tui.engine.limits.quota import QuotaWatch
from ralph_tui.engine.limits.rate_limiter import RateLimiter
from ralph_tui.engine.safety.repository_guard import RepositoryGuard


class RunLimits:
    """Counts the iterations of a run and compares them with its limits."""

    def __init__(
        self,
        run: RunContext,
        request: RunRequest,
        *,
        repository_guard: RepositoryGuard,
        quota: QuotaWatch,
    ) -> None:
        """Let iterations begin while the repository stays as it was and no limit is reached.

        Args:
            run: The parts of the run.
            request: What the person asked for.
            repository_guard: Ends the run when the repository changed.
            quota: Ends the run when the person's share of the allowance is used.
        """
        self.done = 0
        self._run = run
        self._request = request
        self._backoff = Backoff(run, request)
        self._rate_limiter = RateLimiter(run)
        self._quota = quota
        self._repository_guard = repository_guard
        self._paused = False

    async def reason_to_stop(self) -> End | None:
        """Wait while paused; then return the requested stop or the limit reached, or None."""
        await self.wait_while_paused()
        if self._state.stop is not StopMode.NONE:
            return interrupted_end(self._state)
        unwritten = await self._run.unwritten()
        if unwritten is not None:  # what cannot be written down must not be paid for
            return failed_end(unwritten)
        changed = await self._repository_guard.check()
        if changed is not None:
            return changed
        spent = cost_limit_reached(self.costs(), self._run.settings.safety.cost_limits)
        if spent is not None and spent.ends_run:
            await self._open_breaker(spent.told)
            return spent.end
        if self._run.docs.breaker.state is BreakerState.OPEN:
            end = await get_past_open(self._run, self._request, self._limit_reached())
            # While it waited anything may have been asked for, so everything is looked at again.
            return end or await self.reason_to_stop()
        return self._limit_reached() or await self._allowed()

    async def reason_not_to_spend(self) -> End | None:
        """Return why a session beside the iterations, such as a step's, may not begin; None when it may."""
        unwritten = await self._run.unwritten()
        if unwritten is not None:
            return failed_end(unwritten)
        spent = cost_limit_reached(self.costs(), self._run.settings.safety.cost_limits)
        return spent.end if spent is not None and spent.ends_run else await self._allowed()

    async def repository_changed(self) -> End | None:
        """Return the end that a change of the repository means; None when it is as it was, or the person did it."""
        return await self._repository_guard.check()

    async def outlast(self, failure: Failure | None) -> bool:
        """Wait where waiting gets past a failure; returns whether it did."""
        return await self._backoff.after(failure)

    async def _allowed(self) -> End | None:
        """Wait while the hour's requests are used up; return an end when the quota is."""
        used_up = self._quota.used_up(self._run.clock())
        if used_up is not None:
            return used_up
        await self._rate_limiter.hold()
        return interrupted_end(self._state) if self._state.stop is not StopMode.NONE else None

    @property
    def _state(self) -> RalphState:
        return self._run.docs.state

    async def after(self, failure: Failure | None) -> End | None:
        """Wait where waiting helps; return an end when another iteration cannot get past the failure."""
        if await self.outlast(failure):
            self.done -= 1
            await forgive(self._run)
            return None
        return self.fatal(failure)

    def fatal(self, failure: Failure | None) -> End | None:
        """Return the end when nothing can get past a failure that was not waited out."""
        stopped_meanwhile = self._state.stop is not StopMode.NONE
        if failure and stopped_meanwhile:
            return interrupted_end(self._state)
        return fatal_end(failure, outage=self._backoff.outlasted)

    def costs(self) -> CostMeter:
        """Return what was spent before the next iteration."""
        docs = self._run.docs
        return CostMeter(session=docs.state.session_cost_usd, total=docs.project_cost)

    async def _open_breaker(self, cause: str) -> None:
        if self._run.docs.breaker.state is not BreakerState.OPEN:
            await change_breaker(self._run, lambda breaker: breaker.opened(cause), cause)

    def _limit_reached(self) -> End | None:
        most = self._run.settings.phases.building.max_iterations
        if self.done < most:
            return None
        reason = f"{plural(most, 'iteration')} ran, the maximum of a run"
        return stopped_end(reason, "Run again, or raise --max-iterations.")

    async def wait_while_paused(self) -> None:
        """Wait while the person pauses the loop, and say so once."""
        project_state = self._run.project_state
        while (
            state := project_state.docs.state
        ).pause is not StopMode.NONE and state.stop is StopMode.NONE:
            if not self._paused:
                self._paused = True
                self._run.emit(ev.LoopPaused())
            await project_state.wait_changed()
        self._paused = False
