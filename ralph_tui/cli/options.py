"""Options that several commands share, each declared once."""

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Annotated

import typer

from ralph_tui.cli import completion
from ralph_tui.cli.project_lookup import chosen_project

app, whole, programs = typer.Typer(), typer.Typer(), typer.Typer()
"""The commands that work on a feature of a project, on a whole project, and on none."""

ProjectRoot = Annotated[
    Path | None,
    typer.Option(
        "--project-root",
        "-C",
        metavar="PATH",
        help="The project directory. Default: the project that contains the current directory.",
        show_default=False,
    ),
]

Feature = Annotated[
    str | None,
    typer.Option(
        "--feature",
        "-f",
        metavar="NAME",
        help="Work on this feature; `.` is the plan without a name.",
        show_default=False,
        autocompletion=completion.features,
    ),
]

CENT = 0.01
"""The smallest cost limit, in US dollars."""


def yes_option(what: str) -> object:
    return typer.Option("--yes", "-y", help=what)


def cost_option(what: str, name: str = "--max-cost") -> object:
    return typer.Option(name, metavar="USD", min=CENT, help=what)


def model_option(what: str, name: str = "--model") -> object:
    return typer.Option(name, metavar="NAME", help=what)


def examples(*commands: str) -> str:
    """Return the examples at the end of a command's help; the backspace makes Click keep the line breaks."""
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
        typer.Option(
            "--yes",
            "-y",
            help="Approve the specs and the plan automatically, but never the final validation.",
        ),
    ] = False
    no_input: Annotated[
        bool,
        typer.Option(
            "--no-input", help="Ask no questions. The model decides and records its assumptions."
        ),
    ] = False
    allow_unverified: Annotated[
        bool,
        typer.Option(
            "--allow-unverified",
            help="Also build tasks that no check can verify, and mark them as unverified.",
        ),
    ] = False
    no_archive: Annotated[
        bool, typer.Option("--no-archive", help="Do not archive the plan when it is finished.")
    ] = False
    wait: Annotated[
        bool,
        typer.Option("--wait", help="Wait for decisions and answers from another terminal."),
    ] = False
    answers: Annotated[
        Path | None,
        typer.Option(
            "--answers",
            metavar="FILE",
            help="A YAML or JSON file that maps questions, by text or header, to answers.",
        ),
    ] = None
    max_iterations: Annotated[
        int | None,
        typer.Option("--max-iterations", "-n", metavar="N", help="Maximum iterations in this run."),
    ] = None
    timeout: Annotated[
        float | None,
        typer.Option("--timeout", "-t", metavar="MIN", help="Maximum minutes per iteration."),
    ] = None
    rate: Annotated[
        int | None,
        typer.Option(
            "--rate",
            "--rate-limit",
            "-r",
            metavar="N",
            help="Maximum model requests per hour. At the maximum, the run waits.",
        ),
    ] = None
    model: Annotated[
        str | None,
        model_option(
            "The building model; the planning model for discover, plan and regenerate-plan."
        ),
    ] = None
    max_cost: Annotated[
        float | None,
        cost_option("Stop when this run has cost this much."),
    ] = None
    reset_circuit: Annotated[
        bool,
        typer.Option(
            "--reset-circuit", help="Close the circuit breaker first, even during its cool-down."
        ),
    ] = False
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Show what the run would do first. Start nothing."),
    ] = False
    show_prompt: Annotated[
        bool,
        typer.Option("--show-prompt", help="Print the next prompt. Start nothing."),
    ] = False
    verbose: Annotated[
        bool,
        typer.Option(
            "--verbose", "-v", help="Also print the output of tools and checks, as the screen does."
        ),
    ] = False


@dataclass(frozen=True)
class BuildOptions(RunOptions):
    """Options of the commands that build a plan."""

    once: Annotated[
        bool,
        typer.Option("--once", help="Run one iteration. Exit with 0 if its task is complete."),
    ] = False
    prompt: Annotated[
        Path | None,
        typer.Option("--prompt", "-p", metavar="FILE", help="Build with this prompt template."),
    ] = None


@dataclass(frozen=True)
class FromOptions:
    """The options of `ralph init` that belong to `--from`."""

    no_plan: Annotated[
        bool, typer.Option("--no-plan", help="With --from: only save a text as a spec.")
    ] = False
    ask: Annotated[
        bool,
        typer.Option(
            "--ask", help="With --from: let the model ask questions and write specs first."
        ),
    ] = False
    model: Annotated[str | None, model_option("With --from: the model that plans.")] = None
    max_cost: Annotated[float | None, cost_option("With --from: the maximum cost.")] = None
    yes: Annotated[bool, yes_option("Do not ask before writing, or about the cost.")] = False


@contextmanager
def chosen_feature(given: str | None) -> Iterator[None]:
    """Make this process work on the feature that the command line names, if any."""
    if given is None:  # do not import the feature modules to show a help text
        yield
        return
    from ralph_tui.store.feature_choice import named_feature, pinned_feature

    with pinned_feature(named_feature(given)):
        yield


def in_project(app: typer.Typer, *, of_feature: bool = True) -> typer.Typer:
    """Complete the commands of this tree, which work on a project; return the same tree.

    Each gets `--project-root` and, unless it works on the whole project, `--feature`. A parameter that is a dataclass
    becomes an option for each of its fields.
    """
    for group in app.registered_groups:
        if group.typer_instance is not None:
            in_project(group.typer_instance, of_feature=of_feature)
    for command in app.registered_commands:
        if command.callback is not None:
            command.callback = _completed(command.callback, of_feature=of_feature)
    return app


def parameters_of(command: Callable[..., object]) -> dict[str, inspect.Parameter]:
    """Return the parameters of a command by name, with the fields of its groups of options."""
    found: dict[str, inspect.Parameter] = {}
    for name, own in inspect.signature(command, eval_str=True).parameters.items():
        found |= parameters_of(own.annotation) if _is_group(own) else {name: own}
    return found


def _is_group(parameter: inspect.Parameter) -> bool:
    return is_dataclass(parameter.annotation)


def call_with(command: Callable[..., object], given: dict[str, object]) -> object:
    for name, own in inspect.signature(command, eval_str=True).parameters.items():
        if _is_group(own):
            names = [field.name for field in fields(own.annotation) if field.name in given]
            given[name] = own.annotation(**{field: given.pop(field) for field in names})
    return command(**given)


def _completed(command: Callable[..., object], *, of_feature: bool) -> Callable[..., object]:
    kinds = {"project_root": ProjectRoot, **({"feature": Feature} if of_feature else {})}
    keyword = inspect.Parameter.KEYWORD_ONLY
    common = [
        inspect.Parameter(name, keyword, default=None, annotation=kind)
        for name, kind in kinds.items()
    ]
    parameters = [*(p.replace(kind=keyword) for p in parameters_of(command).values()), *common]

    def call(*, project_root: Path | None, feature: str | None = None, **given: object) -> object:
        with chosen_project(project_root), chosen_feature(feature):
            return call_with(command, given)

    call.__name__, call.__doc__ = command.__name__, command.__doc__
    call.__annotations__ = {p.name: p.annotation for p in parameters}
    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # what inspect reads; mypy has no such field
    return call
