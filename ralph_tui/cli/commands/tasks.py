"""`ralph add`, `skip` and the other commands that change a task."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import typer

from ralph_tui.cli.completion import blocked_tasks, held_tasks, open_tasks
from ralph_tui.cli.console import out
from ralph_tui.cli.options import CENT, app, argument, examples, flag, option
from ralph_tui.cli.project_lookup import find_project, open_controls
from ralph_tui.domain.errors import RalphError

if TYPE_CHECKING:
    from ralph_tui.engine.control.plan_edits import TaskFields


TaskId = Annotated[
    str, argument("TASK", "The ID of a task, as in `ralph tasks`.", autocompletion=open_tasks)
]


@dataclass(frozen=True)
class TaskOptions:
    """What a person may say of a task, new or not."""

    priority: Annotated[int | None, option("N", "The task's priority; lower is sooner.")] = None
    criterion: Annotated[
        list[str] | None,
        option(
            "TEXT",
            "What shows that the task is done: text, or a command such as '$ npm test'. Repeat for several.",
        ),
    ] = None
    check: Annotated[
        list[str] | None,
        option(
            "COMMAND",
            "A command that shows that the task is done, or the name of a check such as tests. Repeat for several.",
        ),
    ] = None
    after: Annotated[
        list[str] | None,
        option(
            "TASK",
            "A task that must be complete first. Repeat for several; `none` means no task.",
            autocompletion=open_tasks,
        ),
    ] = None
    model: Annotated[
        str | None, option("NAME", "The model for this task; `none` is the configured one.")
    ] = None
    tokens: Annotated[int | None, option("N", "Estimated tokens; 0 means no estimate.", min=0)] = (
        None
    )

    def fields(self, description: str | None) -> "TaskFields":
        from ralph_tui.engine.control.plan_edits import TaskFields

        return TaskFields(
            description=description,
            priority=self.priority,
            criteria=self._criteria(),
            dependencies=_unless_none(self.after),
            model="" if self.model == "none" else self.model,
            tokens=self.tokens,
        )

    def _criteria(self) -> tuple[str, ...] | None:
        """Return the criteria of both options; one given as a check is always a command."""
        if not self.criterion and not self.check:
            return None
        from ralph_tui.domain.verification.check_commands import NAMES

        prose, own = (
            [text.strip() for text in given or ()] for given in (self.criterion, self.check)
        )
        if not all((*prose, *own)):
            raise RalphError("A criterion must not be empty.", "Say what shows that it is done.")
        return (*prose, *(one if one in NAMES or one[0] in "$`" else f"$ {one}" for one in own))


def _unless_none(given: list[str] | None) -> tuple[str, ...] | None:
    return None if given is None else tuple(one for one in given if one != "none")


@app.command(epilog=examples("ralph skip task-003"))
def skip(task_id: TaskId) -> None:
    """Block a task, so that the loop continues with the next."""
    task = open_controls().skip(task_id)
    out(f"Skipped {task.id}: {task.title}. `ralph retry {task.id}` queues it again.")


@app.command(epilog=examples('ralph complete task-003 --reason "Tried it by hand"'))
def complete(
    task_id: TaskId,
    reason: Annotated[str, option("TEXT", "Why no check is needed.", "-r")] = "",
) -> None:
    """Accept a task as complete without checks.

    Reports show that you accepted it. An agent cannot do this.
    """
    task = open_controls().complete(task_id, reason)
    out(f"{task.id} is complete, accepted by you: {task.title.rstrip('.')}.")


@app.command(epilog=examples("ralph retry task-003", "ralph retry"))
def retry(
    task_id: Annotated[
        str,
        argument("TASK", "A blocked task. Without one, end a wait.", autocompletion=blocked_tasks),
    ] = "",
) -> None:
    """Queue a blocked task again, or end the wait for a limit."""
    controls = open_controls()
    if not task_id:
        controls.retry_now()
        out("If the loop waits for a limit or a busy service, it retries now.")
        return
    task = controls.retry(task_id)
    out(f"{task.id} is pending again: {task.title.rstrip('.')}.")


@app.command(epilog=examples("ralph hold task-003"))
def hold(task_id: TaskId) -> None:
    """Put a task on hold until you release it.

    If the task is running, it stops and returns to the queue.
    """
    task = open_controls().hold(task_id)
    out(f"Held {task.id}: {task.title}. `ralph release {task.id}` releases it.")


@app.command(epilog=examples("ralph release task-003"))
def release(
    task_id: Annotated[str, argument("TASK", "A held task.", autocompletion=held_tasks)],
) -> None:
    """Release a task from hold."""
    task = open_controls().release(task_id)
    out(f"{task.id} can be chosen again: {task.title.rstrip('.')}.")


@app.command(
    epilog=examples(
        "ralph edit task-003 --priority 1 --after task-001",
        "ralph edit task-003 --model opus --tokens 30000",
        'ralph edit task-003 --part "The model" --part "The command"',
    )
)
def edit(
    task_id: TaskId,
    *,
    description: Annotated[str | None, option("TEXT", "What to do.")] = None,
    task: TaskOptions,
    may_change_checks: Annotated[
        bool | None,
        flag(
            "Whether the task may change existing tests and other check files.",
            "--may-change-checks/--may-not-change-checks",
        ),
    ] = None,
    touches: Annotated[
        list[str] | None,
        option(
            "GLOB",
            "Files that the task changes and that are no tests, such as package.json. Repeat for several; `none` "
            "means none.",
        ),
    ] = None,
    shows: Annotated[
        str | None,
        option("kept|none", "`kept`: it is enough that nothing broke, as for a refactoring."),
    ] = None,
    part: Annotated[
        list[str] | None, option("TEXT", "Split the task: a new task for each part, in order.")
    ] = None,
) -> None:
    """Change a task that is not complete, or split it.

    `--after none` removes the dependencies. The parts of a split task run one after the other.
    """
    fields = replace(
        task.fields(description),
        may_change_checks=may_change_checks,
        touches=_unless_none(touches),
        shows="" if shows == "none" else shows,
    )
    if part:
        if not fields.is_empty:
            raise RalphError(
                "--part cannot be combined with other options.",
                "Split the task, then change its parts.",
            )
        made = open_controls().split_task(task_id, part)
        out(f"Split {task_id} into {', '.join(task.id for task in made)}.")
        return
    if fields.is_empty:
        raise RalphError(
            "Nothing to change was given.",
            "Give --description, --priority, --criterion, --after, --model, --tokens, --may-change-checks, "
            "--touches, --shows or --part.",
        )
    now = open_controls().edit_task(task_id, fields)
    own = f", model {now.model}" if now.model else ""
    out(f"Changed {now.id}: {now.title} (priority {now.priority}{own}).")


@app.command(
    epilog=examples(
        'ralph add "Say how long it took" --after task-003 --check "uv run pytest"',
        "ralph add --plan @export.md",
        "ralph add --plan 12 --max-cost 2",
    )
)
def add(
    text: Annotated[
        list[str],
        argument(
            "TEXT",
            "What to do. `-` reads standard input, `@FILE` reads a file; with --plan, also an issue.",
        ),
    ],
    *,
    plan: Annotated[
        bool, flag("Let the planning model turn it into tasks. This costs money.")
    ] = False,
    task: TaskOptions,
    max_cost: Annotated[
        float | None, option("USD", "With --plan: the maximum cost.", min=CENT)
    ] = None,
    yes: Annotated[
        bool, flag("With --plan: do not ask about the cost or the new tasks.", "-y")
    ] = False,
) -> None:
    """Add a task to the plan, or let the model plan several.

    The task gets a free ID. Without `--priority`, it comes after all others. With `--plan`, the model reads TEXT,
    a file or a GitHub issue (`12` or its URL) and adds tasks for it. Existing tasks stay as they are.
    """
    if plan:
        if replace(task, model=None) != TaskOptions():
            raise RalphError(
                "With --plan the model sets priorities, criteria, dependencies and sizes.",
                "Leave --priority, --criterion, --after and --tokens out, or leave --plan out.",
            )
        from ralph_tui.cli.run.model_work import add_planned, planning_overrides

        root = find_project().root
        raise typer.Exit(add_planned(root, text, planning_overrides(task.model, max_cost), yes=yes))
    if yes or max_cost is not None:
        raise RalphError(
            "--yes and --max-cost belong to --plan; without it no model is asked.",
            "Leave them out.",
        )
    from ralph_tui.cli.run.inputs import read_task

    made = open_controls().add_task(task.fields(read_task(text)))
    out(f"Added {made.id}: {made.title} (priority {made.priority}).")


@app.command(epilog=examples("ralph drop task-003"))
def drop(task_id: TaskId) -> None:
    """Remove a task from the plan."""
    task = open_controls().drop_task(task_id)
    out(f"Dropped {task.id}: {task.title.rstrip('.')}.")
