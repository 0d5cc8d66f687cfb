"""Select the next turn: a pure function of the scenario and the conversation in the request.

Nothing is stored between requests. The conversation is replayed from its first prompt, so a
retried, resumed or repeated request always gets the same turn.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from pydantic import JsonValue

from ralph_tui.demo.scenario import Either, Scenario, Turn, TurnScript

_REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>\s*", re.DOTALL)


@dataclass(frozen=True)
class Step:
    """What the model received before one of its turns."""

    prompts: tuple[str, ...]
    """What the user said, piece by piece; several when a turn was interrupted or failed."""
    results: str

    @property
    def user(self) -> str:
        """All that the user said."""
        return "\n".join(self.prompts)


@dataclass(frozen=True)
class Choice:
    """A turn and its position."""

    script: TurnScript
    index: int
    turn: Turn


def read_steps(messages: Sequence[JsonValue]) -> tuple[Step, ...]:
    """Return one step for each model turn so far, and one for the requested turn."""
    steps: list[Step] = []
    runs = groupby((m for m in messages if isinstance(m, dict)), lambda m: m.get("role"))
    told: list[Mapping[str, JsonValue]] = []
    for role, run in runs:
        if role == "assistant":
            steps.append(_step(told, first=not steps))
            told = []
        else:
            told.extend(run)
    return (*steps, _step(told, first=not steps))


def _step(told: Sequence[Mapping[str, JsonValue]], *, first: bool) -> Step:
    """Return one step; the first leaves out system text, which describes the machine and not the work."""
    heard = [m for m in told if not first or m.get("role") == "user"]
    blocks = [block for message in heard for block in _blocks(message.get("content"))]
    user = [_REMINDER.sub("", text) for kind, text in blocks if kind == "text"]
    return Step(
        prompts=tuple(text for text in user if text.strip()),
        results="\n".join(text for kind, text in blocks if kind == "tool_result"),
    )


def _blocks(content: JsonValue) -> Iterator[tuple[str, str]]:
    """Yield the kind and text of each content block; a plain string is one text block."""
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

    A prompt that matches a script not begun yet begins it, on top of the running one;
    when it is over, the one below continues.
    """
    stack: list[_Cursor] = []
    begun: list[TurnScript] = []
    choice = None
    for step in steps:
        script = _meant(scenario.scripts, step, may_begin)
        if script and script not in begun:
            begun.append(script)
            stack.append(_Cursor(script))
        choice = _next(stack, step)
    return choice


def _meant(
    scripts: Sequence[TurnScript], step: Step, may_begin: Callable[[TurnScript], bool]
) -> TurnScript | None:
    """Return the first script for the latest words; earlier words were never answered."""
    for prompt in reversed(step.prompts):
        for script in scripts:
            if script.is_meant_by(prompt) and may_begin(script):
                return script
    return None


@dataclass
class _Cursor:
    """How far a script has been played."""

    script: TurnScript
    index: int = 0
    played: int = field(default=0)

    def advance(self, step: Step) -> Choice | None:
        """Return the next turn that fits, or None at the script's end."""
        while self.index < len(self.script.turns):
            turn = _fitting(self.script.turns[self.index], step)
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


def _fitting(item: Turn | Either, step: Step) -> Turn | None:
    turns = item.either if isinstance(item, Either) else (item,)
    return next((t for t in turns if t.fits(user=step.user, results=step.results)), None)
