"""The limits and models that may change while the loop runs, as a person reads and types them. Pure."""

from collections.abc import Callable
from dataclasses import dataclass

from ralph_tui.domain.errors import RalphError
from ralph_tui.domain.project_state import Adjusted
from ralph_tui.domain.view.loop_view import LoopView


@dataclass(frozen=True, slots=True)
class Live:
    """One of them.

    Attributes:
        name: The field of `Adjusted`.
        key: The setting it stands for.
        title: In words.
        used: What is used of it now.
        when: From when on a change counts.
    """

    name: str
    key: str
    title: str
    used: Callable[[LoopView], str]
    when: str


def _nothing(_: LoopView) -> str:
    return ""


LIVE = (
    Live(
        "max_iterations", "phases.building.max_iterations", "iterations of this run",
        lambda view: f"{view.run_iterations} begun", "at once",
    ),
    Live(
        "per_iteration", "safety.cost_limits.per_iteration", "dollars an iteration",
        lambda view: f"${view.costs.iteration:.2f} spent", "at once",
    ),
    Live(
        "per_session", "safety.cost_limits.per_session", "dollars this run",
        lambda view: f"${view.costs.session:.2f} spent", "at once",
    ),
    Live(
        "total", "safety.cost_limits.total", "dollars in total",
        lambda view: f"${view.costs.total:.2f} spent", "at once",
    ),
    Live("model", "models.primary", "model that builds", _nothing, "from the next session on"),
    Live("planning_model", "models.planning", "model that plans", _nothing, "from the next session on"),
)  # fmt: skip


def parsed(live: Live, typed: str) -> Adjusted:
    """What was typed, as a change.

    Raises:
        RalphError: It is no such value.
    """
    text = typed.strip().removeprefix("$")
    try:
        if live.name == "max_iterations":
            return Adjusted(max_iterations=int(text))
        if live.name in ("model", "planning_model"):
            (name,) = text.split()  # one word; anything else is a ValueError
            return Adjusted.model_validate({live.name: name})
        return Adjusted.model_validate({live.name: float(text)})
    except ValueError as error:  # pydantic's is one, too
        words = {
            "max_iterations": "a whole number from 1 on",
            "model": "the name of a model, such as sonnet",
            "planning_model": "the name of a model, such as opus",
        }
        wanted = words.get(live.name, "an amount in dollars, such as 12.50")
        raise RalphError(
            f"{typed.strip() or 'Nothing'} is not {wanted}.", "Nothing was changed."
        ) from error
