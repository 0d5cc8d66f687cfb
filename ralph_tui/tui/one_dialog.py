"""Keys come faster than a dialog is there: only the first of them opens one."""

from textual.worker import Worker

OPENS = frozenset(
    {
        *(
            "answer",
            "request",
            "stop",
            "inject",
            "urge",
            "skip",
            "model",
            "edit",
            "add",
            "split",
            "drop",
            "quit",
        ),
        *("detail", "plan", "jump", "help"),
        *("iterations", "history", "memory", "why", "settings"),
    }
)
"""Commands that put something over the screen."""


class Opening:
    """Remembers the command whose dialog is on its way."""

    def __init__(self) -> None:
        """None is."""
        self._work: Worker[None] | None = None

    def has_time_for(self, name: str) -> bool:
        """Whether this command may begin: a second dialog would lie over the first unasked."""
        return name not in OPENS or self._work is None or self._work.is_finished

    def began(self, name: str, work: Worker[None]) -> None:
        """It may open something."""
        if name in OPENS:
            self._work = work

    def is_there(self) -> None:
        """The screen is another now, so keys mean that."""
        self._work = None
