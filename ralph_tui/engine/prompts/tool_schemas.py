"""Define the `ralph_*` tools: their schemas, validated inputs and common answers."""

import json
from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

from ralph_tui.domain.documents.validation_report import SpecResult
from ralph_tui.domain.plan.plan import ImplementationPlan, Task
from ralph_tui.domain.plan.plan_validation import MAX_ID
from ralph_tui.domain.project_state import Phase
from ralph_tui.domain.sanitize import inert, one_line
from ralph_tui.domain.tool_calls import ToolAnswer
from ralph_tui.domain.verification.review import CriterionReview
from ralph_tui.engine.core.ports import ToolSpec

TEXT_LIMIT = 4_000


class ToolInput(BaseModel):
    """Base of tool inputs: unknown fields are a mistake the model can correct."""

    model_config = ConfigDict(extra="forbid", str_strip_whitespace=True)


class NoInput(ToolInput):
    """No fields."""


class TaskRef(ToolInput):
    """A task by id."""

    task_id: str = Field(min_length=1, max_length=MAX_ID)


class Claim(TaskRef):
    """A claim that a task is complete."""

    verification_notes: str = Field("", max_length=TEXT_LIMIT)


class Block(TaskRef):
    """Why a task cannot be completed."""

    reason: str = Field(min_length=1, max_length=TEXT_LIMIT)


class Learning(ToolInput):
    """Something later sessions should know."""

    learning: str = Field(min_length=1, max_length=TEXT_LIMIT)
    category: Literal["pattern", "antipattern", "architecture", "debugging", "build"]


class SubmitLearnings(ToolInput):
    """Learnings in the place of all that were given."""

    learnings: list[Learning] = Field(min_length=1, max_length=500)


