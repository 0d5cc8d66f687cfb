"""Show questions and permissions, and keep the draft of the answers. Pure functions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ralph_tui.domain.documents.questions import Answer, AskedQuestion, Permission, Question
from ralph_tui.domain.permissions import CHECK_FILES
from ralph_tui.domain.sanitize import one_line
from ralph_tui.present.text.glyphs import Glyphs
from ralph_tui.present.text.parts import LineBlock
from ralph_tui.present.text.spans import Line, Span, Tone
from ralph_tui.present.tools.calls import Section, SectionKind


@dataclass(frozen=True, slots=True)
class Draft:
    """The draft of the answer to one question."""

    marked: frozenset[int] = frozenset()
    other: str = ""
    """The person's own words, kept even while an option is marked instead."""
    uses_other: bool = False
    declined: bool = False

    @property
    def is_given(self) -> bool:
        return bool(self.marked) or self.uses_other or self.declined

    def choosing(self, index: int) -> "Draft":
        return replace(self, marked=frozenset({index}), uses_other=False, declined=False)

    def toggling(self, index: int) -> "Draft":
        return replace(self, marked=self.marked ^ {index}, declined=False)

    def writing(self, text: str, *, multi: bool) -> "Draft":
        """Return a draft with the person's own words: instead of an option, or in addition if several can be marked."""
        marked = self.marked if multi else frozenset()
        return Draft(marked=marked, other=text.strip(), uses_other=bool(text.strip()))

    def declining(self) -> "Draft":
        return Draft(other=self.other, declined=True)

    def answer(self, question: Question) -> Answer:
        """Return the answer to send, with labels in the order of the options."""
        if self.declined:
            return Answer(declined=True, by="screen")
        labels = tuple(o.label for i, o in enumerate(question.options) if i in self.marked)
        return Answer(labels=labels, other=self.other if self.uses_other else "", by="screen")


NOTHING = Draft()


SEND = -1
"""The key of the row that sends the answers."""

OWN = 2
"""The number of answers that every question has in addition to its options: own words, and declining."""

WRITING = "enter keep, esc back to the options"


def who_asks(question: AskedQuestion) -> str:
    task = f", task {question.task_id}," if question.task_id else ""
    return f"{question.phase.value}{task} asks"


def question_blocks(question: Question, draft: Draft, glyphs: Glyphs) -> list[LineBlock]:
    """Return the question and its possible answers, including own words and declining."""
    heading: list[Line] = [[Span(text, Tone.TITLE)] for text in question.question.splitlines()]
    if question.multi_select:
        heading.append([Span("Choose any number. Space marks, Enter continues.", Tone.MUTED)])
    blocks = [LineBlock(None, [*heading, []])]
    for index, option in enumerate(question.options):
        sign = _sign(question, glyphs, on=index in draft.marked)
        blocks.append(choice(index, sign, option.label, option.description))
    words = f"In my own words: {draft.other}" if draft.other else "In my own words"
    sign = _sign(question, glyphs, on=draft.uses_other)
    blocks.append(choice(len(question.options), sign, words, ""))
    sign = _sign(question, glyphs, on=draft.declined)
    blocks.append(
        choice(
            len(question.options) + 1,
            sign,
            "Decline",
            "The model decides and records its assumption.",
        )
    )
    return blocks


def _sign(question: Question, glyphs: Glyphs, *, on: bool) -> Span:
    if question.multi_select:
        return Span("[x] " if on else "[ ] ", Tone.ACCENT if on else Tone.MUTED)
    return Span(f"{glyphs.dot if on else glyphs.no_dot} ", Tone.ACCENT if on else Tone.MUTED)


def choice(index: int, sign: Span, label: str, description: str) -> LineBlock:
    """Return one answer; the first nine have a number to press."""
    number = f"{index + 1}  " if index < 9 else "   "
    lines: list[Line] = [[Span(number, Tone.INFO), sign, Span(label)]]
    indent = Span(" " * (len(number) + len(sign.text)))
    lines += [[indent, Span(text, Tone.MUTED)] for text in description.splitlines()]
    return LineBlock(index, lines)


