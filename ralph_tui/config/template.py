"""Writes the settings as text for people: the commented template and the table in docs/settings.md."""

from collections.abc import Iterator, Mapping

from pydantic import BaseModel

from ralph_tui.config.env_vars import VARIABLES
from ralph_tui.config.setting_names import description, known_keys, topics

_HEADER = """\
# Settings of this project. Every line that is commented out shows its default.
# Order: defaults < ~/.ralph/config.yaml < this file < RALPH_* variables < command line.
# ${NAME} and ${NAME:-default} in a value stand for an environment variable, $${ for a plain ${.
# `ralph config show` prints each value and where it comes from.
# A name may also be written as sections: `models.primary: opus` is the same as `models:` with `primary: opus` indented below it.
# So that an editor completes this file: `ralph schema config > .ralph/config.schema.json`, and above everything else the line
# `# yaml-language-server: $schema=config.schema.json`
"""


def template() -> str:
    """Return a settings file with every setting, described and commented out."""
    return _HEADER + "\n".join(_template_lines()) + "\n"


def _template_lines() -> Iterator[str]:
    last = None
    for key, topic in topics().items():
        if topic is not last:
            last = topic
            yield from ("", f"## {topic.name}: {topic.about}")
        default = known_keys()[key].get_default(call_default_factory=True)
        yield f"# {key}: {yaml_value(default)}  # {description(key)}"


def plain_value(value: object) -> object:
    """Return a setting's value as JSON; of a server, only what was given."""
    if isinstance(value, BaseModel):
        return plain_value(value.model_dump(exclude_defaults=True))
    if isinstance(value, Mapping):
        return {str(name): plain_value(part) for name, part in value.items()}
    return [plain_value(part) for part in value] if isinstance(value, tuple | list) else value


def yaml_value(value: object) -> str:
    """Return a setting's value as it would stand in the YAML file, on one line."""
    if isinstance(value, BaseModel | Mapping):
        inside = plain_value(value)
        assert isinstance(inside, dict)
        parts = (f"{yaml_value(name)}: {yaml_value(part)}" for name, part in inside.items())
        return f"{{{', '.join(parts)}}}"
    if isinstance(value, tuple | list):
        return f"[{', '.join(map(yaml_value, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    short = f"{value:g}" if isinstance(value, float) else str(value)
    return short if not isinstance(value, float) or float(short) == value else repr(value)


def markdown_tables() -> str:
    """Return every setting with its default, its variable and its meaning, in a table for each topic."""
    variables = {key: name for name, key in VARIABLES.items()}
    lines: list[str] = []
    last = None
    for key, topic in topics().items():
        if topic is not last:
            last = topic
            lines += [
                *([""] if lines else []),
                *(f"## {topic.name}", "", topic.about, ""),
                *("| Setting | Default | Variable | Meaning |", "| --- | --- | --- | --- |"),
            ]
        default = yaml_value(known_keys()[key].get_default(call_default_factory=True))
        variable = f"`{variables[key]}`" if key in variables else ""
        lines.append(f"| `{key}` | `{default}` | {variable} | {description(key)} |")
    return "\n".join(lines)
