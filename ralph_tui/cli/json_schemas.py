"""Generates the JSON Schemas of ralph's files for editors and other programs."""

import ast
import inspect
import json
import textwrap
from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from typing import Any, Final

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

NAMES: Final = ("plan", "config", "events")

_TITLES: Mapping[str, tuple[str, str]] = {
    "plan": ("The plan of ralph", ".ralph/implementation_plan.json"),
    "config": ("The settings of ralph", ".ralph/config.yaml"),
    "events": ("An event of ralph", "one line of .ralph/events.jsonl or of `--json`"),
}

_REFERENCE: JsonSchemaValue = {"type": "string", "pattern": r"\$\{"}
"""A reference to an environment variable, allowed for every setting that is not text."""


def json_schema(name: str) -> dict[str, Any]:
    title, file = _TITLES[name]
    generator = _SettingsGenerator if name == "config" else _DescribedGenerator
    made = _adapter_of(name).json_schema(ref_template="#/$defs/{model}", schema_generator=generator)
    head = {"$schema": GenerateJsonSchema.schema_dialect, "title": title}
    # Editors show the description, so name the file in it.
    made["description"] = f"{title}: {file}."
    if name == "config":
        made["properties"] |= _flat(made)
    if name == "plan":
        made["properties"]["$schema"] = {
            "type": "string",
            "description": "Where this schema is, for editors; ralph keeps it.",
        }
    return {**head, **{key: value for key, value in made.items() if key != "title"}}


def _flat(made: dict[str, Any]) -> dict[str, JsonSchemaValue]:
    """Return references for the dotted names of the settings, which a file may use instead of sections."""
    from ralph_tui.config.setting_names import known_keys

    flat: dict[str, JsonSchemaValue] = {}
    for key in known_keys():
        place = "#"
        for part in key.split("."):
            node = made
            for step in place.split("/")[1:]:
                node = node[step]
            place = f"{node.get('$ref', place)}/properties/{part}"
        if "." in key:
            flat[key] = {"$ref": place}
    return flat


def schema_text(name: str) -> str:
    return json.dumps(json_schema(name), indent=2, ensure_ascii=False) + "\n"


def _adapter_of(name: str) -> TypeAdapter[Any]:
    if name == "plan":
        from ralph_tui.domain.plan.plan import ImplementationPlan

        return TypeAdapter(ImplementationPlan)
    if name == "config":
        from ralph_tui.config.settings import Settings

        return TypeAdapter(Settings)
    from ralph_tui.domain.events import EVENT

    return EVENT


class _DescribedGenerator(GenerateJsonSchema):
    """Takes descriptions from the docstrings of classes and of their fields."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        """Leave out titles, which would only repeat the field's name."""
        del schema
        return False

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        made = super().model_schema(schema)
        fields: dict[str, JsonSchemaValue] = made.get("properties", {})
        about = field_docstrings(schema["cls"])
        for name, field in fields.items():
            if name in about:
                field.setdefault("description", about[name])
        if text := inspect.getdoc(schema["cls"]):
            made["description"] = _plain(text)
        if "const" in fields.get("type", {}):  # it identifies the event of a line
            made["required"] = ["type", *made.get("required", ())]
        return made


class _SettingsGenerator(_DescribedGenerator):
    """Also accepts `${NAME}` for every setting that is not text."""

    def generate_inner(self, schema: Any) -> JsonSchemaValue:
        made = super().generate_inner(schema)
        may_be = schema["type"] in ("int", "float", "bool", "literal")
        return {"anyOf": [made, _REFERENCE]} if may_be else made


def field_docstrings(model: type) -> dict[str, str]:
    found: dict[str, str] = {}
    for part in reversed(model.__mro__):
        if part.__module__.startswith("ralph_tui."):
            found |= _own_docstrings(part)
    return found


@cache
def _own_docstrings(model: type) -> dict[str, str]:
    """Read the source of a class, once for all that inherit from it."""
    found: dict[str, str] = {}
    tree = ast.parse(textwrap.dedent(inspect.getsource(model)))
    body = tree.body[0].body if isinstance(tree.body[0], ast.ClassDef) else []
    for field, after in pairwise(body):
        if not (isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)):
            continue
        if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
            text = after.value.value
            if isinstance(text, str):
                found[field.target.id] = _plain(text)
    return found


def _plain(text: str) -> str:
    return "\n\n".join(" ".join(part.split()) for part in text.strip().split("\n\n"))
