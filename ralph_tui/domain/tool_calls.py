"""Tool calls and the guard's verdicts on them."""

from typing import Literal

from pydantic import JsonValue

from ralph_tui.domain.base import Model


class ToolCall(Model):
    """A tool call as the model made it."""

    tool_id: str
    name: str
    input: dict[str, JsonValue]
    agent_id: str | None = None
    """Set when a sub-agent makes the call."""
    session: str = ""
    """The marker of all processes that the call's session starts."""


class Verdict(Model):
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


class ToolAnswer(Model):
    """The answer of a `ralph_*` tool to the model."""

    text: str
    is_error: bool = False
