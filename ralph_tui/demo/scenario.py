"""Define the models of a scenario file: which turns are played, when, at what pace, and with which faults.

A scenario is a list of scripts. A script starts when a prompt matches its `phase`, `task` and `when`. It plays
its turns in order, and skips a turn whose own `when` does not match the last message.
"""

import re
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Literal, Self

import yaml
from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    JsonValue,
    ValidationError,
    model_validator,
)

from ralph_tui.domain.base import Count, Model
from ralph_tui.domain.documents.questions import Answer, Question, parse_answer
from ralph_tui.domain.errors import ConfigError

Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]


def as_tuple(value: object) -> object:
    return value if isinstance(value, list | tuple) else (value,)


FaultKind = Literal[
    "status", "hang", "stall", "cut", "malformed", "error_event", "reset", "portal", "slow", "huge"
]


class Fault(Model):
    """A fault that affects requests for a turn.

    status: an HTTP error. hang: no response at all. reset: the connection is reset.
    stall, cut, malformed, error_event: half of the stream, then silence, the end of the
    connection, an event that is not JSON, or an error event. portal: the HTML page of a
    network that requires a sign-in, with a success status. slow: a pause between events.
    huge: the response, with `size` characters of padding.
    """

    kind: FaultKind
    times: Annotated[int, Field(ge=1)] | Literal["forever"] = 1
    """The number of requests that the fault affects, including retries."""
    status: Annotated[int, Field(ge=400, le=599)] | None = None
    retry_after: Seconds | None = None
    message: str = ""
    headers: dict[str, str] = Field(default_factory=dict)
    seconds: Seconds = 1.0
    """For slow: the pause after each event, not divided by the speed."""
    size: Count = 2_000_000

    @model_validator(mode="before")
    @classmethod
    def _short_forms(cls, data: object) -> object:
        """Accept the short forms `fault: cut` and `fault: {status: 529}`."""
        if isinstance(data, str):
            return {"kind": data}
        if isinstance(data, dict) and "status" in data:
            return {"kind": "status", **data}
        return data

    @model_validator(mode="after")
    def _status_fits_kind(self) -> Self:
        if (self.status is None) is (self.kind == "status"):
            raise ValueError("`status` goes with kind `status`, and only with it")
        return self


class Guidance(Model):
    """Guidance (`guidance:`) that the person gives once while a task is running, for the next iteration."""

    during: Annotated[str, Field(min_length=1)]
    """The task's id."""
    say: Annotated[str, Field(min_length=1)]


class Persona(Model):
    """The automatic person (`person:`), who answers and approves when nobody else does."""

    after: Seconds = 3.0
    """Seconds without an answer before the automatic person answers, divided by the speed."""
    at_screen: Seconds = 5.0
    """The same when a person watches the screen and needs time to read."""
    answers: Mapping[str, str] = Field(default_factory=dict)
    """The option or text for each question, by its header. The default is the first option."""
    guidance: Annotated[tuple[Guidance, ...], BeforeValidator(as_tuple)] = ()

    def answer(self, question: Question) -> Answer:
        text = self.answers.get(question.header) or self.answers.get(question.question)
        if text is None and question.options:
            text = question.options[0].label
        return parse_answer(question, text, by="demo") if text else Answer(declined=True, by="demo")


