"""Identify what a person approves: each part that was shown, by name and hash."""

import asyncio
import hashlib
from collections.abc import Mapping
from pathlib import Path

from ralph_tui.domain.documents.validation_report import ValidationReport
from ralph_tui.domain.formatting import shortlist
from ralph_tui.domain.plan.plan import ImplementationPlan, TaskStatus
from ralph_tui.engine.control.undo import scratch_store, tree_of
from ralph_tui.store.project import Project

MAX_NAMED = 5

Content = Mapping[str, str]


def plan_content(plan: ImplementationPlan) -> Content:
    """Return what the person approves in a plan: the wording of each open task."""
    fields = {"description", "priority", "dependencies", "verification_criteria", "model"}
    return {
        f"task {task.id}": _hash(task.model_dump_json(include=fields))
        for task in plan.tasks
        if task.status is not TaskStatus.COMPLETE
    }


async def specs_content(project: Project) -> Content:
    return await asyncio.to_thread(_specs, project)


async def result_content(project: Project, report: ValidationReport) -> Content:
    """Return what the person approves in a validated result: the report, the specs and the project's files."""
    files = await asyncio.to_thread(_tree, project.root)
    content = {"the report": _hash(report.model_dump_json()), **await specs_content(project)}
    return content | ({"the project's files": files} if files else {})


def _tree(root: Path) -> str:
    with scratch_store(root) as store:
        return tree_of(store)


def _specs(project: Project) -> Content:
    return {spec.path: _hash(spec.text) for spec in project.request_specs()}


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def changes(before: Content, now: Content) -> str:
    parts = [
        *(f"{name} changed" for name in now if before.get(name, now[name]) != now[name]),
        *(f"{name} is new" for name in now if name not in before),
        *(f"{name} was removed" for name in before if name not in now),
    ]
    return shortlist(parts, MAX_NAMED)
