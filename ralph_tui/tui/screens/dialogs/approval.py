"""Show the specs, the plan or the result for approval, and return the decision."""

from collections.abc import Iterable, Sequence
from typing import ClassVar, Literal

from textual import getters
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Button, Static

from ralph_tui.domain.events import ApprovalRequested
from ralph_tui.domain.project_state import REASONED, ApprovalKind
from ralph_tui.domain.sanitize import inert
from ralph_tui.domain.view.loop_view import LoopView
from ralph_tui.present.sections.approval_parts import APPROVAL_HEADINGS
from ralph_tui.present.text.figures import in_local
from ralph_tui.present.text.parts import Part, parts_blocks, parts_text
from ralph_tui.present.text.spans import Span
from ralph_tui.tui.data.attention import approval_key
from ralph_tui.tui.screens.dialogs.auto_dialog import AutoDialog
from ralph_tui.tui.widgets.dialog_frame import SCROLLS, DialogFrame
from ralph_tui.tui.widgets.text_view import TextView

Verdict = Literal["approve", "reject"]


VERDICTS = {
    ApprovalKind.LIMIT: ("wait", "end the run"),
    ApprovalKind.RECOVERY: ("try one iteration", "end the run"),
    ApprovalKind.UNVERIFIED: ("build unverified", "end the run"),
}


MAX_HEADER_CHARS = 140
"""Maximum number of characters of a summary that stays above the text; a longer one scrolls with the text."""


class ApprovalDialog(AutoDialog[Verdict | None]):
    """Returns the verdict, or None for later; the caller asks for the reason of a rejection."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+y", "decide('approve')", show=False),
        Binding("ctrl+r", "decide('reject')", show=False),
    ]
    KEYS = "ctrl+y {yes}, ctrl+r {no}, esc later; {search} search, {copy} copy, {share} export"
    BRIEF = "ctrl+y {yes}, ctrl+r {no}, esc later; {copy} copy"
    STEM = "approval"

    text = getters.query_one(TextView)

    def __init__(self, approval: ApprovalRequested, parts: Sequence[Part] = ()) -> None:
        super().__init__()
        self._approval = approval
        self._parts = list(parts)

    def compose_frame(self) -> Iterable[Widget]:
        with DialogFrame(classes="dialog -large -approval") as frame:
            kind = self._approval.kind
            heading = APPROVAL_HEADINGS[kind]
            self.set_title(frame, heading, heading)
            summary = in_local(inert(self._approval.summary), self.app.clock())
            if self._parts and len(summary) > MAX_HEADER_CHARS:
                self._parts.insert(0, Part("Summary", [[Span(summary)]]))
            elif summary:
                yield Static(Content(summary), classes="summary")
            yield self.content_view()
            with Horizontal(classes="verdicts"):
                for label, name in zip(self.verdicts, ("approve", "reject"), strict=True):
                    yield Button(label.capitalize(), id=name, compact=True, classes="verdict")
                yield Button("Later", id="later", compact=True, classes="verdict")

    def content_view(self) -> TextView:
        return TextView(id="approved").add_class(SCROLLS)

    @property
    def verdicts(self) -> tuple[str, str]:
        no = "request changes" if self._approval.kind in REASONED else "reject"
        return VERDICTS.get(self._approval.kind, ("approve", no))

    def footer_text(self) -> str:
        yes, no = self.verdicts
        return self.app.keys.said(self.KEYS if self._parts else self.BRIEF, yes=yes, no=no)

    def on_mount(self) -> None:
        self.text.focus()
        self.show_parts(self._parts)
        self.watch(self.app, "view", self.follow, init=True)  # it may have been decided by now

    def show_parts(self, parts: list[Part]) -> None:
        self._parts = parts
        self.query_one(".dialog").set_class(not parts, "-brief")
        self.update_footer()
        self.text.show_blocks(parts_blocks(parts))

    def follow(self, view: LoopView) -> None:
        if view.approval is None or approval_key(view.approval) != approval_key(self._approval):
            self.close_answered(view)

    def on_button_pressed(self, event: Button.Pressed) -> None:
        event.stop()
        if event.button.id == "later":
            self.action_cancel()
        else:
            self.action_decide("approve" if event.button.id == "approve" else "reject")

    def action_decide(self, verdict: Verdict) -> None:
        self.dismiss(verdict)

    def search_target(self) -> TextView | None:
        return self.text if self.text.row_count() else None

    def full_text(self) -> str:
        return parts_text(self._parts) or super().full_text()
