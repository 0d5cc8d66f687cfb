"""Chooses the rules for a program from all rule modules."""

import re
from collections.abc import Iterator, Sequence
from types import MappingProxyType
from typing import NoReturn

from ralph_tui.guard.core.arguments import Spec, names, parse
from ralph_tui.guard.core.constants import FRESH, is_fresh_temp_directory
from ralph_tui.guard.core.policy import RULED
from ralph_tui.guard.core.programs import listed_words, program_named
from ralph_tui.guard.core.rule_context import Invocation, Rules
from ralph_tui.guard.core.verdicts import deny
from ralph_tui.guard.rules import (
    assignments,
    file_writers,
    find,
    inline_code,
    launchers,
    package_managers,
    shells,
    signals,
)
from ralph_tui.guard.rules.git import GIT_COMMANDS, MUTATING, judge_git
from ralph_tui.guard.rules.git import RULE as GIT_RULE
from ralph_tui.guard.rules.inline_code import COMMAND_TEXT, judge_interpreter
from ralph_tui.guard.rules.listed_programs import judge_listed
from ralph_tui.guard.rules.package_managers import is_manager, is_python
from ralph_tui.guard.rules.read_only import check_guarded_operands, check_unless_reader
from ralph_tui.guard.shell.nodes import Compound, Simple, Word, literal

_TEXT_OPTION = (
    r"--(?:message|title|body|description|subject|text|comment|note|notes|reason|summary|label"
    r"|grep|pattern|query|search|filter|match|expect|name)"
)
_PROSE = re.compile(f"(?:-m|{_TEXT_OPTION})$")
_PROSE_ASSIGNED = re.compile(rf"(?:{_TEXT_OPTION}|\w*(?:MSG|MESSAGE|TITLE|BODY|TEXT|NOTES?))=")


_GIT_GLOBALS = ("-C", "-c", "-P", "--git-dir", "--work-tree", "--no-pager")


def judge_unknown(call: Invocation) -> None:
    if call.program in listed_words("readers") | listed_words("prose"):
        return
    words = call.arguments
    for at, word in enumerate(words):
        if _PROSE.match(words[at - 1].text if at else "") or _PROSE_ASSIGNED.match(word.text):
            continue
        name = word.text.rpartition("/")[2]
        after = words[at + 1].text if at + 1 < len(words) else ""
        rules = program_named(name).rules
        if (
            (name == "git" and (after in MUTATING or after.startswith(_GIT_GLOBALS)))
            or ("shell" in rules and after.endswith("c"))
            or (is_manager(name) and after in ("install", "uninstall", "add", "remove"))
            or (is_python(name) and after.startswith(("-m", "-c")))
            or (name == "rm" and re.match(r"-\w*[rRf]|--(?:rec|for)", after))
            or ("container" in rules and after)
        ):
            call.walker.run(words[at:], call)
        else:
            for text in COMMAND_TEXT.finditer(word.text):
                if text[1] != "git" or text[2] in MUTATING:
                    call.walker.shell(literal(word.text[text.start(1) :]), call)


def judge_blocked(call: Invocation) -> None:
    for blocked in _matching_entries(call, call.policy.blocked_commands):
        if blocked not in RULED:
            deny(
                "blocked-command",
                call.shown,
                f"`{blocked}` is blocked in the project's settings",
                "Ask the person, or continue without it.",
            )


def matching_ask_entries(call: Invocation) -> tuple[str, ...]:
    return tuple(_matching_entries(call, call.policy.ask_commands))


def _matching_entries(call: Invocation, commands: Sequence[str]) -> Iterator[str]:
    for listed in commands:
        wanted = listed.split()
        program = bool(wanted) and call.program == wanted[0].casefold()
        if program and _contains_words(call.arguments, wanted[1:]):
            yield listed


def _git_words(call: Invocation) -> tuple[Word, ...] | None:
    program = call.program
    if program == "git":
        return call.arguments
    if program.startswith("git-") and program[4:] in GIT_COMMANDS:
        return (literal(program[4:]), *call.arguments)
    other = program.startswith("git-") and program not in listed_words("git-readers")
    if other and "/" not in call.words[0].text:
        deny(
            GIT_RULE,
            call.shown,
            "This program changes the repository",
            "Use git status or git log.",
        )
    return None


def _begins_scratch_repository(words: Sequence[Word], call: Invocation) -> bool:
    elsewhere = words[1:2] if [word.text for word in words[:1]] == ["-C"] else ()
    verb, *rest = words[2 * len(elsewhere) :] or [literal("")]
    args = parse(rest, Spec("b", long=names("--initial-branch")))
    plain = all(option.name in _PLAIN_INIT for option in args.options)
    places = [*elsewhere, *args.operands]
    fresh = all(is_fresh_temp_directory(word, call.walker.source) for word in places)
    here = bool(places) or FRESH in (call.dirs.directories or ())
    return verb.text == "init" and plain and fresh and here


