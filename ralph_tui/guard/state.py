"""Builtins that change the shell itself: its directory and its variables."""

import re

from ralph_tui.guard.names import names
from ralph_tui.guard.options import parse
from ralph_tui.guard.redirects import as_assignment
from ralph_tui.guard.syntax import literal
from ralph_tui.guard.tool_variables import judge_setting
from ralph_tui.guard.variables import judge_assignment, judge_removal, judge_subscript
from ralph_tui.guard.walk import Invocation

MOVES = names("cd pushd popd chdir")
DECLARATIONS = names("export declare typeset local readonly")


def change_directory(given: Invocation, *, certain: bool) -> None:
    """Follow a `cd`; unless it is `certain` to have worked, the old place stays possible."""
    if given.program == "popd":
        given.places.move(literal("-"), certain=certain)
        return
    operands = parse(given.arguments).operands
    given.places.move(operands[0] if operands else None, certain=certain)


def _takes_back(given: Invocation) -> bool:
    """Whether variables are no longer exported, as by `export -n` and `declare +x`."""
    return any(re.fullmatch(r"-\w*n\w*|\+\w*x\w*", word.text) for word in given.arguments)


def declare(given: Invocation) -> None:
    """Judge the variables that `export` and its kin set.

    Raises:
        DeniedError: One of them makes an allowed command do something else.
    """
    for word in given.arguments:
        judge_subscript(word, given.shown)
        assignment = as_assignment(word)
        if assignment is not None:
            judge_assignment(assignment.name, assignment.value, given.shown)
            judge_setting(assignment.name, assignment.value, given)
            given.places.configure(assignment.name, assignment.value)
            given.places.note(assignment.value)
        elif "=" not in word.text and not word.text.startswith("-"):
            if _takes_back(given):
                judge_removal(word.text, given.shown)
        elif "=" in word.text or (word.text.startswith("-") and "n" in word.text):
            given.walker.assign(word, given)
