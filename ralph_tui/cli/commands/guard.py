"""`ralph guard check`: prints the guard's verdict on a command without running the command."""

import shlex
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ralph_tui.cli.console import out_facts, out_json
from ralph_tui.cli.options import AsJson, argument, examples, flag, whole
from ralph_tui.cli.project_lookup import start_directory
from ralph_tui.domain.errors import ExitCode, RalphError

if TYPE_CHECKING:
    from ralph_tui.guard.core.policy import Policy

PhaseName = Literal["discovery", "planning", "building", "validation"]
"""The phases by name: importing the domain would slow every command down."""

app = typer.Typer(
    name="guard", help="Check what the guard allows an agent to do.", rich_markup_mode=None
)
whole.add_typer(app)


@app.callback()
def _guard() -> None:
    """Keep `check` a subcommand; Typer would merge the only command of a group into the group."""


@app.command(
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    epilog=examples("ralph guard check 'git push'"),
)
def check(
    command: Annotated[list[str], argument("COMMAND", "The command, as the agent would write it.")],
    *,
    phase: Annotated[PhaseName, flag("The phase the agent is in.")] = "building",
    as_json: AsJson = False,
) -> None:
    """Judge a command without running it.

    Exits with 0 if the command may run, and with 1 if it is denied or needs approval.
    """
    from ralph_tui.guard.check import check as judge

    line = command[0] if len(command) == 1 else shlex.join(command)
    found = judge(line, _policy(phase))
    if as_json:
        out_json(found)
    else:
        out_facts({name: value for name, value in found.items() if value})
    runs = found["verdict"] in ("allow", "rewrite")
    raise typer.Exit(int(ExitCode.COMPLETE if runs else ExitCode.STOPPED))


def _policy(phase: PhaseName) -> "Policy":
    from ralph_tui.config.load import load_settings
    from ralph_tui.domain.project_state import Phase
    from ralph_tui.engine.session.spec import guard_policy
    from ralph_tui.store.project import Project

    start = start_directory()
    try:
        project = Project.find(start)
    except RalphError:
        project = Project(start)
    return guard_policy(project, load_settings(project.root), Phase(phase))
