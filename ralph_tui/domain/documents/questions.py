"""Questions to the person: what was asked, who answered, and what the answer means to the model.

A question is identified by its id, never by its text, so no answer reaches another question.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic import Field

from ralph_tui.domain.base import Model, Record, Timestamp
from ralph_tui.domain.project_state import Phase

QUESTIONS_SCHEMA_VERSION = 1

Answerer = Literal["screen", "terminal", "command", "file", "demo", "nobody"]
"""Where an answer came from; `nobody` is a run that may not ask."""


class Option(Record):
    """One offered answer."""

    label: str
    description: str = ""
    preview: str = ""
    reasoned: bool = False
    """Words may follow it that say why."""


class Question(Record):
    """One question as the model asked it."""

    question: str
    header: str = ""
    multi_select: bool = False
    options: tuple[Option, ...] = ()

    @property
    def is_closed(self) -> bool:
        """Only the options are answers; words of one's own belong to one of them."""
        return any(option.reasoned for option in self.options)


class Permission(Record):
    """The tool call that a question asks to let run."""

    tool: str
    argument: str
    """The command, or the input, as it will run; inert."""
    asked: str = ""
    """The command as the agent wrote it, where another one will run."""
    rule: str
    reason: str = ""
    patterns: tuple[str, ...] = ()
    """What made the rule apply, so that an allowance can hold for that; else it is for equal calls."""
    sub_agent: bool = False
    check: bool = False
    """Whether it is no call of the agent but a command by which ralph checks its claim."""
    tool_id: str = ""
    """The call that waits for the answer, where it is one of the agent's."""


class Answer(Record):
    """What the person said: labels, words of their own, or that they decline."""

    labels: tuple[str, ...] = ()
    other: str = ""
    declined: bool = False
    by: Answerer = "command"

    @property
    def text(self) -> str:
        """The answer as the model reads it."""
        return ", ".join((*self.labels, *([self.other] if self.other else [])))


class AskedQuestion(Record):
    """A question with its story; `batch` joins those that were asked in one call."""

    id: str
    batch: str
    phase: Phase
    task_id: str | None = None
    question: Question
    permission: Permission | None = None
    """Set when the question is whether a tool call may run."""
    asked_at: Timestamp
    expires_at: Timestamp | None = None
    """When the run ends without an answer; None where it waits as long as it takes."""
    answered_at: Timestamp | None = None
    answer: Answer | None = None
    withdrawn: bool = False
    """The session that asked is gone; the next one asks again if it still wants to know."""

    @property
    def is_open(self) -> bool:
        """Whether the person is still waited for."""
        return self.answer is None and not self.withdrawn


class QuestionLog(Record):
    """`.ralph/questions.json`."""

    schema_version: int = QUESTIONS_SCHEMA_VERSION
    questions: tuple[AskedQuestion, ...] = ()

    def open(self) -> tuple[AskedQuestion, ...]:
        """Return the questions that wait for the person, oldest first."""
        return tuple(q for q in self.questions if q.is_open)

    def asked_in(self, phase: Phase, since: Timestamp | None = None) -> tuple[AskedQuestion, ...]:
        """Return the model's questions of a phase since then, oldest first, without the withdrawn ones."""
        return tuple(
            q
            for q in self.questions
            if q.phase is phase
            and not q.withdrawn
            and q.permission is None
            and (since is None or q.asked_at >= since)
        )

    def asking(self, questions: Sequence[AskedQuestion]) -> "QuestionLog":
        """Return a copy with more questions."""
        return self.model_copy(update={"questions": (*self.questions, *questions)})

    def answering(self, question_id: str, answer: Answer, when: Timestamp) -> "QuestionLog":
        """Return a copy in which one open question is answered; others are untouched."""
        return self.changing(question_id, answer=answer, answered_at=when)

    def withdrawing_open(self) -> "QuestionLog":
        """Return a copy in which no question waits, for sessions that are gone."""
        log = self
        for question in self.open():
            log = log.changing(question.id, withdrawn=True)
        return log

    def find(self, question_id: str) -> AskedQuestion | None:
        """Return the question with this id, or None."""
        return next((q for q in self.questions if q.id == question_id), None)

    def changing(self, question_id: str, **changes: object) -> "QuestionLog":
        """Return a copy in which one open question has `changes`."""
        changed = tuple(
            q.model_copy(update=changes) if q.id == question_id and q.is_open else q
            for q in self.questions
        )
        return self.model_copy(update={"questions": changed})


