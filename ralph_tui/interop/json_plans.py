"""Reads and writes plans in JSON: what all their formats share, and the prd.json files of four related tools."""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from pydantic import JsonValue

from ralph_tui.domain.formatting import shortlist
from ralph_tui.domain.plan.plan import DEFAULT_PRIORITY, ImplementationPlan, Task, TaskStatus
from ralph_tui.domain.sanitize import one_line
from ralph_tui.domain.verification.verification import CommandCriterion, Criterion
from ralph_tui.interop.foreign_tasks import (
    Listing,
    PlanEntry,
    import_listing,
    priority_of,
    represents_group,
    tasks_by_foreign_id,
)
from ralph_tui.interop.formats import Imported, ImportOptions, InteropError, Source, edited
from ralph_tui.interop.json_text import JsonList, JsonObject, JsonText, pretty, quoted

OPEN, DONE, BLOCKED = "open", "done", "blocked"
WAITS = ("dependsOn", "dependencies", "depends_on", "blockedBy")


@dataclass(frozen=True)
class States:
    """The words of a format for the state of a task. The first word of each state is used for writing.

    Attributes:
        others: Whether other words are allowed, which mean open.
    """

    done: Sequence[str] = ()
    open: Sequence[str] = ()
    blocked: Sequence[str] = ()
    others: bool = False

    def read(self, item: JsonObject) -> tuple[str, str]:
        """Return the state of an entry and its normalized word; an entry without a word is open."""
        word = item.text("status").strip()
        plain = word.casefold().replace("_", "-")
        for state, words in ((DONE, self.done), (BLOCKED, self.blocked), (OPEN, ("", *self.open))):
            if plain in words:
                return state, plain
        if self.others:
            return OPEN, plain
        known = ", ".join((*self.open, *self.done, *self.blocked))
        what = f"'status' is {one_line(word, 40)!r}"
        raise item.error(what, f"Known values: {known}.", "status")

    def written(self, item: JsonObject, task: Task) -> tuple[str, JsonValue] | None:
        """Return the member of an entry that must change with its new value; None if it already says the task's state."""
        state = state_of(task)
        if state == self.read(item)[0] or (represents_group(task) and state != DONE):
            return None  # a task for a group does not know which of its members are done
        return "status", self.word(state)

    def word(self, state: str) -> str:
        words = {DONE: self.done, BLOCKED: self.blocked or self.open}.get(state, self.open)
        return words[0]


class Passes(States):
    """The state of a story in a prd.json: `passes` is true or false."""

    def read(self, item: JsonObject) -> tuple[str, str]:
        return (DONE if item.flag("passes") else OPEN), ""

    def written(self, item: JsonObject, task: Task) -> tuple[str, JsonValue] | None:
        passes = state_of(task) == DONE
        if passes == item.flag("passes") or (represents_group(task) and not passes):
            return None
        return "passes", passes


class JsonImporter(ABC):
    """A format in JSON that is only read."""

    name: str

    def sniff(self, source: Source) -> int:
        if source.text.lstrip()[:1] not in {"{", "["}:
            return 0
        try:
            return self.score(_sniffed(source), source)
        except InteropError:
            return 0

    @abstractmethod
    def score(self, document: JsonText, source: Source) -> int:
        """Return how likely this is the format, from 0 to 100."""

    @abstractmethod
    def listing(self, document: JsonText, wanted: ImportOptions) -> Listing:
        """Return what is in a file."""

    def read(self, source: Source, wanted: ImportOptions) -> Imported:
        return import_listing(self.listing(JsonText(source), wanted), source, wanted)


