"""The result of a run in words, for the dashboard, the shell, the log and the report. Pure functions."""

from collections.abc import Iterable, Sequence

from ralph_tui.domain.events import LoopFinished
from ralph_tui.domain.formatting import duration, plural, shortlist
from ralph_tui.domain.outcomes import LoopStatus
from ralph_tui.domain.plan.plan import Task, TaskStatus
from ralph_tui.domain.sanitize import one_line
from ralph_tui.domain.verification.verification import VerificationOutcome
from ralph_tui.domain.view.loop_view import LoopView
from ralph_tui.present.text.figures import money, zoned

MOST_LISTED = 6

_BASES = {
    VerificationOutcome.VERIFIED: "verified by checks",
    VerificationOutcome.REVIEWED: "reviewed",
    VerificationOutcome.ACCEPTED: "accepted by you",
    VerificationOutcome.UNVERIFIED: "unverified",
}


def result_facts(tasks: Iterable[Task], finished: LoopFinished | None) -> dict[str, str]:
    """Return what was built, how it was verified, what it cost, how to try it and what to do next, by label.

    Labels without a value are left out.

    Args:
        finished: The run's last event; None while the run continues, and if it was killed.
    """
    listed = tuple(tasks)
    done = [task for task in listed if task.status is TaskStatus.COMPLETE]
    built = [f"{len(done)} of {plural(len(listed), 'task')}"] if listed else []
    if finished and finished.files_changed:
        built.append(
            f"{plural(finished.files_changed, 'file')}, "
            f"+{finished.lines_added:,} -{finished.lines_removed:,} lines"
        )
    based = [v for task in done if (v := task.verification)]
    bases = []
    for outcome, words in _BASES.items():
        checks = [one.checks for one in based if one.outcome is outcome]
        counted = plural(sum(checks), "check") if all(checks) else "checks"
        bases += [f"{len(checks)} {words.replace('checks', counted)}"] if checks else []
    paid = sorted(((t.actual_cost_usd, t.id) for t in listed if t.actual_cost_usd), reverse=True)
    costs = [f"{one_line(task_id, 40)} {money(cost)}" for cost, task_id in paid]
    took: tuple[str, ...] = ()
    if finished:
        iterations = plural(finished.iterations, "iteration")
        took = (money(finished.cost_usd), iterations, duration(finished.seconds))
    facts = {
        "Built": ", ".join(built),
        "Verified": ", ".join(bases),
        "Rests on": _named(name for one in based for name in one.rests_on),
        "Also changed": _named(name for one in based for name in one.also_changed),
        "Flaky": _named(name for one in based for name in one.flaky),
        "Cost": ", ".join(took),
        "Per task": shortlist(costs, MOST_LISTED) if len(costs) > 1 else "",
        "Try it": one_line(finished.start_command, 200) if finished else "",
        "Next": _next_step(listed, finished) if finished else "",
    }
    return {label: text for label, text in facts.items() if text}


def _named(names: Iterable[str]) -> str:
    return shortlist(list(dict.fromkeys(one_line(name, 120) for name in names)), MOST_LISTED)


def exit_summary(view: LoopView, finished: LoopFinished) -> tuple[str, ...]:
    """Return the lines for the shell: how the run ended, the facts, and what to do next."""
    facts = result_facts(view.tasks.values(), finished)
    name = f"{one_line(view.project, 60)}: " if view.project else ""
    head = f"{name}{one_line(finished.reason, 300).rstrip('.')}."
    width = max(9, *map(len, facts))
    return tuple(
        map(zoned, (head, *(f"  {label:<{width}} {text}" for label, text in facts.items())))
    )


def _next_step(listed: Sequence[Task], finished: LoopFinished) -> str:
    if finished.status is not LoopStatus.COMPLETE:
        return one_line(finished.hint, 300) or "`ralph status` shows what is left."
    if not listed:
        return ""
    commits = any(task.commit is not None for task in listed)
    review = "Review the commits." if commits else "Review the changes and commit them."
    return f"{review} `ralph report` shares the result, `ralph undo TASK` reverts a task."
