"""Editors, debuggers and prompts: not for running programs, but one of their own commands does."""

import itertools
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from ralph_tui.guard.code_texts import judge_code, judge_possible_command
from ralph_tui.guard.names import names
from ralph_tui.guard.options import Spec, parse
from ralph_tui.guard.syntax import literal
from ralph_tui.guard.walk import Invocation

_WRITES_GUARDED = re.compile(
    r"(?:\.(?:once|output|backup|save|excel|log|clone|archive|ar|dump|import)\b|\\(?:copy|[owg])\b|\bvacuum\s+into\b"
    r"|\battach\b|\bwritefile\b|\bcopy\b|\boutfile\b|\btee\b)[^;\n]{0,200}?"
    r"((?:[\w./~-]*/)?\.(?:ralph|git|claude)(?![\w-]))",
    re.IGNORECASE,
)
"""A prompt's own commands, and SQL, that write a file."""
_SHELL_ESCAPE = re.compile(r"\s*(?:\\!|\.shell\b|\.system\b|system\b|!)\s*")


def _editor(given: Invocation) -> None:
    read = parse(given.arguments, Spec("cS", long=names("--cmd --eval")))
    texts = [o.value.text for o in read.options if o.value is not None]
    texts += [w.text for w in read.operands if w.text.startswith("+")]
    if given.feed is not None:
        texts.append(given.feed.text)
    for text in texts:
        for part in re.split(r"[|\n]", text):
            if "!" in part:
                judge_possible_command(part.partition("!")[2], given)
    for word in read.operands:
        if not word.text.startswith("+"):
            given.places.check_guarded(word, given.shown)


def _debugger(given: Invocation) -> None:
    """Gdb's own commands: `shell COMMAND` and `!COMMAND` start programs, `python` runs code."""
    texts = given.feed.text.splitlines() if given.feed is not None else []
    for option, value in itertools.pairwise(given.arguments):
        if option.text.lstrip("-") in ("ex", "iex", "eval-command", "init-eval-command", "o"):
            texts.append(value.text)
    end = next((i for i, w in enumerate(given.arguments) if w.text in ("--args", "--")), None)
    if end is not None and given.arguments[end + 1 :]:
        given.walker.run(given.arguments[end + 1 :], given)
    for text in texts:
        verb, _, rest = text.strip().replace("!", "shell ", 1).partition(" ")
        if verb in ("shell", "python", "platform"):
            judge_possible_command(rest.removeprefix("shell "), given)
            judge_code(rest, given)


def _prompt(given: Invocation) -> None:
    """A database's prompt, which takes `.shell` and the like for a shell's command."""
    texts = [word.text for word in given.arguments]
    texts += given.feed.text.splitlines() if given.feed is not None else []
    for text in texts:
        if (named := _WRITES_GUARDED.search(text)) is not None:
            given.places.check_guarded(literal(named[1]), given.shown)
        if (started := _SHELL_ESCAPE.match(text)) is not None:
            judge_possible_command(text[started.end() :], given)


ESCAPES: Mapping[str, Callable[[Invocation], None]] = MappingProxyType(
    {
        **dict.fromkeys(names("vi vim nvim view ex ed nano"), _editor),
        **dict.fromkeys(names("gdb lldb"), _debugger),
        **dict.fromkeys(names("psql mysql mariadb sqlite3 ftp sftp mongo dc"), _prompt),
    }
)
