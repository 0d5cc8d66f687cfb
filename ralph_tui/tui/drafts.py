"""Answers that a person has put together but not sent; pure, so that nothing is lost by closing."""

from dataclasses import dataclass, replace

from ralph_tui.domain.documents.questions import Answer, Question


@dataclass(frozen=True, slots=True)
class Draft:
    """What is marked for one question."""

    marked: frozenset[int] = frozenset()
    other: str = ""
    """Words of the person's own; kept also while they do not count."""
    uses_other: bool = False
    declined: bool = False

    @property
    def is_given(self) -> bool:
        """Whether there is something to send."""
        return bool(self.marked) or self.uses_other or self.declined

    def choosing(self, index: int) -> "Draft":
        """Only this option."""
        return replace(self, marked=frozenset({index}), uses_other=False, declined=False)

    def toggling(self, index: int) -> "Draft":
        """This option too, or not any more."""
        return replace(self, marked=self.marked ^ {index}, declined=False)

    def writing(self, text: str, *, multi: bool) -> "Draft":
        """Words instead of an option, or beside the options of a multiple choice."""
        marked = self.marked if multi else frozenset()
        return Draft(marked=marked, other=text.strip(), uses_other=bool(text.strip()))

    def declining(self) -> "Draft":
        """No answer, and said so."""
        return Draft(other=self.other, declined=True)

    def answer(self, question: Question) -> Answer:
        """What is sent; labels in the order in which they were offered."""
        if self.declined:
            return Answer(declined=True, by="screen")
        labels = tuple(o.label for i, o in enumerate(question.options) if i in self.marked)
        return Answer(labels=labels, other=self.other if self.uses_other else "", by="screen")


NOTHING = Draft()
