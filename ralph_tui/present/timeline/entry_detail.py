"""Show one entry in full, on the detail screen."""

from dataclasses import dataclass, replace

from ralph_tui.domain.formatting import took
from ralph_tui.domain.sanitize import head
from ralph_tui.domain.verification.verification import receipt_facts
from ralph_tui.present.events.event_sentences import by_whom
from ralph_tui.present.text.figures import money
from ralph_tui.present.text.glyphs import Glyphs
from ralph_tui.present.text.spans import Tone
from ralph_tui.present.text.status_labels import ITERATION, RECEIPT
from ralph_tui.present.timeline.entries import CallEntry, CheckEntry, Entry, HeadingEntry, TextEntry
from ralph_tui.present.tools.calls import Call, CallState, Section, SectionKind
from ralph_tui.present.tools.file_tools import CHANGING
from ralph_tui.present.tools.renderers import renderer_for

MAX_BODY = 50_000
"""Maximum characters of one section, shown and copied."""

MAX_DIFF = 2_000
"""Maximum lines of a diff, because drawing ten thousand of them took seconds."""


@dataclass(frozen=True, slots=True)
class Detail:
    """A title, a line of facts, and sections."""

    title: str
    facts: str
    sections: tuple[Section, ...]
    path: str = ""
    """The file that a call changes, whose name reveals the language; empty for other entries."""

    @property
    def text(self) -> str:
        return "\n\n".join(f"{s.title}\n{s.body}" for s in self.sections)


def detail_of(entry: Entry, glyphs: Glyphs) -> Detail:
    detail = _detail(entry, glyphs)
    sections = tuple(
        Section(s.title, _bounded(s), s.kind)
        for s in detail.sections
        if s.body and not s.body.isspace()
    )
    return replace(detail, sections=sections)


def _bounded(section: Section) -> str:
    body = head(section.body, MAX_BODY)
    if section.kind is not SectionKind.DIFF:
        return body
    lines = section.body.splitlines()
    if len(lines) <= MAX_DIFF:
        return body
    cut = body.splitlines()[:MAX_DIFF]
    return "\n".join([*cut, f"@@ {len(lines) - len(cut):,} more lines are not shown @@"])


def _detail(entry: Entry, glyphs: Glyphs) -> Detail:
    if isinstance(entry, CallEntry):
        return _call(entry.call, glyphs)
    if isinstance(entry, TextEntry):
        return Detail("The agent said", "", (Section("Text", entry.text),))
    if isinstance(entry, HeadingEntry):
        return _heading(entry, glyphs)
    if isinstance(entry, CheckEntry):
        receipt = entry.receipt
        code = f"exit {receipt.exit_code}" if receipt.exit_code is not None else ""
        facts = [RECEIPT[receipt.status].word, code, took(receipt.seconds), receipt.source]
        kind = SectionKind.TEXT if receipt.ok else SectionKind.ERROR
        return Detail(
            "Gate check",
            f" {glyphs.between} ".join(f for f in facts if f),
            (
                Section("Command", receipt.command, SectionKind.COMMAND),
                Section("Why", receipt.reason, SectionKind.NOTE),
                Section("Evidence", "\n".join(receipt_facts(receipt))),
                Section("Output (end)", receipt.tail or "No output.", kind),
            ),
        )
    title = _MORE_TITLES.get(entry.label, "More")
    more = (Section(title, entry.more),) if entry.more else ()
    return Detail(entry.label.capitalize(), entry.right, (Section("Text", entry.text), *more))


_MORE_TITLES = {"question": "Options", "allow?": "The call and the options"}
"""Titles for the additional text in the detail of a note, by the note's label."""


def _heading(entry: HeadingEntry, glyphs: Glyphs) -> Detail:
    if (ended := entry.ended) is None:
        return Detail(entry.title, entry.right, (Section("Result", "Still running."),))
    look = ITERATION[ended.outcome]
    facts = (look.word, took(ended.seconds), money(ended.cost_usd), entry.right)
    files = [
        f"{file.path}  +{file.added} -{file.removed}" if file.counted else file.path
        for file in entry.files
    ]
    kind = SectionKind.ERROR if look.tone is Tone.BAD else SectionKind.TEXT
    return Detail(
        entry.title,
        f" {glyphs.between} ".join(fact for fact in facts if fact),
        (
            Section("Result", ended.reason or look.word, kind),
            Section(f"Files changed: {len(files)}", "\n".join(files) or "No files changed."),
        ),
    )


def _call(call: Call, glyphs: Glyphs) -> Detail:
    renderer = renderer_for(call)
    note = renderer.note(call)
    lasted = "" if call.state in _NO_OUTPUT_YET else took(call.seconds)
    facts = f" {glyphs.between} ".join(f for f in (call.state.value, lasted, note) if f)
    sections: list[Section] = []
    if call.denial:
        sections.append(Section("Why it was denied", denial_text(call), SectionKind.ERROR))
    if call.allowance:
        sections.append(Section("Why it was allowed", allowance_text(call), SectionKind.NOTE))
    sections += [*renderer.sections(call), _output(call)]
    path = renderer.argument(call) if call.name in CHANGING else ""
    return Detail(call.name or renderer.verb, facts, tuple(sections), path)


_NO_OUTPUT_YET = {
    CallState.RUNNING: "Still running.",
    CallState.WAITING: "Not started. Waiting for your answer.",
}


def _output(call: Call) -> Section:
    if call.state in _NO_OUTPUT_YET:
        return Section("Output", _NO_OUTPUT_YET[call.state], SectionKind.NOTE)
    if call.state is CallState.DENIED and not call.output:
        return Section("Output", "Not run.", SectionKind.NOTE)
    kind = SectionKind.ERROR if call.state is CallState.FAILED else SectionKind.TEXT
    return Section("Output", call.output or "No output.", kind)


def allowance_text(call: Call) -> str:
    """Return why a person was asked about a call, and the decision."""
    if call.allowance is None:
        return ""
    e = call.allowance
    decided = "Allowed by an earlier answer in this session"
    if e.scope != "again":
        decided = f"Allowed {'once' if e.scope == 'once' else 'for the session'} {by_whom(e.by)}"
    return "\n".join(text for text in (f"Rule: {e.rule}", e.reason, decided) if text)


def denial_text(call: Call) -> str:
    """Return which rule denied a call, for which part, and what to do instead."""
    if call.denial is None:
        return ""
    e = call.denial
    lines = [f"Rule: {e.rule}", f"Part: {e.part}" if e.part else "", e.reason]
    lines.append(f"Instead: {e.instead}" if e.instead else "")
    lines.append(f"Denied {by_whom(e.by)}" if e.by else "")
    return "\n".join(text for text in lines if text)
