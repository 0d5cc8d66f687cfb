"""Commands for decisions: opens questions and approvals when they arrive, and sends the answers."""

import asyncio

from textual.widgets import Input

from ralph_tui.domain.errors import RalphError
from ralph_tui.domain.events import ApprovalRequested
from ralph_tui.domain.project_state import REASONED, ApprovalKind
from ralph_tui.domain.sanitize import one_line
from ralph_tui.domain.view.loop_view import LoopView
from ralph_tui.present.sections.approval_parts import (
    APPROVAL_HEADINGS,
    plan_blocks,
    report_parts,
    spec_parts,
)
from ralph_tui.present.sections.breaker_signals import breaker_parts
from ralph_tui.present.sections.question_options import Draft
from ralph_tui.present.text.parts import Part, parts_blocks
from ralph_tui.tui.data.attention import Attention, PendingDecision, approval_key, pending_decision
from ralph_tui.tui.data.project_files import read_report, read_specs
from ralph_tui.tui.handlers.command_host import CommandHost
from ralph_tui.tui.host.widget_host import attempt
from ralph_tui.tui.screens.dialogs.approval import ApprovalDialog
from ralph_tui.tui.screens.dialogs.plan_review import PlanApproval
from ralph_tui.tui.screens.dialogs.question import PermissionDialog, QuestionDialog
from ralph_tui.tui.screens.dialogs.text_input import RequestChangesDialog

CONTEXT_LINES = 3
"""Maximum number of lines of the model's text that are shown above its question."""

_LATER = "Ralph needs your answer. Close this to open the question, or press {} later."


class DecisionHandlers:
    """Opens pending questions and approvals, and sends the person's decisions."""

    def __init__(self, host: CommandHost) -> None:
        self._app = host.app
        self._dashboard = host.dashboard
        self._attention = Attention()
        self._drafts: dict[str, Draft] = {}
        self._reason = ""
        self._done: set[str] = set()
        """Decisions made here that the loop has not confirmed yet."""

    def check(self) -> None:
        """Alert the person to a new pending decision, and open it unless they are busy; called at every flush."""
        app, view = self._app, self._app.view
        self._done &= {asked.id for asked in view.questions} | (
            {approval_key(view.approval)} if view.approval is not None else set()
        )
        if not app.bridge.live:
            return  # also while past events of another process's loop are read
        pending = pending_decision(view, self._done)
        free = app.screen is self._dashboard and not isinstance(app.focused, Input)
        if self._attention.is_new(pending):
            app.alert(_alert_text(view))
            if not free:
                app.show_message(_LATER.format(app.keys.label("answer")))
        if self._attention.should_open(pending, free=free):
            app.action_invoke("answer")

    async def answer(self) -> None:
        """Open the decision that has been pending longest."""
        pending = pending_decision(self._app.view, self._done)
        if pending is None:
            self._app.show_message("Nothing needs your answer.")
            return
        self._attention.opened(pending)
        if pending.approval is not None:
            await self._decide(pending.approval)
        else:
            await self._ask(pending)

    async def _ask(self, pending: PendingDecision) -> None:
        make = PermissionDialog if pending.questions[0].permission else QuestionDialog
        dialog = make(pending.questions, self._drafts, self._context())
        replies = await self._app.push_screen_wait(dialog)
        for question_id, answer in replies or ():
            self._done.add(question_id)
            sent = await attempt(
                self._app,
                lambda q=question_id, a=answer: self._app.launch.controls.answer(q, a),  # type: ignore[misc]  # the defaults bind the loop's values
            )
            if sent is None:
                self._done.discard(question_id)
            else:
                self._drafts.pop(question_id, None)

    def _context(self) -> list[str]:
        lines = self._dashboard.stream.timeline.last_text().strip().splitlines()
        return [one_line(text, 300) for text in lines if text.strip()][-CONTEXT_LINES:]

    async def _decide(self, approval: ApprovalRequested) -> None:
        parts = await self._content_of(approval.kind)
        while True:
            make = PlanApproval if approval.kind is ApprovalKind.PLAN else ApprovalDialog
            verdict = await self._app.push_screen_wait(make(approval, parts))
            if verdict is None:
                return
            reason, needs_one = "", verdict == "reject" and approval.kind in REASONED
            if needs_one:
                view, glyphs = self._app.view, self._app.glyphs
                text = parts_blocks(parts) if parts else plan_blocks(view.tasks, glyphs)
                dialog = RequestChangesDialog(approval.kind, self._reason, text)
                reason = await self._app.push_screen_wait(dialog) or ""
                self._reason = dialog.draft
            if reason or not needs_one:
                await self._send(approval, approved=verdict == "approve", reason=reason)
                return

    async def _send(self, approval: ApprovalRequested, *, approved: bool, reason: str) -> None:
        key = approval_key(approval)
        self._done.add(key)
        controls = self._app.launch.controls
        sent = await attempt(
            self._app, lambda: controls.decide(approved=approved, reason=reason, by="screen")
        )
        if sent is None:
            self._done.discard(key)
        else:
            self._reason = ""

    async def _content_of(self, kind: ApprovalKind) -> list[Part]:
        root, glyphs = self._app.launch.root, self._app.glyphs
        try:
            if kind is ApprovalKind.SPECS:
                return spec_parts(await asyncio.to_thread(read_specs, root), glyphs)
            if kind is ApprovalKind.VALIDATION:
                return report_parts(await asyncio.to_thread(read_report, root), glyphs)
        except RalphError as error:
            self._app.report_problem(str(error))
        if kind is ApprovalKind.RECOVERY:
            return breaker_parts(self._app.view.breaker, glyphs)
        return []


def _alert_text(view: LoopView) -> str:
    if view.questions:
        return f"{view.project} asks: {view.questions[0].question.question}"
    decision = APPROVAL_HEADINGS[view.approval.kind] if view.approval else "needs your answer"
    return f"{view.project}: {decision}"
