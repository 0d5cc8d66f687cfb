"""Commands that a sentence names, as the keys that do the same here. Pure functions."""

import re

from ralph_tui.tui.keys import Keys
from ralph_tui.tui.render.spans import Line, Span, Tone

_KEYS = (
    (r"ralph approve` or `ralph reject [^`]*", "answer"),
    (r"ralph answer", "answer"),
    (r"ralph retry\b[^`]*", "retry"),
    (r"ralph release\b[^`]*", "hold"),
    (r"ralph (?:build|run|plan|validate)", "build"),
    (r"ralph (?:discover )?\"[^`\"]*\"", "request"),
    (r"ralph edit --model", "model"),
    (r"ralph edit(?: [^`]*)?", "edit"),
    (r"ralph breaker", "why"),
    (r"ralph history", "history"),
    (r"ralph inject", "inject"),
    (r"ralph resume", "pause"),
    (r"ralph stop", "stop"),
    (r"ralph tasks(?=` shows why)", "why"),
    (r"ralph tasks", "tasks"),
)
"""What the screen has a key for; another command keeps its name, for a terminal."""

_OF_A_TASK = ("retry", "hold", "edit")

_COMMAND = re.compile("|".join(f"(?P<k{at}>`{words}`)" for at, (words, _) in enumerate(_KEYS)))


def by_key(keys: Keys, text: str, tone: Tone = Tone.TEXT) -> Line:
    """A sentence of the engine for the screen: `ralph retry TASK` is the key that retries."""
    spans: list[Span] = []
    at = 0
    for found in _COMMAND.finditer(text):
        spans += [Span(text[at : found.start()], tone)] if found.start() > at else []
        name = _KEYS[int(str(found.lastgroup)[1:])][1]
        spans.append(Span(keys.label(name), Tone.KEY))
        task = found[0].strip("`").split()[2:3] if name in _OF_A_TASK else []
        spans += [Span(f" on {given}", tone) for given in task if given != "TASK"]
        at = found.end()
    return [*spans, Span(text[at:], tone)] if at < len(text) else spans


def said_by_key(keys: Keys, text: str) -> str:
    """The same as plain text."""
    return "".join(span.text for span in by_key(keys, text))
