"""Define the documents of a project: the model of each file, and how bytes become models."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from pydantic import Field, JsonValue, ValidationError

from ralph_tui.domain.base import Model, Record
from ralph_tui.domain.costs import plus
from ralph_tui.domain.documents.questions import QUESTIONS_SCHEMA_VERSION, QuestionLog
from ralph_tui.domain.errors import StoreError
from ralph_tui.domain.features import FEATURES_SCHEMA_VERSION, ProjectFeatures
from ralph_tui.domain.formatting import plural
from ralph_tui.domain.plan.foreign_plans import (
    ForeignPart,
    foreign_file,
    foreign_part,
)
from ralph_tui.domain.plan.plan import PLAN_SCHEMA_VERSION, ImplementationPlan
from ralph_tui.domain.project_state import (
    FEATURES_STATE_VERSION,
    STATE_SCHEMA_VERSION,
    BreakerSummary,
    Injection,
    RalphState,
)
from ralph_tui.domain.run.breaker import CircuitBreaker
from ralph_tui.domain.run.context_budget import ContextBudget
from ralph_tui.domain.run.rate_limit import RequestRate
from ralph_tui.domain.run.steps import STEPS_SCHEMA_VERSION, StepLog
from ralph_tui.store.io.files import DamagedError
from ralph_tui.store.io.strict_json import (
    decode,
    is_object_lines,
    json_text,
    line_of,
    parse,
    parse_object,
)

R = TypeVar("R", bound=Record)
T = TypeVar("T")

BREAKER_SCHEMA_VERSION = 1
BUDGET_SCHEMA_VERSION = 1


class InvalidDocumentError(StoreError):
    """A document is valid JSON but does not fit its model. The person must correct it."""


class Documents(Model):
    """A snapshot of everything that a transaction can change."""

    # Created on demand, because plain defaults would build every schema at import.
    state: RalphState = Field(default_factory=RalphState)
    plan: ImplementationPlan = Field(default_factory=ImplementationPlan)
    budget: ContextBudget = Field(default_factory=ContextBudget)
    breaker: CircuitBreaker = Field(default_factory=CircuitBreaker)
    questions: QuestionLog = Field(default_factory=QuestionLog)
    steps: StepLog = Field(default_factory=StepLog)
    project: ProjectFeatures = Field(default_factory=ProjectFeatures)
    feature: str = ""
    """The feature that the documents belong to."""
    pending: tuple[Injection, ...] = ()
    unfinished: tuple[str, ...] = ()
    """Names of files that another program may be writing. Their documents are the last valid versions."""

    @property
    def cost_elsewhere(self) -> float:
        return self.project.cost_elsewhere(self.feature)

    @property
    def project_cost(self) -> float:
        return plus(self.state.total_cost_usd, self.cost_elsewhere)

    @property
    def requests(self) -> RequestRate:
        if not self.project.exists:
            return self.state.requests
        return self.state.requests.joined(self.project.requests_elsewhere(self.feature))

    def replacing(self, **documents: object) -> "Documents":
        return self.model_copy(update=documents)

    def with_state(self, **changes: object) -> "Documents":
        return self.replacing(state=self.state.model_copy(update=changes))


class Outcome(NamedTuple, Generic[T]):
    """The result of a transaction: the documents, and a value that its function returned."""

    documents: Documents
    value: T


class Returning(Generic[T]):
    """Adapts a function that returns an `Outcome` to a transaction, which may call it several times."""

    value: T
    """The value of the last call, whose documents are written."""

    def __init__(self, change: Callable[[Documents], Outcome[T]]) -> None:
        self._change = change

    def __call__(self, documents: Documents) -> Documents:
        changed, self.value = self._change(documents)
        return changed


class Document(NamedTuple, Generic[R]):
    """One kind of JSON file.

    Attributes:
        name: The document's field in `Documents` and attribute of `Layout`.
        version: The schema version that this ralph writes.
        newest: A later version that this ralph also reads and preserves; 0 for none.
    """

    name: str
    model: type[R]
    version: int
    newest: int = 0


STATE = Document("state", RalphState, STATE_SCHEMA_VERSION, FEATURES_STATE_VERSION)
PLAN = Document("plan", ImplementationPlan, PLAN_SCHEMA_VERSION)
BUDGET = Document("budget", ContextBudget, BUDGET_SCHEMA_VERSION)
BREAKER = Document("breaker", CircuitBreaker, BREAKER_SCHEMA_VERSION)
QUESTIONS = Document("questions", QuestionLog, QUESTIONS_SCHEMA_VERSION)
STEPS = Document("steps", StepLog, STEPS_SCHEMA_VERSION)
PROJECT = Document("project", ProjectFeatures, FEATURES_SCHEMA_VERSION)


def decode_document(kind: Document[R], data: bytes, path: Path) -> R:
    """Return the model in a file's bytes.

    Raises:
        DamagedError: The bytes are not a JSON object.
        InvalidDocumentError: A field is missing or has the wrong type, or the plan belongs to another tool.
        StoreError: A newer ralph wrote the document, or its version is no number.
    """
    raw = _plan_object(data, path) if kind.name == PLAN.name else parse_object(data)
    version = raw.get("schema_version", 1)  # a file written by hand has none
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise StoreError(
            f"{path}: schema_version must be a whole number of at least 1, not {version!r}.",
            "Correct the value, or remove the line if you wrote the file by hand.",
        )
    if version > max(kind.version, kind.newest):
        raise StoreError(
            f"{path} was written by a newer ralph (schema version {version}, "
            f"this version supports {kind.version}).",
            "Upgrade ralph-tui. The file was not changed.",
        )
    if kind.name == PLAN.name and (found := foreign_part(raw)) is not None:
        raise _foreign(found, raw, decode(data), path)
    try:
        return kind.model.model_validate(raw)
    except ValidationError as error:
        raise InvalidDocumentError(
            _validation_message(error, raw, decode(data), path),
            "Correct the file and try again. The file was not changed.",
        ) from error


def _plan_object(data: bytes, path: Path) -> dict[str, JsonValue]:
    try:
        value = parse(data)
    except DamagedError:
        if is_object_lines(data):
            why = "has one JSON object on each line"
            raise _foreign(foreign_file(why), {}, "", path) from None
        raise
    if isinstance(value, dict):
        return value
    if (found := foreign_part(value)) is None:
        raise DamagedError("not a JSON object")
    raise _foreign(found, {}, "", path)


def _foreign(
    found: ForeignPart, raw: dict[str, JsonValue], text: str, path: Path
) -> InvalidDocumentError:
    where = f"{path} line {line_of(text, found.place)}" if found.place else str(path)
    task = _task_name(raw, list(found.place)).rstrip(", ")
    return InvalidDocumentError(
        f"{f'{where}: {task}' if task else where} {found.message}.", found.hint
    )


def encode_document(kind: Document[R], value: R, path: Path) -> tuple[R, bytes]:
    """Return a document's model exactly as it will be read back, and its bytes."""
    if getattr(value, "schema_version", None) is None:
        value = value.model_copy(update={"schema_version": kind.version})
    data = json_text(value, indent=2).encode() + b"\n"
    try:
        return kind.model.model_validate_json(data), data
    except ValidationError as error:
        message = _validation_message(error, json.loads(data), data.decode(), path)
        raise StoreError(
            f"Not written: {message}", "This is a bug in ralph. Please report it."
        ) from error


