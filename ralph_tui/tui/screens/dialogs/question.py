"""Asks the model's questions, and for permission for one tool call."""

from collections.abc import Iterable, MutableMapping, Sequence
from typing import ClassVar

from textual import getters
from textual.binding import Binding, BindingType
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input, Static

from ralph_tui.domain.documents.questions import Answer, AskedQuestion
from ralph_tui.domain.sanitize import head, inert
from ralph_tui.domain.view.loop_view import LoopView
from ralph_tui.present.sections.question_options import (
    NOTHING,
    SEND,
    WRITING,
    Draft,
    keys_of_question,
    keys_of_review,
    permission_blocks,
    permission_sections,
    permission_title,
    question_blocks,
    question_tabs,
    review_blocks,
    who_asks,
)
from ralph_tui.present.text.diffs import AT_ONCE, code_lines
from ralph_tui.present.text.spans import Line, Span, Tone, flat, text_chunks, wrap
from ralph_tui.present.tools.calls import Section, SectionKind
from ralph_tui.tui.host.widget_host import Host
from ralph_tui.tui.screens.dialogs.approval import Verdict
from ralph_tui.tui.screens.dialogs.auto_dialog import AutoDialog
from ralph_tui.tui.widgets.blocks import Blocks
from ralph_tui.tui.widgets.dialog_frame import SCROLLS, DialogFrame
from ralph_tui.tui.widgets.links import LinkLine
from ralph_tui.tui.widgets.row_list import Key, RowList
from ralph_tui.tui.widgets.scroll_text import ScrollText
from ralph_tui.tui.widgets.search import Searchable
from ralph_tui.tui.widgets.styled import StyledLines, StyledWidget
from ralph_tui.tui.widgets.text_view import TextView


class FreeTextInput(Input):
    """A field for free text; hidden at first by the style sheet."""

    app = getters.app(Host)

    def __init__(self, placeholder: str) -> None:
        super().__init__(placeholder=placeholder, select_on_focus=False, id="words")
        self.cursor_blink = self.app.animation_level == "full"

    @property
    def writing(self) -> bool:
        return self.display

    def begin(self, text: str) -> None:
        self.value = text
        self.display = True
        self.focus()
        self.cursor_position = len(text)

    def end(self) -> None:
        self.display = False


class ContextExcerpt(StyledWidget):
    """Shows the last rows of the model's text before a question."""

    def __init__(self, texts: Sequence[str], rows: int) -> None:
        super().__init__(classes="context")
        self._texts = texts
        self._most = rows

    def _rows(self, width: int) -> list[str]:
        rows = [row for text in self._texts for row in wrap(text, width)]
        shown = rows[-self._most :]
        if len(shown) < len(rows):
            shown[0] = wrap(f"{self.app.glyphs.ellipsis} {shown[0]}", width)[0]
        return shown

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        del container, viewport
        return len(self._rows(width))

    def render(self) -> Content:
        rows = self._rows(self.content_size.width)
        return self.content([[Span(text, Tone.MUTED)] for text in rows])


class QuestionTabs(LinkLine):
    """The questions of a batch as tabs."""

    GAP = ""

    class Wanted(Message):
        """Posted when a tab was clicked."""

        def __init__(self, at: int) -> None:
            super().__init__()
            self.at = at

    def __init__(self) -> None:
        super().__init__(classes="tabs")
        self._tabs: Sequence[Line] = ()

    def show_tabs(self, tabs: Sequence[Line]) -> None:
        self._tabs = tabs
        self.refresh()

    def links(self, width: int) -> Sequence[tuple[str, Line]]:
        del width
        return [(str(at), tab) for at, tab in enumerate(self._tabs)]

    def follow(self, name: str) -> None:
        self.post_message(self.Wanted(int(name)))


Reply = tuple[str, Answer]
"""A question's id and its answer."""

MAX_PREVIEW = 20_000


class _AskingDialog(AutoDialog[tuple[Reply, ...] | None]):
    """Keeps a draft of each answer, below the last words of the model."""

    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]  # noqa: RUF012 - as Textual declares it

    words = getters.query_one(FreeTextInput)

    def __init__(
        self,
        batch: Sequence[AskedQuestion],
        drafts: MutableMapping[str, Draft],
        context: Sequence[str] = (),
    ) -> None:
        super().__init__()
        self._batch = list(batch)
        self._drafts = drafts
        self._context_lines = context

    def _draft(self, asked: AskedQuestion) -> Draft:
        return self._drafts.get(asked.id, NOTHING)


