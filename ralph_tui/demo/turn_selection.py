"""Select the next turn from the scenario and the conversation in the request.

Selection is a pure function. Each request replays the conversation from its first prompt, so a retried, resumed
or repeated request always gets the same turn.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, product

from pydantic import JsonValue

from ralph_tui.demo.scenario import Either, Scenario, Turn, TurnScript

_REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>\s*", re.DOTALL)


@dataclass(frozen=True)
class Step:
    """The input that the model received before one of its turns."""

    prompts: tuple[str, ...]
    """The user's texts. There are several when a turn was interrupted or failed."""
    results: str
    """The results of the tool calls."""

    @property
    def user(self) -> str:
        return "\n".join(self.prompts)


@dataclass(frozen=True)
class Choice:
    """A selected turn, its script, and its index in the script."""

    script: TurnScript
    index: int
    turn: Turn


def read_steps(messages: Sequence[JsonValue]) -> tuple[Step, ...]:
    steps: list[Step] = []
    runs = groupby((m for m in messages if isinstance(m, dict)), lambda m: m.get("role"))
    received: list[Mapping[str, JsonValue]] = []
    for role, run in runs:
        if role == "assistant":
            steps.append(_step(received, first=not steps))
            received = []
        else:
            received.extend(run)
    return (*steps, _step(received, first=not steps))


def _step(received: Sequence[Mapping[str, JsonValue]], *, first: bool) -> Step:
    relevant = [m for m in received if not first or m.get("role") == "user"]
    blocks = [block for message in relevant for block in _blocks(message.get("content"))]
    user = [_REMINDER.sub("", text) for kind, text in blocks if kind == "text"]
    return Step(
        prompts=tuple(text for text in user if text.strip()),
        results="\n".join(text for kind, text in blocks if kind == "tool_result"),
    )


def _blocks(content: JsonValue) -> Iterator[tuple[str, str]]:
    if isinstance(content, str):
        yield "text", content
    elif isinstance(content, list):
        for block in content:
            if not isinstance(block, dict):
                continue
            if block.get("type") == "tool_result":
                inner = [text for _, text in _blocks(block.get("content"))]
                yield "tool_result", "\n".join(inner)
            elif isinstance(text := block.get("text"), str):
                yield "text", text


def choose(
    scenario: Scenario,
    steps: Sequence[Step],
    may_begin: Callable[[TurnScript], bool] = lambda _: True,
) -> Choice | None:
    """Return the turn for the last step, or None when no script covers it.

    A prompt that matches a new script starts it on top of the running one. When the new script ends, the one
    below continues.

    Args:
        may_begin: Returns whether a script may start in this conversation.
    """
    stack: list[_Cursor] = []
    begun: list[TurnScript] = []
    choice = None
    for step in steps:
        pairs = product(reversed(step.prompts), scenario.scripts)
        script = next((one for text, one in pairs if one.matches(text) and may_begin(one)), None)
        if script and script not in begun:
            begun.append(script)
            stack.append(_Cursor(script))
        choice = _next(stack, step)
    return choice


@dataclass
class _Cursor:
    """The position in a running script."""

    script: TurnScript
    index: int = 0
    played: int = 0

    def advance(self, step: Step) -> Choice | None:
        """Return the next turn that matches the step, or None at the script's end."""
        while self.index < len(self.script.turns):
            item = self.script.turns[self.index]
            turns = item.either if isinstance(item, Either) else (item,)
            fitting = (t for t in turns if t.fits(user=step.user, results=step.results))
            turn = next(fitting, None)
            if turn and self.played < turn.repeat:
                self.played += 1
                return Choice(script=self.script, index=self.index, turn=turn)
            self.index += 1
            self.played = 0
        return None


def _next(stack: list[_Cursor], step: Step) -> Choice | None:
    while stack:
        if choice := stack[-1].advance(step):
            return choice
        stack.pop()
    return None
