"""Tool calls and what is decided about them."""

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
    """The mark of everything that the call's session starts."""


class Verdict(Model):
    """What the guard says of a tool call; a denial names rule, part and what to do instead."""

    decision: Literal["allow", "deny", "rewrite", "ask"]
    rule: str = ""
    part: str = ""
    reason: str = ""
    instead: str = ""
    command: str | None = None
    """For a rewrite, also one that is asked about: the command as it will run."""
    asks: tuple[str, ...] = ()
    """For `ask`: the entries of the person's list that the call is under."""

    @property
    def message(self) -> str:
        """The verdict in one line, as the model and the person read it."""
        if not self.reason:
            return ""
        where = f" in `{self.part}`" if self.part else ""
        return f"{self.reason}{where}. {self.instead}".strip()


ALLOW = Verdict(decision="allow")


class ToolAnswer(Model):
    """What a `ralph_*` tool answers the model."""

    text: str
    is_error: bool = False
