"""Judges assignments: variables that make programs start others, and settings of tools."""

import re
from typing import NoReturn

from ralph_tui.guard.core.arguments import Spec, names, parse
from ralph_tui.guard.core.constants import FRESH, changes_to_fresh_directory
from ralph_tui.guard.core.rule_context import Invocation
from ralph_tui.guard.core.verdicts import deny
from ralph_tui.guard.rules.git import MUTATING, judge_git_variable
from ralph_tui.guard.rules.inline_code import COMMAND_TEXT, judge_possible_command
from ralph_tui.guard.rules.read_only import READERS, check_named_files
from ralph_tui.guard.rules.shells import SHELLS
from ralph_tui.guard.shell.lexer import as_assignment
from ralph_tui.guard.shell.nodes import UNKNOWN, Word, literal

_PROGRAM_VARIABLES = names(
    "PAGER MANPAGER EDITOR VISUAL BROWSER LESSOPEN LESSCLOSE SSH_ASKPASS SUDO_ASKPASS FCEDIT"
    " SYSTEMD_PAGER DELTA_PAGER BAT_PAGER"
)
_HARMLESS_PROGRAMS = names("cat less more true false : vi vim nano code")
_CODE_VARIABLES = names(
    "BASH_ENV ENV ZDOTDIR LD_PRELOAD LD_AUDIT DYLD_INSERT_LIBRARIES PROMPT_COMMAND PERL5OPT"
    " PERL5DB RUBYOPT BASH_ALIASES BASH_CMDS PYTHONSTARTUP"
)
_PROMPTS = names("PS0 PS1 PS2 PS3 PS4")
_SUBSCRIPT = re.compile(r"\w\[[^\]]*(?:\$\(|`)")
RULE = "environment"


def judge_assignment(name: str, value: Word, shown: str) -> None:
    _refuse_ralph_variable(name, shown)
    if name.startswith("GIT_") or name == "GIT":
        if name != "GIT":
            judge_git_variable(name, value)
        return
    text = value.text.strip()
    if name in _PROGRAM_VARIABLES and text.partition(" ")[0] not in (*_HARMLESS_PROGRAMS, ""):
        _refuse_variable(shown, "This variable names a program that other programs start")
    if (name in _CODE_VARIABLES and text) or name.startswith("BASH_FUNC_"):
        _refuse_variable(shown, "This variable is code that other programs load")
    if name in ("LESS", "MORE") and "!" in text:
        _refuse_variable(shown, "The pager starts what follows the exclamation mark")
    if name in _PROMPTS and ("$(" in text or "`" in text):
        _refuse_variable(shown, "The shell runs what is in its prompt")
    if name in ("MAKEFLAGS", "GNUMAKEFLAGS") and "eval" in text:
        _refuse_variable(shown, "This variable is code that make runs")
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


_PROSE_NAMES = re.compile(
    r"(?:.*_)?(?:MSG|MESSAGE|TITLE|BODY|SUBJECT|DESC|DESCRIPTION|TEXT|COMMENTS?|NOTES?|REASON|SUMMARY"
    r"|LABEL|QUERY|PATTERN|FILTER|GREP|MATCH|KEYWORDS?)",
    re.IGNORECASE,
)
"""Settings whose value is prose or a search pattern, not a command."""
_CODE = re.compile(r"[;&|`$()<>\n'\"\\]")
"""Characters that may make a shell run part of a value."""
_FILE_VARIABLES = names(
    "PYTEST_ADDOPTS COVERAGE_FILE MYPY_CACHE_DIR RUFF_CACHE_DIR RUFF_OUTPUT_FILE TMPDIR"
    " UV_PROJECT_ENVIRONMENT CARGO_TARGET_DIR CARGO_HOME GOBIN GOPATH GOCACHE PYTHONPYCACHEPREFIX"
    " NPM_CONFIG_PREFIX NPM_CONFIG_CACHE"
)
"""Variables that name files a tool writes, in upper case."""
_SCRIPT_SHELL = re.compile(r"(?:--|npm[_-]config[_-])?script[_-]shell", re.IGNORECASE)
_PROGRAM_SETTINGS = re.compile(
    r"\w*(?:CC|CXX|LD|AR|RUNNER|WRAPPER|LAUNCHER|SHELL|CMD|COMMAND|EXEC|FLAGS|PROGRAM|HOOK|SCRIPT|MAKE)",
    re.IGNORECASE,
)
"""Variables that name programs a tool starts."""
_STARTS_CODE = re.compile(r"(?:os|subprocess|builtins|runpy|pty|posix|shutil)\.")
_OPTIONS = re.compile(r"(?:-[a-z]+\s*)+")


