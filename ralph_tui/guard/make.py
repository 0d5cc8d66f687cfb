"""Make: rules given on the command line or standard input, and variables that its recipes run."""

import re

from ralph_tui.guard.code_texts import STDIN, judge_possible_command
from ralph_tui.guard.names import names
from ralph_tui.guard.options import Spec, parse
from ralph_tui.guard.syntax import UNKNOWN, Word
from ralph_tui.guard.walk import Invocation, unreadable_part

_DATA = re.compile(
    r"(?:.*_)?(?:MSG|MESSAGE|TITLE|BODY|SUBJECT|DESC|DESCRIPTION|TEXT|COMMENTS?|NOTES?|REASON|SUMMARY"
    r"|LABEL|QUERY|PATTERN|FILTER|GREP|MATCH|KEYWORDS?)",
    re.IGNORECASE,
)
"""Variables that hold a text for people, or one to look for, rather than a command."""
_CODE = re.compile(r"[;&|`$()<>\n'\"\\]")
"""What can make a shell see more than a text in a value."""


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
    for word in read.operands:
        name, equals, value_text = word.text.partition("=")
        if equals and UNKNOWN not in name and not _is_data(name, value_text):
            judge_possible_command(value_text.replace(UNKNOWN, ""), given)


def _is_data(name: str, value: str) -> bool:
    return bool(_DATA.fullmatch(name.rstrip("+:?!"))) and not _CODE.search(value)


def _make_text(text: Word, given: Invocation) -> None:
    if UNKNOWN in text.text:
        unreadable_part(given.shown, "make would run a text that cannot be read here")
    for line in text.text.splitlines():
        if line.startswith("\t") or ";" in line:
            judge_possible_command(line.rpartition(";")[2].lstrip("\t@-+"), given)
