"""The context budget: how full the context window is, and what the loop does about it."""

from enum import StrEnum

from ralph_tui.domain.base import Count, Model, Record


class Zone(StrEnum):
    """How far the window is filled (seeds, "The Smart Zone")."""

    UNDER = "under"
    SMART = "smart"
    DANGER = "danger"
    OVER = "over"


class BudgetDecision(StrEnum):
    """What the loop does about the context now."""

    CONTINUE = "continue"
    WRAP_UP = "wrap_up"
    HAND_OFF = "hand_off"
    INTERRUPT = "interrupt"


MOST_ITERATIONS = 100
"""How many iterations are kept in `ContextBudget.iterations`."""


class IterationUse(Record):
    """How far one iteration filled the context window, and how many tokens it used in total."""

    iteration: Count
    task_id: str = ""
    """The task, or the phase of a session without one."""
    context_tokens: Count = 0
    """Tokens in the window at the end of the iteration."""
    percent: float = 0.0
    """`context_tokens` in percent of the capacity."""
    tokens_used: Count = 0
    """Tokens of all requests of the iteration."""


class ContextBudget(Record):
    """Thresholds of one context window, in tokens and in percent of the capacity."""

    total_capacity: int = 200_000
    system_prompt_allocation: int = 5_000
    safety_margin: float = 0.20
    smart_zone_min_percent: int = 40
    budget_percent: int = 60
    handoff_threshold_percent: int = 75
    current_usage: Count = 0
    iterations: tuple[IterationUse, ...] = ()
    """The latest iterations, oldest first."""

    @property
    def interrupt_percent(self) -> int:
        return round(100 * (1 - self.safety_margin))

    @property
    def percent(self) -> float:
        return 100 * self.current_usage / self.total_capacity if self.total_capacity else 0.0

    @property
    def zone(self) -> Zone:
        if self.percent >= self.interrupt_percent:
            return Zone.OVER
        if self.percent >= self.budget_percent:
            return Zone.DANGER
        return Zone.SMART if self.percent >= self.smart_zone_min_percent else Zone.UNDER

    def using(self, tokens: int) -> "ContextBudget":
        return self.model_copy(update={"current_usage": max(0, tokens)})

    def recording(self, number: int, task_id: str, *, context: int, tokens: int) -> "ContextBudget":
        """Return a copy that also records the use of an iteration."""
        use = IterationUse(
            iteration=number,
            task_id=task_id,
            context_tokens=context,
            percent=round(self.using(context).percent, 1),
            tokens_used=tokens,
        )
        return self.model_copy(update={"iterations": (*self.iterations, use)[-MOST_ITERATIONS:]})

    def at_turn_end(self) -> BudgetDecision:
        over = self.percent >= self.budget_percent
        return BudgetDecision.HAND_OFF if over else BudgetDecision.CONTINUE

    def mid_turn(self) -> BudgetDecision:
        """Decide during a turn: first ask the model to wrap up, later interrupt."""
        if self.percent >= self.interrupt_percent:
            return BudgetDecision.INTERRUPT
        if self.percent >= self.handoff_threshold_percent:
            return BudgetDecision.WRAP_UP
        return BudgetDecision.CONTINUE


class TokenUsage(Model):
    """Tokens of one model response, as the API reports them."""

    input_tokens: Count = 0
    output_tokens: Count = 0
    cache_read_tokens: Count = 0
    cache_creation_tokens: Count = 0

    @property
    def context(self) -> int:
        """Tokens in the context window after this response."""
        return (
            self.input_tokens
            + self.cache_read_tokens
            + self.cache_creation_tokens
            + self.output_tokens
        )
