"""Tracks a session's usage: estimates while a turn runs, the CLI's own figures at its end.

All costs are whole numbers. A reported cost never decreases: if the CLI's figure is lower than the previous
estimate, the estimate is reported until the figure exceeds it.
"""

import math
from collections.abc import Mapping
from typing import Any

from ralph_tui.domain.base import Model
from ralph_tui.domain.costs import dollars, micros
from ralph_tui.domain.run.context_budget import TokenUsage
from ralph_tui.engine.core.ports import TurnUsage


class Price(Model):
    """US dollars per million tokens."""

    input: float
    output: float
    cache_read: float
    cache_write: float


OPUS = Price(input=4.0, output=20.0, cache_read=0.2, cache_write=5.0)
SONNET = Price(input=2.0, output=10.0, cache_read=0.1, cache_write=2.5)
HAIKU = Price(input=0.1, output=0.5, cache_read=0.01, cache_write=0.125)

_FAMILIES = (("haiku", HAIKU), ("sonnet", SONNET))


def estimate(model: str, usage: TokenUsage) -> int:
    """Return the cost of a response in nano-dollars, in which all prices per token are whole numbers."""
    price = next((price for family, price in _FAMILIES if family in model), OPUS)
    counted = (
        (usage.input_tokens, price.input),
        (usage.output_tokens, price.output),
        (usage.cache_read_tokens, price.cache_read),
        (usage.cache_creation_tokens, price.cache_write),
    )
    return sum(tokens * round(usd_per_million * 1_000) for tokens, usd_per_million in counted)


class SessionUsage:
    """Sums up responses; the CLI's cumulative cost replaces the estimates."""

    def __init__(self) -> None:
        self._model = ""
        self._started: dict[str, Any] = {}
        self._last = TokenUsage()
        self._settled = 0
        """Micro-dollars, by the CLI's own figures."""
        self._estimated = 0
        """Nano-dollars since then, by list prices."""
        self._reported = 0
        """Micro-dollars; never decreases."""
        self._tokens = 0
        self._output = 0
        self.requests = 0
        self._window = 0
        self._sub_agent_messages: set[str] = set()

    def start_response(self, model: str, usage: Mapping[str, Any]) -> None:
        self._model = model or self._model
        self._started = dict(usage)
        self.requests += 1

    def finish_response(self, usage: Mapping[str, Any]) -> None:
        merged = self._started | {key: value for key, value in usage.items() if value is not None}
        self._last = token_usage(merged)
        self._count(self._model, self._last)
        self._started = {}

    def count_sub_agent(self, message_id: str, model: str, usage: Mapping[str, Any]) -> None:
        """Count a sub-agent's response once, even if several messages report it."""
        if message_id not in self._sub_agent_messages:
            self._sub_agent_messages.add(message_id)
            self.requests += 1
            self._count(model, token_usage(usage))

    def _count(self, model: str, usage: TokenUsage) -> None:
        self._estimated += estimate(model, usage)
        self._output += usage.output_tokens
        self._tokens += usage.input_tokens + usage.cache_creation_tokens + usage.output_tokens

    def settle(self, total_cost_usd: float | None, models: Mapping[str, Any]) -> None:
        """Replace the estimate with the CLI's figure; keep it if the figure is invalid or below the previous one."""
        exact = -1
        if total_cost_usd is not None and 0 <= total_cost_usd < math.inf:
            exact = micros(total_cost_usd)
        if exact >= self._settled:
            self._settled = exact
        else:
            self._settled += _rounded(self._estimated)
        self._estimated = 0
        windows = [int(m.get("contextWindow") or 0) for m in models.values()]
        self._window = max(windows, default=self._window)

    def report(self) -> TurnUsage:
        self._reported = max(self._reported, self._settled + _rounded(self._estimated))
        return TurnUsage(
            usage=self._last,
            session_cost_usd=dollars(self._reported),
            session_tokens=self._tokens,
            session_output_tokens=self._output,
            session_requests=self.requests,
            context_window=self._window,
        )


def _rounded(nanos: int) -> int:
    return (nanos + 500) // 1_000


def token_usage(usage: Mapping[str, Any]) -> TokenUsage:

    def figure(name: str) -> int:
        value = usage.get(name)
        if isinstance(value, int | float) and math.isfinite(value):
            return max(0, int(value))
        return 0

    return TokenUsage(
        input_tokens=figure("input_tokens"),
        output_tokens=figure("output_tokens"),
        cache_read_tokens=figure("cache_read_input_tokens"),
        cache_creation_tokens=figure("cache_creation_input_tokens"),
    )