def _checked_pattern(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(f"not a regular expression: {error}") from error
    return pattern


_TASK_ID = re.compile(r"^Task ID: *(\S+)", re.MULTILINE)
_PHASE = re.compile(r"^# Ralph (\w+) Mode")

Pattern = Annotated[str, AfterValidator(_checked_pattern), Field(min_length=1)]
Patterns = Annotated[tuple[Pattern, ...], BeforeValidator(as_tuple)]
"""One or several regular expressions that must all match."""


def all_match(patterns: tuple[str, ...], text: str) -> bool:
    return all(re.search(pattern, text, re.MULTILINE) for pattern in patterns)


class When(Model):
    """A condition on the model's last input."""

    last_result: Patterns = ()
    """Searched in the results of the last tool calls, or in the user's text if there are none."""
    user: Patterns = ()
    """Searched in the user's text since the last model turn."""

    @model_validator(mode="after")
    def _require_condition(self) -> Self:
        if not self.last_result and not self.user:
            raise ValueError("needs `last_result` or `user`")
        return self

    def fits(self, *, user: str, results: str) -> bool:
        return all_match(self.user, user) and all_match(self.last_result, results or user)


class ToolUse(Model):
    """A tool call with its full name and input."""

    name: str
    input: dict[str, JsonValue] = Field(default_factory=dict)


class WriteFile(Model):
    """The file to write (`write:`)."""

    path: str
    content: str


class EditFile(Model):
    """The piece of text to replace in a file (`edit:`)."""

    path: str
    old: str
    new: str


class RunBash(Model):
    """A command (`bash:`) with a timeout or a description."""

    command: str
    timeout: int | None = None
    description: str | None = None


class Usage(Model):
    """The exact usage (`usage:`). Usually `context:` and `output:` are enough."""

    input: Count = 0
    cache_read: Count = 0
    cache_creation: Count = 0
    output: Count = 0


class Turn(Model):
    """One turn of the model: its text, then its tool calls.

    The tools are called in the order read, write, edit, bash, ralph, tools.
    """

    when: When | None = None
    repeat: Annotated[int, Field(ge=1)] = 1
    """The maximum number of times to play this turn in a row, while its `when` is true."""
    think: str = ""
    say: str = ""
    read: Annotated[tuple[str, ...], BeforeValidator(as_tuple)] = ()
    write: Annotated[tuple[WriteFile, ...], BeforeValidator(as_tuple)] = ()
    edit: Annotated[tuple[EditFile, ...], BeforeValidator(as_tuple)] = ()
    bash: str | RunBash | None = None
    ralph: str | dict[str, dict[str, JsonValue]] | None = None
    """A tool of ralph: `get_next_task`, or `{mark_task_complete: {task_id: …}}` with its input."""
    tools: tuple[ToolUse, ...] = ()
    context: Count | None = None
    """The reported tokens of input, cache reads and cache creation together."""
    output: Count | None = None
    usage: Usage | None = None
    stop: Literal["end_turn", "max_tokens", "refusal", "tool_use", "stop_sequence"] | None = None
    wait: Seconds | None = None
    """Seconds before the first word, divided by the speed."""
    pace: Seconds | None = None
    """Seconds per piece of text, divided by the speed."""
    fault: Annotated[tuple[Fault, ...], BeforeValidator(as_tuple)] = ()

    @property
    def calls(self) -> tuple[ToolUse, ...]:
        calls = [ToolUse(name="Read", input={"file_path": path}) for path in self.read]
        calls += [
            ToolUse(name="Write", input={"file_path": w.path, "content": w.content})
            for w in self.write
        ]
        calls += [
            ToolUse(
                name="Edit", input={"file_path": e.path, "old_string": e.old, "new_string": e.new}
            )
            for e in self.edit
        ]
        if self.bash is not None:
            run = RunBash(command=self.bash) if isinstance(self.bash, str) else self.bash
            calls.append(ToolUse(name="Bash", input=run.model_dump(exclude_none=True)))
        own = {self.ralph: {}} if isinstance(self.ralph, str) else self.ralph or {}
        calls += [ToolUse(name=f"mcp__ralph__ralph_{name}", input=own[name]) for name in own]
        return (*calls, *self.tools)

    def fault_for(self, attempt: int) -> Fault | None:
        """Return the fault for the request with this number, counted from 0, or None."""
        for fault in self.fault:
            if fault.times == "forever" or attempt < fault.times:
                return fault
            attempt -= fault.times
        return None

    def fits(self, *, user: str, results: str) -> bool:
        return self.when is None or self.when.fits(user=user, results=results)


class Either(Model):
    """Alternatives: the first turn whose `when` is true is played, and the others are skipped."""

    either: Annotated[tuple[Turn, ...], Field(min_length=1)]


class TurnScript(Model):
    """The turns for matching prompts, played once in a conversation."""

    name: str = ""
    phase: Literal["discovery", "planning", "building", "validation"] | None = None
    """The phase in the prompt's first line, such as `# Ralph Planning Mode`."""
    task: str = ""
    """The id in the prompt's first line that begins with `Task ID:`."""
    when: Patterns = ()
    """Searched in the prompt. If several scripts match, the first is played."""
    times: Annotated[int, Field(ge=1)] | None = None
    """The number of matching conversations that the script answers. Later ones use the scripts below."""
    turns: Annotated[tuple[Turn | Either, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _require_trigger(self) -> Self:
        if not (self.phase or self.task or self.when):
            raise ValueError("needs `phase`, `task` or `when`")
        return self

    @property
    def label(self) -> str:
        parts = (self.phase or "", self.task, *self.when)
        return self.name or " & ".join(part for part in parts if part)

    def matches(self, prompt: str) -> bool:
        if self.phase:
            opened = _PHASE.match(prompt.lstrip())
            if not opened or opened[1].lower() != self.phase:
                return False
        if self.task:
            named = _TASK_ID.search(prompt)  # later ids are quoted from memory
            if not named or named[1] != self.task:
                return False
        return all_match(self.when, prompt)


class Scenario(Model):
    """A whole scenario file."""

    name: str = "scenario"
    project: str = "demo"
    """The name of the project's directory if the demo chooses where it is."""
    language: str = ""
    description: str = ""
    """A one-line description for `ralph demo --list`."""
    needs: dict[str, str] = Field(default_factory=dict)
    """By command that succeeds if a required tool is installed: how to install the tool."""
    files: dict[str, str] = Field(default_factory=dict)
    """The project's initial files: the text of each path."""
    request: str = ""
    """The request that `ralph demo` starts with."""
    person: Persona = Field(default_factory=Persona)
    """The automatic person."""
    wait: Seconds = 0.0
    pace: Seconds = 0.0
    context: Count | None = None
    """The default for turns. Without it, a quarter of the request's bytes."""
    output: Count | None = None
    scripts: Annotated[tuple[TurnScript, ...], Field(min_length=1)]


SCENARIOS = Path(__file__).parent / "scenarios"
FIRST = "python"
"""The scenario that `ralph demo` plays by default."""

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the C loader is ten times faster
_HINT = "CONTRIBUTING.md shows how to write a scenario."


def load_scenario(path: Path) -> Scenario:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(
            f"Scenario {path} cannot be read: {error.strerror}.",
            f"Scenarios included with ralph: {', '.join(shipped_scenarios())}.",
        ) from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"Scenario {path} is not UTF-8 text.", _HINT) from error
    return parse_scenario(text, source=str(path))


def shipped_scenario(name: str) -> Path:
    names = shipped_scenarios()
    if name not in names:
        near = get_close_matches(name.lower(), names, 1)
        hint = f"Did you mean {near[0]}?" if near else f"Available demos: {', '.join(names)}."
        raise ConfigError(f"There is no demo named {name!r}.", hint)
    return SCENARIOS / f"{name}.yaml"


def shipped_scenarios() -> tuple[str, ...]:
    names = (path.stem for path in SCENARIOS.glob("*.yaml"))
    return tuple(sorted(names, key=lambda name: (name != FIRST, name)))


def parse_scenario(text: str, source: str = "scenario") -> Scenario:
    loader = _Loader(text)
    try:
        root = loader.get_single_node()
        if not isinstance(root, yaml.MappingNode):
            raise ConfigError(f"{source}: a scenario must be a mapping with `scripts`.", _HINT)
        _refuse_duplicates(root, source)
        data = loader.construct_document(root)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{source}, line {mark.line + 1}" if mark else source
        problem = getattr(error, "problem", None) or error
        raise ConfigError(f"{place}: not valid YAML: {problem}.", _HINT) from error
    finally:
        loader.dispose()
    try:
        return Scenario.model_validate(data)
    except ValidationError as error:
        raise ConfigError(_validation_message(root, source, error), _HINT) from error


def _refuse_duplicates(node: yaml.Node, source: str, seen: set[yaml.Node] | None = None) -> None:
    """Refuse duplicate keys, because YAML silently keeps only the last one."""
    seen = set() if seen is None else seen
    if node in seen:  # an alias, which may be circular
        return
    seen.add(node)
    if isinstance(node, yaml.SequenceNode):
        for item in node.value:
            _refuse_duplicates(item, source, seen)
    elif isinstance(node, yaml.MappingNode):
        keys: set[str] = set()
        for key, value in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode):
                raise ConfigError(f"{source}, line {line}: a key must be a plain word.", _HINT)
            if key.value in keys:
                raise ConfigError(f"{source}, line {line}: `{key.value}` occurs twice.", _HINT)
            keys.add(key.value)
            _refuse_duplicates(value, source, seen)


def _validation_message(root: yaml.Node, source: str, error: ValidationError) -> str:
    worst = max(error.errors(), key=lambda item: len(_locate(root, item["loc"])[1]))
    line, path = _locate(root, worst["loc"])
    message = worst["msg"].removeprefix("Value error, ")
    missing = str(worst["loc"][-1]) if worst["type"] == "missing" else ""
    what = f"`{missing}` is missing" if missing else message[:1].lower() + message[1:]
    if worst["type"] == "extra_forbidden":
        what = "this key does not exist here"
    dotted = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return f"{source}, line {line}, `{dotted.lstrip('.') or 'scenario'}`: {what}."


def _locate(node: yaml.Node, loc: Sequence[int | str]) -> tuple[int, list[int | str]]:
    line, path = node.start_mark.line + 1, []
    for step in loc:
        if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
            node = node.value[step]
            line = node.start_mark.line + 1
        elif isinstance(node, yaml.MappingNode) and (
            pair := next((pair for pair in node.value if pair[0].value == str(step)), None)
        ):
            line, node = pair[0].start_mark.line + 1, pair[1]
        else:
            continue  # the name of a union member, or a missing key
        path.append(step)
    return line, path