_PLAIN_INIT = names("-q --quiet -b --initial-branch --bare")


def _contains_words(arguments: Sequence[Word], wanted: Sequence[str]) -> bool:
    letters = {c for w in arguments if re.match(r"-[^-]", w.text) for c in w.text[1:]}
    at = 0
    for want in wanted:
        if re.fullmatch(r"-[^-]+", want) and set(want[1:]) <= letters:
            continue
        at = next((i + 1 for i in range(at, len(arguments)) if arguments[i].text == want), 0)
        if not at:
            return False
    return True


def refuse_endless(function: Compound) -> None:
    """Refuse a fork bomb: a function that calls itself in a pipe, the background or a subshell."""
    if _redefines_itself(function):
        return  # the new definition is judged on its own
    if _only_starts_itself(function):
        _deny_endless(function)
    stack = list(function.bodies)
    while stack:
        for pipeline in stack.pop().pipelines:
            spreads = len(pipeline.stages) > 1 or pipeline.operator == "&"
            for stage in pipeline.stages:
                if isinstance(stage, Compound):
                    stack.extend(stage.bodies)
                elif spreads and stage.words and stage.words[0].text == function.name:
                    _deny_endless(function)


def _redefines_itself(function: Compound) -> bool:
    first = next(function.bodies[0].commands(), None)
    if isinstance(first, Compound) and first.kind == "group":
        first = next(first.bodies[0].commands(), None)
    return isinstance(first, Compound) and (first.kind, first.name) == ("function", function.name)


def _only_starts_itself(function: Compound) -> bool:
    body = next(function.bodies[0].commands(), None)
    if not isinstance(body, Compound) or body.kind != "subshell" or not body.bodies[0].pipelines:
        return False
    first = body.bodies[0].pipelines[0].stages[0]
    return isinstance(first, Simple) and first.values[:1] == (function.name,)


def _deny_endless(function: Compound) -> NoReturn:
    reason = "This function calls itself endlessly"
    deny("destructive", function.name, reason, "Remove the function.")


_RULES: Rules = MappingProxyType(
    {
        "guarded-operands": check_guarded_operands,
        "change-directory": assignments.judge_change_directory,
        "declare": assignments.judge_declare,
        "set": assignments.judge_set,
        "unset": assignments.judge_unset,
        "subscripts": assignments.judge_subscripts,
        "container": launchers.judge_container,
        "copy": file_writers.judge_copy,
        "rsync": file_writers.judge_rsync,
        "tar": file_writers.judge_tar,
        "zip": file_writers.judge_zip,
        "archiver": file_writers.judge_archiver,
        "remove": file_writers.judge_remove,
        "change-mode": file_writers.judge_change_mode,
        "find": find.judge_find,
        "fd": find.judge_fd,
        "python": inline_code.judge_python,
        "sed": inline_code.judge_sed,
        "awk": inline_code.judge_awk,
        "xargs": launchers.judge_xargs,
        "parallel": launchers.judge_parallel,
        "env": launchers.judge_env,
        "manager": package_managers.judge_manager,
        "uv": package_managers.judge_uv,
        "npx": launchers.judge_npx,
        "node-manager": launchers.judge_node_manager,
        "shell": shells.judge_shell,
        "eval": shells.judge_eval,
        "source": shells.judge_source,
        "trap": shells.judge_trap,
        "alias": shells.judge_alias,
        "hash": shells.judge_hash,
        "signal": signals.judge_signal,
        "signal-by-name": signals.judge_signal_by_name,
        "signal-all": signals.judge_signal_all,
        "find-process": signals.judge_find_process,
        "search-processes": signals.judge_search_processes,
    }
)


def judged_by_own_rule(call: Invocation) -> bool:
    if (git := _git_words(call)) is not None:
        if call.dirs.settings_moved:
            reason = "Git would read its settings from another home directory"
            deny("environment", call.shown, reason, "Do not change HOME or XDG_CONFIG_HOME.")
        if not _begins_scratch_repository(git, call):
            for written in judge_git(git, call.policy):
                call.dirs.check_write(written, call.shown)
        return True
    return False


def judged_by_rules(call: Invocation) -> bool:
    rules = [_RULES[name] for name in call.listed.rules]
    if call.listed.code is not None:
        rules.append(judge_interpreter)
    if call.listed.acts:
        rules.append(judge_listed)
    for rule in rules:
        rule(call)
    if not rules:
        check_unless_reader(call)
    return bool(rules)
