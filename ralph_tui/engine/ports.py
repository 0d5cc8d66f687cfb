"""The engine's plugs: the agent it drives, and what an agent asks of it while it works."""

from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Protocol

from pydantic import JsonValue

from ralph_tui.domain.budget import TokenUsage
from ralph_tui.domain.events import Event, FailureClass
from ralph_tui.domain.model import Count, Model, Money, Timestamp
from ralph_tui.domain.state import Phase
from ralph_tui.domain.tools import ToolAnswer, ToolCall, Verdict

EventSink = Callable[[Event], None]
"""Takes an event at once; must not block."""


class SessionSpec(Model):
    """What is fixed when a session connects; equal specs can share a standby session.

    `system_prompt` and the phase decide the cached prefix of every request, so they hold nothing
    that varies between iterations.
    """

    phase: Phase
    cwd: Path
    system_prompt: str
    model: str | None = None
    max_budget_usd: Money | None = None
    """A safety net inside the CLI; the loop's own meter is exact."""
    max_turns: Count | None = None


class ToolSpec(Model):
    """A `ralph_*` tool as the model sees it: JSON schema in, text out."""

    name: str
    description: str
    input_schema: dict[str, JsonValue]
    read_only: bool = False


class Failure(Model):
    """Why a turn could not be finished."""

    kind: FailureClass
    message: str
    hint: str = ""
    resets_at: Timestamp | None = None


class TurnUsage(Model):
    """Usage after one model response of the main thread; money is what was spent since the last.

    `cost_delta_usd` is estimated from list prices while a turn runs and corrected by the CLI's own
    figure at its end, so the sum over a session is exact and every item is zero or more.
    """

    usage: TokenUsage
    cost_delta_usd: Money = 0.0
    model: str = ""
    tokens_delta: Count = 0
    """Tokens newly processed: uncached input and output; for the token totals."""


class TurnEnded(Model):
    """The last item of a turn."""

    text: str = ""
    failure: Failure | None = None
    interrupted: bool = False
    num_turns: Count = 0
    session_id: str = ""


AgentItem = Event | TurnUsage | TurnEnded
"""What a turn yields: events for the faces, usage for the meter, and one `TurnEnded` at the end."""


class Overseer(Protocol):
    """What the engine answers while the agent works. Every method must return quickly or await."""

    def tool_specs(self) -> tuple[ToolSpec, ...]:
        """The `ralph_*` tools; the same list in every iteration of a phase."""
        ...

    async def review_tool(self, call: ToolCall) -> Verdict:
        """Whether a tool call may run; anything raised here is a denial."""
        ...

    async def call_tool(self, name: str, arguments: Mapping[str, JsonValue]) -> ToolAnswer:
        """Answer a `ralph_*` tool call."""
        ...

    async def after_tool(self, call: ToolCall) -> str | None:
        """A note for the model after a tool ran (the wrap-up request), or None."""
        ...

    async def on_stop(self, last_message: str) -> str | None:
        """What is still missing when the model wants to end its turn; None lets it end."""
        ...


class AgentSession(Protocol):
    """One fresh context."""

    def run_turn(self, prompt: str) -> AsyncIterator[AgentItem]:
        """Send one prompt and yield what happens, ending with exactly one `TurnEnded`.

        Failures of the model, the network or the CLI end the turn with `TurnEnded.failure`; nothing
        is raised for them.
        """
        ...

    async def steer(self, text: str) -> None:
        """Say something to the model while its turn runs."""
        ...

    async def interrupt(self) -> None:
        """End the running turn now; its `TurnEnded` follows."""
        ...

    async def close(self) -> None:
        """End the session and everything it started; safe to call twice."""
        ...


class Agent(Protocol):
    """Makes sessions."""

    async def open(self, spec: SessionSpec, overseer: Overseer) -> AgentSession:
        """A fresh session; a standby one is used when its spec is equal.

        Raises:
            SetupError: The CLI is missing, of another version, or nobody is logged in.
        """
        ...

    def prepare(self, spec: SessionSpec) -> None:
        """Connect a standby session in the background, so that the next `open` is immediate."""
        ...

    async def close(self) -> None:
        """End standby sessions and helpers."""
        ...