class JsonFormat(JsonImporter):
    """A format in JSON whose states are written back, each in its place."""

    states: States

    @abstractmethod
    def entries(self, document: JsonText) -> Iterable[tuple[str, JsonObject]]:
        """Yield everything in the file that may be a task, with its id."""

    def write(self, plan: ImplementationPlan, before: Source) -> str:
        """Set the state of each task in the file; every other byte stays."""
        if not before.text.strip():
            return self.new(plan)
        document = JsonText(before)
        tasks = tasks_by_foreign_id(plan, self.name, before.name)
        found = ((item, tasks[id_]) for id_, item in self.entries(document) if id_ in tasks)
        changes = ((item, self.states.written(item, task)) for item, task in found)
        return edited(before.text, (item.with_value(*change) for item, change in changes if change))

    @abstractmethod
    def new(self, plan: ImplementationPlan) -> str:
        """Return a new file with the plan's tasks."""


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


def blocked_in(item: JsonObject, state: str, word: str) -> str:
    return f"{word} in {one_line(item.document.source.name, 100)}" if state == BLOCKED else ""


def labels_of(item: JsonObject) -> tuple[str, ...]:
    return (*item.texts("labels"), *item.texts("tags"))


def unused_remark(document: JsonText, items: Iterable[JsonObject]) -> Iterator[str]:
    if unused := sorted({one_line(key, 40) for item in items for key in item} - document.used):
        yield f"Fields that ralph does not use stay in the file: {shortlist(unused, 8)}."


def state_of(task: Task) -> str:
    if task.status is TaskStatus.COMPLETE:
        return DONE
    return BLOCKED if task.status is TaskStatus.BLOCKED else OPEN


def criterion_text(criterion: Criterion) -> str:
    if isinstance(criterion, CommandCriterion):
        return f"`{criterion.command}` passes"
    return criterion


def body(task: Task) -> str:
    return task.description.strip()[len(task.title) :].strip("\n") if task.description else ""


_COMMANDS = ("run", "quality", "preCommit", "successCriteria")
_GUIDANCE = (
    *("technicalNotes", "implementationNotes", "details", "context", "approach"),
    *("spec_ref", "specRef", "files"),
)
"""Fields with guidance for the agent, from related tools; they are added to a task's notes."""


class Prd(JsonFormat):
    """A prd.json with `userStories`, of snarktank/ralph, ralph-hybrid or ralph-tui by subsy."""

    name = "prd"
    states = Passes()

    def score(self, document: JsonText, source: Source) -> int:  # noqa: ARG002 - part of the interface
        if "passes" in keys_of(document.root.get("userStories")):
            return 95
        return 70 if "userStories" in document.root else 0

    def listing(self, document: JsonText, wanted: ImportOptions) -> Listing:  # noqa: ARG002 - part of the interface
        root = document.root
        stories = root.objects("userStories", required=True)
        return Listing(
            format=self.name,
            entries=[_story(story) for story in stories],
            title=root.text("name", "project", "feature"),
            description=root.text("description"),
            branch=root.text("branchName"),
            remarks=[*_commands_for_all(root), *unused_remark(document, stories)],
        )

    def entries(self, document: JsonText) -> Iterable[tuple[str, JsonObject]]:
        stories = document.root.objects("userStories", required=True)
        return ((story.text("id"), story) for story in stories)

    def new(self, plan: ImplementationPlan) -> str:
        with_order = any(task.dependencies for task in plan.tasks)
        stories: list[JsonValue] = []
        for task in plan.tasks:
            story: dict[str, JsonValue] = {
                "id": task.id,
                "title": task.title,
                "description": body(task),
                "acceptanceCriteria": [criterion_text(each) for each in task.verification_criteria],
                "priority": task.priority,
                "passes": state_of(task) == DONE,
            }
            if with_order:
                story["dependsOn"] = list(task.dependencies)
            stories.append({**story, "notes": task.notes})
        about: dict[str, JsonValue] = {"project": plan.title or "Plan", "branchName": ""}
        return pretty({**about, "description": plan.description, "userStories": stories})


