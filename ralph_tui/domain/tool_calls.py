"""Tool calls and the guard's verdicts on them."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from pydantic import JsonValue

ASK_FIRST = "ask-first"
"""The name of the rule for commands in the setting `safety.ask_commands`."""


@dataclass(frozen=True, kw_only=True)
class ToolCall:
    """A tool call as the model made it."""

    tool_id: str
    name: str
    input: "dict[str, JsonValue]"
    agent_id: str | None = None
    """Set when a sub-agent makes the call."""
    session: str = ""
    """The marker of all processes that the call's session starts."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The guard's verdict on a tool call. A denial names the rule, the part of the call and what to do instead."""

    decision: Literal["allow", "deny", "rewrite", "ask"]
    rule: str = ""
    part: str = ""
    reason: str = ""
    instead: str = ""
    command: str | None = None
    """The rewritten command as it will run; also set when the person is asked about a rewritten command."""
    asks: tuple[str, ...] = ()
    """For `ask`: the entries of `safety.ask_commands` that match the call."""

    @property
    def message(self) -> str:
        """The verdict in one line, as the model and the person read it."""
        if not self.reason:
            return ""
        where = f" in `{self.part}`" if self.part else ""
        return f"{self.reason}{where}. {self.instead}".strip()


ALLOW = Verdict(decision="allow")


@dataclass(frozen=True, kw_only=True)
class ToolAnswer:
    """The answer of a `ralph_*` tool to the model."""

    text: str
    is_error: bool = False
