"""Reads the fields that the JSON formats share: priorities, states, criteria and dependencies."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ralph_tui.domain.formatting import shortlist
from ralph_tui.domain.plan.plan import DEFAULT_PRIORITY, Task, TaskStatus
from ralph_tui.domain.sanitize import one_line
from ralph_tui.domain.verification.verification import CommandCriterion, Criterion
from ralph_tui.interop.foreign_tasks import priority_of, represents_group
from ralph_tui.interop.formats import InteropError
from ralph_tui.interop.json_document import JsonDocument
from ralph_tui.interop.json_reader import Node, quoted

OPEN, DONE, BLOCKED = "open", "done", "blocked"

_INSIDE = ("description", "text", "criterion", "title", "name")


def first_text(document: JsonDocument, node: Node, *keys: str) -> str:
    return next((text for key in keys if (text := document.text(node, key)).strip()), "")


def required_id(document: JsonDocument, node: Node, what: str) -> str:
    found = document.text(node, "id")
    if not found.strip():
        raise document.error(node, f"{what} has no 'id'", "Give it a unique ID.")
    return found


def priority(document: JsonDocument, node: Node, key: str = "priority") -> int | None:
    """Return a priority, given as a whole number or a word such as `high`; None if it is absent."""
    found = node.get(key)
    if found is None:
        return None
    if isinstance(found.scalar, int) and not isinstance(found.scalar, bool):
        return found.scalar
    text = document.scalar_text(found, key).strip()
    number = int(text) if text.isdecimal() and len(text) < 10 else priority_of(text)
    if text and number is None:
        raise document.error(
            found,
            f"{quoted(key)} is {one_line(text, 40)!r}",
            "Use a whole number, or critical, high, medium or low.",
        )
    return number


def priority_word(task: Task) -> str:
    if task.priority in {DEFAULT_PRIORITY, 2}:
        return "medium"
    return "high" if task.priority < 2 else "low"


def criteria(document: JsonDocument, node: Node, *keys: str) -> Sequence[str]:
    """Return the distinct criteria of these members, which may be lists of texts or objects, or a single text."""
    found: dict[str, None] = {}
    for key in keys:
        member = node.get(key)
        if member is None:
            continue
        items = member.items if member.items is not None else [member]
        for item in items:
            text = (
                first_text(document, item, *_INSIDE)
                if item.members is not None
                else document.scalar_text(item, key)
            )
            if text.strip():
                found[text.strip()] = None
            elif item.members is not None:
                raise document.error(item, f"a criterion of {quoted(key)} has no text")
    return tuple(found)


def dependencies(document: JsonDocument, node: Node, *keys: str) -> Mapping[str, int]:
    return next((document.texts(node, key) for key in keys if node.get(key) is not None), {})


@dataclass(frozen=True)
class States:
    """The words of a format for the state of a task. The first word of each state is used for writing.

    Attributes:
        key: The member with the word.
        done: Words for a complete task.
        open: Words for a task that can be worked on.
        blocked: Words for a blocked task; empty if the format has none.
        others: Whether other words are allowed, which mean open.
    """

    key: str
    done: Sequence[str]
    open: Sequence[str]
    blocked: Sequence[str] = ()
    others: bool = False

    def read(self, document: JsonDocument, node: Node) -> tuple[str, str]:
        """Return the state of an entry and its normalized word; an entry without a word is open."""
        word = document.text(node, self.key).strip()
        plain = word.casefold().replace("_", "-")
        for state, words in ((DONE, self.done), (BLOCKED, self.blocked), (OPEN, ("", *self.open))):
            if plain in words:
                return state, plain
        if self.others:
            return OPEN, plain
        known = ", ".join((*self.open, *self.done, *self.blocked))
        raise self._unknown(document, node, word, known)

    def _unknown(self, document: JsonDocument, node: Node, word: str, known: str) -> InteropError:
        at = node.get(self.key) or node
        return document.error(
            at, f"{quoted(self.key)} is {one_line(word, 40)!r}", f"Known values: {known}."
        )

    def word(self, state: str) -> str:
        if state == DONE:
            return self.done[0]
        return self.blocked[0] if state == BLOCKED and self.blocked else self.open[0]


def state_of(task: Task) -> str:
    if task.status is TaskStatus.COMPLETE:
        return DONE
    return BLOCKED if task.status is TaskStatus.BLOCKED else OPEN


def needs_change(task: Task, state: str) -> bool:
    now = state_of(task)
    if represents_group(task) and now != DONE:
        return False  # some of its members may be done, but the task does not know which
    return now != state


def criterion_text(criterion: Criterion) -> str:
    if isinstance(criterion, CommandCriterion):
        return f"`{criterion.command}` passes"
    return criterion


def body(task: Task) -> str:
    return task.description.strip()[len(task.title) :].strip("\n") if task.description else ""


def unused_fields_remark(document_keys: Iterable[str], known: frozenset[str]) -> Sequence[str]:
    """Return the remark about fields that are not imported; nothing if there are none."""
    unknown = sorted({one_line(key, 40) for key in document_keys if key not in known})
    if not unknown:
        return ()
    return (f"Fields that ralph does not use stay in the file: {shortlist(unknown, 8)}.",)
