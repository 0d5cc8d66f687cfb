"""Which calls wait for the person, and for how long they did."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from ralph_tui.domain import events as ev
from ralph_tui.domain.documents.questions import AskedQuestion
from ralph_tui.tui.render.calls import Call, CallState
from ralph_tui.tui.timeline.entries import CallEntry

ASK_TOOL = "AskUserQuestion"


class Asking:
    """The open questions, and since when each of their calls waits."""

    def __init__(self) -> None:
        """Nothing is asked."""
        self._open: dict[str, AskedQuestion] = {}
        self._since: dict[str, datetime | None] = {}

    def changed(
        self, event: ev.QuestionAsked | ev.QuestionAnswered, calls: Iterable[CallEntry]
    ) -> list[CallEntry]:
        """The calls that begin to wait with this event, or are done with waiting."""
        asked = event.question
        if isinstance(event, ev.QuestionAsked):
            self._open[asked.id] = asked
        else:
            self._open.pop(asked.id, None)
        return [new for old in calls if (new := self.now(old, event.time)) is not old]

    def now(self, entry: CallEntry, time: datetime | None) -> CallEntry:
        """The call as it is from `time` on: a question may be told before the call that asks it."""
        call = entry.call
        waits = any(_asks(asked, call) for asked in self._open.values())
        if waits and call.state is CallState.RUNNING:
            self._since[call.tool_id] = time
            return replace(entry, call=replace(call, state=CallState.WAITING))
        if not waits and call.state is CallState.WAITING:
            waited = call.waited + _seconds(self._since.pop(call.tool_id, None), time)
            return replace(entry, call=replace(call, state=CallState.RUNNING, waited=waited))
        return entry


def _asks(asked: AskedQuestion, call: Call) -> bool:
    """Whether a question is what the call waits for; one of the model's own is told by its tool."""
    if asked.permission is not None:
        return bool(call.tool_id) and asked.permission.tool_id == call.tool_id
    return call.name == ASK_TOOL


def _seconds(since: datetime | None, until: datetime | None) -> float:
    return max(0.0, (until - since).total_seconds()) if since and until else 0.0
