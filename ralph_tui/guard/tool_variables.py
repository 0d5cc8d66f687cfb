"""Settings through which tools are told what to start and where to write: variables, make's and npm's."""

import re
from typing import NoReturn

from ralph_tui.guard.code_texts import COMMAND_TEXT, judge_possible_command
from ralph_tui.guard.git_commands import MUTATING
from ralph_tui.guard.names import names
from ralph_tui.guard.options import Spec, parse
from ralph_tui.guard.readers import READERS, check_named
from ralph_tui.guard.shells import SHELLS
from ralph_tui.guard.syntax import UNKNOWN, Word, literal
from ralph_tui.guard.verdicts import deny
from ralph_tui.guard.walk import Invocation

_PROSE = re.compile(
    r"(?:.*_)?(?:MSG|MESSAGE|TITLE|BODY|SUBJECT|DESC|DESCRIPTION|TEXT|COMMENTS?|NOTES?|REASON|SUMMARY"
    r"|LABEL|QUERY|PATTERN|FILTER|GREP|MATCH|KEYWORDS?)",
    re.IGNORECASE,
)
"""Names of settings that hold prose or a search pattern, not a command."""
_CODE = re.compile(r"[;&|`$()<>\n'\"\\]")
"""Characters that may make a shell run part of a value."""
_FILES = names(
    "PYTEST_ADDOPTS COVERAGE_FILE MYPY_CACHE_DIR RUFF_CACHE_DIR RUFF_OUTPUT_FILE TMPDIR"
    " UV_PROJECT_ENVIRONMENT CARGO_TARGET_DIR CARGO_HOME GOBIN GOPATH GOCACHE PYTHONPYCACHEPREFIX"
    " NPM_CONFIG_PREFIX NPM_CONFIG_CACHE"
)
"""Variables that name what a tool writes, in upper case."""
_SCRIPT_SHELL = re.compile(r"(?:--|npm[_-]config[_-])?script[_-]shell", re.IGNORECASE)
_STARTED = re.compile(
    r"\w*(?:CC|CXX|LD|AR|RUNNER|WRAPPER|LAUNCHER|SHELL|CMD|COMMAND|EXEC|FLAGS|PROGRAM|HOOK|SCRIPT|MAKE)",
    re.IGNORECASE,
)
"""Variables that name what a tool starts."""
_STARTS_CODE = re.compile(r"(?:os|subprocess|builtins|runpy|pty|posix|shutil)\.")
_OPTIONS = re.compile(r"(?:-[a-z]+\s*)+")


def is_prose(name: str, value: str) -> bool:
    """Tell whether a setting holds prose."""
    return bool(_PROSE.fullmatch(name.rstrip("+:?!"))) and not _CODE.search(value)


def judge_setting(name: str, value: Word, given: Invocation) -> None:
    """Judge a variable that is given to a program.

    Raises:
        DeniedError: It makes the program start what is refused, or write to guarded files.
    """
    text = value.text.strip()
    if name.upper() in _FILES:
        check_named([literal(part) for part in text.split()], given)
    if _SCRIPT_SHELL.fullmatch(name):
        require_shell(text, given)
    if name == "PYTHONBREAKPOINT" and _STARTS_CODE.match(text):
        _refuse(given)
    if name in ("MAKEFLAGS", "GNUMAKEFLAGS"):
        for part in text.split():
            judge_make_shell(*part.partition("=")[::2], given)
    if given.program not in READERS and _STARTED.fullmatch(name):
        for match in COMMAND_TEXT.finditer(text):
            if match[1] != "git" or match[2] in MUTATING:
                judge_possible_command(text[match.start(1) :], given)


def judge_make_shell(name: str, value: str, given: Invocation) -> None:
    """Judge make's `SHELL` and `.SHELLFLAGS`, which run every recipe.

    Raises:
        DeniedError: They are no shell, or what a shell would run.
    """
    if name == "SHELL":
        require_shell(value, given)
    if name == ".SHELLFLAGS" and not _OPTIONS.fullmatch(value):
        _refuse(given)


def judge_script_shell(given: Invocation) -> None:
    """Judge npm's `--script-shell` and `config set script-shell`.

    Raises:
        DeniedError: It is no shell.
    """
    words = [word.text for word in given.arguments]
    for at, text in enumerate(words):
        name, equals, value = text.partition("=")
        if _SCRIPT_SHELL.fullmatch(name):
            require_shell(value if equals else "".join(words[at + 1 : at + 2]), given)


def judge_just(given: Invocation) -> None:
    """Judge the shell that `just` is told to use.

    Raises:
        DeniedError: It is none.
    """
    for word in parse(given.arguments, Spec("f", long=names("--shell"))).values("--shell"):
        require_shell(word.text, given)


def require_shell(text: str, given: Invocation) -> None:
    """Refuse another program in the place of a shell.

    Raises:
        DeniedError: It is none.
    """
    first = text if text.endswith(".exe") else text.partition(" ")[0]  # there a path holds blanks
    program = re.split(r"[/\\]", first)[-1].removesuffix(".exe")
    if program and UNKNOWN not in text and program not in SHELLS:
        _refuse(given)


def _refuse(given: Invocation) -> NoReturn:
    reason = "This setting makes a tool start another program than the one it is known for"
    deny("environment", given.shown, reason, "Leave the setting as it is.")
