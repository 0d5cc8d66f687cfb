"""Check where a written file has really gone: a link may change between the guard's look and the write.

The CLI opens files itself, so no flag of ours can hold the path it was allowed; what is left is to look
again. It gives nobody new rights (whoever can change the link can write as the same user), but it is reported.
"""

from ralph_tui.domain import events as ev
from ralph_tui.domain.events import EventSink
from ralph_tui.domain.project_state import StopMode
from ralph_tui.domain.sanitize import one_line
from ralph_tui.domain.tool_calls import ToolCall, Verdict
from ralph_tui.engine.core.project_state import ProjectState


async def stop_if_astray(
    project_state: ProjectState, emit: EventSink, call: ToolCall, verdict: Verdict
) -> str:
    """Stop the loop when a file was written where it may not be; returns why, or nothing.

    Args:
        project_state: The project's documents, which hold the request to stop.
        emit: Takes the notice for the person.
        call: The call that wrote the file.
        verdict: The guard's verdict on the path, looked up again after the write.
    """
    if verdict.decision != "deny":
        return ""
    why = (
        f"{call.name} was allowed {one_line(verdict.part, 120)} and the path led elsewhere afterwards "
        f"({verdict.reason[:1].lower()}{verdict.reason[1:]})"
    )
    text = f"{why}: a link was changed meanwhile. Look what was written there, then run again."
    emit(ev.Notice(level="error", text=text))
    await project_state.transact(lambda docs: docs.with_state(stop=StopMode.NOW, stop_why=why))
    return why
