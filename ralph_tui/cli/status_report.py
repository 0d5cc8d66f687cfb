"""Prints a project's status: `ralph status`, and the tables of tasks and sessions."""

import sys
from collections.abc import Sequence

from pydantic import JsonValue

from ralph_tui.cli.console import out, out_facts, out_json, out_table
from ralph_tui.cli.project_lookup import find_project, owner_of, read_project
from ralph_tui.domain.features import shown_name
from ralph_tui.domain.formatting import plural, shortlist, took
from ralph_tui.domain.plan.plan import ImplementationPlan, Task, TaskStatus, why_chosen
from ralph_tui.domain.project_state import DECISIONS, Phase, SessionRecord, StopMode
from ralph_tui.domain.run.breaker import CircuitBreaker
from ralph_tui.domain.sanitize import one_line
from ralph_tui.present.text.figures import breaker_counts, money, stamp, tokens, when
from ralph_tui.present.text.glyphs import Glyphs, choose
from ralph_tui.store.documents.documents import Documents
from ralph_tui.store.lock import LoopLock, Owner
from ralph_tui.store.project import Project

SHOWN_SESSIONS = 10


def print_status(*, verbose: bool = False, as_json: bool = False) -> None:
    project = find_project()
    documents, owner = read_project(project), owner_of(project)
    sessions = project.read_sessions()[-SHOWN_SESSIONS:] if verbose else ()
    if as_json:
        out_json(status_json(project, documents, owner, sessions))
        return
    out_facts(status_facts(project, documents, owner))
    for problem in documents.plan.problems():
        out(f"problem: {problem.message}")
    if verbose:
        out()
        sessions_table(sessions)


def _loop_text(documents: Documents, owner: Owner | None, killed: Owner | None) -> str:
    if killed is not None:
        return f"not running; the last run was killed (pid {killed.pid}, started {stamp(killed.since)})"
    if owner is None:
        return "not running"
    state, word = documents.state, "running"
    asked = state.approval is not None and state.approval.approved is None
    if state.stop is not StopMode.NONE:
        word = "stopping"
    elif asked or documents.questions.open():
        word = "waiting for you"
    elif state.waits is not None:
        word = f"waiting until {stamp(state.waits.until)}"
    elif state.paused:
        word = "pausing" if documents.plan.get_current_task() else "paused"
    return f"{word} (pid {owner.pid} on {owner.host} since {stamp(owner.since)})"


def status_facts(project: Project, documents: Documents, owner: Owner | None) -> dict[str, str]:
    state, plan, breaker = documents.state, documents.plan, documents.breaker
    counts, lock = plan.counts(), LoopLock(project.layout)
    ahead = plan if owner else plan.reset_stale()[0]  # as the next run begins
    by_status = ", ".join(
        f"{counts[s]} {s.value.replace('_', ' ')}" for s in TaskStatus if counts[s]
    )
    current, following = ahead.get_current_task(), ahead.get_next_task()
    run = f"{'this' if owner else 'the last'} run"
    unverified = sum(task.is_unverified for task in plan.tasks)
    by_status += f" ({unverified} unverified)" if unverified else ""
    used, asked = documents.budget, len(documents.questions.open())
    loop, other = _loop_text(documents, owner, lock.killed()), lock.owner()
    if other is not None and other.feature != project.layout.feature:
        loop += f", a loop is working on {shown_name(other.feature)} (pid {other.pid})"
    facts = {
        "project": str(project.root),
        "feature": documents.feature,
        "loop": loop,
        "waits": f"{state.waits.why} (`ralph retry` retries now)" if owner and state.waits else "",
        "phase": _phase(project, documents),
        "tasks": f"{plural(len(plan.tasks), 'task')}: {by_status}" if plan.tasks else "none yet",
        "current": f"{current.id}: {current.title}" if current else "",
        "next": f"{following.id}: {following.title} ({why_chosen(ahead, following)})"
        if following
        else "",
        "blocked": _blocked(plan),
        "iteration": str(state.iteration_count),
        "context": f"{tokens(used.current_usage)} of {tokens(used.total_capacity)} ({used.percent:.0f} %)"
        if owner
        else "",
        "cost": f"{money(state.session_cost_usd)} in {run}, {money(state.total_cost_usd)} in total"
        + (
            f", {money(documents.project_cost)} in all features" if documents.project.exists else ""
        ),
        "tokens": f"{tokens(state.session_tokens_used)} in {run}, "
        f"{tokens(state.total_tokens_used)} in total",
        "breaker": _breaker(breaker),
        "step": documents.steps.running if owner else "",
        "guidance": f"{len(documents.pending)} waiting" if documents.pending else "",
        "branch": f"{state.branch.name}, {plural(state.branch.commits, 'commit')} by ralph"
        if state.branch
        else "",
        "request": state.request,
        "questions": f"{asked} open; `ralph answer` lists them" if asked else "",
        "approval": _approval(documents),
        "answer by": _answer_by(documents) if owner else "",
    }
    return {name: value for name, value in facts.items() if value}


def _breaker(breaker: CircuitBreaker) -> str:
    text = f"{breaker.state} ({breaker_counts(breaker) or 'all counters at zero'})"
    if breaker.is_cooling and breaker.half_open_at is not None:
        text += f"; one iteration is tried automatically at {stamp(breaker.half_open_at)}"
    return text


