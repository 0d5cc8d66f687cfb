"""Assembles the command tree: every command with its options, and what a person reads after a wrong one."""

import re
import sys
from collections.abc import Mapping
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from ralph_tui.cli import completion
from ralph_tui.cli.commands import (
    answer,
    archive,
    attach,
    build_tools,
    config,
    control,
    demo,
    doctor,
    exchange,
    feature,
    guard,
    history,
    init,
    limits,
    memory,
    replay,
    reset,
    run,
    serve,
    status,
    tasks,
    verify,
)
from ralph_tui.cli.completion import asked_shell, complete_for
from ralph_tui.cli.console import discard_stdout, fail
from ralph_tui.cli.options import Feature, ProjectRoot, chosen_feature, examples, of_features
from ralph_tui.cli.run.mode import open_here
from ralph_tui.domain.errors import ExitCode, RalphError

GROUPS: Mapping[str, tuple[str, ...]] = {
    "Run": ("run", "discover", "plan", "build", "validate", "regenerate-plan", "demo"),
    "Steer a run": (
        *("pause", "resume", "stop", "inject", "answer", "approve", "reject", "limits", "breaker"),
        "attach",
    ),
    "Tasks": ("tasks", "task", "undo", "verify", "archive", "import", "export"),
    "Look": ("status", "report", "history", "metrics", "replay", "memory"),
    "Project": ("init", "feature", "config", "steps", "notify", "doctor"),
    "More": (
        *("serve", "mcp", "guard", "schema", "test", "lint", "typecheck", "deps"),
        *("reset", "restore", "help", "version"),
    ),
}
"""The commands of each group, in the order of the help. A command that is in none is shown in the last."""

SHORT_FORMS = ("add", "edit", "skip", "retry", "hold", "release", "drop", "complete")
"""Commands that mean the same without `task`."""


class GroupedCommands(TyperGroup):
    """The root of the command tree, whose help has a heading for each group."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - Click's types are not Typer's to give
        """Write the commands of each group, then the short forms."""
        grouped = {name for names in GROUPS.values() for name in names}
        others = [n for n in self.commands if n not in grouped and n not in SHORT_FORMS]
        width = max(map(len, self.commands))
        for title, names in GROUPS.items():
            last = title == list(GROUPS)[-1]
            rows = [
                (name, self._summary(name, formatter.width - width - 6))
                for name in (*names, *(others if last else ()))
                if not self.commands[name].hidden
            ]
            with formatter.section(title):
                # An empty row as wide as the longest name lines up the groups' columns.
                formatter.write_dl([(name.ljust(width), text) for name, text in rows])
        with formatter.section("Short forms"):
            formatter.write_text(
                f"`ralph task` can be left out before {', '.join(SHORT_FORMS[:-1])} and {SHORT_FORMS[-1]}."
            )

    def _summary(self, name: str, limit: int) -> str:
        return self.commands[name].get_short_help_str(limit)


# Usage errors share this ancestor in every Typer, whether Click is inside it or beside it.
_USAGE_ERROR: type[Exception] = typer.BadParameter.__mro__[2]

completion.answer_first_tab()

app = typer.Typer(
    name="ralph",
    cls=GroupedCommands,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="""Sit on the loop, not in it: run Claude in a loop until a plan is done.

    Without a command: open the screen on the project here; nothing runs until you say so.
    With a request instead of a command: plan, build and verify it, from questions to a checked result.
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
        with chosen_feature(feature):
            raise typer.Exit(open_here(project_root, init.begin_here))
    if project_root is not None:
        _hand_down(context, context.invoked_subcommand, "project_root", str(project_root))
    if feature is not None:
        _hand_down(context, context.invoked_subcommand, "feature", feature)


_NOT_TAKEN = {
    "project_root": "works on no project, so it takes no -C.",
    "feature": "is about no feature, so it takes no -f.",
}


def _hand_down(context: typer.Context, name: str, option: str, value: str) -> None:
    """Pass an option given before the command on to the command; one given after the command wins."""
    found = _defaults(getattr(context.command, "commands", {}).get(name), option, value)
    if not found:
        raise typer.BadParameter(f"`ralph {name}` {_NOT_TAKEN[option]}")
    known = context.default_map or {}
    context.default_map = {**known, name: {**known.get(name, {}), **found}}


def _defaults(command: object, option: str, value: str) -> dict[str, object]:
    """Return the default for an option of every command at or below this one that has it."""
    below = getattr(command, "commands", None)
    if below is not None:
        inside = ((name, _defaults(inner, option, value)) for name, inner in below.items())
        return {name: found for name, found in inside if found}
    names = {parameter.name for parameter in getattr(command, "params", ())}
    return {option: value} if option in names else {}


