"""Make: rules given on the command line or standard input, and variables that its recipes run."""

import re
from collections.abc import Sequence

from ralph_tui.guard.code_texts import STDIN, judge_possible_command
from ralph_tui.guard.names import names
from ralph_tui.guard.options import Spec, parse
from ralph_tui.guard.syntax import UNKNOWN, Word
from ralph_tui.guard.tool_variables import is_prose, judge_make_shell
from ralph_tui.guard.walk import Invocation, unreadable_part


def judge_make(given: Invocation) -> None:
    """Judge `make`.

    Raises:
        DeniedError: What it is given would do harm.
    """
    spec = Spec("fCIjloW", attached="", long=names("--file --makefile --directory --eval"))
    read = parse(given.arguments, spec)
    for option in read.options:
        value = option.value
        if value is None:
            continue
        if len(option.name) > 2 and "--eval".startswith(option.name):
            for part in re.split(r"[;\n\t]", value.text):
                judge_possible_command(part.lstrip(" @-+"), given)
        elif option.name in ("-f", "--file", "--makefile"):
            if value.feeds:
                unreadable_part(given.shown, "make would run the output of another command")
            if STDIN.fullmatch(value.text) and given.feed is not None:
                _make_text(given.feed, given)
    _make_variables(read.operands, given)


def _make_variables(words: Sequence[Word], given: Invocation) -> None:
    for word in words:
        name, equals, value_text = word.text.partition("=")
        if equals:
            judge_make_shell(name.rstrip(":+?!"), value_text, given)
        if equals and UNKNOWN not in name and not is_prose(name, value_text):
            judge_possible_command(value_text.replace(UNKNOWN, ""), given)


def _make_text(text: Word, given: Invocation) -> None:
    if UNKNOWN in text.text:
        unreadable_part(given.shown, "make would run a text that cannot be read here")
    for line in text.text.splitlines():
        if line.startswith("\t") or ";" in line:
            judge_possible_command(line.rpartition(";")[2].lstrip("\t@-+"), given)
