"""What is said above the panes when nothing can be worked."""

import pytest

from ralph_tui.domain.events import LoopFinished, PlanLoaded, ProjectRead
from ralph_tui.domain.outcomes import LoopStatus
from ralph_tui.domain.plan.plan import ImplementationPlan, Task, TaskStatus
from ralph_tui.domain.project_state import ApprovalKind, Phase
from ralph_tui.domain.view.loop_view import LoopView
from ralph_tui.domain.view.reducer import reduce
from ralph_tui.engine.core.outcome import nothing_ready
from ralph_tui.present.sections.banner import banner_of
from ralph_tui.present.text.glyphs import UNICODE
from ralph_tui.present.text.key_hints import Keys, commands_as_key_text
from ralph_tui.tui.commands.registry import DEFAULT_KEYS

HELD = Task(id="h", held=True)
BLOCKED = Task(id="b", status=TaskStatus.BLOCKED)
DONE = Task(id="d", status=TaskStatus.COMPLETE)


@pytest.mark.parametrize(
    ("tasks", "headline", "advice"),
    [
        ([DONE, HELD], "rest are held, or", "Select a held task and press enter to release it."),
        ([DONE, BLOCKED], "rest are blocked, or", "press enter to retry it"),
        (
            [HELD, BLOCKED],
            "rest are held or blocked, or",
            "to release or retry it from its menu",
        ),
        ([DONE], "Every task is complete.", "n for a new request"),
    ],
)
def test_the_advice_is_about_what_is_left(tasks: list[Task], headline: str, advice: str) -> None:
    view = reduce(LoopView(), PlanLoaded(tasks=tuple(tasks)))
    banner = banner_of(view, None, "", glyphs=UNICODE, keys=DEFAULT_KEYS)
    assert banner is not None
    assert headline in banner.headline
    assert advice in "".join(span.text for span in banner.advice)


def test_what_the_end_says_of_commands_is_said_of_the_keys_that_a_person_has() -> None:
    end = nothing_ready(ImplementationPlan(tasks=(HELD, BLOCKED)))
    assert "`ralph retry b`" in end.hint, "for a terminal"
    finished = LoopFinished(
        status=end.status, reason=end.reason, hint=end.hint, exit_code=end.exit_code
    )
    keys = Keys({**DEFAULT_KEYS.of, "retry": ("z",)}, DEFAULT_KEYS.within)
    banner = banner_of(LoopView(), finished, "", glyphs=UNICODE, keys=keys)
    assert banner is not None
    said = "".join(span.text for span in banner.advice)
    assert said.startswith(
        "Fix the cause or change the task (e on b), then z on b. Release a task with enter on h. Then run again. "
    )


@pytest.mark.parametrize(
    ("hint", "said"),
    [
        ("Go on with `ralph build`.", "Go on with b."),
        ('`ralph "what you want"` makes one, or {write} it.', "n makes one, or {write} it."),
        (
            "Decide with `ralph approve` or `ralph reject --reason …`, then run again.",
            "Decide with a, then run again.",
        ),
        (
            "Other words (`ralph edit`) or (`ralph edit TASK --model NAME`).",
            "Other words (e) or (enter).",
        ),
        (
            "Split it (`ralph edit`, `ralph inject`). `ralph status` counts.",
            "Split it (e, i). 7 counts.",
        ),
        ("`ralph doctor` says more.", "`ralph doctor` says more."),
    ],
)
def test_only_commands_that_have_a_key_here_become_it(hint: str, said: str) -> None:
    assert commands_as_key_text(DEFAULT_KEYS, hint) == said


END = LoopFinished(
    status=LoopStatus.COMPLETE, reason="built", exit_code=0, iterations=3, cost_usd=1.28, seconds=60
)


@pytest.mark.parametrize(
    ("read", "headline", "facts"),
    [
        ({"finished": True, "last": END}, "Built.", "$1.28, 3 iterations, 1m 00s"),
        ({"finished": True}, "Finished. The request is built", ""),
        ({"awaits": ApprovalKind.VALIDATION, "last": END}, "needs your approval of the result", ""),
        ({"last": END}, "Every task is complete.", ""),
    ],
)
def test_a_reopened_project_shows_its_end_and_what_it_waits_for(
    read: dict[str, object], headline: str, facts: str
) -> None:
    view = reduce(LoopView(), PlanLoaded(tasks=(DONE,)))
    event = ProjectRead.model_validate({"project": "x", "phase": Phase.VALIDATION, **read})
    banner = banner_of(reduce(view, event), None, "", glyphs=UNICODE, keys=DEFAULT_KEYS)
    assert banner is not None
    assert headline in banner.headline
    assert banner.facts.get("Cost", "") == facts