def with_breaker_summary(documents: Documents) -> Documents:
    breaker, summary = documents.breaker, documents.state.circuit_breaker
    update = {
        "state": breaker.state,
        "failure_count": breaker.failure_count,
        "stagnation_count": breaker.stagnation_count,
    }
    if all(getattr(summary, name) == value for name, value in update.items()):
        return documents
    return documents.with_state(circuit_breaker=summary.model_copy(update=update))


def with_feature_costs(documents: Documents) -> Documents:
    project, state = documents.project, documents.state
    if not project.exists:
        return documents
    known = project.of(documents.feature)
    update = {
        "cost_usd": state.total_cost_usd,
        "tokens": state.total_tokens_used,
        "requests": state.requests,
    }
    record = known.model_copy(update=update)
    if not documents.feature and state.schema_version < FEATURES_STATE_VERSION:
        # An older ralph must refuse the project even after a reset.
        documents = documents.with_state(schema_version=FEATURES_STATE_VERSION)
    if record == project.features.get(documents.feature):
        return documents
    return documents.replacing(project=project.replacing(documents.feature, record))


def breaker_from(state: RalphState) -> CircuitBreaker:
    """Return a breaker rebuilt from the state's summary, for a project without `circuit_breaker.json`."""
    if state.circuit_breaker == BreakerSummary() and not state.total_cost_usd:
        return CircuitBreaker()
    return CircuitBreaker(
        state=state.circuit_breaker.state,
        failure_count=state.circuit_breaker.failure_count,
        stagnation_count=state.circuit_breaker.stagnation_count,
        # A lost file must not reset the spent cost.
        total_cost=state.total_cost_usd,
    )


_MESSAGES = {
    "missing": "it is missing",
    "tuple_type": "it must be a list",
    "string_type": "it must be text in quotes",
    "model_type": "it must be an object in braces",
    "model_attributes_type": "it must be an object in braces",
}


def _validation_message(
    error: ValidationError, raw: dict[str, JsonValue], text: str, path: Path
) -> str:
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    first = problems[0]
    place = [part for part in first["loc"] if part not in ("str", "CommandCriterion")]
    said = first["msg"].removeprefix("Value error, ").replace("Input should", "it must")
    message = _MESSAGES.get(first["type"], said)
    where = f"{path} line {line_of(text, place)}"
    more = f" (and {plural(len(problems) - 1, 'more problem')})" if len(problems) > 1 else ""
    task = _task_name(raw, place)
    field = ".".join(str(part) for part in (place[2:] if task else place))
    return f"{where}: {task}field {field!r}: {message}{more}."


def _task_name(raw: dict[str, JsonValue], place: list[str | int]) -> str:
    tasks = raw.get("tasks")
    if len(place) < 2 or place[0] != "tasks" or not isinstance(tasks, list):
        return ""
    index = place[1]
    if not isinstance(index, int) or index >= len(tasks):
        return ""
    task = tasks[index]
    task_id = task.get("id") if isinstance(task, dict) else None
    return f"task {index + 1} ({task_id}), " if task_id else f"task {index + 1}, "
