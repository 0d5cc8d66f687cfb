"""`ralph config`, `limits` and `steps`: show and change the settings, the limits of a run and the steps around its work."""

import math
from typing import TYPE_CHECKING, Annotated

import typer

from ralph_tui.cli.completion import setting_names
from ralph_tui.cli.console import note, out, out_facts, out_json, out_table
from ralph_tui.cli.options import CENT, AsJson, app, argument, examples, option, whole
from ralph_tui.cli.project_lookup import find_project, owner_of, project_directory, read_project
from ralph_tui.domain.errors import RalphError

if TYPE_CHECKING:
    from ralph_tui.config.settings import Settings
    from ralph_tui.store.project import Project


config = typer.Typer(name="config", help="Show and change the settings.", rich_markup_mode=None)
whole.add_typer(config)


@config.command(epilog=examples("ralph config show"))
def show(*, as_json: AsJson = False) -> None:
    """Print every setting by topic, with its value and source.

    References to environment variables are shown as written.
    """
    from itertools import groupby

    from ralph_tui.config.load import short_source
    from ralph_tui.config.setting_names import topics
    from ralph_tui.config.template import plain_value, yaml_value
    from ralph_tui.engine.control.run_settings import values_and_sources

    root = project_directory()
    found = values_and_sources(root)
    if as_json:
        out_json(
            {
                key: {"value": plain_value(value), "source": source, "topic": topics()[key].name}
                for key, (value, source) in found.items()
            }
        )
        return
    rows: list[tuple[str, ...]] = []
    for name, keys in groupby(topics(), lambda key: topics()[key].name):
        rows += [("", "", ""), (name, "", "")]
        for key in keys:
            value, source = found[key]
            rows.append((key, yaml_value(value), short_source(source, root)))
    out_table(("SETTING", "VALUE", "FROM"), rows)


@config.command("set", epilog=examples("ralph config set phases.building.max_iterations 50"))
def set_value(
    key: Annotated[
        str,
        argument("KEY", "The setting, as in `ralph config show`.", autocompletion=setting_names),
    ],
    value: Annotated[str, argument("VALUE", "The new value. Write a list as [one, two].")],
) -> None:
    """Change a setting in the project's file, keeping its comments."""
    from ralph_tui.engine.control.run_settings import change_setting

    changed = change_setting(find_project().root, key, value)
    out(f"{key} = {changed.value}  ({changed.path})")
    if changed.stronger:
        note(f"{changed.stronger} overrides this value while it is set.")


@app.command(epilog=examples("ralph limits --max-cost 5 --model opus", "ralph limits"))
def limits(
    *,
    max_iterations: Annotated[
        int | None, option("N", "Maximum iterations in this run.", min=1)
    ] = None,
    max_cost: Annotated[float | None, option("USD", "Maximum cost of this run.", min=CENT)] = None,
    iteration_cost: Annotated[
        float | None, option("USD", "Maximum cost of one iteration.", min=CENT)
    ] = None,
    total_cost: Annotated[
        float | None, option("USD", "Maximum cost of the whole project.", min=CENT)
    ] = None,
    model: Annotated[str | None, option("NAME", "The model that builds.")] = None,
    planning_model: Annotated[str | None, option("NAME", "The model that plans.")] = None,
) -> None:
    """Show or change the limits and models of this run.

    New limits apply at once, a new model from the next session on. To change every run, use `ralph config set`.
    """
    from ralph_tui.domain.project_state import Adjusted
    from ralph_tui.engine.control.run_settings import adjust

    project = find_project()
    wanted = Adjusted(
        max_iterations=max_iterations,
        per_iteration=_finite(iteration_cost),
        per_session=_finite(max_cost),
        total=_finite(total_cost),
        model=_model_name(model),
        planning_model=_model_name(planning_model),
    )
    if wanted == Adjusted():
        _show_limits(_effective_settings(project))
        return
    out(f"For this run: {adjust(project.root, wanted).summary}.")


def _finite(typed: float | None) -> float | None:
    if typed is not None and not math.isfinite(typed):
        raise RalphError(f"{typed} is not an amount in dollars.", "Give one, such as 12.50.")
    return typed


def _model_name(typed: str | None) -> str | None:
    if typed is not None and len(typed.split()) != 1:
        raise RalphError(f"{typed!r} is not the name of a model.", "Give one word, such as opus.")
    return typed.strip() if typed else None


def _effective_settings(project: "Project") -> "Settings":
    from ralph_tui.config.load import load_settings
    from ralph_tui.domain.project_state import Adjusted
    from ralph_tui.engine.control.run_settings import adjusted_settings
    from ralph_tui.store.journal.journal import last_run
    from ralph_tui.store.lock import LoopLock

    settings = load_settings(project.root)
    found = last_run(project.layout.events)
    if found is None or LoopLock(project.layout).feature_owner() is None:
        return settings
    begun = found[1]
    given = Adjusted(
        max_iterations=begun.max_iterations, model=begun.model or None, **begun.limits.model_dump()
    )
    return adjusted_settings(
        adjusted_settings(settings, given), read_project(project).state.adjusted
    )


def _show_limits(settings: "Settings") -> None:
    costs = settings.safety.cost_limits
    money = {
        "--max-cost": costs.per_session,
        "--iteration-cost": costs.per_iteration,
        "--total-cost": costs.total,
    }
    out_facts(
        {
            "--max-iterations": str(settings.phases.building.max_iterations),
            **{name: f"${usd:.2f}" if usd else "no limit" for name, usd in money.items()},
            "--model": settings.models.primary,
            "--planning-model": settings.models.planning,
        }
    )


@app.command(
    epilog=examples("ralph steps", 'ralph steps --reset setup --reason "The database is new"')
)
def steps(
    *,
    reset: Annotated[str | None, option("NAME", "Let this step run again. Needs --reason.")] = None,
    reason: Annotated[str | None, option("TEXT", "Why the step runs again.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show the steps around the work, or reset one.

    A reset makes a completed `once` step run again, and closes the step's breaker.
    """
    from ralph_tui.config.load import load_settings
    from ralph_tui.engine.control.step_records import reset_step, step_states
    from ralph_tui.present.text.figures import when, zoned

    if reason is not None and reset is None:
        raise RalphError("--reason belongs to --reset.", "ralph steps --reset NAME --reason TEXT")
    project = find_project()
    settings = load_settings(project.root)
    listed = settings.steps_in_order
    if reset is not None:
        record = reset_step(project.root, listed, reset, reason or "")
        if not as_json:
            out(f"{reset} runs again at the next opportunity: {record.reset_reason}")
            return
    log = read_project(project).steps
    states = step_states(
        project,
        listed,
        log,
        running=owner_of(project) is not None,
        commits=settings.git.commit == "task",
    )
    if as_json:
        out_json([state.model_dump(mode="json") for state in states])
        return
    out_table(
        ("STEP", "TYPE", "WHEN", "STATE", "LAST", "DOES"),
        (
            (
                state.name,
                state.type,
                state.when,
                zoned(state.state),
                f"{state.last_outcome} {when(state.last_at)}"
                if state.last_outcome and state.last_at
                else "",
                state.what,
            )
            for state in states
        ),
    )
