"""What a scenario says about its person: how they answer when nobody else does, and what they say."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import BeforeValidator, Field

from ralph_tui.demo.forms import Seconds, as_tuple
from ralph_tui.domain.base import Model
from ralph_tui.domain.documents.questions import Answer, Question, parse_answer


class Guidance(Model):
    """`guidance:` said once, while a task is being worked; the next iteration is told."""

    during: Annotated[str, Field(min_length=1)]
    """The task's id."""
    say: Annotated[str, Field(min_length=1)]


class Role(Model):
    """`person:` answers and approves, each `after` so many seconds in which nobody else did."""

    after: Seconds = 3.0
    """Seconds, divided by the speed."""
    at_screen: Seconds = 5.0
    """The same where somebody sits before the screen, who reads before they act."""
    answers: Mapping[str, str] = Field(default_factory=dict)
    """A question's header, and the option or words; without one, the first option is taken."""
    guidance: Annotated[tuple[Guidance, ...], BeforeValidator(as_tuple)] = ()

    def answer(self, question: Question) -> Answer:
        """The answer to a question."""
        text = self.answers.get(question.header) or self.answers.get(question.question)
        if text is None and question.options:
            text = question.options[0].label
        return parse_answer(question, text, by="demo") if text else Answer(declined=True, by="demo")
