"""List prices, for the estimate between two exact figures from the CLI.

Measured by reporting known usage to the bundled CLI and reading its cost (tests/agent checks them
again, so that an SDK bump shows what moved). An unknown model is priced as the dearest.
"""

from ralph_tui.domain.base import Model
from ralph_tui.domain.run.context_budget import TokenUsage


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


def price_of(model: str) -> Price:
    """The price of a model by the family in its name."""
    return next((price for family, price in _FAMILIES if family in model), OPUS)


def estimate(model: str, usage: TokenUsage) -> int:
    """What one response cost, in nano-dollars: a price for a million tokens has no smaller part."""
    price = price_of(model)
    return (
        usage.input_tokens * _nanos(price.input)
        + usage.output_tokens * _nanos(price.output)
        + usage.cache_read_tokens * _nanos(price.cache_read)
        + usage.cache_creation_tokens * _nanos(price.cache_write)
    )


def _nanos(usd_per_million: float) -> int:
    """A token's price in nano-dollars."""
    return round(usd_per_million * 1_000)
