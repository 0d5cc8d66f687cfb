"""Options that several commands share, each declared once."""

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated

import typer

from ralph_tui.cli import completion

ProjectRoot = Annotated[
    Path | None,
    typer.Option(
        "--project-root",
        "-C",
        metavar="PATH",
        help="The project; without it, the one the current directory is in.",
        show_default=False,
    ),
]

Feature = Annotated[
    str | None,
    typer.Option(
        "--feature",
        "-f",
        metavar="NAME",
        help="Of this feature; `.` is the plan without a name.",
        show_default=False,
        autocompletion=completion.features,
    ),
]

CENT = 0.01
"""Dollars, the least that a limit may be."""


def examples(*commands: str) -> str:
    """Return the end of a command's help; the mark at its start keeps the line breaks."""
    return "\b\n" + "\n".join(f"Example: {command}" for command in commands)


AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


Headless = Annotated[
    bool, typer.Option("--headless", help="Print lines instead of opening the screen.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON event per line.")]


@dataclass(frozen=True)
class RunOptions:
    """How to show a run, what it may spend, and who can answer."""

    headless: Headless = False
    as_json: Json = False
    yes: Annotated[
        bool,
        typer.Option("--yes", "-y", help="Approve specs and plan; never the final validation."),
    ] = False
    no_input: Annotated[
        bool,
        typer.Option(
            "--no-input", help="Ask nobody: the model decides and records what it assumed."
        ),
    ] = False
    allow_unverified: Annotated[
        bool,
        typer.Option(
            "--allow-unverified", help="Also build tasks that no check can verify; they say so."
        ),
    ] = False
    no_baseline: Annotated[
        bool,
        typer.Option(
            "--no-baseline", help="Do not run the project's checks before the first task."
        ),
    ] = False
    no_archive: Annotated[
        bool, typer.Option("--no-archive", help="Do not archive the plan when it is finished.")
    ] = False
    wait: Annotated[
        bool,
        typer.Option(
            "--wait", help="Wait for what must be decided or answered from another terminal."
        ),
    ] = False
    answers: Annotated[
        Path | None,
        typer.Option(
            "--answers",
            metavar="FILE",
            help="YAML or JSON: a question's text or header, its answer.",
        ),
    ] = None
    max_iterations: Annotated[
        int | None,
        typer.Option("--max-iterations", "-n", metavar="N", help="Most iterations in this run."),
    ] = None
    timeout: Annotated[
        float | None,
        typer.Option("--timeout", "-t", metavar="MIN", help="Most minutes of one iteration."),
    ] = None
    rate: Annotated[
        int | None,
        typer.Option(
            "--rate",
            "--rate-limit",
            "-r",
            metavar="N",
            help="Most model requests in an hour; then it waits.",
        ),
    ] = None
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            metavar="NAME",
            help="The model that builds; with discover and plan, the one that plans.",
        ),
    ] = None
    max_cost: Annotated[
        float | None,
        typer.Option(
            "--max-cost", metavar="USD", min=CENT, help="Stop when this run has cost so much."
        ),
    ] = None
    reset_circuit: Annotated[
        bool,
        typer.Option(
            "--reset-circuit", help="Close the circuit breaker first, also during its cool-down."
        ),
    ] = False
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Tell what the run would do first; start nothing."),
    ] = False
    show_prompt: Annotated[
        bool,
        typer.Option("--show-prompt", help="Print the next prompt; start nothing."),
    ] = False
    verbose: Annotated[
        bool,
        typer.Option(
            "--verbose", "-v", help="Print also the output of tools and checks; the screen has it."
        ),
    ] = False
    project_root: ProjectRoot = None


@dataclass(frozen=True)
class BuildOptions(RunOptions):
    """Options of the commands that build a plan."""

    once: Annotated[
        bool,
        typer.Option("--once", help="Run one iteration; status 0 when its task is complete."),
    ] = False
    prompt: Annotated[
        Path | None,
        typer.Option(
            "--prompt", "-p", metavar="FILE", help="Build with this template of the prompt."
        ),
    ] = None


@contextmanager
def chosen_feature(given: str | None) -> Iterator[None]:
    """Make this process work on the feature that the command line names, if it names one."""
    if given is None:  # what knows features need not be loaded to show a help
        yield
        return
    from ralph_tui.store.feature_choice import named_feature, working_on

    with working_on(named_feature(given)):
        yield


def of_features(app: typer.Typer) -> typer.Typer:
    """Give every command of a project below this one the option `--feature`; return the same tree."""
    for group in app.registered_groups:
        if group.typer_instance is not None:
            of_features(group.typer_instance)
    for command in app.registered_commands:
        if command.callback is not None and _is_of_a_feature(command.callback):
            command.callback = _of_feature(command.callback)
    return app


def _is_of_a_feature(command: Callable[..., object]) -> bool:
    return "project_root" in _parameters(command) and command.__name__ != "restore"


def _parameters(command: Callable[..., object]) -> dict[str, inspect.Parameter]:
    return dict(inspect.signature(command, eval_str=True).parameters)


def _of_feature(command: Callable[..., object]) -> Callable[..., object]:
    """Return a command with the option `--feature`, which decides what it works on."""
    option = inspect.Parameter(
        "feature", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Feature
    )
    own = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in _parameters(command).values()]

    def call(*, feature: str | None = None, **given: object) -> object:
        with chosen_feature(feature):
            return command(**given)

    return _looking_like(command, call, [*own, option])


def _looking_like(
    command: Callable[..., object],
    call: Callable[..., object],
    parameters: list[inspect.Parameter],
) -> Callable[..., object]:
    """Return a function that Typer takes for a command with these parameters."""
    call.__name__, call.__doc__ = command.__name__, command.__doc__
    call.__annotations__ = {p.name: p.annotation for p in parameters}
    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # what inspect reads; mypy has no such field
    return call


def takes_run_options(command: Callable[..., None]) -> Callable[..., object]:
    """Return a command for Typer whose parameter `options` is spread out into the options of its type."""
    own = inspect.signature(command, eval_str=True).parameters
    kind: type[RunOptions] = own["options"].annotation
    names = [field.name for field in fields(kind)]
    spread = inspect.signature(kind, eval_str=True).parameters
    parameters = [
        *(own[name] for name in own if name != "options"),
        *(spread[name].replace(kind=inspect.Parameter.KEYWORD_ONLY) for name in names),
    ]

    def call(**given: object) -> None:
        options = kind(**{name: given.pop(name) for name in names})  # type: ignore[arg-type]  # Typer converted them by the same annotations
        command(**given, options=options)

    return _looking_like(command, call, parameters)
