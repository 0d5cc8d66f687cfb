"""`ralph config`: shows and changes the settings."""

from typing import Annotated

import typer

from ralph_tui.cli.completion import setting_names, setting_values
from ralph_tui.cli.console import note, out, out_json, out_table
from ralph_tui.cli.options import AsJson, ProjectRoot, examples
from ralph_tui.cli.project_lookup import find_project, project_directory

app = typer.Typer(name="config", help="Show and change the settings.", rich_markup_mode=None)


@app.command(epilog=examples("ralph config show"))
def show(*, project_root: ProjectRoot = None, as_json: AsJson = False) -> None:
    """Print every setting, its value and where that comes from."""
    from ralph_tui.config.load import load_settings, provenance
    from ralph_tui.config.setting_names import known_keys
    from ralph_tui.config.template import plain_value, yaml_value
    from ralph_tui.engine.control.change_settings import value_of

    root = project_directory(project_root)
    settings, sources = load_settings(root), provenance(root)
    values = {key: value_of(settings, key) for key in known_keys()}
    if as_json:
        out_json({k: {"value": plain_value(v), "source": sources[k]} for k, v in values.items()})
    else:
        rows = ((key, yaml_value(value), sources[key]) for key, value in values.items())
        out_table(("SETTING", "VALUE", "FROM"), rows)


@app.command(epilog=examples("ralph config path"))
def path(project_root: ProjectRoot = None) -> None:
    """Print the settings files, the stronger one last.

    A file that is not there is said so.
    """
    from ralph_tui.config.load import config_paths

    for file in config_paths(project_directory(project_root)):
        out(f"{file}{'' if file.exists() else ' (not there)'}")


@app.command("set", epilog=examples("ralph config set phases.building.max_iterations 50"))
def set_value(
    key: Annotated[
        str,
        typer.Argument(
            metavar="KEY", help="As in `ralph config show`.", autocompletion=setting_names
        ),
    ],
    value: Annotated[
        str,
        typer.Argument(
            metavar="VALUE", help="A list is [one, two].", autocompletion=setting_values
        ),
    ],
    project_root: ProjectRoot = None,
) -> None:
    """Write a setting into the project's file; its comments stay."""
    from ralph_tui.engine.control.change_settings import change_setting

    changed = change_setting(find_project(project_root).root, key, value)
    out(f"{key} = {changed.value}  ({changed.path})")
    if changed.stronger:
        note(f"{changed.stronger} is stronger, so it has no effect while that is set.")
