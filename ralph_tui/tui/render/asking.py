"""The model's turn to the person: questions, and the end of planning."""

from ralph_tui.tui.render.calls import Call, CallState, Input, Section, last_line, text_of
from ralph_tui.tui.render.figures import plural


class Asking:
    """`AskUserQuestion`: the dialog is where it is answered."""

    verb = "ask"

    def argument(self, call: Call) -> str:
        """The question, and how many there are more."""
        texts = _questions(call.input)
        if not texts:
            return text_of(call.input, "argument")
        more = len(texts) - 1
        return f"{texts[0]} (and {more} more)" if more else texts[0]

    def note(self, call: Call) -> str:
        """What a failure said last; the answers are told by themselves."""
        return last_line(call.output)[:60] if call.state is CallState.FAILED else ""

    def sections(self, call: Call) -> tuple[Section, ...]:
        """Every question."""
        texts = _questions(call.input)
        return (Section(plural(len(texts), "question"), "\n".join(texts)),)


class PlanIsDone:
    """`ExitPlanMode`: the model asks for the plan's approval."""

    verb = "plan"

    def argument(self, call: Call) -> str:
        """The first line of what it says of the plan."""
        return text_of(call.input, "plan", "argument").strip().partition("\n")[0]

    def note(self, call: Call) -> str:
        """What a failure said last."""
        return last_line(call.output)[:60] if call.state is CallState.FAILED else ""

    def sections(self, call: Call) -> tuple[Section, ...]:
        """All it says of the plan."""
        return (Section("Plan", text_of(call.input, "plan")),)


def _questions(data: Input) -> list[str]:
    asked = data.get("questions")
    entries = asked if isinstance(asked, list) else []
    texts = (entry.get("question") for entry in entries if isinstance(entry, dict))
    return [text for text in texts if isinstance(text, str)]
