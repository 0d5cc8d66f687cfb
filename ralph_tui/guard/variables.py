"""Assignments that change which program a later word means, or make a program start another."""

import re

from ralph_tui.guard.git import judge_git_variable
from ralph_tui.guard.names import names
from ralph_tui.guard.syntax import UNKNOWN, Word
from ralph_tui.guard.verdicts import deny

_HELPERS = names(
    "PAGER MANPAGER EDITOR VISUAL BROWSER LESSOPEN LESSCLOSE SSH_ASKPASS SUDO_ASKPASS FCEDIT"
    " SYSTEMD_PAGER DELTA_PAGER BAT_PAGER"
)
_HARMLESS_HELPERS = names("cat less more true false : vi vim nano code")
_LOADED = names(
    "BASH_ENV ENV ZDOTDIR LD_PRELOAD LD_AUDIT DYLD_INSERT_LIBRARIES PROMPT_COMMAND PERL5OPT"
    " PERL5DB RUBYOPT BASH_ALIASES BASH_CMDS PYTHONSTARTUP"
)
_PROMPTS = names("PS0 PS1 PS2 PS3 PS4")
_SUBSCRIPT = re.compile(r"\w\[[^\]]*(?:\$\(|`)")
RULE = "environment"


def judge_assignment(name: str, value: Word, shown: str) -> None:
    """Refuse an assignment that would make an allowed command do something else.

    Raises:
        DeniedError: The variable does that.
    """
    _refuse_marks(name, shown)
    if name.startswith("GIT_") or name == "GIT":
        if name != "GIT":
            judge_git_variable(name, value)
        return
    text = value.text.strip()
    if name in _HELPERS and text.partition(" ")[0] not in (*_HARMLESS_HELPERS, ""):
        _refuse(shown, "This variable names a program that other programs start")
    if (name in _LOADED and text) or name.startswith("BASH_FUNC_"):
        _refuse(shown, "This variable is code that other programs load")
    if name in ("LESS", "MORE") and "!" in text:
        _refuse(shown, "The pager starts what stands behind the exclamation mark")
    if name in _PROMPTS and ("$(" in text or "`" in text):
        _refuse(shown, "The shell runs what stands in its prompt")
    if name in ("MAKEFLAGS", "GNUMAKEFLAGS") and "eval" in text:
        _refuse(shown, "This variable is code that make runs")
    judge_subscript(value, shown)


def judge_removal(name: str, shown: str) -> None:
    """Refuse to take away the variables through which scripts meet the guard.

    Raises:
        DeniedError: It is one of them.
    """
    _refuse_marks(name, shown)
    if name.startswith("GIT_CONFIG"):
        _refuse(shown, "Scripts meet the guard through this variable")


def _refuse_marks(name: str, shown: str) -> None:
    if name.startswith(("RALPH_GUARD", "RALPH_TUI")):
        _refuse(shown, "Ralph recognizes what agents start by this variable")


def judge_subscript(value: Word, shown: str) -> None:
    """Arithmetic runs a substitution inside an array's subscript, even a quoted one.

    Raises:
        DeniedError: The text holds one.
    """
    if _SUBSCRIPT.search(value.text.replace(UNKNOWN, "x")):
        _refuse(shown, "The shell may run the substitution in this subscript")


def _refuse(shown: str, reason: str) -> None:
    deny(RULE, shown, reason, "Leave the variable as it is.")
