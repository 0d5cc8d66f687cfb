"""Permission for one tool call: the question, the possible answers and what each one means.

A permission is asked as an ordinary question, so any way to answer questions also works for permissions.
"""

from collections.abc import Sequence
from typing import Literal

from ralph_tui.domain.base import Model
from ralph_tui.domain.documents.questions import Answer, AskedQuestion, Option, Permission, Question
from ralph_tui.domain.sanitize import one_line

ONCE, SESSION, DENY = "Allow once", "Allow for this session", "Deny"

CLI = "cli-permission"
"""The name of the rule for permissions that the CLI itself asks for."""

NETWORK = "SandboxNetworkAccess"
"""The tool name with which the CLI asks whether a sandboxed command may reach a host."""

CHECK_FILES = "CheckFiles"
"""The tool name with which ralph asks whether check files may change."""

CHECK_CHANGE = "check-change"
"""The name of the rule that check files must not change without permission."""

NOBODY = "nobody"
"""Recorded as who denied a call when there is nobody to ask."""

UNASKED = "It needs the person's permission, and nobody is there to give it"

Scope = Literal["once", "session", "again"]
"""How long a permission lasts; `again` means that an earlier answer covers this call."""

SHOWN = 120


class Ruling(Model):
    """What a person decided about a call."""

    allowed: bool
    scope: Scope = "once"
    reason: str = ""
    by: str = ""

    @property
    def summary(self) -> str:
        if not self.allowed:
            return f"denied: {self.reason}" if self.reason else "denied"
        return "allowed once" if self.scope == "once" else "allowed for this session"


def permission_question(permission: Permission) -> Question:
    argument = one_line(permission.argument, SHOWN)
    who = "a sub-agent" if permission.sub_agent else "the agent"
    what = {"Bash": f"run `{argument}`", NETWORK: f"reach {argument} from the sandbox"}.get(
        permission.tool, f"use {permission.tool} ({argument})"
    )
    deny = Option(label=DENY, description="Give the agent a reason.", reasoned=True)
    asked = f"Allow {who} to {what}?"
    if permission.check:
        asked = f"Allow ralph to run `{argument}` to check the claim?"
    if permission.tool == CHECK_FILES:
        files = ", ".join(permission.patterns)
        asked = f"Allow these check files to change for this task: {one_line(files, 2 * SHOWN)}?"
        once = Option(label=ONCE, description="Exactly this change, for this task.")
        return Question(question=asked, header="Checks", options=(once, deny))
    once = Option(label=ONCE, description="Only this time.")
    lasting = f"Also {covered(permission)}, until this agent session ends."
    options = (once, Option(label=SESSION, description=lasting), deny)
    return Question(question=asked, header="Permission", options=options)


def check_change_permission(paths: Sequence[str], diff: str, reason: str) -> Permission:
    return Permission(
        tool=CHECK_FILES, argument=diff, rule=CHECK_CHANGE, reason=reason, patterns=tuple(paths)
    )


def covered(permission: Permission) -> str:
    shown = " and ".join(f"`{one_line(text, SHOWN)}`" for text in permission.patterns)
    return f"all further {shown}" if shown else "exactly this call"


def parse_ruling(answer: Answer) -> Ruling:
    """Return the decision that an answer means. Anything that does not clearly allow the call denies it."""
    if answer.labels == (ONCE,):
        return Ruling(allowed=True, by=answer.by)
    if answer.labels == (SESSION,):
        return Ruling(allowed=True, scope="session", by=answer.by)
    return Ruling(allowed=False, reason=answer.other, by=answer.by)


def answer_text(asked: AskedQuestion) -> str:
    """Return the answer to a question in words, or an empty string while it is open."""
    if asked.answer is None:
        return ""
    if asked.permission is not None:
        return parse_ruling(asked.answer).summary
    return "declined" if asked.answer.declined else asked.answer.text
