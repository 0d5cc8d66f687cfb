"""`ralph run`, `discover`, `plan`, `regenerate-plan`, `build` and `validate`: run the loop."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from ralph_tui.cli.console import no_screen, out
from ralph_tui.cli.options import BuildOptions, RunOptions, app, argument, examples
from ralph_tui.cli.project_lookup import find_project
from ralph_tui.cli.run.mode import may_prompt, show_run
from ralph_tui.domain.errors import RalphError

if TYPE_CHECKING:
    from ralph_tui.engine.control.launch import Launch
    from ralph_tui.engine.control.request import RunRequest
    from ralph_tui.engine.verification.evidence.examined import Examined


Request = Annotated[
    list[str] | None,
    argument("REQUEST", "What to build. `-` reads standard input, `@FILE` reads a file."),
]
Feedback = Annotated[
    list[str] | None,
    argument("FEEDBACK", "What to change. `-` reads standard input, `@FILE` reads a file."),
]


@app.command(
    epilog=examples(
        'ralph run "A habit tracker" --max-cost 5', "ralph run @request.md --headless --yes"
    )
)
def run(request: Request = None, *, options: BuildOptions) -> None:
    """Discover, plan, build and validate a request.

    Without a request, the run continues from the project's state. It also builds a plan that you wrote by hand.
    """
    _start(request, None, options)


@app.command(epilog=examples('ralph discover "A habit tracker"'))
def discover(request: Request = None, *, options: RunOptions) -> None:
    """Turn a request into specs, asking what is unclear."""
    _start(request, "discovery", options)


@app.command(epilog=examples("ralph plan", 'ralph plan "Smaller tasks, tests first"'))
def plan(feedback: Feedback = None, *, options: RunOptions) -> None:
    """Turn the specs into a plan, or change it with feedback.

    Complete tasks stay. The previous plan is kept in .ralph/session_history.
    """
    _start(feedback, "planning", options)


@app.command(epilog=examples('ralph regenerate-plan "Use sqlite"'))
def regenerate_plan(feedback: Feedback = None, *, options: RunOptions) -> None:
    """Discard the open tasks and plan again.

    Complete tasks stay. The previous plan is kept in .ralph/session_history.
    """
    from ralph_tui.engine.control.request import REPLAN

    _start(feedback or [REPLAN], "planning", options)


@app.command(epilog=examples("ralph build --headless --max-iterations 10"))
def build(*, options: BuildOptions) -> None:
    """Build the plan, one task per iteration.

    The plan is .ralph/implementation_plan.json.
    """
    _start(None, "building", options)


@app.command(epilog=examples("ralph validate --headless"))
def validate(*, options: RunOptions) -> None:
    """Check the result against the criteria of the specs."""
    _start(None, "validation", options)


@app.command(
    epilog=examples(
        'ralph until "npm test"', 'ralph until "make lint" "Fix the causes, no suppressions"'
    )
)
def until(
    command: Annotated[str, argument("COMMAND", "A command that fails now and must pass.")],
    what: Annotated[list[str] | None, argument("WHAT", "What to do, in your words.")] = None,
    *,
    options: BuildOptions,
) -> None:
    """Work until a command passes.

    Ralph runs the command first. If it passes, there is nothing to do, and if it cannot start, the run ends. Otherwise
    the plan gets one task, which is done when the command passes.
    """
    from ralph_tui.cli.run.until import prepare_until
    from ralph_tui.config.load import load_settings

    if options.dry_run or options.show_prompt:
        raise RalphError(
            "--dry-run and --show-prompt show the plan's next task, which `ralph until` has yet to add.",
            "Leave them out.",
        )
    project = find_project()
    settings = load_settings(
        project.root, overrides={**_overrides("building", options), **_BASELINE}
    )
    known = prepare_until(project, settings, command.strip(), " ".join(what or ()))
    if known is None:
        out(f"Nothing to do: `{command.strip()}` passes already.")
        raise typer.Exit
    _start(None, "building", options, known=known)


def _start(
    words: list[str] | None,
    only: str | None,
    options: RunOptions,
    known: "Mapping[str, Examined] | None" = None,
) -> NoReturn:
    """Run a request and exit with its status.

    The request is read only once it is known whether the run has a screen, lines or a dry run.
    """
    command = _COMMANDS[only]

    def launch(*, interactive: bool) -> "Launch":
        from ralph_tui.cli.composition import launch_project
        from ralph_tui.cli.run.background import background_starter

        request = _request(words, only, options, interactive=interactive)
        root = find_project().root
        overrides = _overrides(only, options)
        if known is not None:
            request = replace(request, known=known)
            overrides = {**overrides, **_BASELINE}
        launched = launch_project(root, overrides, request)
        starter = background_starter(
            root, command, _words(options, _BACKGROUND), _words(options, _BACKGROUND_BUILD)
        )
        return replace(launched, continue_in_background=starter)

    if options.dry_run or options.show_prompt:
        raise typer.Exit(_look_ahead(words, only, options))
    raise typer.Exit(
        show_run(
            launch,
            headless=options.headless,
            as_json=options.as_json,
            may_ask=not options.no_input,
            verbose=options.verbose,
        )
    )


def _look_ahead(words: list[str] | None, only: str | None, options: RunOptions) -> int:
    from ralph_tui.cli.run.dry_run_report import show_next_run

    on_screen = not (options.headless or options.as_json) and no_screen() is None
    prompts = may_prompt(as_json=options.as_json, may_ask=not options.no_input)
    request = _request(words, only, options, interactive=on_screen or prompts)
    root = find_project().root
    return show_next_run(
        root,
        _overrides(only, options),
        request,
        facts=options.dry_run,
        prompt=options.show_prompt,
        as_json=options.as_json,
    )


def _request(
    words: list[str] | None, only: str | None, options: RunOptions, *, interactive: bool
) -> "RunRequest":
    from ralph_tui.cli.run.inputs import read_answers, read_prompt, read_request
    from ralph_tui.domain.project_state import Phase
    from ralph_tui.engine.control.request import RunRequest

    return RunRequest(
        text=read_request(words),
        only=Phase(only) if only else None,
        assume_yes=options.yes,
        no_input=options.no_input,
        interactive=interactive or options.wait,
        answers=read_answers(options.answers),
        once=isinstance(options, BuildOptions) and options.once,
        prompt=read_prompt(options.prompt) if isinstance(options, BuildOptions) else None,
        reset_breaker=options.reset_circuit,
    )


_BASELINE = {"phases.building.baseline": True}

_COMMANDS = {
    None: "run",
    "discovery": "discover",
    "planning": "plan",
    "building": "build",
    "validation": "validate",
}
"""The command that runs one phase, or all of them for None."""


def _overrides(only: str | None, options: RunOptions) -> Mapping[str, object]:
    plans = only in ("discovery", "planning")
    return {
        "phases.building.max_iterations": options.max_iterations,
        "phases.building.iteration_timeout_seconds": _seconds(options.timeout),
        "limits.rate_limit_per_hour": options.rate,
        "models.planning" if plans else "models.primary": options.model,
        "safety.cost_limits.per_session": options.max_cost,
        "archive.on_completion": False if options.no_archive else None,
        "phases.building.allow_unverified": options.allow_unverified or None,
    }


def _seconds(minutes: float | None) -> float | None:
    if minutes is not None and not (minutes > 0 and math.isfinite(minutes)):
        raise RalphError(
            f"--timeout takes minutes above 0, not {minutes:g}.", "Give some, such as 15 or 0.5."
        )
    return None if minutes is None else minutes * 60


_BACKGROUND = (
    *("yes", "no_input", "no_archive", "allow_unverified"),
    *("answers", "timeout", "rate", "verbose", "model"),
)
"""The options that a run keeps in the background. Its limits are what is left of them."""

_BACKGROUND_BUILD = ("once", "prompt")


def _words(options: RunOptions, names: Iterable[str]) -> list[str]:
    words: list[str] = []
    for name in names:
        value = getattr(options, name, None)
        if value is not None and value is not False:
            words.append(f"--{name.replace('_', '-')}")
        if value is not None and not isinstance(value, bool):
            words.append(str(value.resolve() if isinstance(value, Path) else value))
    return words
