"""Commands about the settings."""

import typer

from ralph_tui.cli.here import start_directory
from ralph_tui.cli.options import AsJson, ProjectRoot, examples
from ralph_tui.cli.say import out, out_json, out_table

config = typer.Typer(help="Show the settings and where they come from.", rich_markup_mode=None)


@config.command(epilog=examples("ralph config show"))
def show(*, project_root: ProjectRoot = None, as_json: AsJson = False) -> None:
    """Print every setting, its value and where that comes from."""
    from ralph_tui.config.document import yaml_value
    from ralph_tui.config.keys import known_keys
    from ralph_tui.config.load import load_settings, provenance

    root = start_directory(project_root)
    settings, sources = load_settings(root), provenance(root)
    values = {key: _value(settings, key) for key in known_keys()}
    if as_json:
        out_json({k: {"value": v, "source": sources[k]} for k, v in values.items()})
    else:
        rows = ((key, yaml_value(value), sources[key]) for key, value in values.items())
        out_table(("SETTING", "VALUE", "FROM"), rows)


@config.command(epilog=examples("ralph config path"))
def path(project_root: ProjectRoot = None) -> None:
    """Print the settings files, the stronger one last, whether they exist or not."""
    from ralph_tui.config.load import config_paths

    for file in config_paths(start_directory(project_root)):
        out(f"{file}{'' if file.exists() else ' (not there)'}")


def _value(settings: object, key: str) -> object:
    for part in key.split("."):
        settings = getattr(settings, part)
    return settings


def register(app: typer.Typer) -> None:
    """Add these commands."""
    app.add_typer(config, name="config")
