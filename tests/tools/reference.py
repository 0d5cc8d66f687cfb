"""Write the reference pages from the code: `uv run python -m tests.tools.reference`.

Commands come from the command tree, the fields of plans and events from their JSON Schemas.
"""

import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any

import typer
from typer.core import TyperGroup

from ralph_tui.cli.app import GROUPS, command_tree
from ralph_tui.cli.json_schemas import json_schema
from ralph_tui.config.load import VARIABLES
from ralph_tui.config.setting_names import description, known_keys, topics
from ralph_tui.config.template import yaml_value
from ralph_tui.present.text.key_hints import key_label
from ralph_tui.tui.commands.command import Command
from ralph_tui.tui.commands.registry import DEFAULT_KEYS, EVERY, MOVES, name_of
from tests.tools.house import ROOT

DOCS = ROOT / "docs"
NOTE = "<!-- Generated: `uv run python -m tests.tools.reference` -->\n"

PLAN_HEAD = """\
The plan is `.ralph/implementation_plan.json`. The plan requires only `tasks`, and a task requires only an `id`. Ralph writes everything else. You
can edit the file while ralph runs. `ralph schema plan` prints its JSON Schema. See [Schemas](schemas.md).
"""

EVENTS_HEAD = """\
Each line of `.ralph/events.jsonl`, and of the output of a run with `--json`, is one event. `type` names the kind of event. Every event also has
`time` and `seq`, its number in the journal. A newer ralph may add events and fields, so ignore those you do not know. `ralph schema events`
prints the JSON Schema. See [Schemas](schemas.md).
"""

Schema = Mapping[str, Any]


def commands_page() -> str:
    root = command_tree()
    parts = [
        f"# Commands\n\n{NOTE}",
        "`ralph help COMMAND` prints the help of one command. Options can come before or after the arguments.\n",
        *_of_command("ralph", root, level=2),
    ]
    grouped = {name for names in GROUPS.values() for name in names}
    others = [name for name in root.commands if name not in grouped]
    last = list(GROUPS)[-1]
    for title, names in GROUPS.items():
        parts.append(f"## {title}\n")
        for name in (*names, *(others if title == last else ())):
            if not root.commands[name].hidden:
                parts += _of_command(f"ralph {name}", root.commands[name], level=3)
    return "\n".join(parts).rstrip() + "\n"


def _of_command(line: str, command: Any, *, level: int) -> Iterator[str]:
    yield f"{'#' * level} {line}\n"
    about, examples = _help_and_examples(command)
    yield f"{about}\n"
    shown = [p for p in command.params if not getattr(p, "hidden", False) and p.name != "help"]
    arguments = [p for p in shown if p.param_type_name == "argument"]
    options = [p for p in shown if p.param_type_name == "option"]
    group = isinstance(command, TyperGroup)
    context = typer.Context(command, info_name=line, **command_tree().context_settings)
    yield f"```text\n{' '.join([line, *command.collect_usage_pieces(context)])}\n```\n"
    records = [p.get_help_record(context) for p in (*arguments, *options)]
    if rows := [(f"`{_plain(record[0])}`", record[1]) for record in records if record]:
        yield "| Argument or option | Meaning |\n| --- | --- |"
        yield from (f"| {name} | {_cell(text or '')} |" for name, text in rows)
        yield ""
    if examples:
        yield "```sh\n" + "\n".join(examples) + "\n```\n"
    if group and level > 1 and line != "ralph":
        for name, inner in command.commands.items():
            yield from _of_command(f"{line} {name}", inner, level=level + 1)


def _help_and_examples(command: Any) -> tuple[str, list[str]]:
    about = re.sub(r"(?<!\n)\n(?!\n)", " ", (command.help or "").replace("\x08", "").strip())
    lines = (command.epilog or "").replace("\x08", "").splitlines()
    return about, [line.removeprefix("Example: ") for line in lines if line.startswith("Example: ")]


def _plain(names: str) -> str:
    return re.sub(r" <[\w\[\]]+>", "", " ".join(names.split())).replace("|", "\\|")


def plan_page() -> str:
    schema = json_schema("plan")
    parts = [
        f"# Plan file\n\n{NOTE}",
        PLAN_HEAD,
        "## The plan\n",
        *_fields(schema, {"$schema"}),
    ]
    parts += _definitions(schema, ("Task",))
    others = sorted(set(schema["$defs"]) - {"Task"})
    parts += _definitions(schema, others)
    return "\n".join(parts).rstrip() + "\n"


