"""The entries of the stream, which are frozen, and the filters for them."""

from dataclasses import dataclass
from enum import StrEnum

from ralph_tui.domain.events import IterationFinished
from ralph_tui.domain.verification.verification import Receipt
from ralph_tui.present.events.event_sentences import Sentence
from ralph_tui.present.text.spans import Tone
from ralph_tui.present.timeline.changed_files import FileChange
from ralph_tui.present.tools.calls import Call, CallState, text_of
from ralph_tui.present.tools.renderers import renderer_for


@dataclass(frozen=True, slots=True, eq=False)
class CallEntry:
    """A tool call."""

    number: int
    depth: int
    call: Call


@dataclass(frozen=True, slots=True, eq=False)
class TextEntry:
    """A message of the model."""

    number: int
    depth: int
    text: str


@dataclass(frozen=True, slots=True, eq=False)
class HeadingEntry:
    """The start of an iteration."""

    number: int
    title: str
    right: str
    ended: IterationFinished | None = None
    files: tuple[FileChange, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class CheckEntry:
    """One receipt of the gate."""

    number: int
    receipt: Receipt


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteEntry(Sentence):
    """Any other event, in words."""

    number: int
    hides: tuple[int, ...] = ()


Entry = CallEntry | TextEntry | HeadingEntry | CheckEntry | NoteEntry


class EntryFilter(StrEnum):
    """Which entries are shown. The values are the words on the screen."""

    ALL = "all"
    CALLS = "tool calls"
    TROUBLE = "problems"
    MESSAGES = "messages"

    def next(self) -> "EntryFilter":
        kinds = list(EntryFilter)
        return kinds[(kinds.index(self) + 1) % len(kinds)]


def passes(entry: Entry, entry_filter: EntryFilter) -> bool:
    """Return whether a filter shows an entry. Headings are always shown, for orientation."""
    if entry_filter is EntryFilter.ALL or isinstance(entry, HeadingEntry):
        return True
    if entry_filter is EntryFilter.MESSAGES:
        return isinstance(entry, TextEntry)
    if entry_filter is EntryFilter.CALLS:
        return isinstance(entry, CallEntry | CheckEntry)
    if isinstance(entry, CallEntry):
        return entry.call.state in (CallState.FAILED, CallState.DENIED, CallState.INTERRUPTED)
    if isinstance(entry, CheckEntry):
        return not entry.receipt.ok
    return isinstance(entry, NoteEntry) and entry.tone in (Tone.BAD, Tone.WARN)


def holds(entry: Entry, words: str) -> bool:
    return words.casefold() in _text(entry).casefold()


def _text(entry: Entry) -> str:
    if isinstance(entry, TextEntry):
        return entry.text
    if isinstance(entry, HeadingEntry):
        return f"{entry.title} {entry.right}"
    if isinstance(entry, CheckEntry):
        return f"{entry.receipt.command}\n{entry.receipt.reason}\n{entry.receipt.tail}"
    if isinstance(entry, NoteEntry):
        return f"{entry.label}\n{entry.text}\n{entry.more}"
    call = entry.call
    inputs = "\n".join(text_of(call.input, name) for name in call.input)
    denial = call.denial
    rule = f"{denial.rule}\n{denial.part}\n{denial.reason}" if denial else ""
    verb = renderer_for(call).verb
    return f"{call.name}\n{verb}\n{inputs}\n{call.output}\n{rule}"
