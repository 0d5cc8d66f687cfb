"""Count the context usage and costs of a session from its usage reports."""

from ralph_tui.domain import events as ev
from ralph_tui.domain.costs import CostLevel, CostLimits, CostMeter
from ralph_tui.domain.run.context_budget import ContextBudget, TokenUsage
from ralph_tui.engine.core.ports import TurnUsage


class UsageMeter:
    """Counts the usage of one agent session, on top of earlier costs."""

    def __init__(
        self, spent: CostMeter, limits: CostLimits, budget: ContextBudget, *, follow_model: bool
    ) -> None:
        """Start from the costs in `spent`.

        Args:
            follow_model: Whether to replace the capacity by the model's own context window.
        """
        self._spent = spent.next_iteration()
        self._follow_model = follow_model
        self.limits = limits
        self.budget = budget.using(0)
        self.costs = self._spent
        self.tokens = 0
        self.output_tokens = 0
        self.requests = 0

    def count(self, usage: TurnUsage) -> ev.UsageReported:
        self.costs = self._spent.add(usage.session_cost_usd)
        self.tokens = usage.session_tokens
        self.output_tokens = usage.session_output_tokens
        self.requests = usage.session_requests
        changes: dict[str, int] = {"current_usage": usage.usage.context}
        if self._follow_model and usage.context_window:
            changes["total_capacity"] = usage.context_window
        self.budget = self.budget.model_copy(update=changes)
        return self._report(usage.usage)

    def add_cost(self, usd: float) -> ev.UsageReported:
        """Add the cost of another session, such as a reviewer's, and return the event to emit."""
        self._spent = self._spent.add(usd)
        self.costs = self.costs.add(usd)
        return self._report(TokenUsage())

    def _report(self, usage: TokenUsage) -> ev.UsageReported:
        return ev.UsageReported(
            context_tokens=self.budget.current_usage,
            context_capacity=self.budget.total_capacity,
            usage=usage,
            costs=self.costs,
        )

    @property
    def exceeded(self) -> CostLevel | None:
        return self.costs.exceeded(self.limits)
