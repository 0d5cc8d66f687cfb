"""A reviewer's verdicts on criteria that no command checks, and the rules that make them credible."""

import re
from collections.abc import Callable, Sequence
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from ralph_tui.domain.base import Count, Model
from ralph_tui.domain.costs import Money
from ralph_tui.domain.sanitize import one_line
from ralph_tui.domain.verification.verification import (
    GateResult,
    TaskVerification,
    VerificationOutcome,
)

ReviewPolicy = Annotated[
    Literal["off", "needed", "always"],
    BeforeValidator(lambda value: "needed" if value == "prose" else value),  # its name until 0.2
]
"""When a reviewer judges a claim: never, for what no command shows, or always."""

MAX_QUOTES = 20
MAX_QUOTE = 2_000
"""Characters of one quote."""


class Quote(Model):
    """Lines of a project file, quoted word for word."""

    file: str = Field(min_length=1, max_length=500)
    line: int = Field(ge=1)
    text: str = Field(min_length=1, max_length=MAX_QUOTE)


class CriterionReview(Model):
    """The reviewer's verdict on one criterion; `number` counts from 1."""

    number: int = Field(ge=1)
    met: bool
    reason: str = Field(min_length=1, max_length=2_000)
    evidence: tuple[Quote, ...] = Field((), max_length=MAX_QUOTES)


class Review(Model):
    """One review of one claim."""

    criteria: tuple[str, ...]
    verdicts: tuple[CriterionReview, ...] = ()
    """One verdict for each criterion, in order; empty if the review could not be finished."""
    summary: str = ""
    failure: str = ""
    """Why there are no verdicts."""
    model: str = ""
    cost_usd: Money = 0.0
    requests: Count = 0

    @property
    def agreed(self) -> bool:
        return bool(self.verdicts) and all(verdict.met for verdict in self.verdicts)

    @property
    def rejected(self) -> bool:
        return any(not verdict.met for verdict in self.verdicts)

    def criterion(self, number: int) -> str:
        """Return a criterion by its number from 1, which a damaged journal may have without the criterion."""
        return next(iter(self.criteria[number - 1 : number]), f"criterion {number}")

    @property
    def objections(self) -> tuple[str, ...]:
        """The unmet criteria, each with the reviewer's reason."""
        return tuple(
            f"{self.criterion(verdict.number)}: {verdict.reason}"
            for verdict in self.verdicts
            if not verdict.met
        )

    @property
    def result_text(self) -> str:
        if self.failure:
            return f"not reviewed: {self.failure}"
        if self.agreed:
            return f"a reviewer found {criteria_count(self.criteria)} met"
        return f"a reviewer rejected it: {one_line('; '.join(self.objections), 300)}"

    def verification(self, basis: str, gate: TaskVerification) -> TaskVerification:
        by = f"reviewer {self.model}".strip()
        changes = {"outcome": VerificationOutcome.REVIEWED, "by": by, "reason": basis}
        return gate.model_copy(update=changes)


ASKED_FOR = "The approved task asks for the change to "
"""The beginning of the criterion about a changed file of the checks."""


_WITHOUT_IT = ", without which the checks do not pass"


def question_criteria(gate: GateResult) -> tuple[str, ...]:
    """Return what a reviewer judges about a claim that the checks do not show on product code alone."""
    if not gate.question:
        return ()
    if not gate.rests_on:
        return (f"The files show that the task is done; {gate.question}.",)
    return tuple(f"{ASKED_FOR}{path}{_WITHOUT_IT}." for path in gate.rests_on)


def review_problems(
    verdicts: Sequence[CriterionReview],
    criteria: Sequence[str],
    read: Callable[[str], str | None],
    task_text: str = "",
) -> list[str]:
    """Return what is wrong with a review, as instructions to the reviewer; an accepted review has no problems.

    Args:
        read: Returns the text of a project file by its relative path, or None if there is no such file.
        task_text: The approved task, which the reasons for changed files of the checks quote.
    """
    numbers = [verdict.number for verdict in verdicts]
    expected = list(range(1, len(criteria) + 1))
    if sorted(numbers) != expected:
        return [f"Give exactly one verdict for each criterion, numbered 1 to {len(criteria)}."]
    problems: list[str] = []
    for verdict in verdicts:
        if verdict.met and not verdict.evidence:
            problems.append(
                f"Criterion {verdict.number}: quote the lines that show that it is met, or say that it is not."
            )
        _, asked, rest = criteria[verdict.number - 1].partition(ASKED_FOR)
        path = rest.partition(_WITHOUT_IT)[0]
        if verdict.met and asked and not _quotes(verdict.reason, task_text, path):
            problems.append(
                f"Criterion {verdict.number}: quote in the reason, in double quotes, the sentence of the task that names "
                f"{path} or its directory and asks for this change, or say that it is not met."
            )
        problems += [_quote_problem(verdict.number, quote, read) for quote in verdict.evidence]
    return [problem for problem in problems if problem]


_QUOTED = re.compile(r'["“”]([^"“”]{12,})["“”]')


def _quotes(reason: str, text: str, path: str) -> bool:
    """Return whether a reason quotes a sentence of the text that names a file, because any sentence would fit any file."""
    plain = " ".join(text.split())
    quoted = (" ".join(one.split()) for one in _QUOTED.findall(reason))
    return any(one in plain and _names(one, path) for one in quoted)


def _names(sentence: str, path: str) -> bool:
    *directories, name = path.split("/")
    stem = name.partition(".")[0]
    words = [re.escape(name), *(rf"{re.escape(one)}/(?![\w.-])" for one in directories)]
    if re.search(r"[_-]", stem):  # a plain word, such as report, may be the subject instead
        words.append(rf"{re.escape(stem)}(?![\w-])")
    return re.search(rf"(?<![\w-])(?:{'|'.join(words)})", sentence) is not None


def _quote_problem(number: int, quote: Quote, read: Callable[[str], str | None]) -> str:
    text = read(quote.file)
    if text is None:
        return f"Criterion {number}: there is no file {quote.file}. Name files relative to the project."
    if not (wanted := _lines(quote.text)):
        return f"Criterion {number}: the quote from {quote.file} is empty."
    known = _lines(text)
    size = len(wanted)
    if any(known[at : at + size] == wanted for at in range(len(known) - size + 1)):
        return ""
    return f"Criterion {number}: {quote.file} does not contain the quoted lines. Quote them word for word."


def _lines(text: str) -> list[str]:
    """Return the lines without indentation and empty lines, so that only the words must match."""
    return [line.strip() for line in text.splitlines() if line.strip()]


def criteria_count(criteria: Sequence[str]) -> str:
    return "1 criterion" if len(criteria) == 1 else f"{len(criteria)} criteria"


def evidence_lines(review: Review) -> list[str]:
    lines = []
    for verdict in review.verdicts:
        where = ", ".join(f"{quote.file}:{quote.line}" for quote in verdict.evidence)
        word = "met" if verdict.met else "not met"
        criterion = review.criterion(verdict.number)
        lines.append(f"{word}: {criterion}{f' ({where})' if where else ''}. {verdict.reason}")
    return lines
