"""Describe what a person started: the request, how far to go, and who can answer."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from ralph_tui.domain.documents.questions import GivenAnswers
from ralph_tui.domain.project_state import Phase

REPLAN = "Make the plan again from the specs and the current state of the project."
"""The request for replanning when the person gives no feedback."""


@dataclass(frozen=True)
class OwnPrompt:
    """A prompt template that the person wrote; error messages use its `name`."""

    text: str
    name: str


@dataclass(frozen=True)
class Addition:
    """Text that the planning model turns into new tasks; `source` names its origin."""

    text: str
    source: str


@dataclass(frozen=True)
class RunRequest:
    """What a person wants from one run.

    Attributes:
        text: What to build; empty to continue with the existing documents.
        only: The single phase to run; None for all phases.
        assume_yes: Whether to approve specs and plan without asking, but never the final validation.
        no_input: Whether no one answers questions; the model decides and records its assumptions.
        interactive: Whether someone can decide while the loop waits (a screen, a terminal).
        prompt: A template for the building prompt of this run.
        reset_breaker: Whether to close the circuit breaker, even during a cooldown.
        addition: What to add to the plan; `only` is planning.
        compacts: Whether to shorten the learnings; `only` is planning.
        known: The result (`Examined`) of each check that ran just before, as in `ralph until`.
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
    known: Mapping[str, object] = field(default_factory=dict)

    @property
    def answerable(self) -> bool:
        """Whether someone can answer while the loop waits."""
        return self.interactive and not self.no_input

    @property
    def is_aside(self) -> bool:
        """Whether the run is outside the phases, so that the project stays in its current phase."""
        return self.addition is not None or self.compacts
