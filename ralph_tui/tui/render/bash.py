"""Shell commands."""

import re

from ralph_tui.tui.render.calls import Call, CallState, Section, SectionKind, last_line, text_of

_EXIT = re.compile(r"^(?:Exit code|exit status)[: ]+(\d+)", re.IGNORECASE)
_PYTEST = re.compile(
    r"(\d+ (?:passed|failed|error(?:s)?|skipped)\b(?:, \d+ [a-z]+)*)(?= in [\d.:]+)"
)


class Bash:
    """`Bash`: the command is the argument; the exit status or the test summary is the note."""

    verb = "bash"

    def argument(self, call: Call) -> str:
        """The command that ran."""
        return call.rewrite.after if call.rewrite else text_of(call.input, "command", "argument")

    def note(self, call: Call) -> str:
        """Test counts when there are some, the exit status of a failure, or how much it printed."""
        end = call.output[-2_000:]
        if " in " in end and (found := _PYTEST.findall(end)):
            return str(found[-1])
        if call.state is CallState.FAILED:
            code = _EXIT.match(call.output)
            return f"exit {code[1]}" if code else last_line(call.output)[:60]
        return ""

    def sections(self, call: Call) -> tuple[Section, ...]:
        """The command as asked, as it ran, and what the model said it is for."""
        asked = text_of(call.input, "command", "argument")
        found: list[Section] = []
        if call.rewrite:
            found.append(Section("Command as asked", call.rewrite.before, SectionKind.COMMAND))
            title = f"Command as it ran (rewritten by {call.rewrite.rule or 'the guard'})"
            found.append(Section(title, call.rewrite.after, SectionKind.COMMAND))
        else:
            found.append(Section("Command", asked, SectionKind.COMMAND))
        if why := text_of(call.input, "description"):
            found.append(Section("What for", why))
        return tuple(found)
