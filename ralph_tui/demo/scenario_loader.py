"""Load scenario files from YAML, with errors that name file, line and key."""

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

import yaml
from pydantic import ValidationError

from ralph_tui.demo.scenario import Scenario
from ralph_tui.domain.errors import ConfigError

SCENARIOS = Path(__file__).parent / "scenarios"
FIRST = "python"
"""The scenario that `ralph demo` plays by default."""

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the C loader is ten times faster
_HINT = "CONTRIBUTING.md shows how to write a scenario."


def load_scenario(path: Path) -> Scenario:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(
            f"Scenario {path} cannot be read: {error.strerror}.",
            f"Scenarios included with ralph: {', '.join(shipped_scenarios())}.",
        ) from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"Scenario {path} is not UTF-8 text.", _HINT) from error
    return parse_scenario(text, source=str(path))


def shipped_scenario(name: str) -> Path:
    names = shipped_scenarios()
    if name not in names:
        near = get_close_matches(name.lower(), names, 1)
        hint = f"Did you mean {near[0]}?" if near else f"Available demos: {', '.join(names)}."
        raise ConfigError(f"There is no demo named {name!r}.", hint)
    return SCENARIOS / f"{name}.yaml"


def shipped_scenarios() -> tuple[str, ...]:
    names = (path.stem for path in SCENARIOS.glob("*.yaml"))
    return tuple(sorted(names, key=lambda name: (name != FIRST, name)))


def parse_scenario(text: str, source: str = "scenario") -> Scenario:
    loader = _Loader(text)
    try:
        root = loader.get_single_node()
        if not isinstance(root, yaml.MappingNode):
            raise ConfigError(f"{source}: a scenario must be a mapping with `scripts`.", _HINT)
        _refuse_duplicates(root, source)
        data = loader.construct_document(root)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{source}, line {mark.line + 1}" if mark else source
        problem = getattr(error, "problem", None) or error
        raise ConfigError(f"{place}: not valid YAML: {problem}.", _HINT) from error
    finally:
        loader.dispose()
    try:
        return Scenario.model_validate(data)
    except ValidationError as error:
        raise ConfigError(_validation_message(root, source, error), _HINT) from error


def _refuse_duplicates(node: yaml.Node, source: str, seen: set[yaml.Node] | None = None) -> None:
    """Refuse duplicate keys, because YAML silently keeps only the last one."""
    seen = set() if seen is None else seen
    if node in seen:  # an alias, which may be circular
        return
    seen.add(node)
    if isinstance(node, yaml.SequenceNode):
        for item in node.value:
            _refuse_duplicates(item, source, seen)
    elif isinstance(node, yaml.MappingNode):
        keys: set[str] = set()
        for key, value in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode):
                raise ConfigError(f"{source}, line {line}: a key must be a plain word.", _HINT)
            if key.value in keys:
                raise ConfigError(f"{source}, line {line}: `{key.value}` occurs twice.", _HINT)
            keys.add(key.value)
            _refuse_duplicates(value, source, seen)


def _validation_message(root: yaml.Node, source: str, error: ValidationError) -> str:
    worst = max(error.errors(), key=lambda item: len(_locate(root, item["loc"])[1]))
    line, path = _locate(root, worst["loc"])
    message = worst["msg"].removeprefix("Value error, ")
    missing = str(worst["loc"][-1]) if worst["type"] == "missing" else ""
    what = f"`{missing}` is missing" if missing else message[:1].lower() + message[1:]
    if worst["type"] == "extra_forbidden":
        what = "this key does not exist here"
    dotted = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return f"{source}, line {line}, `{dotted.lstrip('.') or 'scenario'}`: {what}."


def _locate(node: yaml.Node, loc: Sequence[int | str]) -> tuple[int, list[int | str]]:
    line, path = node.start_mark.line + 1, []
    for step in loc:
        if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
            node = node.value[step]
            line = node.start_mark.line + 1
        elif isinstance(node, yaml.MappingNode) and (
            pair := next((pair for pair in node.value if pair[0].value == str(step)), None)
        ):
            line, node = pair[0].start_mark.line + 1, pair[1]
        else:
            continue  # the name of a union member, or a missing key
        path.append(step)
    return line, path
