"""`ralph add`, `skip` and the other commands that change a task."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ralph_tui.cli.completion import blocked_tasks, held_tasks, open_tasks
from ralph_tui.cli.console import out
from ralph_tui.cli.options import ProjectRoot, cost_option, examples, model_option, yes_option
from ralph_tui.cli.project_lookup import controls_of, find_project
from ralph_tui.domain.errors import RalphError

if TYPE_CHECKING:
    from ralph_tui.engine.control.plan_edits import TaskFields

app = typer.Typer()

TaskId = Annotated[
    str,
    typer.Argument(
        metavar="TASK", help="The ID of a task, as in `ralph tasks`.", autocompletion=open_tasks
    ),
]

Priority = Annotated[
    int | None,
    typer.Option("--priority", metavar="N", help="The task's priority; lower is sooner."),
]
Criteria = Annotated[
    list[str] | None,
    typer.Option(
        "--criterion",
        metavar="TEXT",
        help="What shows that the task is done: text, or a command such as '$ npm test'. Repeat for several.",
    ),
]
Check = Annotated[
    list[str] | None,
    typer.Option(
        "--check",
        metavar="COMMAND",
        help="A command that shows that the task is done, or the name of a check such as tests. Repeat for several.",
    ),
]
After = Annotated[
    list[str] | None,
    typer.Option(
        "--after",
        metavar="TASK",
        help="A task that must be complete first. Repeat for several; `none` means no task.",
        autocompletion=open_tasks,
    ),
]
Model = Annotated[
    str | None, model_option("The model for this task; `none` is the configured one.")
]
Tokens = Annotated[
    int | None,
    typer.Option("--tokens", metavar="N", min=0, help="Estimated tokens; 0 means no estimate."),
]


@app.command(epilog=examples("ralph skip task-003"))
def skip(task_id: TaskId, project_root: ProjectRoot = None) -> None:
    """Block a task, so that the loop continues with the next."""
    task = controls_of(project_root).skip(task_id)
    out(f"Skipped {task.id}: {task.title}. `ralph retry {task.id}` queues it again.")


@app.command(epilog=examples('ralph complete task-003 --reason "Tried it by hand"'))
def complete(
    task_id: TaskId,
    reason: Annotated[
        str,
        typer.Option("--reason", "-r", metavar="TEXT", help="Why no check is needed."),
    ] = "",
    project_root: ProjectRoot = None,
) -> None:
    """Accept a task as complete without checks.

    Reports show that you accepted it. An agent cannot do this.
    """
    task = controls_of(project_root).complete(task_id, reason)
    out(f"{task.id} is complete, accepted by you: {task.title}.")


@app.command(epilog=examples("ralph retry task-003", "ralph retry"))
def retry(
    task_id: Annotated[
        str,
        typer.Argument(
            metavar="TASK",
            help="A blocked task. Without one, end a wait.",
            autocompletion=blocked_tasks,
        ),
    ] = "",
    project_root: ProjectRoot = None,
) -> None:
    """Queue a blocked task again, or end the wait for a limit."""
    controls = controls_of(project_root)
    if not task_id:
        controls.retry_now()
        out("If the loop waits for a limit or a busy service, it retries now.")
        return
    task = controls.retry(task_id)
    out(f"{task.id} is pending again: {task.title}.")


@app.command(epilog=examples("ralph hold task-003"))
def hold(task_id: TaskId, project_root: ProjectRoot = None) -> None:
    """Put a task on hold until you release it.

    If the task is running, it stops and returns to the queue.
    """
    task = controls_of(project_root).hold(task_id)
    out(f"Held {task.id}: {task.title}. `ralph release {task.id}` releases it.")


@app.command(epilog=examples("ralph release task-003"))
def release(
    task_id: Annotated[
        str, typer.Argument(metavar="TASK", help="A held task.", autocompletion=held_tasks)
    ],
    project_root: ProjectRoot = None,
) -> None:
    """Release a task from hold."""
    task = controls_of(project_root).release(task_id)
    out(f"{task.id} can be chosen again: {task.title}.")


@app.command(
    epilog=examples(
        "ralph edit task-003 --priority 1 --after task-001",
        "ralph edit task-003 --model opus --tokens 30000",
        'ralph edit task-003 --part "The model" --part "The command"',
    )
)
def edit(  # noqa: PLR0913 - an option of the command for each
    task_id: TaskId,
    *,
    description: Annotated[
        str | None, typer.Option("--description", metavar="TEXT", help="What to do.")
    ] = None,
    priority: Priority = None,
    criterion: Criteria = None,
    check: Check = None,
    after: After = None,
    model: Model = None,
    tokens: Tokens = None,
    may_change_checks: Annotated[
        bool | None,
        typer.Option(
            "--may-change-checks/--may-not-change-checks",
            help="Whether the task may change existing tests and other check files.",
        ),
    ] = None,
    touches: Annotated[
        list[str] | None,
        typer.Option(
            "--touches",
            metavar="GLOB",
            help="Files that the task changes and that are no tests, such as package.json. Repeat for several; `none` "
            "means none.",
        ),
    ] = None,
    shows: Annotated[
        str | None,
        typer.Option(
            "--shows",
            metavar="kept|none",
            help="`kept`: it is enough that nothing broke, as for a refactoring.",
        ),
    ] = None,
    part: Annotated[
        list[str] | None,
        typer.Option(
            "--part", metavar="TEXT", help="Split the task: a new task for each part, in order."
        ),
    ] = None,
    project_root: ProjectRoot = None,
) -> None:
    """Change a task that is not complete, or split it.

    `--after none` removes the dependencies. The parts of a split task run one after the other.
    """
    criteria = _criteria(criterion, check, project_root)
    fields = replace(
        _fields(description, priority, criteria, after, model, tokens),
        may_change_checks=may_change_checks,
        touches=None if touches is None else tuple(one for one in touches if one != "none"),
        shows="" if shows == "none" else shows,
    )
    if part:
        if not fields.is_empty:
            raise RalphError(
                "--part cannot be combined with other options.",
                "Split the task, then change its parts.",
            )
        made = controls_of(project_root).split_task(task_id, part)
        out(f"Split {task_id} into {', '.join(task.id for task in made)}.")
        return
    if fields.is_empty:
        raise RalphError(
            "Nothing to change was given.",
            "Give --description, --priority, --criterion, --after, --model, --tokens, --may-change-checks, "
            "--touches, --shows or --part.",
        )
    task = controls_of(project_root).edit_task(task_id, fields)
    own = f", model {task.model}" if task.model else ""
    out(f"Changed {task.id}: {task.title} (priority {task.priority}{own}).")


@app.command(
    epilog=examples(
        'ralph add "Say how long it took" --after task-003 --check "uv run pytest"',
        "ralph add --plan @export.md",
        "ralph add --plan 12 --max-cost 2",
    )
)
def add(  # noqa: PLR0913 - an option of the command for each
    text: Annotated[
        list[str],
        typer.Argument(
            metavar="TEXT",
            help="What to do. `-` reads standard input, `@FILE` reads a file; with --plan, also an issue.",
        ),
    ],
    *,
    plan: Annotated[
        bool,
        typer.Option("--plan", help="Let the planning model turn it into tasks. This costs money."),
    ] = False,
    priority: Priority = None,
    criterion: Criteria = None,
    check: Check = None,
    after: After = None,
    model: Model = None,
    tokens: Tokens = None,
    max_cost: Annotated[float | None, cost_option("With --plan: the maximum cost.")] = None,
    yes: Annotated[
        bool, yes_option("With --plan: do not ask about the cost or the new tasks.")
    ] = False,
    project_root: ProjectRoot = None,
) -> None:
    """Add a task to the plan, or let the model plan several.

    The task gets a free ID. Without `--priority`, it comes after all others. With `--plan`, the model reads TEXT,
    a file or a GitHub issue (`12` or its URL) and adds tasks for it. Existing tasks stay as they are.
    """
    if plan:
        if any(given is not None for given in (priority, criterion, check, after, tokens)):
            raise RalphError(
                "With --plan the model sets priorities, criteria, dependencies and sizes.",
                "Leave --priority, --criterion, --after and --tokens out, or leave --plan out.",
            )
        from ralph_tui.cli.run.model_work import add_planned, planning_overrides

        root = find_project(project_root).root
        raise typer.Exit(add_planned(root, text, planning_overrides(model, max_cost), yes=yes))
    if yes or max_cost is not None:
        raise RalphError(
            "--yes and --max-cost belong to --plan; without it no model is asked.",
            "Leave them out.",
        )
    from ralph_tui.cli.run.inputs import read_task

    criteria = _criteria(criterion, check, project_root)
    fields = _fields(read_task(text), priority, criteria, after, model, tokens)
    task = controls_of(project_root).add_task(fields)
    out(f"Added {task.id}: {task.title} (priority {task.priority}).")


def _criteria(
    criteria: list[str] | None, checks: list[str] | None, project_root: Path | None
) -> tuple[str, ...] | None:
    """Return the criteria of both options; one given as a check is always a command."""
    if not criteria and not checks:
        return None
    from ralph_tui.config.load import load_settings
    from ralph_tui.domain.verification.check_commands import ALL, CheckKind
    from ralph_tui.engine.verification.detection.project_checks import checks_of

    root = find_project(project_root).root
    named = checks_of(root, load_settings(root)).named
    prose, own = ([text.strip() for text in given or ()] for given in (criteria, checks))
    for text in (*prose, *own):
        if not text:
            raise RalphError("A criterion must not be empty.", "Say what shows that it is done.")
        if text in {*CheckKind, ALL} and text not in named:
            setting = (text != ALL and CheckKind(text).setting) or CheckKind.TESTS.setting
            raise RalphError(
                f"This project has no command for `{text}`.",
                f"Give the command itself, or set it with `ralph config set {setting} COMMAND`.",
            )
    return (*prose, *(one if one in named or one[0] in "$`" else f"$ {one}" for one in own))


def _fields(
    description: str | None,
    priority: int | None,
    criteria: tuple[str, ...] | None,
    after: list[str] | None,
    model: str | None,
    tokens: int | None,
) -> "TaskFields":
    from ralph_tui.engine.control.plan_edits import TaskFields

    return TaskFields(
        description=description,
        priority=priority,
        criteria=criteria,
        dependencies=None if after is None else tuple(other for other in after if other != "none"),
        model="" if model == "none" else model,
        tokens=tokens,
    )


@app.command(epilog=examples("ralph drop task-003"))
def drop(task_id: TaskId, project_root: ProjectRoot = None) -> None:
    """Remove a task from the plan."""
    task = controls_of(project_root).drop_task(task_id)
    out(f"Dropped {task.id}: {task.title}.")
