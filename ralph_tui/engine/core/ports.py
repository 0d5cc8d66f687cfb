"""Define the engine's ports: the agent it drives, and what the agent asks of it while it works."""

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Protocol

from pydantic import Field, JsonValue

from ralph_tui.domain.base import Count, Model, Timestamp
from ralph_tui.domain.costs import Money
from ralph_tui.domain.documents.extensions import McpServer, ToolOutput
from ralph_tui.domain.documents.questions import Permission, Question
from ralph_tui.domain.events import Event, FailureClass
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
    """A helper the model may start: its own context, its own tools, a bounded number of turns."""

    name: str
    description: str
    prompt: str
    tools: tuple[str, ...]
    max_turns: Count


class SessionSpec(Model):
    """What is fixed when a session connects; equal specs can share a standby session.

    `system_prompt`, `tools` and `ralph_tools` decide the cached prefix of every request, so they hold
    nothing that varies between iterations.
    """

    phase: Phase
    cwd: Path
    system_prompt: str
    tools: tuple[str, ...]
    """Built-in tools the model has; a hard limit, checked against what the CLI reports."""
    ralph_tools: tuple[ToolSpec, ...] = ()
    sub_agents: tuple[SubAgent, ...] = ()
    mcp_servers: dict[str, McpServer] = Field(default_factory=dict)
    """The person's own servers; what `${NAME}` represents is in `environment`."""
    skills: tuple[Path, ...] = ()
    """Directories with a SKILL.md; the `Skill` tool is in `tools` when there are any."""
    model: str | None = None
    max_budget_usd: Money | None = None
    """A safety net inside the CLI; the loop's own meter is exact."""
    max_turns: Count | None = None
    setting_sources: tuple[str, ...] = ()
    environment: dict[str, str] = Field(default_factory=dict)
    """Added to the CLI's environment and so to its tools'."""
    sandbox: Sandbox | None = None
    """What the operating system holds commands to; None where nothing does."""
    max_api_retries: Count = 10
    api_timeout_seconds: Count = 600
    idle_timeout_seconds: Count = 300


class Failure(Model):
    """Why a turn could not be finished."""

    kind: FailureClass
    message: str
    hint: str = ""
    resets_at: Timestamp | None = None


class TurnUsage(Model):
    """Context and money after one model response.

    `session_cost_usd` is what this session cost so far: estimated from list prices while a turn
    runs, the CLI's own figure at its end. It never falls below an exact figure reported before.
    """

    usage: TokenUsage
    """Of the last response of the main thread; sub-agents have windows of their own."""
    session_cost_usd: Money = 0.0
    session_tokens: Count = 0
    """Tokens processed by this session so far, cached reads left out."""
    session_output_tokens: Count = 0
    session_requests: Count = 0
    """Requests to the model by this session so far, those of sub-agents and retries included."""
    context_window: Count = 0
    """The model's own window in tokens; 0 until the CLI reported it."""


class TurnEnded(Model):
    """The last item of a turn."""

    text: str = ""
    failure: Failure | None = None
    interrupted: bool = False
    num_turns: Count = 0
    session_id: str = ""


AgentItem = Event | TurnUsage | TurnEnded
"""What a turn yields: events for the faces, usage for the meter, and one `TurnEnded` at the end."""


class AfterTool(Model):
    """What the engine adds after a tool ran."""

    note: str = ""
    """Told to the model with the result; the wrap-up request, for one."""
    end_turn: bool = False
    """End the turn here: the claim was accepted and more talk would only cost."""


class QuestionReply(Model):
    """What the model gets for its questions."""

    answers: dict[str, str] = Field(default_factory=dict)
    """Answer by question text."""
    refused: str = ""
    """Set instead when nobody answers: what the model does now."""


class Supervisor(Protocol):
    """What the engine answers while the agent works. Every method must return quickly or await."""

    async def review_tool(self, call: ToolCall) -> Verdict:
        """Judge whether a tool call may run; anything raised here is a denial."""
        ...

    async def call_tool(self, name: str, arguments: Mapping[str, JsonValue]) -> ToolAnswer:
        """Answer a `ralph_*` tool call."""
        ...

    async def after_tool(self, call: ToolCall, output: ToolOutput) -> AfterTool:
        """Return what to add after a tool ran; `output` is that of MCP tools only."""
        ...

    async def ask(self, questions: tuple[Question, ...]) -> QuestionReply:
        """Put the model's questions to the person; may take as long as the person does."""
        ...

    async def permit(self, call: ToolCall, wanted: Permission) -> Ruling:
        """Ask the person whether a call may run; may take as long as the person does."""
        ...

    @property
    def waiting_for_person(self) -> bool:
        """Whether an answer is waited for, so that silence is no sign of trouble."""
        ...

    async def on_stop(self, last_message: str) -> str | None:
        """Return what is still missing when the model wants to end its turn; None lets it end."""
        ...


class CommandWatch(Protocol):
    """Hears of everything that runs what an agent wrote, right before and right after it."""

    async def begin_command(self, key: str, session: str = "") -> None:
        """Hear that a command, of the session with this mark, is about to run; it waits for this."""

    async def end_command(self, key: str) -> None:
        """Hear that a command has ended."""


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

    async def close(self) -> None:
        """End standby sessions and helpers."""
        ...
