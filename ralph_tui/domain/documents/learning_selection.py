"""Chooses lines of progress.txt for a prompt: the latest always, then those that share most words with the task."""

import re
from collections.abc import Sequence

from ralph_tui.domain.base import Count, Model
from ralph_tui.domain.plan.plan import Task
from ralph_tui.domain.verification.verification import criterion_text

SHOWN = 20
NEWEST = 5
"""So many of the newest are shown whatever they are about."""

CHARACTERS = 2_500
LONGEST = 400
"""Characters of one learning in a prompt."""

_WORD = re.compile(r"[^\W_]{3,}")
_STAMP = re.compile(r"^\[[^\]]*\]\s*\w+:\s*")
_COMMON = frozenset(
    re.findall(
        r"\w+",
        "all and any are but can did does for from get had has have how into its just let more must new"
        " not now one only other our out over run same see set should some such than that the their them"
        " then there these they this too use used uses using was way were what when where which while who"
        " why will with work you your add file files make task tests test code passes exists",
    )
)


RECURS = 2
"""How often something is learned before it is offered to AGENTS.md."""

_ALIKE = 0.6
"""Share of their words that two wordings of one learning have in common."""

_KNOWN = 0.8
"""Share of a learning's words in one line of AGENTS.md that has it already."""


class Recurring(Model):
    """Something that was learned several times."""

    text: str
    """Its latest wording, without time and category."""
    times: Count


def recurring(learnings: Sequence[str], agents_md: str) -> tuple[Recurring, ...]:
    """Return what was learned repeatedly and is not in AGENTS.md yet, the most frequent first."""
    groups: list[tuple[frozenset[str], list[str]]] = []
    for line in learnings:
        text = _STAMP.sub("", line).strip()
        words = words_of(text)
        group = next((told for known, told in groups if _alike(known, words)), None)
        if group is not None:
            group.append(text)
        elif words:
            groups.append((words, [text]))
    lines = [words_of(line) for line in agents_md.splitlines()]
    found = (
        Recurring(text=told[-1], times=len(told))
        for words, told in groups
        if len(told) >= RECURS
        and not any(len(words & line) >= _KNOWN * len(words) for line in lines)
    )
    return tuple(sorted(found, key=lambda one: -one.times))


def times_learned(learnings: Sequence[str], text: str) -> int:
    """Count how often the same was learned, in whatever words."""
    words = words_of(text)
    return sum(_alike(words, words_of(_STAMP.sub("", line))) for line in learnings)


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    return bool(one) and len(one & other) >= _ALIKE * len(one | other)


class Chosen(Model):
    """Learnings for a prompt, oldest first."""

    lines: tuple[str, ...] = ()
    left_out: Count = 0

    @property
    def told(self) -> tuple[str, ...]:
        """The lines, and how many there are beside them."""
        if not self.left_out:
            return self.lines
        noun = "learning" if self.left_out == 1 else "learnings"
        return (f"({self.left_out:,} older {noun} not shown: progress.txt)", *self.lines)


def words_of(*texts: str) -> frozenset[str]:
    """Return the words that tell one subject from another, including parts of names and paths."""
    found = (match.group().casefold() for text in texts for match in _WORD.finditer(text))
    return frozenset(found) - _COMMON


def words_of_task(task: Task) -> frozenset[str]:
    """Return the words of a task: its description and criteria, and so the files they name."""
    criteria = (criterion_text(c) for c in task.verification_criteria)
    return words_of(task.id, task.description, *criteria)


def choose(learnings: Sequence[str], words: frozenset[str]) -> Chosen:
    """Choose the latest, then as many as fit of those that share most words with `words`, newer first."""
    numbered = list(enumerate(learnings))
    newest = numbered[-NEWEST:]
    shared = {n: len(words & words_of(_STAMP.sub("", text))) for n, text in numbered}
    rest = sorted(numbered[:-NEWEST], key=lambda item: (-shared[item[0]], -item[0]))
    kept: dict[int, str] = {}
    room = CHARACTERS
    for number, text in [*reversed(newest), *rest]:
        line = text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
        if len(kept) < SHOWN and len(line) <= room:
            kept[number] = line
            room -= len(line) + 3
    lines = tuple(kept[number] for number in sorted(kept))
    return Chosen(lines=lines, left_out=len(learnings) - len(lines))
