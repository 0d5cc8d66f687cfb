"""The receipts of the last gate."""

from collections.abc import Sequence

from textual.reactive import reactive

from ralph_tui.domain.formatting import took
from ralph_tui.domain.verification.verification import Receipt
from ralph_tui.tui.render.spans import Line, Span, Tone, crop_middle, row, width_of
from ralph_tui.tui.render.states import Look
from ralph_tui.tui.timeline.lines import receipt_look, receipt_note
from ralph_tui.tui.widgets.panel import Panel

MIN_LINES = 3
"""The panel keeps this height, so that nothing below or above it jumps when receipts come."""


class GatePanel(Panel):
    """What Python ran to check the last claim, and how each ended."""

    TITLE = "gate"

    receipts: reactive[tuple[Receipt, ...]] = reactive((), layout=True)
    passed: reactive[bool | None] = reactive(None)
    task_id: reactive[str | None] = reactive(None)
    past: reactive[bool] = reactive(default=False)
    """The claim was about another task than the one being worked."""

    def watch_passed(self) -> None:
        """The verdict is in the border."""
        self.caption()

    def watch_task_id(self) -> None:
        """So is the claim's task."""
        self.caption()

    def watch_past(self) -> None:
        """And whether it is over."""
        self.caption()

    def caption(self) -> None:
        """Accepted, refused, checking, or nothing yet."""
        self.show_look(gate_look(self.task_id, passed=self.passed, past=self.past))

    def lines(self, width: int) -> Sequence[Line]:
        """One line per receipt."""
        shown: list[Line] = [self._receipt(receipt, width) for receipt in self.receipts]
        if not shown:
            text = "checks are running" if self.task_id else "no claim has been checked yet"
            shown = [[Span(text, Tone.MUTED)]]
        return [*shown, *([Span(" ")] for _ in range(MIN_LINES - len(shown)))]

    def _receipt(self, receipt: Receipt, width: int) -> Line:
        glyph, tone = receipt_look(receipt)
        note = "" if receipt.reason else receipt_note(receipt)  # the whole reason is in the detail
        word = note or receipt.status.value.replace("_", " ")
        right = [Span(word, Tone.MUTED if receipt.ok else tone)]
        if receipt.seconds:
            right.append(Span(took(receipt.seconds).rjust(7), Tone.MUTED))
        glyphs = self.app.glyphs
        room = width - width_of(right) - 3
        command = crop_middle(receipt.command, room, glyphs.ellipsis)
        return row([Span(f"{getattr(glyphs, glyph)} ", tone), Span(command)], right, width)


def gate_look(task_id: str | None, *, passed: bool | None, past: bool) -> Look:
    """The gate's state, or how the last claim ended when another task is worked or none."""
    last = "last: " if past else ""
    if passed is None:
        checking = Look("verifying", f"checking {task_id}", Tone.INFO)
        return checking if task_id else Look("idle", "no claim yet", Tone.MUTED)
    if passed:
        return Look("ok", f"{last}{task_id or 'claim'} accepted", Tone.OK)
    return Look("failed", f"{last}{task_id or 'claim'} not yet", Tone.BAD)
