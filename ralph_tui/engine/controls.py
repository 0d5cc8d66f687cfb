"""What a person may ask of a loop, from any process: every request is a change on disk."""

from pathlib import Path

from ralph_tui.domain.plan import Task
from ralph_tui.domain.state import Halt, Injection


class Controls:
    """Requests to the loop of one project; each call blocks for one transaction."""

    def __init__(self, root: Path) -> None:
        """Address the project at `root`."""
        self.root = root

    def pause(self) -> Halt:
        """Pause after this iteration; asked again while it runs, at once."""
        raise NotImplementedError

    def resume(self) -> None:
        """Go on, or withdraw a pause that was asked for."""
        raise NotImplementedError

    def stop(self, *, now: bool = False) -> Halt:
        """Stop after this iteration; `now` or asked again, at once."""
        raise NotImplementedError

    def skip(self, task_id: str) -> Task:
        """Block a task so that the loop goes on with the next; returns the blocked task."""
        raise NotImplementedError

    def retry(self, task_id: str) -> Task:
        """Put a blocked task back to pending with its retries at zero."""
        raise NotImplementedError

    def inject(self, guidance: str) -> Injection:
        """Queue guidance for the next iteration's prompt."""
        raise NotImplementedError