def review_blocks(
    batch: Sequence[AskedQuestion], drafts: Mapping[str, Draft], glyphs: Glyphs
) -> list[LineBlock]:
    """Return all answers for a last review before they are sent."""
    blocks = [LineBlock(None, [[Span("Your answers", Tone.TITLE)], []])]
    for index, asked in enumerate(batch):
        draft = drafts.get(asked.id, NOTHING)
        text = "declined" if draft.declined else draft.answer(asked.question).text
        tone = Tone.WARN if draft.declined or not draft.is_given else Tone.OK
        text = text if draft.is_given else "not answered yet"
        lines: list[Line] = [
            [Span(f"{index + 1}  ", Tone.INFO), Span(one_line(asked.question.question, 400))],
            [Span(f"   {glyphs.arrow} ", Tone.MUTED), Span(text, tone)],
        ]
        blocks.append(LineBlock(index, lines))
    plural = "answer" if len(batch) == 1 else "answers"
    return [
        *blocks,
        LineBlock(None, [[]]),
        LineBlock(SEND, [[Span(f"Send the {plural}", Tone.ACCENT)]]),
    ]


def question_tabs(
    batch: Sequence[AskedQuestion], drafts: Mapping[str, Draft], at: int, glyphs: Glyphs
) -> list[Line]:
    tabs: list[Line] = []
    for index, asked in enumerate(batch):
        given = drafts.get(asked.id, NOTHING).is_given
        name = one_line(asked.question.header or f"question {index + 1}", 20)
        tabs.append(_tab(name, glyphs.ok if given else glyphs.no_dot, glyphs, here=index == at))
    return [*tabs, _tab("review", "", glyphs, here=at == len(batch))]


def _tab(name: str, sign: str, glyphs: Glyphs, *, here: bool) -> list[Span]:
    mark = f"{glyphs.current} " if here else "  "
    tone = Tone.TITLE if here else Tone.MUTED
    return [Span(mark, Tone.ACCENT), Span(f"{name} {sign}".rstrip() + "  ", tone)]


def keys_of_question(question: Question, *, alone: bool) -> str:
    last = min(9, len(question.options) + OWN)
    accept = "space mark, enter continue" if question.multi_select else "enter choose"
    turn = "" if alone else "left right questions, "
    return f"1-{last} {accept}, {turn}esc later; {{search}} search, {{copy}} copy, {{share}} export"


def keys_of_review(*, sends: bool) -> str:
    return f"enter {'send' if sends else 'change'}, j k move, left back, esc later"


_PERMISSION_TITLES = {
    CHECK_FILES: "The change",
    "Bash": "The command",
    "SandboxNetworkAccess": "The host that a sandboxed command wants to reach",
}


def permission_title(asked: AskedQuestion) -> str:
    if asked.permission and asked.permission.check:
        task = f", task {asked.task_id}" if asked.task_id else ""
        return f"{asked.phase.value}{task}: a check needs permission"
    if asked.permission and asked.permission.tool == CHECK_FILES:
        return f"{who_asks(asked)} to change its own checks"
    helper = ", through a sub-agent," if asked.permission and asked.permission.sub_agent else ""
    return f"{who_asks(asked)}{helper} for permission"


def asked_briefly(asked: AskedQuestion) -> str:
    """Return who asks what on one line; a permission for a command is shortened to the command."""
    who = f"task {asked.task_id}" if asked.task_id else asked.phase.value
    permission = asked.permission
    if permission is None or permission.tool != "Bash":
        return f"{who} asks: {asked.question.question}"
    what = "allow the check" if permission.check else "allow"
    return f"{who}: {what} `{one_line(permission.argument)}`?"


def permission_sections(permission: Permission) -> list[Section]:
    """Return the call as it will run and, if different, as the agent wrote it, and why a person is asked."""
    title = _PERMISSION_TITLES.get(permission.tool, f"The input of {permission.tool}")
    kind = SectionKind.COMMAND if permission.tool == "Bash" else SectionKind.TEXT
    sections = [
        Section(title + (" as it will run" if permission.asked else ""), permission.argument, kind)
    ]
    if permission.asked:
        sections.append(Section("As the agent wrote it", permission.asked, kind))
    if permission.reason:
        sections.append(
            Section(f"Why you are asked ({permission.rule})", permission.reason, SectionKind.NOTE)
        )
    return sections


def permission_blocks(question: Question, draft: Draft) -> list[LineBlock]:
    """Return the possible answers, without numbers: a digit goes to a page beneath. A typed reason follows its answer."""
    blocks = []
    for index, option in enumerate(question.options):
        typed = f": {draft.other}" if option.reasoned and draft.other else ""
        below = [[Span(f"  {text}", Tone.MUTED)] for text in option.description.splitlines()]
        blocks.append(LineBlock(index, [[Span(option.label + typed)], *below]))
    return blocks
