"""Render the settings as text: the commented template and the tables in docs/settings.md."""

from collections.abc import Iterator, Mapping

from pydantic import BaseModel

from ralph_tui.config.setting_names import description, known_keys, topics

_HEADER = """\
# Settings of this project. Each commented setting shows its default. Uncomment the line to change it.
# Later sources win: defaults < ~/.ralph/config.yaml < this file < RALPH_* variables < command line.
# ${NAME} and ${NAME:-default} in a value are replaced by an environment variable. $${ is a plain ${.
# `ralph config show` prints each value and where it comes from.
# A name can also be written as sections: `models.primary: opus` is the same as `models:` with `primary: opus` indented below it.
# To complete names in an editor, run `ralph schema config > .ralph/config.schema.json` and make this the first line of the file:
# `# yaml-language-server: $schema=config.schema.json`
"""


def template() -> str:
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
    """Return a setting's value as JSON data. Fields of a model that have their default are left out."""
    if isinstance(value, BaseModel):
        return plain_value(value.model_dump(exclude_defaults=True))
    if isinstance(value, Mapping):
        return {str(name): plain_value(part) for name, part in value.items()}
    return [plain_value(part) for part in value] if isinstance(value, tuple | list) else value


def yaml_value(value: object) -> str:
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
