"""Asks for permission for one tool call: once, for this session, or denied with a reason."""

from collections.abc import Iterable, MutableMapping, Sequence
from typing import ClassVar

from textual import getters
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input, Static

from ralph_tui.domain.documents.questions import Answer, AskedQuestion
from ralph_tui.domain.sanitize import inert
from ralph_tui.domain.view.loop_view import LoopView
from ralph_tui.present.sections.question_options import (
    NOTHING,
    Draft,
    permission_blocks,
    permission_sections,
    permission_title,
    who_asks,
)
from ralph_tui.present.text.diffs import AT_ONCE, code_lines
from ralph_tui.present.text.spans import flat, text_chunks
from ralph_tui.present.tools.calls import Section, SectionKind
from ralph_tui.tui.screens.dialogs.approval import Verdict
from ralph_tui.tui.screens.dialogs.auto_dialog import AutoDialog
from ralph_tui.tui.screens.dialogs.question import ContextExcerpt, FreeTextInput, Reply
from ralph_tui.tui.widgets.blocks import Blocks
from ralph_tui.tui.widgets.dialog_frame import SCROLLS, DialogFrame
from ralph_tui.tui.widgets.scroll_text import ScrollText
from ralph_tui.tui.widgets.search import Searchable
from ralph_tui.tui.widgets.styled import StyledLines


class PermissionDialog(AutoDialog[tuple[Reply, ...] | None]):
    """Returns the answer; Escape keeps a typed reason and returns None."""

    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]  # noqa: RUF012 - as Textual declares it
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
    words = getters.query_one(FreeTextInput)

    def __init__(
        self,
        batch: Sequence[AskedQuestion],
        drafts: MutableMapping[str, Draft],
        context: Sequence[str] = (),
    ) -> None:
        super().__init__()
        self._asked = batch[0]
        self._drafts = drafts
        self._context_lines = context

    @property
    def _draft(self) -> Draft:
        return self._drafts.get(self._asked.id, NOTHING)

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
        blocks = permission_blocks(self._asked.question, self._draft)
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
            self.words.begin(self._draft.other)
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
