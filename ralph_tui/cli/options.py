"""Options that several commands share, each declared once."""

import inspect
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Annotated, get_args

import typer
from typer.models import OptionInfo

from ralph_tui.cli import completion
from ralph_tui.cli.project_lookup import chosen_project

Completes = Callable[..., completion.Offers]

app, whole, programs = typer.Typer(), typer.Typer(), typer.Typer()
"""The commands that work on a feature of a project, on a whole project, and on none."""

CENT = 0.01
"""The smallest cost limit, in US dollars."""


def flag(what: str, *names: str) -> object:
    return typer.Option(*names, help=what)


def option(
    metavar: str,
    what: str,
    *names: str,
    min: float | None = None,  # noqa: A002 - Typer's word
    max: float | None = None,  # noqa: A002 - Typer's word
    autocompletion: Completes | None = None,
) -> object:
    return typer.Option(
        *names, metavar=metavar, help=what, autocompletion=autocompletion, min=min, max=max
    )


def argument(metavar: str, what: str, *, autocompletion: Completes | None = None) -> object:
    return typer.Argument(metavar=metavar, help=what, autocompletion=autocompletion)


ProjectRoot = Annotated[
    Path | None,
    option(
        "PATH",
        "The project directory. Default: the project that contains the current directory.",
        "--project-root",
        "-C",
    ),
]

Feature = Annotated[
    str | None,
    option(
        "NAME",
        "Work on this feature; `.` is the plan without a name.",
        "--feature",
        "-f",
        autocompletion=completion.features,
    ),
]


COMMON = {"project_root": ProjectRoot, "feature": Feature}


def examples(*commands: str) -> str:
    """Return the examples at the end of a command's help; the backspace makes Click keep the line breaks."""
    return "\b\n" + "\n".join(f"Example: {command}" for command in commands)


AsJson = Annotated[bool, flag("Print JSON.", "--json")]


Headless = Annotated[bool, flag("Print lines instead of opening the screen.", "--headless")]
Json = Annotated[bool, flag("Print one JSON event per line.", "--json")]


@dataclass(frozen=True)
class RunOptions:
    """How to show a run, what it may spend, and who can answer."""

    headless: Headless = False
    as_json: Json = False
    yes: Annotated[
        bool,
        flag("Approve the specs and the plan automatically, but never the final validation.", "-y"),
    ] = False
    no_input: Annotated[
        bool, flag("Ask no questions. The model decides and records its assumptions.")
    ] = False
    allow_unverified: Annotated[
        bool, flag("Also build tasks that no check can verify, and mark them as unverified.")
    ] = False
    no_archive: Annotated[bool, flag("Do not archive the plan when it is finished.")] = False
    wait: Annotated[bool, flag("Wait for decisions and answers from another terminal.")] = False
    answers: Annotated[
        Path | None,
        option("FILE", "A YAML or JSON file that maps questions, by text or header, to answers."),
    ] = None
    max_iterations: Annotated[int | None, option("N", "Maximum iterations in this run.", "-n")] = (
        None
    )
    timeout: Annotated[float | None, option("MIN", "Maximum minutes per iteration.", "-t")] = None
    rate: Annotated[
        int | None,
        option(
            "N",
            "Maximum model requests per hour. At the maximum, the run waits.",
            "--rate",
            "--rate-limit",
            "-r",
        ),
    ] = None
    model: Annotated[
        str | None,
        option(
            "NAME", "The building model; the planning model for discover, plan and regenerate-plan."
        ),
    ] = None
    max_cost: Annotated[
        float | None, option("USD", "Stop when this run has cost this much.", min=CENT)
    ] = None
    reset_circuit: Annotated[
        bool, flag("Close the circuit breaker first, even during its cool-down.")
    ] = False
    dry_run: Annotated[bool, flag("Show what the run would do first. Start nothing.")] = False
    show_prompt: Annotated[bool, flag("Print the next prompt. Start nothing.")] = False
    verbose: Annotated[
        bool, flag("Also print the output of tools and checks, as the screen does.", "-v")
    ] = False


@dataclass(frozen=True)
class BuildOptions(RunOptions):
    """Options of the commands that build a plan."""

    once: Annotated[bool, flag("Run one iteration. Exit with 0 if its task is complete.")] = False
    prompt: Annotated[Path | None, option("FILE", "Build with this prompt template.", "-p")] = None


@dataclass(frozen=True)
class FromOptions:
    """The options of `ralph init` that belong to `--from`."""

    no_plan: Annotated[bool, flag("With --from: only save a text as a spec.")] = False
    ask: Annotated[
        bool, flag("With --from: let the model ask questions and write specs first.")
    ] = False
    model: Annotated[str | None, option("NAME", "With --from: the model that plans.")] = None
    max_cost: Annotated[float | None, option("USD", "With --from: the maximum cost.", min=CENT)] = (
        None
    )
    yes: Annotated[bool, flag("Do not ask before writing, or about the cost.", "-y")] = False


@contextmanager
def chosen_feature(given: str | None) -> Iterator[None]:
    """Make this process work on the feature that the command line names, if any."""
    if given is None:  # do not import the feature modules to show a help text
        yield
        return
    from ralph_tui.store.feature_choice import named_feature, pinned_feature

    with pinned_feature(named_feature(given)):
        yield


def completed(app: typer.Typer, *common: str) -> typer.Typer:
    """Complete the commands of this tree; return the same tree.

    Each gets these options of `COMMON`. A parameter that is a dataclass becomes an option for each of its fields.
    """
    for group in app.registered_groups:
        if group.typer_instance is not None:
            completed(group.typer_instance, *common)
    for command in app.registered_commands:
        if command.callback is not None:
            command.callback = _completed(command.callback, common)
    return app


def parameters_of(command: Callable[..., object]) -> dict[str, inspect.Parameter]:
    """Return the parameters of a command by name, with the fields of its groups of options."""
    found: dict[str, inspect.Parameter] = {}
    for name, own in inspect.signature(command, eval_str=True).parameters.items():
        found |= parameters_of(own.annotation) if _is_group(own) else {name: _named(own)}
    return found


def _named(own: inspect.Parameter) -> inspect.Parameter:
    """Call an option without a long name as its parameter."""
    for said in get_args(own.annotation)[1:]:
        if isinstance(said, OptionInfo):
            names = [n for n in (said.default, *(said.param_decls or ())) if isinstance(n, str)]
            if not any(name.startswith("--") for name in names):
                said.default, said.param_decls = f"--{own.name.replace('_', '-')}", names
    return own


def _is_group(parameter: inspect.Parameter) -> bool:
    return is_dataclass(parameter.annotation)


def call_with(command: Callable[..., object], given: dict[str, object]) -> object:
    for name, own in inspect.signature(command, eval_str=True).parameters.items():
        if _is_group(own):
            names = [field.name for field in fields(own.annotation) if field.name in given]
            given[name] = own.annotation(**{field: given.pop(field) for field in names})
    return command(**given)


def _completed(command: Callable[..., object], common: Iterable[str]) -> Callable[..., object]:
    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [p.replace(kind=keyword) for p in parameters_of(command).values()]
    parameters += [
        inspect.Parameter(name, keyword, default=None, annotation=COMMON[name]) for name in common
    ]

    def call(
        *, project_root: Path | None = None, feature: str | None = None, **given: object
    ) -> object:
        with chosen_project(project_root), chosen_feature(feature):
            return call_with(command, given)

    call.__name__, call.__doc__ = command.__name__, command.__doc__
    call.__annotations__ = {p.name: p.annotation for p in parameters}
    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # what inspect reads; mypy has no such field
    return call