def events_page() -> str:
    schema = json_schema("events")
    kinds = schema["discriminator"]["mapping"]
    parts = [
        f"# Events\n\n{NOTE}",
        EVENTS_HEAD,
        "| Event | When |\n| --- | --- |",
    ]
    events = {name: ref.rsplit("/", 1)[1] for name, ref in kinds.items()}
    for name, place in events.items():
        about = schema["$defs"][place].get("description", "").split("\n")[0]
        parts.append(f"| [`{name}`](#{name}) | {_cell(about)} |")
    parts.append("")
    for name, place in events.items():
        parts.append(f"## {name}\n")
        parts.append(f"{_text(schema['$defs'][place].get('description', ''))}\n")
        parts += _fields(schema["$defs"][place], {"type", "seq", "time"})
    parts.append("## Types of fields\n")
    others = sorted(set(schema["$defs"]) - set(events.values()))
    parts += _definitions(schema, others, level=3)
    return "\n".join(parts).rstrip() + "\n"


def _definitions(schema: Schema, names: Iterable[str], *, level: int = 2) -> Iterator[str]:
    for name in names:
        place = schema["$defs"][name]
        if not place.get("properties") and not place.get("enum"):
            continue
        yield f"{'#' * level} {name}\n"
        if place.get("description"):
            yield f"{_text(place['description'])}\n"
        if place.get("enum"):
            yield f"One of {', '.join(f'`{value}`' for value in place['enum'])}.\n"
        else:
            yield from _fields(place, set())


def _fields(place: Schema, without: set[str]) -> Iterator[str]:
    fields = {n: f for n, f in place.get("properties", {}).items() if n not in without}
    if not fields:
        return
    needed = place.get("required", ())
    yield "| Field | Type | Meaning |\n| --- | --- | --- |"
    for name, field in fields.items():
        about = _cell(field.get("description", ""))
        if name in needed:
            about = f"Required. {about}".strip()
        yield f"| `{name}` | {_kind(field)} | {about} |"
    yield ""


def _kind(field: Schema) -> str:
    if "$ref" in field:
        return str(field["$ref"].rsplit("/", 1)[1])
    for several in ("anyOf", "oneOf"):
        if several in field:
            kinds = [_kind(one) for one in field[several]]
            return " or ".join(dict.fromkeys(kind for kind in kinds if kind != "null"))
    if "allOf" in field:
        return _kind(field["allOf"][0])
    if "const" in field:
        return f"`{field['const']}`"
    if "enum" in field:
        return ", ".join(f"`{value}`" for value in field["enum"])
    kind = field.get("type", "any value")
    if kind == "array" and "prefixItems" in field:
        return f"list of {len(field['prefixItems'])}"
    if kind == "array":
        inside = field.get("items")
        return f"list of {_kind(inside)}" if isinstance(inside, Mapping) and inside else "list"
    return "time" if field.get("format") == "date-time" else str(kind)


def _text(text: str) -> str:
    return text.replace("<", "\\<")


def _cell(text: str) -> str:
    return _text(" ".join(text.split())).replace("|", "\\|")


def settings_tables() -> str:
    """Return a Markdown table for each topic, with each setting's default, variable and meaning."""
    variables = {key: name for name, key in VARIABLES.items()}
    lines: list[str] = []
    for topic, keys in groupby(topics(), lambda key: topics()[key]):
        lines += [*([""] if lines else []), f"## {topic.name}", "", topic.about, ""]
        lines += ["| Setting | Default | Variable | Meaning |", "| --- | --- | --- | --- |"]
        for key in keys:
            default = yaml_value(known_keys()[key].get_default(call_default_factory=True))
            variable = f"`{variables[key]}`" if key in variables else ""
            lines.append(f"| `{key}` | `{default}` | {variable} | {description(key)} |")
    return "\n".join(lines)


def _menu_of(command: Command) -> str:
    return f"in the menu of `{DEFAULT_KEYS.label(command.within)}`"


def key_table() -> str:
    """Return the table of keys in docs/keys.md, as Markdown, with the names that `screen.keys` knows."""
    rows = [
        (
            " ".join(f"`{key_label(key)}`" for key in c.keys) or _menu_of(c),
            f"`{name_of(c)}`",
            f"{c.title}. {DEFAULT_KEYS.said(c.help)}",
        )
        for c in EVERY
    ]
    rows += [(" ".join(f"`{key}`" for key in keys.split()), "", f"{text}.") for keys, text in MOVES]
    return "\n".join(
        [
            "| Key | Name | What it does |",
            "| --- | --- | --- |",
            *(f"| {' | '.join(row)} |" for row in rows),
        ]
    )


PAGES = {"commands.md": commands_page, "plan.md": plan_page, "events.md": events_page}


def main() -> int:
    for name, page in PAGES.items():
        (DOCS / name).write_text(page(), encoding="utf-8")
        sys.stdout.write(f"{DOCS / name}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
