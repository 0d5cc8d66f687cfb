"""Describe what a face brings to a run."""

import os
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ralph_tui.config.settings import Settings
from ralph_tui.domain.events import Event, EventSink

if TYPE_CHECKING:
    from ralph_tui.engine.core.ports import Agent


def _nothing() -> None:
    """Do nothing: the default preflight and warm-up."""


def _as_it_is(event: Event) -> Event:
    """Return the event unchanged: nobody here changes the plan."""
    return event


async def nothing_beside(_: EventSink) -> None:
    """Do nothing beside the loop: the default."""


@dataclass(frozen=True)
class RunServices:
    """Describe what a face brings to a run.

    Attributes:
        make_agent: Makes the agent; called in a thread, because it imports the SDK.
        settings: The project's settings.
        environment: Added to the environment of the agent's tools and of the gate.
        preflight: Checks the machine before anything is started; raises `RalphError`.
        warm_up: Imports what is slow.
        label: Shown beside the project's name.
        told: Makes an event tell who did it, before it is written down.
        beside: Runs beside the loop until the loop ends; its events are emitted as the loop's own.
    """

    make_agent: "Callable[[], Agent]"
    settings: Settings
    environment: Mapping[str, str] = field(default_factory=dict)
    preflight: Callable[[], None] = _nothing
    warm_up: Callable[[], None] = _nothing
    label: str = ""
    told: Callable[[Event], Event] = _as_it_is
    beside: "Callable[[EventSink], Coroutine[None, None, None]] | None" = None

    @property
    def everything(self) -> dict[str, str]:
        """The whole environment that a run starts from."""
        return {**os.environ, **self.environment}
