"""Show the calls of each tool in its own way; `renderer_for` returns the renderer for a call."""

import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial

from pydantic import ValidationError

from ralph_tui.domain.documents.questions import Question
from ralph_tui.domain.formatting import plural
from ralph_tui.present.tools.calls import (
    Call,
    CallState,
    Input,
    Renderer,
    Section,
    SectionKind,
    count_lines,
    failure_note,
    text_of,
)
from ralph_tui.present.tools.file_tools import EDIT, READ, WRITE

_EXIT = re.compile(r"^(?:Exit code|exit status)[: ]+(\d+)", re.IGNORECASE)
_PYTEST = re.compile(
    r"(\d+ (?:passed|failed|error(?:s)?|skipped)\b(?:, \d+ [a-z]+)*)(?= in [\d.:]+)"
)
PREFIX = "mcp__ralph__"


def _bash_argument(call: Call) -> str:
    return call.rewrite.after if call.rewrite else text_of(call.input, "command")


def _bash_note(call: Call) -> str:
    end = call.output[-2_000:]
    if " in " in end and (found := _PYTEST.findall(end)):
        return str(found[-1])
    code = _EXIT.match(call.output)
    return f"exit {code[1]}" if code and call.state is CallState.FAILED else failure_note(call)


def _bash_sections(call: Call) -> tuple[Section, ...]:
    commands = {"Command": _bash_argument(call)}
    if call.rewrite:
        title = f"Command as it ran (rewritten by {call.rewrite.rule or 'the guard'})"
        commands = {"Command as asked": call.rewrite.before, title: call.rewrite.after}
    found = [Section(title, text, SectionKind.COMMAND) for title, text in commands.items()]
    return (*found, Section("What for", text_of(call.input, "description")))


def _search_argument(call: Call) -> str:
    found = (text_of(call.input, "pattern"), text_of(call.input, "path", "glob"))
    return " in ".join(filter(None, found))


def _search_note(call: Call) -> str:
    if call.state is not CallState.OK:
        return ""
    if not call.output.strip() or call.output.lower().startswith("no "):
        return "no matches"
    found = count_lines(call.output)
    return "1 match" if found == 1 else f"{found:,} matches"


def _search_sections(call: Call) -> tuple[Section, ...]:
    return (Section("Search", "\n".join(f"{name}: {value}" for name, value in call.input.items())),)


def _of(*names: str) -> Callable[[Call], str]:
    return lambda call: text_of(call.input, *names)


def _parts(names: Mapping[str, tuple[str, ...]]) -> Callable[[Call], tuple[Section, ...]]:
    return lambda call: tuple(
        Section(title, text_of(call.input, *inputs)) for title, inputs in names.items()
    )


def _web_note(call: Call) -> str:
    is_done = call.state is CallState.OK and call.output
    return plural(len(call.output), "character") if is_done else ""


def _agent_argument(call: Call) -> str:
    what = text_of(call.input, "description", "prompt")
    kind = text_of(call.input, "subagent_type")
    return f"{what} ({kind})" if kind else what


def _agent_sections(call: Call) -> tuple[Section, ...]:
    prompt = text_of(call.input, "prompt")
    return (Section("Sub-agent", _agent_argument(call)), Section("Prompt", prompt))


def _ralph_argument(call: Call) -> str:
    action = call.name.removeprefix(PREFIX).removeprefix("ralph_").replace("_", " ")
    about = text_of(call.input, "task_id", "learning", "description", "content")
    return f"{action}: {about}" if about else action


def _questions(data: Input) -> list[Question]:
    asked = data.get("questions")
    found = []
    for entry in asked if isinstance(asked, list) else []:
        with suppress(ValidationError):
            is_multiple = isinstance(entry, dict) and bool(entry.get("multiSelect"))
            question = Question.model_validate(entry)
            found.append(question.model_copy(update={"multi_select": is_multiple}))
    return found


def _question_argument(call: Call) -> str:
    asked = _questions(call.input)
    if not asked:
        return text_of(call.input)
    more = len(asked) - 1
    return f"{asked[0].question} (and {more} more)" if more else asked[0].question


def _question_sections(call: Call) -> tuple[Section, ...]:
    return tuple(
        Section(one.header or "Question", "\n".join([one.question, "", *option_texts(one)]))
        for one in _questions(call.input)
    )


def option_texts(question: Question) -> list[str]:
    """Return the options of a question with their numbers, each with its description below it."""
    heading = ["Any number of:"] if question.multi_select else []
    return heading + [
        text
        for number, option in enumerate(question.options, 1)
        for text in (f"{number}. {option.label}", *indented(option.description))
    ]


def indented(text: str) -> list[str]:
    return [f"   {line}" for line in text.splitlines()]


def _input_sections(call: Call) -> tuple[Section, ...]:
    title = "Arguments" if call.name.startswith(PREFIX) else "Input"
    data = json.dumps(call.input, indent=2, ensure_ascii=False)
    return (Section("Tool", call.name), Section(title, data))


_search = partial(Renderer, argument=_search_argument, sections=_search_sections, note=_search_note)
_AGENT = Renderer("agent", _agent_argument, _agent_sections)
_RALPH = Renderer("ralph", _ralph_argument, _input_sections)
_WEB = Renderer(
    "web",
    _of("url", "query"),
    _parts({"Address or query": ("url", "query"), "Question": ("prompt",)}),
    _web_note,
)
_BY_NAME: dict[str, Renderer] = {
    "Bash": Renderer("bash", _bash_argument, _bash_sections, _bash_note),
    "Read": READ,
    "Write": WRITE,
    "Edit": EDIT,
    "MultiEdit": EDIT,
    "NotebookEdit": EDIT,
    "Grep": _search("grep"),
    "Glob": _search("glob"),
    "LS": _search("list"),
    "Agent": _AGENT,
    "Task": _AGENT,
    "AskUserQuestion": Renderer("ask", _question_argument, _question_sections),
    "ExitPlanMode": Renderer("plan", _of("plan"), _parts({"Plan": ("plan",)})),
    "WebFetch": _WEB,
    "WebSearch": _WEB,
}


def renderer_for(call: Call) -> Renderer:
    """Return the renderer for a call. Unknown tools are shown with their short name."""
    if call.name.startswith(PREFIX):
        return _RALPH
    if known := _BY_NAME.get(call.name):
        return known
    short = call.name.rsplit("__", 1)[-1] or "tool"
    verb = short if call.name.startswith("mcp__") else short[:1].lower() + short[1:]
    texts = (text for text in call.input.values() if isinstance(text, str) and text.strip())
    first = next(texts, "")
    return Renderer(verb, lambda _: first, _input_sections)