class QuestionDialog(_AskingDialog):
    """Returns the answers of one batch; Escape keeps the drafts and returns None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "accept", show=False),
        Binding("space", "mark", show=False),
        Binding("right,l,tab", "page(1)", show=False),
        Binding("left,h,shift+tab", "page(-1)", show=False),
        *(Binding(str(number), f"pick({number})", show=False) for number in range(1, 10)),
    ]

    choices = getters.query_one(TextView)
    preview = getters.query_one("#preview", VerticalScroll)

    _at = 0

    def compose_frame(self) -> Iterable[Widget]:
        with DialogFrame(classes="dialog -large -asking") as frame:
            who = flat(who_asks(self._batch[0]))
            self.set_title(frame, who, who)
            if self._context_lines:
                yield ContextExcerpt(self._context_lines, rows=3)
            yield QuestionTabs()
            with Container(id="choosing", classes=SCROLLS):
                yield TextView(id="choices")
                with VerticalScroll(id="preview", can_focus=False):
                    yield Static(id="preview-text", markup=False)
            yield FreeTextInput("Type your answer, then press enter")

    def on_mount(self) -> None:
        drafts = [self._draft(asked) for asked in self._batch]
        self._go_to(next((i for i, d in enumerate(drafts) if not d.is_given), len(drafts)))
        self.watch(
            self.app, "view", self._follow, init=True
        )  # the questions may have been answered by now

    def search_target(self) -> TextView:
        return self.choices

    # Showing.

    @property
    def _now(self) -> AskedQuestion | None:
        return self._batch[self._at] if self._at < len(self._batch) else None

    def _show(self, cursor: int | None = None) -> None:
        asked, glyphs = self._now, self.app.glyphs
        tabs = question_tabs(self._batch, self._drafts, self._at, glyphs)
        self.query_one(QuestionTabs).show_tabs(tabs)
        previews = asked is not None and any(o.preview for o in asked.question.options)
        self.preview.display = previews
        if asked is None:
            blocks = review_blocks(self._batch, self._drafts, glyphs)
        else:
            blocks = question_blocks(asked.question, self._draft(asked), glyphs)
        self.choices.show_blocks(blocks, cursor)
        self.update_footer()

    def footer_text(self) -> str:
        if self.words.writing:
            return WRITING
        if (asked := self._now) is None:
            return keys_of_review(sends=self.choices.cursor == SEND)
        return self.app.keys.said(keys_of_question(asked.question, alone=len(self._batch) == 1))

    def on_blocks_highlighted(self, event: Blocks.Highlighted) -> None:
        """Show the preview of the option under the cursor, and update the footer."""
        self.update_footer()
        asked = self._now
        if asked is None or not isinstance(event.key, int):
            return
        options = asked.question.options
        text = options[event.key].preview if event.key < len(options) else ""
        self.query_one("#preview-text", Static).update(Content(inert(head(text, MAX_PREVIEW))))

    def _follow(self, view: LoopView) -> None:
        batch = self._batch[0].batch
        still = [asked for asked in view.questions if asked.batch == batch]
        if not still:
            self.close_answered(view)
        elif [q.id for q in still] != [q.id for q in self._batch]:
            now = self._now
            self._batch = still
            ids = [asked.id for asked in still]
            known = now is not None and now.id in ids
            self._at = ids.index(now.id) if known and now else min(self._at, len(still))
            self._stop_writing()
            self._show()

    # Answering.

    def on_question_tabs_wanted(self, event: QuestionTabs.Wanted) -> None:
        if self.accepts_keys:
            self._go_to(event.at)

    def on_row_list_clicked(self, event: RowList.Clicked) -> None:
        if self.accepts_keys and self._is_markable(event.key):
            self.action_mark()

    def on_row_list_opened(self, event: RowList.Opened) -> None:
        """Treat a double click as Enter, unless its first click marked an option."""
        if self.accepts_keys and not self._is_markable(event.key):
            self.action_accept()

    def _is_markable(self, key: Key) -> bool:
        asked = self._now
        if asked is None or not asked.question.multi_select or not isinstance(key, int):
            return False
        return key <= len(asked.question.options)

    def action_pick(self, number: int) -> None:
        if self.choices.row_of(number - 1) is None:
            return
        self.choices.move_cursor(number - 1)
        asked = self._now
        if asked is not None and asked.question.multi_select:
            self.action_mark()
        else:
            self.action_accept()

    def action_mark(self) -> None:
        asked, key = self._now, self.choices.cursor
        if asked is None or not isinstance(key, int):
            return
        options, draft = len(asked.question.options), self._draft(asked)
        if asked.question.multi_select and key < options:
            self._drafts[asked.id] = draft.toggling(key)
            self._show(key)
        elif key == options:
            self._write(draft.other)
        else:
            self.action_accept()

    def action_accept(self) -> None:
        """Take the option under the cursor, and go to the next question."""
        asked, key = self._now, self.choices.cursor
        if not isinstance(key, int):
            return
        if asked is None:
            self._review(key)
            return
        options, draft = len(asked.question.options), self._draft(asked)
        written = asked.question.multi_select and draft.uses_other
        if key == options and not written:  # space edits a written text; enter continues
            self._write(draft.other)
            return
        if key > options:
            self._drafts[asked.id] = draft.declining()
        elif not asked.question.multi_select:
            self._drafts[asked.id] = draft.choosing(key)
        elif not draft.marked and not draft.uses_other:
            self.app.show_message("Mark at least one option with space, or decline.")
            return
        self.action_page(1)

    def _review(self, key: int) -> None:
        missing = [i for i, asked in enumerate(self._batch) if not self._draft(asked).is_given]
        if key != SEND:
            self._go_to(key)
        elif missing:
            self.app.show_message("This question has no answer yet. Answer or decline it.")
            self._go_to(missing[0])
        else:
            drafts = ((asked, self._draft(asked)) for asked in self._batch)
            self.dismiss(tuple((asked.id, draft.answer(asked.question)) for asked, draft in drafts))

    def action_page(self, step: int) -> None:
        self._go_to(min(max(self._at + step, 0), len(self._batch)))

    def _go_to(self, at: int) -> None:
        self._at = at
        self._stop_writing()
        asked = self._now
        marked = min(self._draft(asked).marked, default=0) if asked else SEND
        self._show(marked)

    # Free text.

    def _write(self, text: str) -> None:
        self.preview.display = False  # free text has no preview, and the question needs the room
        self.words.begin(text)
        self.update_footer()

    def _stop_writing(self) -> None:
        self.words.end()
        self.choices.focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        asked = self._now
        if asked is not None and self.words.writing:
            multi = asked.question.multi_select
            self._drafts[asked.id] = self._draft(asked).writing(event.value, multi=multi)

    def on_input_submitted(self) -> None:
        """Take the free text as the answer or, in a multiple choice, as one of the answers."""
        asked = self._now
        if asked is None:
            return
        if not self._draft(asked).uses_other:
            self.app.show_message("Type an answer first, or press esc to go back to the options.")
            return
        if asked.question.multi_select:
            self._stop_writing()
            self._show()
        else:
            self.action_page(1)

    def action_cancel(self) -> None:
        if self.words.writing:
            self._stop_writing()
            self._show()
        else:
            self.dismiss(None)


class PermissionDialog(_AskingDialog):
    """Returns the answer; Escape keeps a typed reason and returns None."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "accept", show=False),
        # The list of answers also binds these keys, but has nothing to scroll.
        Binding("pagedown", "turn(1)", show=False, priority=True),
        Binding("pageup", "turn(-1)", show=False, priority=True),
        Binding("ctrl+d", "turn(1)", show=False, priority=True),
        Binding("ctrl+u", "turn(-1)", show=False, priority=True),
        Binding("ctrl+y", "decide('approve')", show=False),
        Binding("ctrl+r", "decide('reject')", show=False),
    ]
    STEM = "permission"

    choices = getters.query_one(Blocks)
    call = getters.query_one(ScrollText)

    @property
    def _asked(self) -> AskedQuestion:
        return self._batch[0]

    def compose_frame(self) -> Iterable[Widget]:
        with DialogFrame(classes="dialog -large -permission") as frame:
            self.set_title(frame, flat(permission_title(self._asked)), flat(who_asks(self._asked)))
            if self._context_lines:
                yield ContextExcerpt(self._context_lines, rows=2)
            with ScrollText(id="call", classes=SCROLLS):
                if self._asked.permission is not None:
                    yield from _call_widgets(permission_sections(self._asked.permission))
            yield Blocks(id="answers")
            yield FreeTextInput("Reason for the agent (optional)")

    def on_mount(self) -> None:
        self.choices.preselects = (
            False  # nothing that grants is taken by a key meant for another screen
        )
        self.choices.focus()
        self._show()
        self.watch(self.call, "show_vertical_scrollbar", self.update_footer, init=False)
        self.watch(self.app, "view", self._follow, init=True)

    def _show(self) -> None:
        blocks = permission_blocks(self._asked.question, self._draft(self._asked))
        self.choices.show_blocks(blocks)
        self.update_footer()

    def footer_text(self) -> str:
        if self.words.writing:
            return _REASON_KEYS
        scrolls = "ctrl+d ctrl+u scroll, " if self.call.show_vertical_scrollbar else ""
        return self.app.keys.said(f"{_KEYS}, {scrolls}{_OTHER_KEYS}")

    def _follow(self, view: LoopView) -> None:
        if all(asked.id != self._asked.id for asked in view.questions):
            self.close_answered(view)

    def search_target(self) -> ScrollText:
        return self.call

    def focus_after_search(self, searched: Searchable) -> Widget:
        del searched
        return self.choices

    def full_text(self) -> str:
        return f"{flat(permission_title(self._asked))}\n\n{super().full_text()}"

    # Answering.

    def on_row_list_opened(self) -> None:
        if self.accepts_keys:
            self.action_accept()

    def action_decide(self, verdict: Verdict) -> None:
        options = self._asked.question.options
        wanted = [k for k, option in enumerate(options) if option.reasoned == (verdict == "reject")]
        self.choices.move_cursor(wanted[0])
        self._take(wanted[0])

    def action_accept(self) -> None:
        """Send the answer under the cursor, or focus the answers if they are not focused."""
        if not self.choices.has_focus:
            self.choices.focus()
        elif isinstance(self.choices.cursor, int):
            self._take(self.choices.cursor)
        else:
            self.app.show_message("Move to an answer first.")

    def _take(self, key: int) -> None:
        option = self._asked.question.options[key]
        if option.reasoned:
            self.words.begin(self._draft(self._asked).other)
            self.update_footer()
        else:
            self._send(Answer(labels=(option.label,), by="screen"))

    def action_turn(self, pages: int) -> None:
        self.call.scroll_relative(
            y=pages * max(1, self.call.size.height // 2), animate=False, force=True, immediate=True
        )

    def on_input_changed(self, event: Input.Changed) -> None:
        if self.words.writing:
            self._drafts[self._asked.id] = Draft(other=event.value.strip())

    def on_input_submitted(self, event: Input.Submitted) -> None:
        option = next(option for option in self._asked.question.options if option.reasoned)
        self._send(Answer(labels=(option.label,), other=event.value.strip(), by="screen"))

    def _send(self, answer: Answer) -> None:
        self.dismiss(((self._asked.id, answer),))

    def action_cancel(self) -> None:
        if self.words.writing:
            self.words.end()
            self.choices.focus()
            self._show()
        else:
            self.dismiss(None)


def _call_widgets(sections: Iterable[Section]) -> Iterable[Widget]:
    for section in sections:
        yield Static(Content(inert(section.title)), classes="section-title")
        text, classes = inert(section.body).expandtabs(4), f"section -{section.kind}"
        if section.kind is SectionKind.COMMAND and len(text) <= AT_ONCE:
            yield StyledLines(code_lines(text, "command.sh"), classes=classes)
            continue
        *before, last = text_chunks(text)
        yield from (Static(Content(piece), classes=f"{classes} -goes-on") for piece in before)
        yield Static(Content(last), classes=classes)


_KEYS = "ctrl+y allow once, ctrl+r deny, up down enter choose"
_OTHER_KEYS = "esc later, {search} search; {copy} copy, {share} export"
_REASON_KEYS = "enter deny, esc back to the answers"
