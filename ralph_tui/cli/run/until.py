"""`ralph until COMMAND`: a plan of one task whose check is that command."""

from ralph_tui.cli.console import note
from ralph_tui.domain.errors import RalphError
from ralph_tui.domain.formatting import plural
from ralph_tui.domain.plan.plan import TaskStatus
from ralph_tui.engine.control.controls import Controls
from ralph_tui.engine.control.plan_edits import TaskFields
from ralph_tui.store.project import Project


def add_until_task(project: Project, command: str, what: str) -> None:
    """Add the task, or queue it again if an earlier run left it open."""
    if not command:
        raise RalphError("No command was given.", 'Say what must pass: ralph until "npm test".')
    criteria = (f"$ {command}",)
    controls = Controls(project.root, tell=note)
    left = [task for task in project.load().plan.tasks if task.status is not TaskStatus.COMPLETE]
    if any(task.verification_criteria != criteria for task in left):
        raise RalphError(
            f"The plan has {plural(len(left), 'open task')}, and `ralph until` works on one of its own.",
            "Build them first with `ralph build`, or choose another plan with `-f NAME`.",
        )
    for task in left:
        if task.status is TaskStatus.BLOCKED:
            controls.retry(task.id)
    if not left:
        fields = TaskFields(description=what or f"Make `{command}` pass.", criteria=criteria)
        controls.add_task(fields)
