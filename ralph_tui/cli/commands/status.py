"""`ralph status` and `ralph tasks`: show the state of the project and its plan."""

from typing import Annotated

from ralph_tui.cli.completion import every_task
from ralph_tui.cli.console import out, out_json
from ralph_tui.cli.options import AsJson, app, argument, examples, flag
from ralph_tui.cli.project_lookup import find_project, read_project


@app.command(epilog=examples("ralph status --json"))
def status(
    *,
    verbose: Annotated[bool, flag("Also list the latest sessions.", "-v")] = False,
    as_json: AsJson = False,
) -> None:
    """Show the project's status."""
    from ralph_tui.cli.status_report import print_status

    print_status(verbose=verbose, as_json=as_json)


@app.command(epilog=examples("ralph tasks --pending"))
def tasks(
    task_id: Annotated[
        str,
        argument("TASK", "The ID of one task, to show all its fields.", autocompletion=every_task),
    ] = "",
    *,
    pending: Annotated[bool, flag("Leave out complete tasks.")] = False,
    as_json: AsJson = False,
) -> None:
    """List the tasks in plan order, or show one of them."""
    from ralph_tui.cli import status_report
    from ralph_tui.domain.plan.plan import TaskStatus

    plan = read_project(find_project()).plan
    if task_id:
        from ralph_tui.engine.control.plan_edits import find

        out_json(find(plan, task_id).model_dump(mode="json"))
        return
    shown = [t for t in plan.tasks if not (pending and t.status is TaskStatus.COMPLETE)]
    if as_json:
        out_json([task.model_dump(mode="json") for task in shown])
    elif not shown:
        out("No task is left to do." if plan.tasks else "The plan has no tasks yet.")
    else:
        status_report.tasks_table(plan, shown)
