"""Define the engine's ports: the agent it drives, and the supervisor that the agent calls."""

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Protocol

from pydantic import Field, JsonValue

from ralph_tui.domain.base import Count, Model, Timestamp
from ralph_tui.domain.costs import Money
from ralph_tui.domain.documents.extensions import McpServer
from ralph_tui.domain.documents.questions import Permission, Question
from ralph_tui.domain.events import Event
from ralph_tui.domain.outcomes import FailureClass
from ralph_tui.domain.permissions import Ruling
from ralph_tui.domain.project_state import Phase
from ralph_tui.domain.run.context_budget import TokenUsage
from ralph_tui.domain.tool_calls import ToolAnswer, ToolCall, Verdict
from ralph_tui.guard.sandbox.os_sandbox import Sandbox


class ToolSpec(Model):
    """A `ralph_*` tool as the model sees it: JSON schema in, text out."""

    name: str
    description: str
    input_schema: dict[str, JsonValue]
    read_only: bool = False


class SubAgent(Model):
    """A sub-agent that the model may start, with its own context, its own tools and a limit of turns."""

    name: str
    description: str
    prompt: str
    tools: tuple[str, ...]
    max_turns: Count


class SessionSpec(Model):
    """The fixed parameters of a session; equal specs can share a standby session.

    `system_prompt`, `tools` and `ralph_tools` determine the cached prefix of every request, so they contain
    nothing that varies between iterations.
    """

    phase: Phase
    cwd: Path
    system_prompt: str
    tools: tuple[str, ...]
    """The model's built-in tools; a hard limit, checked against the CLI's report."""
    ralph_tools: tuple[ToolSpec, ...] = ()
    sub_agents: tuple[SubAgent, ...] = ()
    mcp_servers: dict[str, McpServer] = Field(default_factory=dict)
    """The person's own servers; the values of their `${NAME}` variables are in `environment`."""
    skills: tuple[Path, ...] = ()
    """Directories with a SKILL.md; with any of them, `tools` includes `Skill`."""
    model: str | None = None
    max_budget_usd: Money | None = None
    """A safety net in the CLI; the loop's own meter is exact."""
    max_turns: Count | None = None
    setting_sources: tuple[str, ...] = ()
    environment: dict[str, str] = Field(default_factory=dict)
    """Added to the environment of the CLI and so of its tools."""
    sandbox: Sandbox | None = None
    """The operating system's sandbox for commands, if any."""
    max_api_retries: Count = 10
    idle_timeout_seconds: Count = 300


class Failure(Model):
    """Why a turn could not be finished."""

    kind: FailureClass
    message: str
    hint: str = ""
    resets_at: Timestamp | None = None
    status: int | None = None
    """The API's HTTP status."""


class TurnUsage(Model):
    """Context and costs after one model response.

    `session_cost_usd` is the session's cost so far: estimated from list prices while a turn runs, the CLI's
    own figure at its end. It never falls below an exact figure reported before.
    """

    usage: TokenUsage
    """Usage of the main thread's last response; sub-agents have their own context windows."""
    session_cost_usd: Money = 0.0
    session_tokens: Count = 0
    """Tokens processed by this session so far, without cached reads."""
    session_output_tokens: Count = 0
    session_requests: Count = 0
    """Model requests of this session so far, including sub-agents and retries."""
    context_window: Count = 0
    """The model's context window in tokens; 0 until the CLI reports it."""


class RequestStarted(Model):
    """A model request that began to be answered; its usage follows, perhaps after its calls were judged."""


class TurnEnded(Model):
    """The last item of a turn."""

    text: str = ""
    failure: Failure | None = None
    interrupted: bool = False
    num_turns: Count = 0
    session_id: str = ""


AgentItem = Event | RequestStarted | TurnUsage | TurnEnded
"""What a turn yields: events for the faces, usage for the meter, and one `TurnEnded` at the end."""


class AfterTool(Model):
    """The engine's response after a tool ran."""

    note: str = ""
    """Sent to the model with the result, such as the wrap-up request."""
    end_turn: bool = False
    """Whether to end the turn now, because the claim was accepted."""


class QuestionReply(Model):
    """The reply to the model's questions."""

    answers: dict[str, str] = Field(default_factory=dict)
    """Answers by question text."""
    refused: str = ""
    """Set instead of `answers` when nobody answers: what the model should do."""
    ends_turn: bool = False


class Supervisor(Protocol):
    """Answers the agent while it works. Every method must return quickly or await."""

    async def review_tool(self, call: ToolCall) -> Verdict: ...

    async def call_tool(self, name: str, arguments: Mapping[str, JsonValue]) -> ToolAnswer: ...

    async def after_tool(self, call: ToolCall) -> AfterTool: ...

    async def hold(self) -> None: ...

    async def ask(self, questions: tuple[Question, ...]) -> QuestionReply: ...

    async def permit(self, call: ToolCall, wanted: Permission) -> Ruling: ...

    @property
    def waiting_for_person(self) -> bool:
        """Whether the session waits for an answer, so that silence is not a stall."""
        ...

    async def on_stop(self, last_message: str) -> str | None: ...


class AgentSession(Protocol):
    """A session with a fresh context."""

    def run_turn(self, prompt: str) -> AsyncIterator[AgentItem]:
        """Send one prompt and yield what happens, ending with exactly one `TurnEnded`.

        Failures of the model, the network or the CLI end the turn with `TurnEnded.failure`; they are not
        raised.
        """
        ...

    async def steer(self, text: str) -> None: ...

    async def interrupt(self) -> None: ...

    async def close(self) -> None: ...


class Agent(Protocol):
    """Opens agent sessions."""

    async def open(self, spec: SessionSpec, supervisor: Supervisor) -> AgentSession:
        """Open a fresh session; a standby session is used when its spec is equal.

        Raises:
            CliStartError: The CLI died or stayed silent while it started.
            SetupError: The CLI is missing, of another version, or nobody is logged in.
        """
        ...

    def prepare(self, spec: SessionSpec) -> None:
        """Connect a standby session in the background, so that the next `open` is immediate."""
        ...

    async def close(self) -> None: ...
