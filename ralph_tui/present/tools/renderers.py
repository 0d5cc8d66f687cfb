"""How each tool's calls are shown, and which renderer shows which tool."""

import json
import re

from ralph_tui.present.text.figures import plural
from ralph_tui.present.tools.calls import (
    Call,
    CallState,
    Input,
    Renderer,
    Section,
    SectionKind,
    count_lines,
    last_line,
    text_of,
)
from ralph_tui.present.tools.files import EditRenderer, ReadRenderer, WriteRenderer

_EXIT = re.compile(r"^(?:Exit code|exit status)[: ]+(\d+)", re.IGNORECASE)
_PYTEST = re.compile(
    r"(\d+ (?:passed|failed|error(?:s)?|skipped)\b(?:, \d+ [a-z]+)*)(?= in [\d.:]+)"
)


class BashRenderer:
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


class SearchRenderer:
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


class WebRenderer:
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


class SubAgentRenderer:
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


PREFIX = "mcp__ralph__"


class RalphToolRenderer:
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


class QuestionRenderer:
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


class PlanRenderer:
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


class GenericRenderer:
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


_RALPH = RalphToolRenderer()
_BY_NAME: dict[str, Renderer] = {
    "Bash": BashRenderer(),
    "Read": ReadRenderer(),
    "Write": WriteRenderer(),
    "Edit": EditRenderer(),
    "MultiEdit": EditRenderer(),
    "NotebookEdit": EditRenderer(),
    "Grep": SearchRenderer("grep"),
    "Glob": SearchRenderer("glob"),
    "LS": SearchRenderer("list"),
    "Agent": SubAgentRenderer(),
    "Task": SubAgentRenderer(),
    "AskUserQuestion": QuestionRenderer(),
    "ExitPlanMode": PlanRenderer(),
    "WebFetch": WebRenderer(),
    "WebSearch": WebRenderer(),
}


def renderer_for(call: Call) -> Renderer:
    """The renderer of a call's tool."""
    if call.name.startswith(PREFIX):
        return _RALPH
    return _BY_NAME.get(call.name) or GenericRenderer(call.name)
