"""Questions to the person: what was asked, who answered, and how typed answers are parsed.

Questions are identified by id, never by text, so that an answer cannot reach another question.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic import Field

from ralph_tui.domain.base import Model, Record, Timestamp
from ralph_tui.domain.project_state import Phase

QUESTIONS_SCHEMA_VERSION = 1

Answerer = Literal["screen", "terminal", "command", "file", "demo", "nobody"]
"""Where an answer came from; `nobody` means a run that may not ask."""


class Option(Record):
    """One offered answer."""

    label: str
    description: str = ""
    preview: str = ""
    reasoned: bool = False
    """Whether the person may add a reason to this answer."""


class Question(Record):
    """One question as the model asked it."""

    question: str
    header: str = ""
    multi_select: bool = False
    options: tuple[Option, ...] = ()

    @property
    def is_closed(self) -> bool:
        return any(option.reasoned for option in self.options)


class Permission(Record):
    """The tool call for which a question asks permission."""

    tool: str
    argument: str
    """The command or input as it will run; inert."""
    asked: str = ""
    """The command as the agent wrote it, if it differs from what will run."""
    rule: str
    reason: str = ""
    patterns: tuple[str, ...] = ()
    """What triggered the rule, and what a permission for the session covers; if empty, only equal calls."""
    sub_agent: bool = False
    check: bool = False
    """Whether ralph runs the command to check a claim, instead of the agent."""
    tool_id: str = ""
    """The agent's call that waits for the answer, if there is one."""


class Answer(Record):
    """The person's answer: labels of options, free text, or a refusal to answer."""

    labels: tuple[str, ...] = ()
    other: str = ""
    declined: bool = False
    by: Answerer = "command"

    @property
    def text(self) -> str:
        return ", ".join((*self.labels, *([self.other] if self.other else [])))


class AskedQuestion(Record):
    """A question with its answer and times. Questions of the same call have the same `batch`."""

    id: str
    batch: str
    phase: Phase
    task_id: str | None = None
    question: Question
    permission: Permission | None = None
    """Set if the question is whether a tool call may run."""
    asked_at: Timestamp
    expires_at: Timestamp | None = None
    """When the run gives up waiting for an answer; None if it waits forever."""
    answered_at: Timestamp | None = None
    answer: Answer | None = None
    withdrawn: bool = False
    """Whether the session that asked is gone. The next session may ask again."""

    @property
    def is_open(self) -> bool:
        return self.answer is None and not self.withdrawn


class QuestionLog(Record):
    """`.ralph/questions.json`."""

    schema_version: int = QUESTIONS_SCHEMA_VERSION
    questions: tuple[AskedQuestion, ...] = ()

    def open(self) -> tuple[AskedQuestion, ...]:
        return tuple(q for q in self.questions if q.is_open)

    def asked_in(self, phase: Phase, since: Timestamp | None = None) -> tuple[AskedQuestion, ...]:
        """Return the model's questions in a phase since a time, oldest first.

        Permissions and withdrawn questions are left out.
        """
        return tuple(
            q
            for q in self.questions
            if q.phase is phase
            and not q.withdrawn
            and q.permission is None
            and (since is None or q.asked_at >= since)
        )

    def asking(self, questions: Sequence[AskedQuestion]) -> "QuestionLog":
        return self.model_copy(update={"questions": (*self.questions, *questions)})

    def answering(self, question_id: str, answer: Answer, when: Timestamp) -> "QuestionLog":
        return self.changing(question_id, answer=answer, answered_at=when)

    def find(self, question_id: str) -> AskedQuestion | None:
        return next((q for q in self.questions if q.id == question_id), None)

    def changing(self, question_id: str, **changes: object) -> "QuestionLog":
        changed = tuple(
            q.model_copy(update=changes) if q.id == question_id and q.is_open else q
            for q in self.questions
        )
        return self.model_copy(update={"questions": changed})


class GivenAnswers(Model):
    """Prepared answers from a file, by the text or header of the question."""

    answers: Mapping[str, str] = Field(default_factory=dict)

    def to(self, question: Question) -> Answer | None:
        text = self.answers.get(question.question) or self.answers.get(question.header)
        return parse_answer(question, text, by="file") if text else None


def parse_answer(question: Question, text: str, *, by: Answerer) -> Answer:
    """Parse an answer that a person typed: option numbers or labels, separated by commas, or free text."""
    words = text.strip()
    if question.is_closed:
        return _option_with_reason(question, words, by)
    parts = [part.strip() for part in words.split(",")] if question.multi_select else [words]
    labels = [_option_label(question, part) for part in parts if part]
    if labels and all(labels):
        return Answer(labels=tuple(label for label in labels if label), by=by)
    return Answer(other=words, by=by)


def slip(question: Question, text: str) -> str:
    """Return what is wrong with a typed answer, or an empty string.

    If only the options are answers, any other text is wrong. Otherwise only a list with an unknown option
    number is; a single number may be free text, such as "12" for "How many?".
    """
    if question.is_closed:
        if _option_with_reason(question, text.strip(), "nobody").labels:
            return ""
        shown = (
            f"{number} {option.label.lower()}{' (and why)' if option.reasoned else ''}"
            for number, option in enumerate(question.options, 1)
        )
        return f"Valid answers: {', '.join(shown)}."
    parts = [part.strip() for part in text.split(",")] if question.multi_select else []
    wrong = [part for part in parts if part.isdecimal() and _option_label(question, part) is None]
    if len(wrong) == len(parts):
        return ""
    return f"There is no option {wrong[0]}. Choose 1 to {len(question.options)}." if wrong else ""


def _option_with_reason(question: Question, words: str, by: Answerer) -> Answer:
    if (label := _option_label(question, words)) is not None:
        return Answer(labels=(label,), by=by)
    for number, option in enumerate(question.options, 1):
        for name in (str(number), option.label):
            rest = words[len(name) :]
            named = option.reasoned and words.lower().startswith(name.lower())
            if named and rest[:1] in _LABEL_ENDS:
                return Answer(labels=(option.label,), other=rest.lstrip(_SEPARATORS), by=by)
    return Answer(other=words, by=by)


_LABEL_ENDS = (" ", ":", ",", ".", "\n")
_SEPARATORS = " :,.\n"


def _option_label(question: Question, part: str) -> str | None:
    if part.isdecimal() and 1 <= int(part) <= len(question.options):
        return question.options[int(part) - 1].label
    return next((o.label for o in question.options if o.label.lower() == part.lower()), None)


MAX_SETTLED = 200
"""How many settled questions are kept: far more than one run of a phase may ask, so that counting them stays exact."""


def bounded(log: QuestionLog) -> QuestionLog:
    """Return a log with all open questions and the latest settled ones; the same log if there are not too many."""
    settled = [q.id for q in log.questions if not q.is_open]
    if len(settled) <= MAX_SETTLED:
        return log
    gone = frozenset(settled[:-MAX_SETTLED])
    kept = tuple(q for q in log.questions if q.is_open or q.id not in gone)
    return log.model_copy(update={"questions": kept})
