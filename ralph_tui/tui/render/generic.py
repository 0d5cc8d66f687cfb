"""Any tool we have no renderer for."""

import json

from ralph_tui.tui.render.calls import Call, CallState, Section, last_line


class Generic:
    """The tool's name and its first short text."""

    def __init__(self, name: str) -> None:
        """Show calls of a tool under its own name, made short."""
        short = name.rsplit("__", 1)[-1] or "tool"
        self.verb = short if name.startswith("mcp__") else short[:1].lower() + short[1:]

    def argument(self, call: Call) -> str:
        """The first text among the inputs."""
        return next((v for v in call.input.values() if isinstance(v, str) and v.strip()), "")

    def note(self, call: Call) -> str:
        """What a failure said last."""
        return last_line(call.output)[:60] if call.state is CallState.FAILED else ""

    def sections(self, call: Call) -> tuple[Section, ...]:
        """The input as JSON."""
        return (
            Section("Tool", call.name),
            Section("Input", json.dumps(call.input, indent=2, ensure_ascii=False)),
        )
