"""Builds the command tree: every command with its options, and the error messages for a wrong command line."""

import re
import sys
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from ralph_tui.cli import commands, completion, options
from ralph_tui.cli.commands import init
from ralph_tui.cli.completion import asked_shell, complete_for
from ralph_tui.cli.console import discard_stdout, fail
from ralph_tui.cli.options import (
    Feature,
    ProjectRoot,
    argument,
    chosen_feature,
    completed,
    examples,
)
from ralph_tui.cli.project_lookup import chosen_project
from ralph_tui.cli.run.mode import open_here
from ralph_tui.domain.errors import ExitCode, RalphError

GROUPS: Mapping[str, tuple[str, ...]] = {
    "Run": ("run", "until", "discover", "plan", "build", "validate", "regenerate-plan", "demo"),
    "Steer a run": (
        *("pause", "resume", "stop", "inject", "answer", "approve", "reject", "limits"),
        "attach",
    ),
    "Tasks": (
        *("tasks", "add", "edit", "skip", "retry", "hold", "release", "drop", "complete"),
        *("undo", "verify", "archive", "import", "export"),
    ),
    "Inspect": ("status", "report", "history", "memory"),
    "Project": ("init", "feature", "config", "steps", "notify", "doctor"),
    "More": (
        *("serve", "mcp", "guard", "schema", "test", "lint", "typecheck", "deps"),
        *("reset", "restore", "help"),
    ),
}
"""The commands of each group, in the order of the help. The last group also shows commands that are in none."""


