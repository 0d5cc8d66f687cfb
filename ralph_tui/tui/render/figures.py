"""Numbers as people read them."""


def tokens(value: int) -> str:
    """A token count with a unit: 950, 68.2k, 1.2M."""
    if value < 1_000:
        return str(value)
    if value < 999_950:
        return f"{value / 1_000:.1f}k".replace(".0k", "k")
    return f"{value / 1_000_000:.1f}M".replace(".0M", "M")


def money(value: float) -> str:
    """Dollars and cents; whole cents from a hundred dollars on are noise."""
    return f"${value:,.0f}" if value >= 100 else f"${value:.2f}"


def limit(value: float) -> str:
    """A limit in dollars, without cents when it has none; 0 is no limit."""
    if not value:
        return "none"
    return f"${value:,.0f}" if value == int(value) else f"${value:,.2f}"


def plural(count: int, noun: str) -> str:
    """`1 task`, `2 tasks`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
