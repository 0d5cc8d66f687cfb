"""What every part of a run shares."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from ralph_tui.config.settings import Settings
from ralph_tui.engine.ledger import Ledger
from ralph_tui.engine.ports import Agent, EventSink
from ralph_tui.engine.verify import Gate, Review


@dataclass(frozen=True)
class Workshop:
    """The parts one run of the loop is made of.

    Attributes:
        ledger: The documents on disk.
        settings: The project's settings.
        agent: Makes sessions.
        gate: Checks claims.
        review: The guard.
        emit: Sends an event to the journal and the faces.
        clock: The wall clock, in UTC.
    """

    ledger: Ledger
    settings: Settings
    agent: Agent
    gate: Gate
    review: Review
    emit: EventSink
    clock: Callable[[], datetime]