class NewTask(ToolInput):
    """A task for the plan."""

    id: str = Field(min_length=1, max_length=100, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")
    description: str = Field(min_length=1, max_length=TEXT_LIMIT)
    priority: int = Field(100, ge=1, le=10_000)
    dependencies: list[str] = []
    verification_criteria: list[str] = Field(min_length=1)
    estimated_tokens: int | None = Field(None, ge=0)


class PlannedTask(NewTask):
    """A task of a plan."""

    asks_to_change_checks: bool = False
    touches: list[str] = Field([], max_length=100)
    shows: Literal["", "kept"] = ""


class SubmitPlan(ToolInput):
    """All tasks of a plan at once."""

    tasks: list[PlannedTask] = Field(min_length=1, max_length=500)


class SubmitReport(ToolInput):
    """The validation report."""

    specs: list[SpecResult] = []
    summary: str = Field("", max_length=TEXT_LIMIT)
    observations: list[str] = []


class SubmitReview(ToolInput):
    """A reviewer's verdicts."""

    criteria: list[CriterionReview] = Field(min_length=1, max_length=100)
    summary: str = Field("", max_length=TEXT_LIMIT)


class Memory(ToolInput):
    """A session summary."""

    completed: list[str] = []
    progress: str = ""
    decisions: list[str] = []
    files: list[str] = []
    blockers: list[str] = []
    notes: list[str] = []
    dependencies: list[str] = []


TOOLS: Mapping[str, tuple[type[ToolInput], str]] = {
    "ralph_get_next_task": (NoInput, "The task that Python chose for you, with its criteria."),
    "ralph_mark_task_in_progress": (TaskRef, "Report that you begin the task."),
    "ralph_mark_task_complete": (
        Claim,
        (
            "Claim that your task is complete. Python runs the checks and answers ACCEPTED or NOT YET "
            "with what failed. Record learnings before you claim: ACCEPTED ends the session."
        ),
    ),
    "ralph_mark_task_blocked": (Block, "Give up the task and state the reason; ends the session."),
    "ralph_append_learning": (Learning, "Record a learning for later sessions."),
    "ralph_get_plan_summary": (NoInput, "All tasks with status and dependencies."),
    "ralph_get_state_summary": (NoInput, "Phase, iteration, context and cost."),
    "ralph_add_task": (NewTask, "Add work that the plan lacks. Do not start it now."),
    "ralph_increment_retry": (TaskRef, "Count a failed attempt at your task."),
    "ralph_update_memory": (
        Memory,
        "Record what later sessions must know. Entries add to those of earlier calls.",
    ),
    "ralph_submit_plan": (
        SubmitPlan,
        "Submit the whole plan; replaces all tasks that are not complete.",
    ),
    "ralph_submit_report": (SubmitReport, "Submit the validation report."),
    "ralph_submit_review": (
        SubmitReview,
        "Submit one verdict for each numbered criterion, with quoted evidence.",
    ),
    "ralph_submit_learnings": (
        SubmitLearnings,
        "Submit the shorter list of learnings, all at once.",
    ),
}
"""The input and the description of each tool; one without input only reads."""

PHASE_RALPH_TOOLS: Mapping[Phase, tuple[str, ...]] = {
    Phase.DISCOVERY: ("ralph_append_learning",),
    Phase.PLANNING: (
        "ralph_get_plan_summary",
        "ralph_add_task",
        "ralph_submit_plan",
        "ralph_append_learning",
    ),
    Phase.BUILDING: tuple(name for name in TOOLS if not name.startswith("ralph_submit_")),
    Phase.VALIDATION: ("ralph_get_plan_summary", "ralph_submit_report", "ralph_append_learning"),
}


def tool_specs(*names: str) -> tuple[ToolSpec, ...]:
    return tuple(
        ToolSpec(
            name=name,
            description=description,
            input_schema=_schema(model),
            read_only=model is NoInput,
        )
        for name, (model, description) in ((name, TOOLS[name]) for name in names)
    )


_OMITTED_KEYWORDS = (
    "title",
    "maxLength",
    "minLength",
    "maximum",
    "minimum",
    "default",
    "additionalProperties",
)
"""Keywords to omit: `parse` checks them, the model does not need them, and they cost tokens in each request."""


def _schema(model: type[ToolInput]) -> dict[str, JsonValue]:
    def strip(node: JsonValue, *, is_schema: bool = True) -> JsonValue:
        if isinstance(node, list):
            return [strip(item) for item in node]
        if not isinstance(node, dict):
            return node
        kept = {
            key: strip(value, is_schema=key not in ("properties", "$defs"))
            for key, value in node.items()
            if not (is_schema and key in _OMITTED_KEYWORDS)
        }
        if is_schema and "properties" in node:
            kept.pop("description", None)
        return kept

    schema = strip(model.model_json_schema())
    assert isinstance(schema, dict)
    return schema


def parse(name: str, arguments: Mapping[str, JsonValue]) -> ToolInput | ToolAnswer:
    if name not in TOOLS:
        return error(f"There is no tool {name}.")
    try:
        return TOOLS[name][0].model_validate(_inert(dict(arguments)))
    except ValidationError as invalid:
        problems = "; ".join(
            f"{'.'.join(str(p) for p in e['loc']) or 'input'}: {e['msg']}" for e in invalid.errors()
        )
        return error(f"{name}: {problems}. Correct the input and call again.")


def _inert(value: JsonValue) -> JsonValue:
    """Make all text inert, because it ends up in files and on screens."""
    if isinstance(value, str):
        return inert(value)
    if isinstance(value, list):
        return [_inert(item) for item in value]
    if isinstance(value, dict):
        return {key: _inert(item) for key, item in value.items()}
    return value


def error(text: str) -> ToolAnswer:
    return ToolAnswer(text=text, is_error=True)


def answer(values: Mapping[str, object]) -> ToolAnswer:
    return ToolAnswer(text=json.dumps(values, ensure_ascii=False, default=str))


def task_json(task: Task) -> dict[str, object]:
    data = task.model_dump(mode="json", exclude_none=True, exclude={"begun"})
    return {key: data[key] for key in data if data[key] != []}


def plan_summary(plan: ImplementationPlan) -> ToolAnswer:
    counts = {status.value: number for status, number in plan.counts().items()}
    done = plan.complete_ids()
    tasks = [
        {
            "id": task.id,
            "status": task.status.value,
            "priority": task.priority,
            "title": one_line(task.title, 120),
            **({"waits_for": waits} if (waits := plan.waiting_on(task, done)) else {}),
        }
        for task in plan.tasks
    ]
    share = plan.completion_percentage
    return answer({"counts": counts, "completion_percentage": share, "tasks": tasks})


def new_task(plan: ImplementationPlan, wanted: NewTask) -> Task | ToolAnswer:
    task = Task.model_validate(wanted.model_dump())
    problems = plan.adding([task]).problems()
    own = [problem.message for problem in problems if task.id in (problem.task_id, *problem.path)]
    return error(" ".join(own)) if own else task