@app.command("help", epilog=examples("ralph help build"))
def _help(
    command: Annotated[list[str] | None, typer.Argument(help="Of this command.")] = None,
) -> None:
    """Show help, for ralph or one command."""
    raise typer.Exit(run_command([*(command or ()), "--help"]))


@app.command("version")
def _print_version() -> None:
    """Print the version."""
    _version(True)  # noqa: FBT003


tasks.add_long_forms((tasks.app, reset.app), (*SHORT_FORMS, "undo"))

_OF_A_FEATURE = (
    *(run.app, status.app, history.app, attach.app, history.measures, replay.app),
    *(control.app, tasks.app, exchange.app, limits.app, answer.app, memory.app, verify.app),
    *(
        tasks.task_app,
        reset.app,
        archive.app,
        history.reports,
        doctor.app,
        serve.app,
        serve.programs,
    ),
)
for commands in (
    *(run.app, demo.app, init.app, feature.app, status.app, history.app, attach.app),
    *(
        history.measures,
        replay.app,
        control.app,
        tasks.app,
        tasks.task_app,
        exchange.app,
        limits.app,
    ),
    *(answer.app, memory.app, archive.app, serve.app, reset.app, doctor.app, build_tools.app),
    *(verify.app, history.reports),
    *(build_tools.deps, config.app, guard.app, serve.programs),
):
    app.add_typer(of_features(commands) if commands in _OF_A_FEATURE else commands)


def is_request(word: str) -> bool:
    """Return whether a first argument is a request instead of a command.

    One word could be a slip in a command's name, and a run costs money; a phrase cannot.
    """
    phrase = len(word.split()) > 1 and not word.startswith("-")
    return phrase or word == "-" or (word.startswith("@") and len(word) > 1)


def _after_root(words: list[str]) -> int:
    """Return the index of the first word after a project and a feature that the command line names first."""
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
    """Run a command line and return its exit status; explain a wrong one on standard error.

    Raises:
        RalphError: The command cannot do what it was asked for.
        KeyboardInterrupt: The person interrupted it.
    """
    stdout = sys.stdout
    at = _after_root(words)
    if words[at:] and is_request(words[at]):
        words = [*words[:at], "run", *words[at:]]
    if asked := asked_shell(words):
        return complete_for(*asked)
    try:
        result = typer.main.get_command(app).main(words, prog_name="ralph", standalone_mode=False)
        return result if isinstance(result, int) else int(ExitCode.COMPLETE)
    except typer.Abort as error:
        raise KeyboardInterrupt from error
    except SystemExit:
        if sys.stdout is stdout:
            raise  # shell completion leaves like this
        # Typer met a closed pipe and put a muffler on; `ralph tasks | head` is no failure.
        sys.stdout = stdout
        discard_stdout()
        return int(ExitCode.COMPLETE)
    except _USAGE_ERROR as error:
        return _misused(error)


_PERMISSIONS = (
    "Ralph judges each call itself: a guard and a sandbox take the place of permission prompts. What needs your yes "
    "each time goes into safety.ask_commands, hosts for commands into safety.sandbox_domains; see docs/safety.md."
)
_TOOLS = (
    "Each phase has its own tools and none can be added; phases.building.without_tools takes some away. Your own MCP "
    "servers go into phases.building.mcp_servers."
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
"""What Typer and pydantic say of a wrong command line, and what ralph says instead."""


def _in_plain_words(said: str) -> str:
    for pattern, words in _PLAIN_WORDS:
        said = re.sub(pattern, words, said)
    return said


def _misused(error: Exception) -> int:
    option = getattr(error, "option_name", "")
    if option in _REFUSED:
        fail(RalphError(f"There is no {option}, on purpose.", _REFUSED[option]))
        return int(ExitCode.ERROR)
    said = _in_plain_words(getattr(error, "format_message", error.__str__)())
    # 2 is taken: it says that a usage limit was reached.
    hint = f"`{_where(error)} --help` says how it is used; `ralph --help` lists the commands."
    if said.startswith("No such command") and _where(error) == "ralph COMMAND":
        hint += ' A request is quoted: ralph "A habit tracker".'
    if _where(error) == "ralph COMMAND" and option in _options_of("run"):
        hint = f"{option} follows the command: ralph run {option} …"
    fail(RalphError(said, hint))
    return int(ExitCode.ERROR)


def _options_of(command: str) -> frozenset[str]:
    """Return the options of a command, as they are typed."""
    commands: Mapping[str, typer.core.TyperCommand] = getattr(
        typer.main.get_command(app), "commands", {}
    )
    return frozenset(name for one in commands[command].params for name in one.opts)


def _where(error: Exception) -> str:
    """Return the command that a usage error is about, as it was typed."""
    path = getattr(getattr(error, "ctx", None), "command_path", "")
    return "ralph COMMAND" if path in ("", "ralph") else path
