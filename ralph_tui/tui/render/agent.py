"""Sub-agents."""

from ralph_tui.tui.render.calls import Call, CallState, Section, last_line, text_of


class SubAgent:
    """`Agent`, also called `Task`: its own calls are nested below it."""

    verb = "agent"

    def argument(self, call: Call) -> str:
        """What the sub-agent is for."""
        what = text_of(call.input, "description", "prompt", "argument")
        kind = text_of(call.input, "subagent_type")
        return f"{what} ({kind})" if kind else what

    def note(self, call: Call) -> str:
        """What a failure said last; a success is told by its calls."""
        return last_line(call.output)[:60] if call.state is CallState.FAILED else ""

    def sections(self, call: Call) -> tuple[Section, ...]:
        """Its name and the prompt it was given."""
        prompt = text_of(call.input, "prompt")
        return (Section("Sub-agent", self.argument(call)), Section("Prompt", prompt))
