"""Numbers as people read them."""


def seconds(value: float) -> str:
    """A duration in at most six characters."""
    if value < 99.95:
        return f"{value:.1f}s"
    minutes, rest = divmod(round(value), 60)
    if minutes < 60:
        return f"{minutes}m{rest:02d}s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h{minutes:02d}m"


def clock(value: float) -> str:
    """An elapsed time as `m:ss` or `h:mm:ss`; never negative."""
    minutes, rest = divmod(max(0, int(value)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


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