def _story(story: JsonObject) -> PlanEntry:
    if story.get("passes") is None and story.get("status") is not None:
        what = "a story has 'status' but no 'passes'"
        raise story.error(what, 'Write "passes": true or false.', "status")
    text = story.text("description")
    guidance = (
        f"{key}: {', '.join(story.texts(key))}"
        for key in _GUIDANCE
        if not isinstance(story.get(key), JsonObject) and story.texts(key)
    )
    return PlanEntry(
        id=story.required("id", "a story"),
        title=story.text("title") or one_line(text),
        line=story.line,
        text=text,
        criteria=criteria_of(story, "acceptanceCriteria", "e2eTests"),
        commands=_commands(story),
        waits_for=story.texts(*WAITS),
        done=story.flag("passes"),
        priority=number_of(story),
        labels=labels_of(story),
        notes="\n".join(filter(None, (story.text("notes", "completionNotes"), *guidance))),
    )


def _commands(holder: JsonObject) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for key in (*_COMMANDS, "acceptanceCriteria"):
        for item, _ in holder.items_of(key):
            if isinstance(item, JsonObject):
                found[item.text("command", "testCommand")] = None
            elif key in _COMMANDS:
                found[str(item)] = None
    return tuple(command for command in found if command.strip())


def _commands_for_all(root: JsonObject) -> Iterator[str]:
    found = dict.fromkeys(_commands(root))
    for holder in (root, root.get("metadata")):
        gates = holder.get("qualityGates") if isinstance(holder, JsonObject) else None
        if isinstance(holder, JsonObject) and not isinstance(gates, JsonObject):
            found |= dict.fromkeys(holder.texts("qualityGates"))
    for command in found:
        shown = one_line(command, 100)
        yield f"The file runs `{shown}` for every story. To run it for every task, add it to `backpressure` in the config."


class Wiggum(JsonFormat):
    """The prd.json of chr1sbest/wiggum: `tasks` with a status and a priority in words."""

    name = "wiggum"
    states = States(
        done=("done", "complete", "completed"),
        open=("todo", "in-progress", "pending"),
        blocked=("failed", "blocked"),
    )

    def score(self, document: JsonText, source: Source) -> int:
        keys = keys_of(document.root.get("tasks"))
        others = ("dependencies", "subtasks", "testStrategy", "verification_criteria")
        if not {"id", "title"} <= keys or keys & {*others, "acceptanceCriteria"}:
            return 0
        telling = "tests" in keys or "details" in keys
        named = source.name.replace("\\", "/").rpartition("/")[2] == "prd.json"
        return 90 if named and telling else 75 if named or telling else 50

    def listing(self, document: JsonText, wanted: ImportOptions) -> Listing:  # noqa: ARG002 - part of the interface
        tasks = document.root.objects("tasks", required=True)
        return Listing(
            format=self.name,
            entries=[self._entry(task) for task in tasks],
            title=document.root.text("name", "project"),
            remarks=list(unused_remark(document, tasks)),
        )

    def _entry(self, task: JsonObject) -> PlanEntry:
        state, word = self.states.read(task)
        text = task.text("details", "description")
        return PlanEntry(
            id=task.required("id", "a task"),
            title=task.text("title") or one_line(text),
            line=task.line,
            text=text,
            criteria=criteria_of(task, "tests"),
            waits_for=task.texts(*WAITS),
            done=state == DONE,
            blocked=blocked_in(task, state, word),
            priority=number_of(task),
        )

    def entries(self, document: JsonText) -> Iterable[tuple[str, JsonObject]]:
        tasks = document.root.objects("tasks", required=True)
        return ((task.text("id"), task) for task in tasks)

    def new(self, plan: ImplementationPlan) -> str:
        return pretty({"version": 1, "tasks": [self._new_task(task) for task in plan.tasks]})

    def _new_task(self, task: Task) -> JsonValue:
        high, low = task.priority < 2, task.priority not in {2, DEFAULT_PRIORITY}
        return {
            "id": task.id,
            "title": task.title,
            "details": body(task),
            "priority": "high" if high else "low" if low else "medium",
            "status": self.states.word(state_of(task)),
            "tests": "; ".join(criterion_text(each) for each in task.verification_criteria),
        }
