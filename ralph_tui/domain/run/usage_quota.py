"""The used share of a subscription's usage windows, as the CLI reports it."""

from ralph_tui.domain.base import Amount, Model, Timestamp

WINDOWS = {
    "five_hour": "5-hour",
    "seven_day": "weekly",
    "seven_day_opus": "weekly Opus",
    "seven_day_sonnet": "weekly Sonnet",
}


class Allowance(Model):
    """The used share of one window."""

    window: str
    percent: Amount
    resets_at: Timestamp | None = None

    @property
    def name(self) -> str:
        return WINDOWS.get(self.window, self.window.replace("_", " "))

    def used_up(self, share: int) -> str:
        """Return in words that the person's limit in percent is reached, or an empty string. 0 means no limit."""
        if not 0 < share <= self.percent:
            return ""
        return f"{self.percent:.0f} % of the {self.name} allowance is used, the limit is {share} %"
