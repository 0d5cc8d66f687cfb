"""Define what a face passes to a run."""

import os
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ralph_tui.config.settings import Settings
from ralph_tui.domain.events import EventSink

if TYPE_CHECKING:
    from ralph_tui.engine.core.ports import Agent


def _nothing() -> None: ...


async def no_background(_: EventSink) -> None: ...


@dataclass(frozen=True)
class RunServices:
    """What a face passes to a run.

    Attributes:
        make_agent: Creates the agent; called in a thread, because it imports the SDK.
        environment: Added to the environment of the agent's tools and of the gate.
        preflight: Checks the machine before anything is started; raises `RalphError`.
        beside: Runs concurrently with the loop until the loop ends; may emit events.
    """

    make_agent: "Callable[[], Agent]"
    settings: Settings
    environment: Mapping[str, str] = field(default_factory=dict)
    preflight: Callable[[], None] = _nothing
    warm_up: Callable[[], None] = _nothing
    label: str = ""
    beside: Callable[[EventSink], Coroutine[None, None, None]] = no_background

    @property
    def everything(self) -> dict[str, str]:
        return {**os.environ, **self.environment}
