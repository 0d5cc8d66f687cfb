"""The fields of a task as they are typed, and what was meant by them. Pure functions."""

import re
from typing import NamedTuple

from ralph_tui.domain.plan.plan import Task
from ralph_tui.domain.sanitize import inert
from ralph_tui.domain.verification.verification import runnable_command
from ralph_tui.engine.plan_fields import TaskFields
from ralph_tui.tui.render.spans import flat


class Typed(NamedTuple):
    """The fields as they are typed."""

    description: str = ""
    criteria: str = ""
    dependencies: str = ""
    priority: str = ""
    tokens: str = ""
    model: str = ""


class Wrong(NamedTuple):
    """What cannot be meant: the field, and a sentence."""

    field: str
    why: str


def typed_of(task: Task) -> Typed:
    """The fields of a task as somebody would type them."""
    return Typed(
        inert(task.description),
        "\n".join(_lines(task)),
        ", ".join(flat(dep) for dep in task.dependencies),
        str(task.priority),
        str(task.estimated_tokens or ""),
        flat(task.model or ""),
    )


def _lines(task: Task) -> list[str]:
    """Criteria as they can be typed: a command as itself, prose as it is."""
    return [
        inert(runnable_command(c) or (c if isinstance(c, str) else c.description)).replace(
            "\n", " "
        )
        for c in task.verification_criteria
    ]


def meant(before: Typed, now: Typed) -> TaskFields | Wrong:
    """What is to change, with None for what does not; or the first field that is wrong."""
    description = now.description.strip()
    if not description:
        return Wrong("description", "A task needs a description.")
    changed = {name for name in Typed._fields if getattr(now, name) != getattr(before, name)}
    priority = _whole(now.priority)
    if priority is None and (before.priority or now.priority.strip()):
        return Wrong("priority", "A priority is a whole number; lower is sooner.")
    tokens = _tokens(now.tokens)
    if tokens is None:
        return Wrong("tokens", "Tokens are a whole number, such as 30000 or 30k, or nothing.")
    lines = tuple(line.strip() for line in now.criteria.splitlines() if line.strip())
    waits = tuple(part.strip() for part in now.dependencies.split(",") if part.strip())
    return TaskFields(
        description=description if description != before.description.strip() else None,
        priority=priority if "priority" in changed else None,
        criteria=lines if "criteria" in changed else None,
        dependencies=waits if "dependencies" in changed else None,
        model=now.model.strip() if "model" in changed else None,
        tokens=tokens if "tokens" in changed else None,
    )


def _whole(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None


_TOKENS = re.compile(r"([0-9]{1,9})(k?)", re.ASCII | re.IGNORECASE)


def _tokens(text: str) -> int | None:
    """How many are meant, 0 where nothing is typed; None for what is no number of tokens."""
    bare = re.sub(r"[\s,_]", "", text)
    if not bare:
        return 0
    found = _TOKENS.fullmatch(bare)
    return int(found[1]) * (1000 if found[2] else 1) if found else None