def is_prose(name: str, value: str) -> bool:
    return bool(_PROSE_NAMES.fullmatch(name.rstrip("+:?!"))) and not _CODE.search(value)


def judge_setting(name: str, value: Word, call: Invocation) -> None:
    text = value.text.strip()
    if name.upper() in _FILE_VARIABLES:
        check_named_files([literal(part) for part in text.split()], call)
    if _SCRIPT_SHELL.fullmatch(name):
        _require_shell(text, call)
    if name == "PYTHONBREAKPOINT" and _STARTS_CODE.match(text):
        _refuse_setting(call)
    if name in ("MAKEFLAGS", "GNUMAKEFLAGS"):
        for part in text.split():
            judge_make_shell(*part.partition("=")[::2], call)
    if call.program not in READERS and _PROGRAM_SETTINGS.fullmatch(name):
        for match in COMMAND_TEXT.finditer(text):
            if match[1] != "git" or match[2] in MUTATING:
                judge_possible_command(text[match.start(1) :], call)


def judge_make_shell(name: str, value: str, call: Invocation) -> None:
    if name == "SHELL":
        _require_shell(value, call)
    if name == ".SHELLFLAGS" and not _OPTIONS.fullmatch(value):
        _refuse_setting(call)


def judge_script_shell(call: Invocation) -> None:
    words = [word.text for word in call.arguments]
    for at, text in enumerate(words):
        name, equals, value = text.partition("=")
        if _SCRIPT_SHELL.fullmatch(name):
            _require_shell(value if equals else "".join(words[at + 1 : at + 2]), call)


def judge_just(call: Invocation) -> None:
    for word in parse(call.arguments, Spec("f", long=names("--shell"))).values("--shell"):
        _require_shell(word.text, call)


def judge_go(call: Invocation) -> None:
    """Judge `go env -w` and `go env -u`, which change what go does in every project."""
    words = [word.text for word in call.arguments]
    if "env" in words and not {"-w", "-u", "--w", "--u"}.isdisjoint(words):
        reason = "This changes go's settings for every project, such as which tests it runs"
        deny("environment", call.shown, reason, "Set the variable for one command instead.")


def _require_shell(text: str, call: Invocation) -> None:
    # A Windows path may contain blanks.
    first = text if text.endswith(".exe") else text.partition(" ")[0]
    program = re.split(r"[/\\]", first)[-1].removesuffix(".exe")
    if program and UNKNOWN not in text and program not in SHELLS:
        _refuse_setting(call)


def _refuse_setting(call: Invocation) -> NoReturn:
    reason = "This setting makes a tool start a different program"
    deny("environment", call.shown, reason, "Do not change the setting.")


DIRECTORY_COMMANDS = names("cd pushd popd chdir")
DECLARATIONS = names("export declare typeset local readonly")


def change_directory(call: Invocation, *, certain: bool) -> None:
    if call.program == "popd":
        call.dirs.move(literal("-"), certain=certain)
        return
    target = next(iter(parse(call.arguments).operands), None)
    if target is not None and changes_to_fresh_directory(target, call.walker.source):
        target = literal(FRESH)
    call.dirs.move(target, certain=certain)


def _unexports(call: Invocation) -> bool:
    return any(re.fullmatch(r"-\w*n\w*|\+\w*x\w*", word.text) for word in call.arguments)


def declare(call: Invocation) -> None:
    for word in call.arguments:
        judge_subscript(word, call.shown)
        assignment = as_assignment(word)
        if assignment is not None:
            judge_assignment(assignment.name, assignment.value, call.shown)
            judge_setting(assignment.name, assignment.value, call)
            call.dirs.track_settings_home(assignment.name, assignment.value)
        elif "=" not in word.text and not word.text.startswith("-"):
            if _unexports(call):
                judge_removal(word.text, call.shown)
        elif "=" in word.text or (word.text.startswith("-") and "n" in word.text):
            call.walker.assign(word, call)
