"""The documents of a project: which file holds which model, and how bytes become models."""

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
from ralph_tui.domain.plan.foreign_plans import (
    ForeignPart,
    foreign_lines,
    foreign_list,
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
from ralph_tui.store.documents.migrations import FIRST_VERSION, migrate, version_of
from ralph_tui.store.io.files import DamagedError
from ralph_tui.store.io.strict_json import (
    decode,
    first_line_object,
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
    """A document is JSON but does not fit its model. The person corrects it."""


class Documents(Model):
    """A snapshot of everything a transaction can change."""

    # Created on demand: plain defaults would build every schema at import.
    state: RalphState = Field(default_factory=RalphState)
    plan: ImplementationPlan = Field(default_factory=ImplementationPlan)
    budget: ContextBudget = Field(default_factory=ContextBudget)
    breaker: CircuitBreaker = Field(default_factory=CircuitBreaker)
    questions: QuestionLog = Field(default_factory=QuestionLog)
    steps: StepLog = Field(default_factory=StepLog)
    project: ProjectFeatures = Field(default_factory=ProjectFeatures)
    feature: str = ""
    """The feature whose documents these are."""
    pending: tuple[Injection, ...] = ()
    unfinished: tuple[str, ...] = ()
    """Names of files that somebody may be writing; their documents are the last valid versions."""

    @property
    def cost_elsewhere(self) -> float:
        """What the project's other features have cost, in US dollars."""
        return self.project.cost_elsewhere(self.feature)

    @property
    def project_cost(self) -> float:
        """What all features have cost, in US dollars: what the limit of the project is about."""
        return plus(self.state.total_cost_usd, self.cost_elsewhere)

    @property
    def requests(self) -> RequestRate:
        """The requests of all features in the last hour."""
        if not self.project.exists:
            return self.state.requests
        return self.state.requests.joined(self.project.requests_elsewhere(self.feature))

    def replacing(self, **documents: object) -> "Documents":
        """Return a copy with these documents in the place of the ones there are; nothing is validated."""
        return self.model_copy(update=documents)

    def with_state(self, **changes: object) -> "Documents":
        """Return a copy whose state has these fields changed; nothing is validated."""
        return self.replacing(state=self.state.model_copy(update=changes))


class Outcome(NamedTuple, Generic[T]):
    """The result of a transaction: the documents, and what its function found out."""

    documents: Documents
    value: T


class Returning(Generic[T]):
    """Adapts a function that returns an `Outcome` to a transaction, which may call it several times."""

    value: T
    """The value of the last call, whose documents were written."""

    def __init__(self, change: Callable[[Documents], Outcome[T]]) -> None:
        """Wrap `change`; there is no value before the first call."""
        self._change = change

    def __call__(self, documents: Documents) -> Documents:
        """Return the changed documents and keep the value."""
        changed, self.value = self._change(documents)
        return changed


class Document(NamedTuple, Generic[R]):
    """One kind of JSON file.

    Attributes:
        name: Its field in `Documents`; also its attribute of `Layout`.
        model: What it holds.
        version: The schema version this ralph writes.
        newest: A later version that it reads and keeps as it is; 0 for none.
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


class Decoded(NamedTuple, Generic[R]):
    """A decoded document; `migrated_from` is its older version, if it had one."""

    value: R
    migrated_from: int | None = None


def decode_document(kind: Document[R], data: bytes, path: Path) -> Decoded[R]:
    """Return the model in a file's bytes.

    Raises:
        DamagedError: The bytes are not a JSON object.
        InvalidDocumentError: The JSON is fine but the document is not: a field is missing or of the
            wrong type, or a plan has what only another tool's plans have.
        StoreError: A newer ralph wrote it.
    """
    raw = _plan_object(data, path) if kind.name == PLAN.name else parse_object(data)
    version = version_of(raw, path)
    if version == kind.newest:
        current = raw
    else:
        current = migrate(raw, document=kind.name, current=kind.version, path=path)
    if kind.name == PLAN.name and (found := foreign_part(current)) is not None:
        raise _foreign(found, raw, decode(data), path)
    try:
        value = kind.model.model_validate(current)
    except ValidationError as error:
        raise InvalidDocumentError(
            _validation_message(error, raw, decode(data), path),
            "Correct the file and try again; it was left as it is.",
        ) from error
    return Decoded(value, version if version < kind.version else None)


def _plan_object(data: bytes, path: Path) -> dict[str, JsonValue]:
    """Return the object in a plan file; tell another tool's list or lines of tasks from damage."""
    try:
        value = parse(data)
    except DamagedError:
        first = first_line_object(data)
        if first is None:
            raise
        raise _foreign(foreign_lines(first), {}, "", path) from None
    if isinstance(value, dict):
        return value
    found = foreign_list(value) if isinstance(value, list) else None
    if found is None:
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
    """Return the bytes of a document, and the model exactly as it will be read back.

    Raises:
        StoreError: The model holds something its own rules forbid (`model_copy` does not check).
    """
    if getattr(value, "schema_version", None) is None:
        value = value.model_copy(update={"schema_version": kind.version})
    data = json_text(value, indent=2).encode() + b"\n"
    try:
        return kind.model.model_validate_json(data), data
    except ValidationError as error:
        message = _validation_message(error, json.loads(data), data.decode(), path)
        raise StoreError(f"Not written: {message}", "This is a defect in ralph.") from error


def synced(documents: Documents) -> Documents:
    """Copy the breaker's summary into the state."""
    breaker, summary = documents.breaker, documents.state.circuit_breaker
    update = {
        "state": breaker.state,
        "failure_count": breaker.failure_count,
        "stagnation_count": breaker.stagnation_count,
    }
    if all(getattr(summary, name) == value for name, value in update.items()):
        return documents
    return documents.with_state(circuit_breaker=summary.model_copy(update=update))


def counted(documents: Documents) -> Documents:
    """Write what the feature has spent into the list of features, if there is one."""
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
        # An older ralph must refuse even after a reset.
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
        # What was spent stays spent: a lost file must not reset the cost limit.
        total_cost=state.total_cost_usd,
    )


def _validation_message(
    error: ValidationError, raw: dict[str, JsonValue], text: str, path: Path
) -> str:
    """Describe the first problem: file, line, task, field, what is wrong, and how many more follow."""
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    first = problems[0]
    place = [part for part in first["loc"] if not _is_union_tag(part)]
    message = first["msg"].replace("Input should", "it should")
    if first["type"] == "missing":
        message = "it is missing"
    where = f"{path} line {line_of(text, place)}"
    more = f" ({len(problems) - 1} more problems follow)" if len(problems) > 1 else ""
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


def _is_union_tag(part: str | int) -> bool:
    """Return whether `part` is a type that pydantic tried, which it puts into the location of a union's error."""
    return part in ("str", "CommandCriterion")


def version_backup(path: Path, version: int) -> Path:
    """Return the path that keeps a document's older version when it is migrated."""
    return path.with_name(f"{path.name}.v{max(version, FIRST_VERSION)}.bak")
