"""Which renderer draws which tool."""

from ralph_tui.tui.render.agent import SubAgent
from ralph_tui.tui.render.asking import Asking, PlanIsDone
from ralph_tui.tui.render.bash import Bash
from ralph_tui.tui.render.calls import Call, Renderer
from ralph_tui.tui.render.files import Edit, Read, Write
from ralph_tui.tui.render.generic import Generic
from ralph_tui.tui.render.ralph import PREFIX, RalphTool
from ralph_tui.tui.render.search import Search, Web

_RALPH = RalphTool()
_BY_NAME: dict[str, Renderer] = {
    "Bash": Bash(),
    "Read": Read(),
    "Write": Write(),
    "Edit": Edit(),
    "MultiEdit": Edit(),
    "NotebookEdit": Edit(),
    "Grep": Search("grep"),
    "Glob": Search("glob"),
    "LS": Search("list"),
    "Agent": SubAgent(),
    "Task": SubAgent(),
    "AskUserQuestion": Asking(),
    "ExitPlanMode": PlanIsDone(),
    "WebFetch": Web(),
    "WebSearch": Web(),
}


def renderer_for(call: Call) -> Renderer:
    """The renderer of a call's tool."""
    if call.name.startswith(PREFIX):
        return _RALPH
    return _BY_NAME.get(call.name) or Generic(call.name)
