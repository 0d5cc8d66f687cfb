"""Identify what a decision is about: each part that the person was shown, by name and hash."""

import asyncio
import hashlib
from collections.abc import Mapping

from ralph_tui.domain.documents.validation_report import ValidationReport
from ralph_tui.domain.plan.plan import ImplementationPlan, Task, TaskStatus
from ralph_tui.store.project import Project

MOST_NAMED = 5

Content = Mapping[str, str]


def plan_content(plan: ImplementationPlan) -> Content:
    """Return what the person agrees to in a plan: every open task, by what it asks for."""
    return {
        f"task {task.id}": _hash(_asked(task))
        for task in plan.tasks
        if task.status is not TaskStatus.COMPLETE
    }


def _asked(task: Task) -> str:
    fields = {"description", "priority", "dependencies", "verification_criteria", "model"}
    return task.model_dump_json(include=fields)


async def specs_content(project: Project) -> Content:
    """Return what the person agrees to in the specs: the text of each."""
    return await asyncio.to_thread(_specs, project)


async def result_content(project: Project, report: ValidationReport, files: str) -> Content:
    """Return what the person agrees to in a validated result: the report, the specs and the project's `files`.

    `files` represents their contents; empty in a project too large to be read.
    """
    about = {"the report": _hash(report.model_dump_json()), **await specs_content(project)}
    return about | ({"the project's files": files} if files else {})


def _specs(project: Project) -> Content:
    return {spec.path: _hash(spec.text) for spec in project.read_specs()}


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def changes(before: Content, now: Content) -> str:
    """Describe what has changed since a decision; empty when nothing has."""
    told = [
        *(f"{name} changed" for name in now if before.get(name, now[name]) != now[name]),
        *(f"{name} is new" for name in now if name not in before),
        *(f"{name} is gone" for name in before if name not in now),
    ]
    more = [f"{len(told) - MOST_NAMED} more"] if len(told) > MOST_NAMED else []
    return ", ".join(told[:MOST_NAMED] + more)
