"""Permission for one tool call: what is asked, what may be answered, and what an answer means.

Such a question is one of the others, so whoever can answer those can answer it.
"""

from collections.abc import Sequence
from typing import Literal

from ralph_tui.domain.base import Model
from ralph_tui.domain.documents.questions import Answer, AskedQuestion, Option, Permission, Question
from ralph_tui.domain.sanitize import one_line

ONCE, SESSION, DENY = "Allow once", "Allow for this session", "Deny"

ASK_FIRST = "ask-first"
"""The rule that the person's own list makes, `safety.ask_commands`."""

CLI = "cli-permission"
"""The rule for what the CLI asks of its own."""

NETWORK = "SandboxNetworkAccess"
"""Under this name the CLI asks whether a command in the sandbox may reach a host."""

CHECK_FILES = "CheckFiles"
"""Under this name ralph asks whether check files may change."""

CHECK_CHANGE = "check-change"
"""The rule that check files count as they were."""

NOBODY = "nobody"
"""Who denied where there is nobody to ask."""

UNASKED = "It needs the person's permission, and nobody is there to give it"

Scope = Literal["once", "session", "again"]
"""How long an allowance holds; `again` is a call that an earlier answer covers."""

SHOWN = 120


class Ruling(Model):
    """What a person decided about a call."""

    allowed: bool
    scope: Scope = "once"
    reason: str = ""
    by: str = ""

    @property
    def told(self) -> str:
        """In words, without who decided."""
        if not self.allowed:
            return f"denied: {self.reason}" if self.reason else "denied"
        return "allowed once" if self.scope == "once" else "allowed for this session"


def question_of(permission: Permission) -> Question:
    """Return the question as every face can show it, with its three answers."""
    argument = one_line(permission.argument, SHOWN)
    who = "a sub-agent" if permission.sub_agent else "the agent"
    what = {"Bash": f"run `{argument}`", NETWORK: f"reach {argument} from the sandbox"}.get(
        permission.tool, f"use {permission.tool} ({argument})"
    )
    asked = f"May {who} {what}?"
    if permission.check:
        asked = f"May ralph run `{argument}` to check the claim?"
    if permission.tool == CHECK_FILES:
        files = ", ".join(permission.patterns)
        return Question(
            question=f"May these check files change for this task: {one_line(files, 2 * SHOWN)}?",
            header="Checks",
            options=(
                Option(label=ONCE, description="Exactly this change, for this task."),
                Option(label=DENY, description="Say why, and the agent reads it.", reasoned=True),
            ),
        )
    return Question(
        question=asked,
        header="Permission",
        options=(
            Option(label=ONCE, description="Only this time."),
            Option(
                label=SESSION,
                description=f"Also {covered(permission)}, until this agent session ends.",
            ),
            Option(label=DENY, description="Say why, and the agent reads it.", reasoned=True),
        ),
    )


def check_change_permission(paths: Sequence[str], diff: str, reason: str) -> Permission:
    """Ask the person about changed check files, with exactly this diff."""
    return Permission(
        tool=CHECK_FILES, argument=diff, rule=CHECK_CHANGE, reason=reason, patterns=tuple(paths)
    )


def covered(permission: Permission) -> str:
    """Say in words what "for this session" applies to."""
    shown = " and ".join(f"`{one_line(text, SHOWN)}`" for text in permission.patterns)
    return f"every further {shown}" if shown else "exactly this call"


def ruling_of(answer: Answer) -> Ruling:
    """Return what an answer means; whatever is not plainly an allowance is a denial."""
    if answer.labels == (ONCE,):
        return Ruling(allowed=True, by=answer.by)
    if answer.labels == (SESSION,):
        return Ruling(allowed=True, scope="session", by=answer.by)
    return Ruling(allowed=False, reason=answer.other, by=answer.by)


def answer_told(asked: AskedQuestion) -> str:
    """Return the answer to any question in words; nothing for an open one."""
    if asked.answer is None:
        return ""
    if asked.permission is not None:
        return ruling_of(asked.answer).told
    return "declined" if asked.answer.declined else asked.answer.text
