"""Judges assignments: variables that make programs start others, and settings of tools."""

import re

from ralph_tui.guard.core.arguments import Spec, parse
from ralph_tui.guard.core.constants import FRESH, changes_to_fresh_directory
from ralph_tui.guard.core.programs import listed_words
from ralph_tui.guard.core.rule_context import Invocation
from ralph_tui.guard.core.verdicts import deny
from ralph_tui.guard.rules.git import judge_git_variable
from ralph_tui.guard.shell.lexer import as_assignment
from ralph_tui.guard.shell.nodes import UNKNOWN, Word, literal

_SUBSCRIPT = re.compile(r"\w\[[^\]]*(?:\$\(|`)")
RULE = "environment"


def judge_assignment(name: str, value: Word, shown: str) -> None:
    _refuse_ralph_variable(name, shown)
    if name.startswith("GIT_") or name == "GIT":
        if name != "GIT":
            judge_git_variable(name, value)
        return
    text = value.text.strip()
    if name in listed_words("program-variables") and text.partition(" ")[0] not in (
        *listed_words("harmless-programs"),
        "",
    ):
        _refuse_variable(shown, "This variable names a program that other programs start")
    if (name in listed_words("code-variables") and text) or name.startswith("BASH_FUNC_"):
        _refuse_variable(shown, "This variable is code that other programs load")
    judge_subscript(value, shown)


def judge_removal(name: str, shown: str) -> None:
    _refuse_ralph_variable(name, shown)
    if name.startswith("GIT_CONFIG"):
        _refuse_variable(shown, "The guard uses this variable to check scripts")


def _refuse_ralph_variable(name: str, shown: str) -> None:
    if name.startswith(("RALPH_GUARD", "RALPH_TUI")):
        _refuse_variable(shown, "Ralph uses this variable to recognize the agent's processes")


def judge_subscript(value: Word, shown: str) -> None:
    """Refuse a substitution in an array subscript, which arithmetic runs even if quoted."""
    if _SUBSCRIPT.search(value.text.replace(UNKNOWN, "x")):
        _refuse_variable(shown, "The shell may run the substitution in this subscript")


def _refuse_variable(shown: str, reason: str) -> None:
    deny(RULE, shown, reason, "Do not change the variable.")


def judge_change_directory(call: Invocation) -> None:
    if call.program == "popd":
        call.dirs.move(literal("-"), certain=call.certain)
        return
    target = next(iter(parse(call.arguments).operands), None)
    if target is not None and changes_to_fresh_directory(target, call.walker.source):
        target = literal(FRESH)
    call.dirs.move(target, certain=call.certain)


def judge_declare(call: Invocation) -> None:
    for word in call.arguments:
        judge_subscript(word, call.shown)
        assignment = as_assignment(word)
        if assignment is not None:
            judge_assignment(assignment.name, assignment.value, call.shown)
            call.dirs.track_settings_home(assignment.name, assignment.value)
        elif "=" not in word.text and not word.text.startswith("-"):
            if any(re.fullmatch(r"-\w*n\w*|\+\w*x\w*", word.text) for word in call.arguments):
                judge_removal(word.text, call.shown)
        elif "=" in word.text or (word.text.startswith("-") and "n" in word.text):
            call.walker.assign(word, call)


def judge_set(call: Invocation) -> None:
    words = [w for w in parse(call.arguments, Spec("o")).operands if w.text[:1] != "+"]
    if words and '"$@"' in call.walker.source:
        call.walker.run(words, call)


def judge_unset(call: Invocation) -> None:
    for word in call.arguments:
        judge_removal(word.text, call.shown)


def judge_subscripts(call: Invocation) -> None:
    # Unless printf begins with an option, its first word is the format and none is a variable.
    first = call.arguments[0].text[:1] if call.arguments else ""
    if call.program != "printf" or first in ("", "-", UNKNOWN):
        for word in call.arguments:
            judge_subscript(word, call.shown)