class GivenAnswers(Model):
    """Answers prepared in a file: question text or header to answer."""

    answers: Mapping[str, str] = Field(default_factory=dict)

    def to(self, question: Question) -> Answer | None:
        """Return the prepared answer to a question, found by its text, then by its header."""
        text = self.answers.get(question.question) or self.answers.get(question.header)
        return parse_answer(question, text, by="file") if text else None


def parse_answer(question: Question, text: str, *, by: Answerer) -> Answer:
    """Parse an answer typed by a person: option numbers, labels (commas for several), or free words."""
    words = text.strip()
    if question.is_closed:
        return _reasoned(question, words, by)
    parts = [part.strip() for part in words.split(",")] if question.multi_select else [words]
    labels = [_label(question, part) for part in parts if part]
    if labels and all(labels):
        return Answer(labels=tuple(label for label in labels if label), by=by)
    return Answer(other=words, by=by)


def slip(question: Question, text: str) -> str:
    """Describe a list of choices with a number that no option has; empty when there is none.

    A number alone may be an answer of one's own ("12" to "How many?"); where only the options are
    answers, it is a slip like any other word.
    """
    if question.is_closed:
        answer = _reasoned(question, text.strip(), "nobody")
        return "" if answer.labels else _CLOSED.format(_numbered(question))
    parts = [part.strip() for part in text.split(",")] if question.multi_select else []
    wrong = [part for part in parts if part.isdecimal() and _label(question, part) is None]
    if len(wrong) == len(parts):
        return ""
    return (
        f"There is no option {wrong[0]}: they go from 1 to {len(question.options)}."
        if wrong
        else ""
    )


_CLOSED = "Only these are answers: {}."


def _numbered(question: Question) -> str:
    return ", ".join(
        f"{number} {option.label.lower()}{' (and why)' if option.reasoned else ''}"
        for number, option in enumerate(question.options, 1)
    )


def _reasoned(question: Question, words: str, by: Answerer) -> Answer:
    """Split an option from the reason after it: `3 not on a Friday`, `deny: no`."""
    if (label := _label(question, words)) is not None:
        return Answer(labels=(label,), by=by)
    for number, option in enumerate(question.options, 1):
        for name in (str(number), option.label):
            rest = words[len(name) :]
            if option.reasoned and words.lower().startswith(name.lower()) and rest[:1] in _AFTER:
                return Answer(labels=(option.label,), other=rest.lstrip(_BETWEEN), by=by)
    return Answer(other=words, by=by)


_AFTER = (" ", ":", ",", ".", "\n")
_BETWEEN = " :,.\n"


def _label(question: Question, part: str) -> str | None:
    """Return the option with this number or label; None when it is neither."""
    if part.isdecimal() and 1 <= int(part) <= len(question.options):
        return question.options[int(part) - 1].label
    return next((o.label for o in question.options if o.label.lower() == part.lower()), None)


MOST_SETTLED = 200
"""Far more than one run of a phase may ask, so that counting them there stays exact."""


def bounded(log: QuestionLog) -> QuestionLog:
    """Return a copy with every open question and the latest settled ones; the same one if none is too many."""
    settled = [q.id for q in log.questions if not q.is_open]
    if len(settled) <= MOST_SETTLED:
        return log
    gone = frozenset(settled[:-MOST_SETTLED])
    kept = tuple(q for q in log.questions if q.is_open or q.id not in gone)
    return log.model_copy(update={"questions": kept})
