"""What a permission is asked for, and the answers there are. Pure functions."""

from ralph_tui.domain.documents.questions import AskedQuestion, Permission, Question
from ralph_tui.domain.permissions import CHECK_FILES
from ralph_tui.domain.sanitize import one_line
from ralph_tui.tui.drafts import Draft
from ralph_tui.tui.render.calls import Section, SectionKind
from ralph_tui.tui.render.parts import Block
from ralph_tui.tui.render.question import choice, who_asks
from ralph_tui.tui.render.spans import Span

_TITLES = {
    CHECK_FILES: "The change",
    "Bash": "The command",
    "SandboxNetworkAccess": "The host a command in the sandbox wants",
}


def permission_title(asked: AskedQuestion) -> str:
    """Who wants something."""
    if asked.permission and asked.permission.check:
        task = f", task {asked.task_id}" if asked.task_id else ""
        return f"{asked.phase.value}{task}: a check of the claim needs permission"
    if asked.permission and asked.permission.tool == CHECK_FILES:
        return f"{who_asks(asked)} to change its own checks"
    helper = ", through a sub-agent," if asked.permission and asked.permission.sub_agent else ""
    return f"{who_asks(asked)}{helper} for permission"


def asked_briefly(asked: AskedQuestion) -> str:
    """Who asks what, on the one line of the header: of a command the command comes first."""
    who = f"task {asked.task_id}" if asked.task_id else asked.phase.value
    wanted = asked.permission
    if wanted is None or wanted.tool != "Bash":
        return f"{who} asks: {asked.question.question}"
    what = "allow the check" if wanted.check else "allow"
    return f"{who}: {what} `{one_line(wanted.argument)}`?"


def permission_sections(permission: Permission) -> list[Section]:
    """The call as it will run, as the agent wrote it where that differs, and why it is asked about."""
    title = _TITLES.get(permission.tool, f"The input of {permission.tool}")
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


def permission_blocks(question: Question, draft: Draft) -> list[Block]:
    """The three answers; a reason that was typed stands beside its answer."""
    blocks = []
    for index, option in enumerate(question.options):
        typed = f": {draft.other}" if option.reasoned and draft.other else ""
        blocks.append(choice(index, Span(""), option.label + typed, option.description))
    return blocks
