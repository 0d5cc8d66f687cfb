"""Ralph's own tools, `mcp__ralph__ralph_*`."""

import json

from ralph_tui.tui.render.calls import Call, CallState, Section, last_line, text_of

PREFIX = "mcp__ralph__"


class RalphTool:
    """A claim, a learning, a look at the plan: the name says it, the task is the argument."""

    verb = "ralph"

    def argument(self, call: Call) -> str:
        """The tool in words and what it is about."""
        action = call.name.removeprefix(PREFIX).removeprefix("ralph_").replace("_", " ")
        about = text_of(call.input, "task_id", "learning", "description", "content", "argument")
        return f"{action}: {about}" if about else action

    def note(self, call: Call) -> str:
        """Why it was refused."""
        return last_line(call.output)[:60] if call.state is CallState.FAILED else ""

    def sections(self, call: Call) -> tuple[Section, ...]:
        """The arguments as JSON."""
        return (
            Section("Tool", call.name),
            Section("Arguments", json.dumps(call.input, indent=2, ensure_ascii=False)),
        )
