"""Commands about the settings."""

from typing import Annotated

import typer

from ralph_tui.cli.here import find_project, start_directory
from ralph_tui.cli.options import AsJson, ProjectRoot, examples
from ralph_tui.cli.say import note, out, out_json, out_table
from ralph_tui.domain.errors import ConfigError

config = typer.Typer(help="Show and change the settings.", rich_markup_mode=None)


@config.command(epilog=examples("ralph config show"))
def show(*, project_root: ProjectRoot = None, as_json: AsJson = False) -> None:
    """Print every setting, its value and where that comes from."""
    from ralph_tui.config.document import plain_value, yaml_value
    from ralph_tui.config.keys import known_keys
    from ralph_tui.config.load import load_settings, provenance

    root = start_directory(project_root)
    settings, sources = load_settings(root), provenance(root)
    values = {key: _value(settings, key) for key in known_keys()}
    if as_json:
        out_json({k: {"value": plain_value(v), "source": sources[k]} for k, v in values.items()})
    else:
        rows = ((key, yaml_value(value), sources[key]) for key, value in values.items())
        out_table(("SETTING", "VALUE", "FROM"), rows)


@config.command(epilog=examples("ralph config path"))
def path(project_root: ProjectRoot = None) -> None:
    """Print the settings files, the stronger one last, whether they exist or not."""
    from ralph_tui.config.load import config_paths

    for file in config_paths(start_directory(project_root)):
        out(f"{file}{'' if file.exists() else ' (not there)'}")


@config.command("set", epilog=examples("ralph config set phases.building.max_iterations 50"))
def set_value(
    key: Annotated[str, typer.Argument(metavar="KEY", help="As in `ralph config show`.")],
    value: Annotated[str, typer.Argument(metavar="VALUE", help="A list is [one, two].")],
    project_root: ProjectRoot = None,
) -> None:
    """Write a setting into the project's file; its comments stay."""
    from ralph_tui.config.document import yaml_value
    from ralph_tui.config.edit import with_setting
    from ralph_tui.config.load import load_settings, provenance
    from ralph_tui.config.yamlfile import read_text
    from ralph_tui.store.files import write_atomic

    project = find_project(project_root)
    path = project.layout.config
    # As a command line value it is checked by the same rules, and with all the other layers.
    settings = load_settings(project.root, overrides={key: _given(key, value)})
    checked = _value(settings, key)
    write_atomic(path, with_setting(read_text(path), key, checked, path).encode())
    source = provenance(project.root)[key]
    out(f"{key} = {yaml_value(checked)}  ({path})")
    if not source.startswith(f"{path}:"):
        note(f"{source} is stronger, so it has no effect while that is set.")


def _given(key: str, value: str) -> object:
    """A value as it would stand in the file: a list or a mapping may be written as one."""
    from ralph_tui.config.keys import is_mapping, known_keys

    field = known_keys().get(key)
    mapping = field is not None and is_mapping(key)
    default = field.get_default(call_default_factory=True) if field else None
    if not isinstance(default, tuple | dict):
        return value
    import yaml

    try:
        found = yaml.load(value, Loader=yaml.BaseLoader)  # noqa: S506  (the base loader makes text only)
    except yaml.YAMLError as error:
        kind, form = ("mapping", "{name: value}") if mapping else ("list", "[one, two]")
        raise ConfigError(f"{key}: {value!r} is not a {kind}.", f"Write it as {form}.") from error
    if mapping:
        return found
    return tuple(found) if isinstance(found, list) else (value,)


def _value(settings: object, key: str) -> object:
    for part in key.split("."):
        settings = getattr(settings, part)
    return settings


def register(app: typer.Typer) -> None:
    """Add these commands."""
    app.add_typer(config, name="config")
