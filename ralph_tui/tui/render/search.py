"""Searching files and the web."""

from ralph_tui.tui.render.calls import Call, CallState, Section, count_lines, text_of
from ralph_tui.tui.render.figures import plural


class Search:
    """`Grep`, `Glob`, `LS`: a pattern and where it is looked for."""

    def __init__(self, verb: str) -> None:
        """Show calls under this word."""
        self.verb = verb

    def argument(self, call: Call) -> str:
        """The pattern and the place."""
        pattern = text_of(call.input, "pattern", "argument")
        place = text_of(call.input, "path", "glob")
        return f"{pattern} in {place}" if pattern and place else pattern or place

    def note(self, call: Call) -> str:
        """How many lines matched."""
        if call.state is not CallState.OK:
            return ""
        if not call.output.strip() or call.output.lower().startswith("no "):
            return "no matches"
        found = count_lines(call.output)
        return "1 match" if found == 1 else f"{found:,} matches"

    def sections(self, call: Call) -> tuple[Section, ...]:
        """The pattern and every option."""
        return (
            Section("Search", "\n".join(f"{name}: {value}" for name, value in call.input.items())),
        )


class Web:
    """`WebFetch` and `WebSearch`."""

    verb = "web"

    def argument(self, call: Call) -> str:
        """The address or the query."""
        return text_of(call.input, "url", "query", "argument")

    def note(self, call: Call) -> str:
        """How much came back."""
        done = call.state is CallState.OK and call.output
        return plural(len(call.output), "character") if done else ""

    def sections(self, call: Call) -> tuple[Section, ...]:
        """The address and what was asked of the page."""
        asked = text_of(call.input, "prompt")
        address = Section("Address or query", self.argument(call))
        return (address, Section("Question", asked)) if asked else (address,)
