"""Commands that only look: they take no lock and change nothing."""

from typing import TYPE_CHECKING, Annotated

import typer
from pydantic import JsonValue

from ralph_tui.cli.here import find_project, read_project
from ralph_tui.cli.options import AsJson, ProjectRoot, examples
from ralph_tui.cli.say import out, out_facts, out_json, out_table
from ralph_tui.domain.plan import ImplementationPlan, Task, TaskStatus, why_chosen
from ralph_tui.domain.state import Halt, SessionRecord
from ralph_tui.tui.glyphs import Glyphs, choose
from ralph_tui.tui.render.figures import money, plural, seconds, tokens

if TYPE_CHECKING:
    from ralph_tui.store.documents import Documents
    from ralph_tui.store.lock import Owner
    from ralph_tui.store.project import Project

SHOWN_SESSIONS = 10


def status(
    *,
    project_root: ProjectRoot = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Add the latest sessions.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show where the project stands."""
    project = find_project(project_root)
    documents, owner = read_project(project), _owner(project)
    sessions = tuple(project.read_sessions())[-SHOWN_SESSIONS:] if verbose else ()
    if as_json:
        out_json(_status_json(project, documents, owner, sessions))
        return
    out_facts(_status_facts(project, documents, owner))
    for problem in documents.plan.problems():
        out(f"problem: {problem.message}")
    if verbose:
        out()
        _sessions_table(sessions)


def tasks(
    *,
    project_root: ProjectRoot = None,
    pending: Annotated[bool, typer.Option("--pending", help="Only tasks not complete.")] = False,
    as_json: AsJson = False,
) -> None:
    """List the tasks of the plan, in its order."""
    plan = read_project(find_project(project_root)).plan
    shown = [t for t in plan.tasks if not (pending and t.status is TaskStatus.COMPLETE)]
    if as_json:
        out_json([task.model_dump(mode="json") for task in shown])
    elif not shown:
        out("No task is left to do." if plan.tasks else "The plan has no tasks yet.")
    else:
        signs = choose()
        out_table(
            ("", "TASK", "STATUS", "PRIORITY", "DESCRIPTION"),
            ((_sign(signs, t), t.id, _word(t), str(t.priority), _about(plan, t)) for t in shown),
        )


def history(*, project_root: ProjectRoot = None, as_json: AsJson = False) -> None:
    """List the agent sessions that ended, with what they cost."""
    sessions = tuple(find_project(project_root).read_sessions())
    if as_json:
        out_json([session.model_dump(mode="json") for session in sessions])
    else:
        _sessions_table(sessions)


def _owner(project: "Project") -> "Owner | None":
    from ralph_tui.store.layout import Layout
    from ralph_tui.store.lock import LoopLock

    return LoopLock(Layout(project.root)).owner()


def _loop_words(documents: "Documents", owner: "Owner | None") -> str:
    if owner is None:
        return "not running"
    state, word = documents.state, "running"
    if state.stop is not Halt.NONE:
        word = "stopping"
    elif state.paused:
        word = "pausing" if documents.plan.get_current_task() else "paused"
    return f"{word} (pid {owner.pid} on {owner.host} since {owner.since:%Y-%m-%d %H:%M:%S} UTC)"


def _status_facts(
    project: "Project", documents: "Documents", owner: "Owner | None"
) -> dict[str, str]:
    state, plan, breaker = documents.state, documents.plan, documents.breaker
    counts = plan.counts()
    by_status = ", ".join(
        f"{counts[s]} {s.value.replace('_', ' ')}" for s in TaskStatus if counts[s]
    )
    current, following = plan.get_current_task(), plan.get_next_task()
    signals = ", ".join(
        f"{s.name} {s.count:g}/{s.threshold:g}" for s in breaker.signals() if s.name != "cost"
    )
    facts = {
        "project": str(project.root),
        "loop": _loop_words(documents, owner),
        "phase": state.current_phase.value,
        "tasks": f"{plural(len(plan.tasks), 'task')}: {by_status}" if plan.tasks else "none yet",
        "current": f"{current.id}: {current.title}" if current else "",
        "next": f"{following.id}: {following.title} ({why_chosen(plan, following)})"
        if following
        else "",
        "iteration": str(state.iteration_count),
        "cost": f"{money(state.session_cost_usd)} in the last run, "
        f"{money(state.total_cost_usd)} in total",
        "tokens": f"{tokens(state.total_tokens_used)} in total",
        "breaker": f"{breaker.state} ({signals})",
        "guidance": f"{len(documents.pending)} waiting" if documents.pending else "",
    }
    return {name: value for name, value in facts.items() if value}


def _status_json(
    project: "Project",
    documents: "Documents",
    owner: "Owner | None",
    sessions: tuple[SessionRecord, ...],
) -> dict[str, JsonValue]:
    state, plan = documents.state, documents.plan
    current, following = plan.get_current_task(), plan.get_next_task()
    return {
        "project": str(project.root),
        "running": owner.model_dump(mode="json", include={"pid", "host", "since", "run_id"})
        if owner
        else None,
        "state": state.model_dump(mode="json"),
        "tasks": {
            "total": len(plan.tasks),
            **{status.value: plan.counts()[status] for status in TaskStatus},
        },
        "current_task": current.id if current else None,
        "next_task": following.id if following else None,
        "problems": [problem.message for problem in plan.problems()],
        "breaker": documents.breaker.model_dump(mode="json"),
        "guidance": [injection.model_dump(mode="json") for injection in documents.pending],
        **(
            {"sessions": [session.model_dump(mode="json") for session in sessions]}
            if sessions
            else {}
        ),
    }


def _sign(signs: Glyphs, task: Task) -> str:
    return {
        TaskStatus.PENDING: signs.ready,
        TaskStatus.IN_PROGRESS: signs.current,
        TaskStatus.COMPLETE: signs.ok,
        TaskStatus.BLOCKED: signs.blocked,
    }[task.status]


def _word(task: Task) -> str:
    return task.status.value.replace("_", " ")


def _about(plan: ImplementationPlan, task: Task) -> str:
    waiting = plan.waiting_on(task) if task.status is TaskStatus.PENDING else ()
    notes = [f"waits for {', '.join(waiting)}"] if waiting else []
    notes += [f"blocked: {reason}" for reason in task.blockers[-1:]]
    return f"{task.title} ({'; '.join(notes)})" if notes else task.title


def _sessions_table(sessions: tuple[SessionRecord, ...]) -> None:
    if not sessions:
        out("No session has ended yet.")
        return
    out_table(
        ("ENDED", "ITERATION", "TASK", "COST", "TOKENS", "TIME", "DONE", "ENDED BECAUSE"),
        (
            (
                f"{s.ended_at:%Y-%m-%d %H:%M}" if s.ended_at else "",
                str(s.iteration),
                s.task_id or "",
                money(s.cost_usd),
                tokens(s.tokens_used),
                seconds(s.duration_ms / 1000),
                str(s.tasks_completed),
                s.handoff_reason,
            )
            for s in sessions
        ),
    )
    total = sum(session.cost_usd for session in sessions)
    out(f"{plural(len(sessions), 'session')}, {money(total)}")


def register(app: typer.Typer) -> None:
    """Add these commands."""
    app.command(epilog=examples("ralph status --json"))(status)
    app.command(epilog=examples("ralph tasks --pending"))(tasks)
    app.command(epilog=examples("ralph history"))(history)