class GroupedCommands(TyperGroup):
    """The root of the command tree. Its help lists the commands under the headings of `GROUPS`."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - Typer does not export Click's types
        grouped = {name for names in GROUPS.values() for name in names}
        others = [name for name in self.commands if name not in grouped]
        width = max(map(len, self.commands))
        for title, names in GROUPS.items():
            last = title == list(GROUPS)[-1]
            rows = [
                (name, self.commands[name].get_short_help_str(formatter.width - width - 6))
                for name in (*names, *(others if last else ()))
                if not self.commands[name].hidden
            ]
            with formatter.section(title):
                # An empty row as wide as the longest name lines up the groups' columns.
                formatter.write_dl([(name.ljust(width), text) for name, text in rows])


# The common base of all usage errors, whether Typer uses its own copy of Click or the package.
_USAGE_ERROR: type[Exception] = typer.BadParameter.__mro__[2]

completion.answer_first_tab()

app = typer.Typer(
    name="ralph",
    cls=GroupedCommands,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="""Sit on the loop, not in it: run Claude in a loop until a plan is done.

    Without a command, ralph opens the screen on the current project and starts nothing.
    With a request instead of a command, ralph asks questions, plans, builds and verifies the result.
    """,
    epilog=examples(
        'ralph "A habit tracker for the command line"',
        "ralph demo",
        "ralph -C ~/code/app status",
        "ralph --install-completion fish",
    ),
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(value: bool) -> None:  # noqa: FBT001  (Typer calls it with the option's value)
    if value:
        from ralph_tui import __version__

        typer.echo(f"ralph {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _no_command(
    context: typer.Context,
    *,
    project_root: ProjectRoot = None,
    feature: Feature = None,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    del version  # its callback has printed it
    if context.invoked_subcommand is None:
        with chosen_project(project_root), chosen_feature(feature):
            raise typer.Exit(open_here(init.begin_here))
    command = getattr(context.command, "commands", {}).get(context.invoked_subcommand)
    for option, value in (("project_root", project_root), ("feature", feature)):
        if value is not None and not _takes(command, option):
            raise typer.BadParameter(f"`ralph {context.invoked_subcommand}` {_NOT_TAKEN[option]}")
    context.with_resource(chosen_project(project_root))
    context.with_resource(chosen_feature(feature))


_NOT_TAKEN = {
    "project_root": "does not work on a project, so it takes no -C.",
    "feature": "does not work on a feature, so it takes no -f.",
}


def _takes(command: object, option: str) -> bool:
    names = (parameter.name for parameter in getattr(command, "params", ()))
    below = getattr(command, "commands", {}).values()
    return option in names or any(_takes(inner, option) for inner in below)


@app.command("help", epilog=examples("ralph help build"))
def _help(
    command: Annotated[list[str] | None, argument("COMMAND", "The command to explain.")] = None,
) -> None:
    """Show the help of ralph or of one command."""
    raise typer.Exit(run_command([*(command or ()), "--help"]))


for found in iter_modules(commands.__path__):
    import_module(f"{commands.__name__}.{found.name}")
app.add_typer(completed(options.app, "project_root", "feature"))
app.add_typer(completed(options.whole, "project_root"))
app.add_typer(completed(options.programs))


@cache
def command_tree() -> TyperGroup:
    root = typer.main.get_command(app)
    assert isinstance(root, TyperGroup)
    return root


def is_request(word: str) -> bool:
    """Return whether a first argument is a request instead of a command.

    A single word is never a request: it may be a mistyped command, and a run costs money.
    """
    phrase = len(word.split()) > 1 and not word.startswith("-")
    return phrase or word == "-" or (word.startswith("@") and len(word) > 1)


def _command_index(words: list[str]) -> int:
    at = 0
    while at < len(words):
        if words[at] in ("-C", "--project-root", "-f", "--feature"):
            at += 2
        elif words[at].startswith(("-C", "--project-root=", "-f", "--feature=")):
            at += 1
        else:
            break
    return at


def run_command(words: list[str]) -> int:
    """Run a command line and return its exit status; explain a wrong one on standard error."""
    stdout = sys.stdout
    at = _command_index(words)
    if words[at:] and is_request(words[at]):
        words = [*words[:at], "run", *words[at:]]
    if asked := asked_shell(words):
        return complete_for(*asked)
    try:
        result = command_tree().main(words, prog_name="ralph", standalone_mode=False)
        return result if isinstance(result, int) else int(ExitCode.COMPLETE)
    except typer.Abort as error:
        raise KeyboardInterrupt from error
    except SystemExit:
        if sys.stdout is stdout:
            raise  # shell completion leaves like this
        # Typer replaced stdout after the pipe was closed; `ralph tasks | head` is no failure.
        sys.stdout = stdout
        discard_stdout()
        return int(ExitCode.COMPLETE)
    except _USAGE_ERROR as error:
        return _explain_misuse(error)


_PERMISSIONS = (
    "Ralph judges each call itself: a guard and a sandbox replace permission prompts. List commands that need your "
    "approval in safety.ask_commands, and hosts that commands may reach in safety.sandbox_domains. See docs/safety.md."
)
_TOOLS = (
    "The tools of each phase are fixed. phases.building.without_tools removes some of them, and "
    "phases.building.mcp_servers adds your own MCP servers."
)

_REFUSED: Mapping[str, str] = {
    "--dangerously-skip-permissions": _PERMISSIONS,
    "--allowed-tools": _TOOLS,
    "--allowedTools": _TOOLS,
    "--allowed_tools": _TOOLS,
}
"""Options of other loops that ralph refuses, and what to do instead."""


_PLAIN_WORDS = (
    (r": Value error, ", ": "),
    (r"Input should be a valid integer\b.*", "it must be a whole number."),
    (r"Input should be a valid number\b.*", "it must be a number."),
    (r"Input should (be [^.]*\d[\d.]*)$", r"it must \1."),
    (r"Got unexpected extra argument\(s\) \((\S+)\)$", r"'\1' does not belong here."),
    (
        r"Got unexpected extra argument\(s\) \((.*)\)$",
        r"'\1' does not belong here; put a text of several words in quotes.",
    ),
    (r" \(Possible options: (.*)\)$", r". Did you mean \1?"),
)


def _explain_misuse(error: Exception) -> int:
    option = getattr(error, "option_name", "")
    if option in _REFUSED:
        fail(RalphError(f"There is no {option}, on purpose.", _REFUSED[option]))
        return int(ExitCode.ERROR)
    message: str = getattr(error, "format_message", error.__str__)()
    for pattern, replacement in _PLAIN_WORDS:
        message = re.sub(pattern, replacement, message)
    path = getattr(getattr(error, "ctx", None), "command_path", "")
    command = "ralph COMMAND" if path in ("", "ralph") else path
    hint = f"`{command} --help` shows the usage, `ralph --help` lists the commands."
    if message.startswith("No such command") and command == "ralph COMMAND":
        hint += ' Put a request in quotes: ralph "A habit tracker".'
    of_run = {name for one in command_tree().commands["run"].params for name in one.opts}
    if command == "ralph COMMAND" and option in of_run:
        hint = f"Put {option} after the command: ralph run {option} …"
    fail(RalphError(message, hint))
    return int(ExitCode.ERROR)  # not Click's 2: that status means a usage limit
