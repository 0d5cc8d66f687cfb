"""`ralph task`: everything that changes one task of the plan, in one place. Most have a short form without `task`."""

import re
from collections.abc import Iterable
from typing import Annotated

import typer

from ralph_tui.cli.completion import blocked_tasks
from ralph_tui.cli.console import out
from ralph_tui.cli.options import ProjectRoot, examples
from ralph_tui.cli.project_lookup import controls_of

app = typer.Typer(
    name="task",
    help="Change one task: add, edit, skip, retry and more.",
    rich_markup_mode=None,
)


@app.callback(invoke_without_command=True)
def _task(context: typer.Context) -> None:
    """Show the help where no command follows."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def _retry(
    task_id: Annotated[
        str,
        typer.Argument(metavar="TASK", help="A blocked task.", autocompletion=blocked_tasks),
    ],
    project_root: ProjectRoot = None,
) -> None:
    """Put a blocked task back in the queue, with its attempts at zero."""
    task = controls_of(project_root).retry(task_id)
    out(f"{task.id} is pending again: {task.title}.")


def add_long_forms(short: Iterable[typer.Typer], names: Iterable[str]) -> None:
    """Give each of these commands its long form; only `retry` has one of its own."""
    found = {
        info.name or getattr(info.callback, "__name__", ""): info
        for commands in short
        for info in commands.registered_commands
    }
    for name in names:
        callback = found[name].callback
        if name == "retry":
            app.command(name, epilog=examples("ralph task retry task-003"))(_retry)
        elif callback is not None:
            long = re.sub(r"(?<=Example: ralph )", "task ", found[name].epilog or "")
            app.command(name, epilog=long)(callback)
