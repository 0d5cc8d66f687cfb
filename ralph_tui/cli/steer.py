"""Commands that steer a loop from another terminal, and the queue of a loop that is not running."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ralph_tui.cli.completing import blocked_tasks, held_tasks, open_tasks
from ralph_tui.cli.here import find_project
from ralph_tui.cli.options import ProjectRoot, examples
from ralph_tui.cli.say import out
from ralph_tui.domain.errors import RalphError

if TYPE_CHECKING:
    from ralph_tui.domain.state import Halt
    from ralph_tui.engine.controls import Controls

TaskId = Annotated[
    str,
    typer.Argument(
        metavar="TASK", help="The id of a task, as in `ralph tasks`.", autocompletion=open_tasks
    ),
]

Priority = Annotated[int | None, typer.Option("--priority", metavar="N", help="Lower is sooner.")]
Check = Annotated[
    list[str] | None,
    typer.Option("--check", metavar="TEXT", help="A criterion; give it again for each one."),
]
After = Annotated[
    list[str] | None,
    typer.Option(
        "--after",
        metavar="TASK",
        help="It waits for this task; again for each one, or none.",
        autocompletion=open_tasks,
    ),
]
Model = Annotated[
    str | None,
    typer.Option("--model", metavar="NAME", help="Works this task; `none` is the configured one."),
]
Tokens = Annotated[
    int | None,
    typer.Option("--tokens", metavar="N", min=0, help="About how many it takes; 0: no estimate."),
]


def pause(project_root: ProjectRoot = None) -> None:
    """Pause after this iteration. Asked again, at once."""
    out(f"The loop pauses {_when(_controls(project_root).pause())}. `ralph resume` goes on.")


def resume(project_root: ProjectRoot = None) -> None:
    """Go on after a pause, or withdraw it."""
    _controls(project_root).resume()
    out("The loop goes on.")


def stop(
    *,
    project_root: ProjectRoot = None,
    now: Annotated[
        bool, typer.Option("--now", help="Do not wait for the iteration to end.")
    ] = False,
) -> None:
    """Stop after this iteration. Asked again, at once."""
    out(f"The loop stops {_when(_controls(project_root).stop(now=now))}.")


def skip(task_id: TaskId, project_root: ProjectRoot = None) -> None:
    """Block a task; the loop goes on with the next."""
    task = _controls(project_root).skip(task_id)
    out(f"Skipped {task.id}: {task.title}. `ralph retry {task.id}` puts it back.")


def retry(
    task_id: Annotated[
        str,
        typer.Argument(
            metavar="TASK",
            help="A blocked task; without one, end a wait.",
            autocompletion=blocked_tasks,
        ),
    ] = "",
    project_root: ProjectRoot = None,
) -> None:
    """Put a blocked task back, or end the wait for a limit."""
    controls = _controls(project_root)
    if not task_id:
        controls.retry_now()
        out("If the loop waits for a limit or a busy service, it tries again now.")
        return
    task = controls.retry(task_id)
    out(f"{task.id} is pending again: {task.title}.")


def hold(task_id: TaskId, project_root: ProjectRoot = None) -> None:
    """Have a task not chosen until it is released.

    Work on it ends.
    """
    task = _controls(project_root).hold(task_id)
    out(f"Held {task.id}: {task.title}. `ralph release {task.id}` lets it go on.")


def release(
    task_id: Annotated[
        str, typer.Argument(metavar="TASK", help="A held task.", autocompletion=held_tasks)
    ],
    project_root: ProjectRoot = None,
) -> None:
    """Let a held task be chosen again."""
    task = _controls(project_root).release(task_id)
    out(f"{task.id} can be chosen again: {task.title}.")


def edit(  # noqa: PLR0913 - an option of the command for each
    task_id: TaskId,
    *,
    description: Annotated[
        str | None, typer.Option("--description", metavar="TEXT", help="What is to be done.")
    ] = None,
    priority: Priority = None,
    check: Check = None,
    after: After = None,
    model: Model = None,
    tokens: Tokens = None,
    part: Annotated[
        list[str] | None,
        typer.Option(
            "--part", metavar="TEXT", help="Split it: a new task for each, in this order."
        ),
    ] = None,
    project_root: ProjectRoot = None,
) -> None:
    """Change a task that is not complete, or split it.

    `--after none` lets it wait for no other. The parts of a task are worked one after the other.
    """
    from ralph_tui.engine.plan_fields import TaskFields

    fields = TaskFields(
        description=description,
        priority=priority,
        criteria=tuple(check) if check else None,
        dependencies=_waits(after),
        model=_named(model),
        tokens=tokens,
    )
    if part:
        if fields != TaskFields():
            raise RalphError("--part stands alone.", "Split the task, then change its parts.")
        made = _controls(project_root).split_task(task_id, part)
        out(f"Split {task_id} into {', '.join(task.id for task in made)}.")
        return
    if fields == TaskFields():
        raise RalphError(
            "Nothing to change was given.",
            "Give --description, --priority, --check, --after, --model, --tokens or --part.",
        )
    task = _controls(project_root).edit_task(task_id, fields)
    own = f", model {task.model}" if task.model else ""
    out(f"Changed {task.id}: {task.title} (priority {task.priority}{own}).")


def add(
    text: Annotated[
        list[str],
        typer.Argument(
            metavar="TEXT", help="What is to be done; `-` reads standard input, `@FILE` a file."
        ),
    ],
    *,
    priority: Priority = None,
    check: Check = None,
    after: After = None,
    model: Model = None,
    tokens: Tokens = None,
    project_root: ProjectRoot = None,
) -> None:
    """Put one more task into the plan.

    It gets an id that is free and, without `--priority`, is worked after all others.
    """
    from ralph_tui.cli.given import read_task
    from ralph_tui.engine.plan_fields import TaskFields

    fields = TaskFields(
        description=read_task(text),
        priority=priority,
        criteria=tuple(check) if check else None,
        dependencies=_waits(after),
        model=_named(model),
        tokens=tokens,
    )
    task = _controls(project_root).add_task(fields)
    out(f"Added {task.id}: {task.title} (priority {task.priority}).")


def _waits(after: Sequence[str] | None) -> tuple[str, ...] | None:
    return None if after is None else tuple(other for other in after if other != "none")


def _named(model: str | None) -> str | None:
    return "" if model == "none" else model


def drop(task_id: TaskId, project_root: ProjectRoot = None) -> None:
    """Take a task out of the plan."""
    task = _controls(project_root).drop_task(task_id)
    out(f"Dropped {task.id}: {task.title}.")


def inject(
    text: Annotated[
        list[str],
        typer.Argument(metavar="TEXT", help="Guidance; `-` reads standard input, `@FILE` a file."),
    ],
    *,
    now: Annotated[
        bool, typer.Option("--now", help="Say it to the session that is working.")
    ] = False,
    project_root: ProjectRoot = None,
) -> None:
    """Give guidance to the next iteration, or to this one.

    It waits on disk when no loop is running.
    """
    from ralph_tui.cli.given import read_guidance

    controls = _controls(project_root)
    controls.inject(read_guidance(text), now=now)
    if now and controls.loop_runs:
        out("Said as soon as the session listens.")
    else:
        out(f"{'No loop is running. ' if now else ''}Queued for the next iteration.")


def _controls(project_root: Path | None) -> "Controls":
    from ralph_tui.engine.controls import Controls

    return Controls(find_project(project_root).root)


def _when(halt: "Halt") -> str:
    from ralph_tui.domain.state import Halt

    return "now" if halt is Halt.NOW else "after this iteration (ask again: at once)"


def register(app: typer.Typer) -> None:
    """Add these commands."""
    app.command(epilog=examples("ralph pause"))(pause)
    app.command(epilog=examples("ralph resume"))(resume)
    app.command(epilog=examples("ralph stop --now"))(stop)
    app.command(epilog=examples("ralph skip task-003"))(skip)
    app.command(epilog=examples("ralph retry task-003", "ralph retry"))(retry)
    app.command(epilog=examples("ralph hold task-003"))(hold)
    app.command(epilog=examples("ralph release task-003"))(release)
    app.command(
        epilog=examples(
            "ralph edit task-003 --priority 1 --after task-001",
            "ralph edit task-003 --model opus --tokens 30000",
            'ralph edit task-003 --part "The model" --part "The command"',
        )
    )(edit)
    app.command(
        epilog=examples(
            'ralph add "Say how long it took" --after task-003 --check "uv run pytest"',
        )
    )(add)
    app.command(epilog=examples("ralph drop task-003"))(drop)
    app.command(
        epilog=examples(
            'ralph inject "Use argparse, not click."', "ralph inject --now - < notes.md"
        )
    )(inject)