def _phase(project: Project, documents: Documents) -> str:
    state = documents.state
    if not documents.plan.is_finished or state.awaits_decision:
        return state.current_phase.value
    if not state.request:
        return "finished: every task is complete"
    report = project.read_report() if state.current_phase is Phase.VALIDATION else None
    confirmed = report is not None and report.confirms(documents.plan)
    return "finished: built and validated" if confirmed else state.current_phase.value


def _blocked(plan: ImplementationPlan) -> str:
    if not (tasks := [task for task in plan.tasks if task.status is TaskStatus.BLOCKED]):
        return ""
    named = [
        f"{t.id}: {one_line(t.blockers[-1] if t.blockers else t.last_failure, 160)}" for t in tasks
    ]
    name = tasks[0].id if len(tasks) == 1 else "TASK"
    todo = f"Change it with `ralph edit {name}`, then run `ralph retry {name}`."
    return f"{shortlist([text.rstrip('.: ') for text in named], 3)}. {todo}"


def _answer_by(documents: Documents) -> str:
    asked = documents.state.approval
    times = [question.expires_at for question in documents.questions.open()]
    times += [asked.expires_at] if asked is not None and asked.approved is None else []
    known = [moment for moment in times if moment is not None]
    return f"{stamp(min(known))}; then the run ends with status 4" if known else ""


def _approval(documents: Documents) -> str:
    approval = documents.state.approval
    if approval is None:
        return ""
    if approval.approved is not None:
        word = "approved" if approval.approved else "rejected"
        next_step = "; `ralph run` continues" if documents.state.awaits_decision else ""
        return f"of {DECISIONS[approval.kind]}: {word}{next_step}"
    summary = f" ({approval.summary})" if approval.summary else ""
    about = DECISIONS[approval.kind]
    return f"needed, of {about}{summary}; `ralph approve` or `ralph reject --reason TEXT`"


def status_json(
    project: Project,
    documents: Documents,
    owner: Owner | None,
    sessions: tuple[SessionRecord, ...],
) -> dict[str, JsonValue]:
    """Return the project's status as a JSON object with stable fields."""
    state, plan = documents.state, documents.plan
    ahead = plan if owner else plan.reset_stale()[0]  # as the next run begins
    current, following = ahead.get_current_task(), ahead.get_next_task()
    return {
        "project": str(project.root),
        **({"feature": documents.feature} if documents.project.exists else {}),
        "running": owner.model_dump(mode="json", include={"pid", "host", "since", "run_id"})
        if owner
        else None,
        "state": state.model_dump(mode="json"),
        "tasks": {
            "total": len(plan.tasks),
            **{status.value: plan.counts()[status] for status in TaskStatus},
            "unverified": sum(task.is_unverified for task in plan.tasks),
        },
        "current_task": current.id if current else None,
        "next_task": following.id if following else None,
        "problems": [problem.message for problem in plan.problems()],
        "context": documents.budget.model_dump(mode="json"),
        "breaker": documents.breaker.model_dump(mode="json"),
        "step": documents.steps.running if owner else "",
        "steps": documents.steps.model_dump(mode="json", include={"steps", "under_way"}),
        "guidance": [injection.model_dump(mode="json") for injection in documents.pending],
        "questions": [question.model_dump(mode="json") for question in documents.questions.open()],
        **(
            {"sessions": [session.model_dump(mode="json") for session in sessions]}
            if sessions
            else {}
        ),
    }


def _sign(signs: Glyphs, task: Task) -> str:
    return {
        TaskStatus.PENDING: signs.pause if task.is_held else signs.ready,
        TaskStatus.IN_PROGRESS: signs.current,
        TaskStatus.COMPLETE: signs.warning if task.is_unverified else signs.ok,
        TaskStatus.BLOCKED: signs.blocked,
    }[task.status]


def _about(plan: ImplementationPlan, task: Task, done: frozenset[str]) -> str:
    waiting = plan.waiting_on(task, done) if task.status is TaskStatus.PENDING else ()
    notes = [f"waits for {', '.join(waiting)}"] if waiting else []
    notes += [f"blocked: {reason}" for reason in task.blockers[-1:]]
    notes += [f"model {task.model}"] if task.model else []
    return f"{task.title} ({'; '.join(notes)})" if notes else task.title


def sessions_table(sessions: tuple[SessionRecord, ...]) -> None:
    if not sessions:
        out("No session has ended yet.")
        return
    out_table(
        ("ENDED", "ITERATION", "TASK", "COST", "TOKENS", "TIME", "DONE", "ENDED BECAUSE"),
        (
            (
                when(s.ended_at) if s.ended_at else "",
                str(s.iteration),
                s.task_id or "",
                money(s.cost_usd),
                tokens(s.tokens_used),
                took(s.duration_ms / 1000),
                str(s.tasks_completed),
                s.handoff_reason,
            )
            for s in sessions
        ),
    )
    total = sum(session.cost_usd for session in sessions)
    out(f"{plural(len(sessions), 'session')}, {money(total)}")


def tasks_table(plan: ImplementationPlan, shown: Sequence[Task]) -> None:
    signs, done = choose(encoding=sys.stdout.encoding), plan.complete_ids()
    out_table(
        ("", "TASK", "STATUS", "PRIORITY", "DESCRIPTION"),
        (
            (_sign(signs, t), t.id, t.basis_word, str(t.priority), _about(plan, t, done))
            for t in shown
        ),
    )
