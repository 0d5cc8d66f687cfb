"""Hypothesis strategies for the domain."""

from collections.abc import Mapping
from datetime import UTC, datetime
from enum import Enum
from types import UnionType
from typing import Annotated, Literal, Union, cast, get_args, get_origin

from annotated_types import Ge, MinLen
from hypothesis import strategies as st
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from ralph_tui.domain.events import KINDS, Event
from ralph_tui.domain.plan.plan import ImplementationPlan, Task, TaskStatus

IDS = [f"t{n}" for n in range(8)]

tasks = st.builds(
    Task,
    id=st.sampled_from(IDS),
    priority=st.integers(1, 4),
    status=st.sampled_from(TaskStatus),
    dependencies=st.lists(st.sampled_from([*IDS, "unknown"]), max_size=3).map(tuple),
)


@st.composite
def acyclic_plans(draw: st.DrawFn) -> ImplementationPlan:
    """Workable plans: unique ids, each task depends on earlier ones only, in shuffled order."""
    count = draw(st.integers(0, len(IDS)))
    made: list[Task] = []
    for number in range(count):
        earlier = [t.id for t in made]
        deps = draw(st.lists(st.sampled_from(earlier), unique=True)) if earlier else []
        task = draw(tasks)
        made.append(task.model_copy(update={"id": IDS[number], "dependencies": tuple(deps)}))
    return ImplementationPlan(tasks=tuple(draw(st.permutations(made))))


any_plans = st.builds(ImplementationPlan, tasks=st.lists(tasks, max_size=8).map(tuple))


def _values(annotation: object) -> st.SearchStrategy[object]:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _from(arguments[0], _least(arguments[1:]))
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin in (Union, UnionType):
        return st.one_of(*[_values(a) for a in arguments])
    if origin is tuple:
        if arguments[-1] is Ellipsis:
            return st.lists(_values(arguments[0]), max_size=2).map(tuple)
        return st.tuples(*[_values(a) for a in arguments])
    if origin in (dict, Mapping):
        nested = get_origin(arguments[1]) is tuple
        values = _values(arguments[1]) if nested else st.text(max_size=5)  # else JSON
        return st.dictionaries(st.text(max_size=3), values, max_size=2)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return models(annotation)
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return st.sampled_from(annotation)
    return _SIMPLE[annotation]


def _least(metadata: tuple[object, ...]) -> int:
    stated = [m for f in metadata if isinstance(f, FieldInfo) for m in f.metadata]
    return max((int(cast("int", m.ge)) for m in stated if isinstance(m, Ge)), default=0)


def _from(kind: object, least: int) -> st.SearchStrategy[object]:
    return st.integers(least, 1_000_000) if kind is int and least else _values(kind)


_SIMPLE: dict[object, st.SearchStrategy[object]] = {
    int: st.integers(0, 1_000_000),
    float: st.floats(0, 1_000),
    str: st.text(max_size=8),
    bool: st.booleans(),
    datetime: st.datetimes(timezones=st.just(UTC)),
    type(None): st.none(),
}


def models(kind: type[BaseModel]) -> st.SearchStrategy[BaseModel]:
    return st.builds(kind, **{n: _of_field(f) for n, f in kind.model_fields.items()})


def _of_field(field: FieldInfo) -> st.SearchStrategy[object]:
    shortest = max((m.min_length for m in field.metadata if isinstance(m, MinLen)), default=0)
    if field.annotation is str:
        return st.text(min_size=shortest, max_size=8)
    if field.annotation is int:
        least = max(
            (int(cast("int", m.ge)) for m in field.metadata if isinstance(m, Ge)), default=0
        )
        return st.integers(least, 1_000_000)
    return _values(field.annotation)


events = cast("st.SearchStrategy[Event]", st.one_of(*[models(kind) for kind in KINDS]))
"""Any event of the union, every field drawn."""
