"""Judges assignments: variables that change what a program starts, and the settings of tools."""

import re
from typing import NoReturn

from ralph_tui.guard.core.arguments import Spec, names, parse
from ralph_tui.guard.core.rule_context import Invocation
from ralph_tui.guard.core.verdicts import deny
from ralph_tui.guard.rules.git import MUTATING, judge_git_variable
from ralph_tui.guard.rules.inline_code import COMMAND_TEXT, judge_possible_command
from ralph_tui.guard.rules.read_only import READERS, check_named
from ralph_tui.guard.rules.shells import SHELLS
from ralph_tui.guard.shell.lexer import as_assignment
from ralph_tui.guard.shell.nodes import UNKNOWN, Word, literal

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
        _refuse_variable(shown, "This variable names a program that other programs start")
    if (name in _LOADED and text) or name.startswith("BASH_FUNC_"):
        _refuse_variable(shown, "This variable is code that other programs load")
    if name in ("LESS", "MORE") and "!" in text:
        _refuse_variable(shown, "The pager starts what follows the exclamation mark")
    if name in _PROMPTS and ("$(" in text or "`" in text):
        _refuse_variable(shown, "The shell runs what is in its prompt")
    if name in ("MAKEFLAGS", "GNUMAKEFLAGS") and "eval" in text:
        _refuse_variable(shown, "This variable is code that make runs")
    judge_subscript(value, shown)


def judge_removal(name: str, shown: str) -> None:
    """Refuse to take away the variables through which scripts meet the guard.

    Raises:
        DeniedError: It is one of them.
    """
    _refuse_marks(name, shown)
    if name.startswith("GIT_CONFIG"):
        _refuse_variable(shown, "Scripts meet the guard through this variable")


def _refuse_marks(name: str, shown: str) -> None:
    if name.startswith(("RALPH_GUARD", "RALPH_TUI")):
        _refuse_variable(shown, "Ralph recognizes what agents start by this variable")


def judge_subscript(value: Word, shown: str) -> None:
    """Refuse a substitution inside an array's subscript, which arithmetic runs even when it is quoted.

    Raises:
        DeniedError: The text holds one.
    """
    if _SUBSCRIPT.search(value.text.replace(UNKNOWN, "x")):
        _refuse_variable(shown, "The shell may run the substitution in this subscript")


def _refuse_variable(shown: str, reason: str) -> None:
    deny(RULE, shown, reason, "Leave the variable as it is.")


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
        _require_shell(text, given)
    if name == "PYTHONBREAKPOINT" and _STARTS_CODE.match(text):
        _refuse_setting(given)
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
        _require_shell(value, given)
    if name == ".SHELLFLAGS" and not _OPTIONS.fullmatch(value):
        _refuse_setting(given)


def judge_script_shell(given: Invocation) -> None:
    """Judge npm's `--script-shell` and `config set script-shell`.

    Raises:
        DeniedError: It is no shell.
    """
    words = [word.text for word in given.arguments]
    for at, text in enumerate(words):
        name, equals, value = text.partition("=")
        if _SCRIPT_SHELL.fullmatch(name):
            _require_shell(value if equals else "".join(words[at + 1 : at + 2]), given)


def judge_just(given: Invocation) -> None:
    """Judge the shell that `just` is told to use.

    Raises:
        DeniedError: It is none.
    """
    for word in parse(given.arguments, Spec("f", long=names("--shell"))).values("--shell"):
        _require_shell(word.text, given)


def _require_shell(text: str, given: Invocation) -> None:
    """Refuse another program in the place of a shell.

    Raises:
        DeniedError: It is none.
    """
    first = text if text.endswith(".exe") else text.partition(" ")[0]  # there a path holds blanks
    program = re.split(r"[/\\]", first)[-1].removesuffix(".exe")
    if program and UNKNOWN not in text and program not in SHELLS:
        _refuse_setting(given)


def _refuse_setting(given: Invocation) -> NoReturn:
    reason = "This setting makes a tool start another program than the one it is known for"
    deny("environment", given.shown, reason, "Leave the setting as it is.")


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
    """Tell whether variables are no longer exported, as by `export -n` and `declare +x`."""
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
