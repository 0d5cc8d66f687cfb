"""The formats in JSON: how each names the parts of a task, and the prd.json files of four related tools."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from pydantic import JsonValue

from ralph_tui.domain.formatting import shortlist
from ralph_tui.domain.plan.plan import DEFAULT_PRIORITY, ImplementationPlan, Task, TaskStatus
from ralph_tui.domain.sanitize import one_line
from ralph_tui.domain.verification.verification import CommandCriterion, Criterion
from ralph_tui.interop.foreign_tasks import Listing, PlanEntry, WritableFormat, priority_of
from ralph_tui.interop.formats import Edit, ImportOptions, InteropError, Source
from ralph_tui.interop.json_text import JsonList, JsonObject, JsonText, pretty, quoted

COMPLETE, PENDING, BLOCKED = TaskStatus.COMPLETE, TaskStatus.PENDING, TaskStatus.BLOCKED


@dataclass(frozen=True)
class Shape:
    """How a format names the parts of a task.

    Attributes:
        flag: The member that is true if the task is done; empty if `status` has a word for its state.
        words: The words of `status` for each state. The first one is written.
        others: Whether other words are allowed, which mean open.
        commands: Members with criteria that are commands.
        guidance: Members that are added to the notes, each under its name.
    """

    thing: str = "a task"
    flag: str = ""
    words: Mapping[TaskStatus, Sequence[str]] = field(default_factory=dict)
    others: bool = False
    held: Sequence[str] = ()
    text: Sequence[str] = ("description",)
    criteria: Sequence[str] = ()
    commands: Sequence[str] = ()
    waits: Sequence[str] = ("dependsOn", "dependencies", "depends_on", "blockedBy")
    notes: Sequence[str] = ("notes",)
    guidance: Sequence[str] = ()

    def state(self, item: JsonObject) -> tuple[TaskStatus, str]:
        """Return the state of an entry and its normalized word; an entry without a word is open."""
        if self.flag:
            return (COMPLETE if item.flag(self.flag) else PENDING), ""
        word = item.text("status").strip()
        plain = word.casefold().replace("_", "-")
        known = [known for words in self.words.values() for known in words]
        if plain and plain not in known and not self.others:
            what = f"'status' is {one_line(word, 40)!r}"
            raise item.error(what, f"Known values: {', '.join(known)}.", "status")
        return next((s for s, words in self.words.items() if plain in words), PENDING), plain

    def entry(self, item: JsonObject) -> PlanEntry:
        state, word = self.state(item)
        return PlanEntry(
            id=item.required("id", self.thing),
            title=item.text("title"),
            line=item.line,
            text="\n\n".join(part for key in self.text if (part := item.text(key)).strip()),
            criteria=criteria_of(item, *self.criteria),
            commands=commands_of(item, self.commands),
            waits_for=item.texts(*self.waits),
            done=state is COMPLETE,
            blocked=f"{word} in {one_line(item.document.source.name, 100)}" * (state is BLOCKED),
            held=word in self.held,
            priority=number_of(item),
            labels=(*item.texts("labels"), *item.texts("tags")),
            notes="\n".join(filter(None, (item.text(*self.notes), *self._guidance(item)))),
        )

    def _guidance(self, item: JsonObject) -> Iterator[str]:
        for key in self.guidance:
            if not isinstance(item.get(key), JsonObject) and (texts := item.texts(key)):
                yield f"{key}: {', '.join(texts)}"

    def marks(self, item: JsonObject) -> Mapping[TaskStatus, Edit]:
        if self.flag:
            return {s: item.with_value(self.flag, s is COMPLETE) for s in (COMPLETE, PENDING)}
        return {s: item.with_value("status", words[0]) for s, words in self.words.items()}


PRD = Shape(
    thing="a story",
    flag="passes",
    criteria=("acceptanceCriteria", "e2eTests"),
    commands=("run", "quality", "preCommit", "successCriteria"),
    notes=("notes", "completionNotes"),
    guidance=(
        *("technicalNotes", "implementationNotes", "details", "context", "approach"),
        *("spec_ref", "specRef", "files"),
    ),
)
"""`userStories` of snarktank/ralph, ralph-hybrid or ralph-tui by subsy. The guidance comes from related tools."""

WIGGUM = Shape(
    words={
        PENDING: ("todo", "in-progress", "pending"),
        COMPLETE: ("done", "complete", "completed"),
        BLOCKED: ("failed", "blocked"),
    },
    text=("description", "details"),
    criteria=("tests",),
)
"""`tasks` of chr1sbest/wiggum."""

TASKMASTER = Shape(
    words={
        PENDING: (
            *("pending", "in-progress", "review", "todo"),
            *("deferred", "cancelled", "canceled"),
        ),
        COMPLETE: ("done", "completed", "complete"),
        BLOCKED: ("blocked", "failed"),
    },
    held=("deferred",),
    text=("description", "details"),
    criteria=("testStrategy", "acceptanceCriteria"),
    waits=(),
)
BEADS = Shape(
    thing="an issue",
    words={COMPLETE: ("closed",), BLOCKED: ("blocked",)},
    others=True,
    held=("deferred", "pinned"),
    text=(),
    waits=(),
)


def json_sniff(score: Callable[[JsonText], int]) -> Callable[[Source], int]:
    def sniff(source: Source) -> int:
        try:
            begins = source.text.lstrip()[:1] in {"{", "["}
            return score(_sniffed(source)) if begins else 0
        except InteropError:
            return 0

    return sniff


@lru_cache(maxsize=2)
def _sniffed(source: Source) -> JsonText:
    return JsonText(source)


def keys_of(value: Any) -> set[str]:
    items = value if isinstance(value, JsonList) else []
    return {key for item in items if isinstance(item, JsonObject) for key in item}


def number_of(item: JsonObject) -> int:
    text = item.text("priority").strip()
    number = int(text) if re.fullmatch(r"-?[0-9]{1,18}", text) else priority_of(text)
    if text and number is None:
        what = f"'priority' is {one_line(text, 40)!r}"
        raise item.error(what, "Use a whole number, or critical, high, medium or low.", "priority")
    return DEFAULT_PRIORITY if number is None else number


def criteria_of(item: JsonObject, *keys: str) -> tuple[str, ...]:
    """Return the distinct criteria of these members, which may be lists of texts or objects, or a single text."""
    found: dict[str, None] = {}
    for key in keys:
        for each, _ in item.items_of(key):
            if isinstance(each, JsonObject):
                text = each.text("description", "text", "criterion", "title", "name")
                if not text:
                    raise each.error(f"a criterion of {quoted(key)} has no text")
            else:
                text = item.scalar(key, each)
            if text.strip():
                found[text.strip()] = None
    return tuple(found)


def commands_of(item: JsonObject, keys: Sequence[str]) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for key in (*keys, "acceptanceCriteria") if keys else ():
        for each, _ in item.items_of(key):
            if isinstance(each, JsonObject):
                found[each.text("command", "testCommand")] = None
            elif key in keys:
                found[str(each)] = None
    return tuple(command for command in found if command.strip())


def unused_remark(document: JsonText, items: Iterable[JsonObject]) -> Iterator[str]:
    if unused := sorted({one_line(key, 40) for item in items for key in item} - document.used):
        yield f"Fields that ralph does not use stay in the file: {shortlist(unused, 8)}."


def criterion_text(criterion: Criterion) -> str:
    if isinstance(criterion, CommandCriterion):
        return f"`{criterion.command}` passes"
    return criterion


def body(task: Task) -> str:
    return task.description.strip()[len(task.title) :].strip("\n") if task.description else ""


def _prd_score(document: JsonText) -> int:
    if "passes" in keys_of(document.root.get("userStories")):
        return 95
    return 70 if "userStories" in document.root else 0


def _wiggum_score(document: JsonText) -> int:
    keys = keys_of(document.root.get("tasks"))
    others = ("dependencies", "subtasks", "testStrategy", "verification_criteria")
    if not {"id", "title"} <= keys or keys & {*others, "acceptanceCriteria"}:
        return 0
    telling = "tests" in keys or "details" in keys
    named = document.source.name.replace("\\", "/").rpartition("/")[2] == "prd.json"
    return 90 if named and telling else 75 if named or telling else 50


def _prd_listing(source: Source, _: ImportOptions) -> Listing:
    return _listing(source, PRD, "userStories")


def _wiggum_listing(source: Source, _: ImportOptions) -> Listing:
    return _listing(source, WIGGUM, "tasks")


def _listing(source: Source, shape: Shape, key: str) -> Listing:
    document = JsonText(source)
    root, items = document.root, document.root.objects(key, required=True)
    for item in items:
        if shape.flag and item.get(shape.flag) is None and item.get("status") is not None:
            what = f"{shape.thing} has 'status' but no {shape.flag!r}"
            raise item.error(what, f'Write "{shape.flag}": true or false.', "status")
    return Listing(
        [replace(shape.entry(item), marks=shape.marks(item)) for item in items],
        title=root.text("name", "project", "feature"),
        description=root.text("description"),
        branch=root.text("branchName"),
        remarks=[*_commands_for_all(root, shape), *unused_remark(document, items)],
    )


def _commands_for_all(root: JsonObject, shape: Shape) -> Iterator[str]:
    found = dict.fromkeys(commands_of(root, shape.commands))
    for holder in (root, root.get("metadata")):
        gates = holder.get("qualityGates") if isinstance(holder, JsonObject) else None
        if isinstance(holder, JsonObject) and not isinstance(gates, JsonObject):
            found |= dict.fromkeys(holder.texts("qualityGates"))
    for command in found:
        shown = one_line(command, 100)
        yield f"The file runs `{shown}` for every story. To run it for every task, add it to `backpressure` in the config."


def new_prd(plan: ImplementationPlan) -> str:
    with_order = any(task.dependencies for task in plan.tasks)
    stories: list[JsonValue] = []
    for task in plan.tasks:
        story: dict[str, JsonValue] = {
            "id": task.id,
            "title": task.title,
            "description": body(task),
            "acceptanceCriteria": [criterion_text(each) for each in task.verification_criteria],
            "priority": task.priority,
            "passes": task.status is COMPLETE,
        }
        if with_order:
            story["dependsOn"] = list(task.dependencies)
        stories.append({**story, "notes": task.notes})
    about: dict[str, JsonValue] = {"project": plan.title or "Plan", "branchName": ""}
    return pretty({**about, "description": plan.description, "userStories": stories})


def _new_wiggum(plan: ImplementationPlan) -> str:
    return pretty({"version": 1, "tasks": [_wiggum_task(task) for task in plan.tasks]})


def _wiggum_task(task: Task) -> JsonValue:
    high, low = task.priority < 2, task.priority not in {2, DEFAULT_PRIORITY}
    return {
        "id": task.id,
        "title": task.title,
        "details": body(task),
        "priority": "high" if high else "low" if low else "medium",
        "status": WIGGUM.words[task.status if task.status in WIGGUM.words else PENDING][0],
        "tests": "; ".join(criterion_text(each) for each in task.verification_criteria),
    }


PRD_FORMAT = WritableFormat(
    "prd",
    json_sniff(_prd_score),
    _prd_listing,
    ("prd.json", "snarktank", "hybrid", "ralph-hybrid", "subsy", "ralph-tui"),
    new_prd,
)
WIGGUM_FORMAT = WritableFormat(
    "wiggum", json_sniff(_wiggum_score), _wiggum_listing, ("go",), _new_wiggum
)
