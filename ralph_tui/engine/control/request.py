"""Describe what a person started: the request, how far to go, and who can answer."""

from dataclasses import dataclass, field

from ralph_tui.domain.documents.questions import GivenAnswers
from ralph_tui.domain.project_state import Phase

REPLAN = "Make the plan again from the specs and from what is there now."
"""The request for replanning when the person gives no feedback."""


@dataclass(frozen=True)
class OwnPrompt:
    """A template that the person wrote; `name` is said where it is wrong."""

    text: str
    name: str


@dataclass(frozen=True)
class Addition:
    """Text that the planning model turns into further tasks; `source` says where it comes from."""

    text: str
    source: str


@dataclass(frozen=True)
class RunRequest:
    """One run, as the person asked for it.

    Attributes:
        text: What the person wants; empty to continue with the documents as they are.
        only: The single phase to run, or None for the whole way.
        assume_yes: Approve specs and plan without asking; never the final validation.
        no_input: Nobody answers questions; the model decides and records its assumption.
        interactive: Somebody can decide while the loop waits (a screen, a terminal).
        answers: Answers prepared in a file.
        once: End after one iteration.
        prompt: A template for the building prompt of this run.
        reset_breaker: Close the circuit breaker, even during a cool-down.
        addition: What to add to the plan, with `only` planning.
        compacts: Shorten the learnings, with `only` planning.
    """

    text: str = ""
    only: Phase | None = None
    assume_yes: bool = False
    no_input: bool = False
    interactive: bool = False
    answers: GivenAnswers = field(default_factory=GivenAnswers)
    once: bool = False
    prompt: OwnPrompt | None = None
    reset_breaker: bool = False
    addition: Addition | None = None
    compacts: bool = False

    @property
    def is_aside(self) -> bool:
        """Whether it is no work of a phase, so that the project stays in the phase where it is."""
        return self.addition is not None or self.compacts
