"""Chooses the rules that judge a program, from every module of rules."""

import re
from collections.abc import Iterator, Sequence
from types import MappingProxyType
from typing import NoReturn

from ralph_tui.guard.core.arguments import names
from ralph_tui.guard.core.paths import names_guarded
from ralph_tui.guard.core.policy import RULED
from ralph_tui.guard.core.rule_context import Invocation, Rule, Rules
from ralph_tui.guard.core.verdicts import deny
from ralph_tui.guard.rules import (
    copy_move,
    destructive,
    file_writers,
    infrastructure,
    inline_code,
    interpreters,
    launchers,
    package_managers,
    package_runners,
    sed_awk,
    shells,
    signals,
)
from ralph_tui.guard.rules.assignments import judge_just, judge_removal, judge_subscript
from ralph_tui.guard.rules.copy_move import no_copies
from ralph_tui.guard.rules.destructive import destroyer
from ralph_tui.guard.rules.git import GIT_COMMANDS, MUTATING, judge_git
from ralph_tui.guard.rules.git import RULE as GIT_RULE
from ralph_tui.guard.rules.inline_code import COMMAND_TEXT
from ralph_tui.guard.rules.interpreters import interpreter
from ralph_tui.guard.rules.package_managers import (
    PYTHON,
    is_manager,
    judge_own_manager,
    refuse_manager,
)
from ralph_tui.guard.rules.ralph_cli import AGENTS, RALPH, judge_agent, judge_ralph
from ralph_tui.guard.rules.read_only import READERS, check_named, judge_other
from ralph_tui.guard.rules.repository_tools import FORGES, judge_forge
from ralph_tui.guard.rules.secrets import judge_key_printer, judge_ps
from ralph_tui.guard.rules.shells import SHELLS
from ralph_tui.guard.shell.nodes import UNKNOWN, Compound, Simple, Word, literal

_TEXT_PROGRAMS = READERS | names(
    "gh glab npm yarn pnpm brew apt apt-get cargo notify-send logger wall say figlet cowsay"
    " espeak xmessage zenity dialog whiptail cloc mail sendmail xdg-open open code"
)
_TEXT_OPTION = (
    r"--(?:message|title|body|description|subject|text|comment|note|notes|reason|summary|label"
    r"|grep|pattern|query|search|filter|match|expect|name)"
)
_PROSE = re.compile(f"(?:-m|{_TEXT_OPTION})$")
_PROSE_IS = re.compile(f"{_TEXT_OPTION}=")
"""Options whose value is a text for people, or one to look for."""


_GIT_GLOBALS = ("-C", "-c", "-P", "--git-dir", "--work-tree", "--no-pager")
_CONTAINERS = names("docker podman nerdctl docker-compose")


def judge_unknown(given: Invocation) -> None:
    """Judge a program that no rule knows by the commands that its arguments may hold."""
    if given.program in _TEXT_PROGRAMS:
        return
    words = given.arguments
    for at, word in enumerate(words):
        if _PROSE.match(words[at - 1].text if at else "") or _PROSE_IS.match(word.text):
            continue
        name = word.text.rpartition("/")[2]
        after = words[at + 1].text if at + 1 < len(words) else ""
        if (
            (name == "git" and (after in MUTATING or after.startswith(_GIT_GLOBALS)))
            or (name in SHELLS and after.endswith("c"))
            or (is_manager(name) and after in ("install", "uninstall", "add", "remove"))
            or (PYTHON.fullmatch(name) and after.startswith(("-m", "-c")))
            or (name == "rm" and re.match(r"-\w*[rRf]|--(?:rec|for)", after))
            or (name in _CONTAINERS and after)
        ):
            given.walker.run(words[at:], given)
        else:
            for text in COMMAND_TEXT.finditer(word.text):
                if text[1] != "git" or text[2] in MUTATING:
                    given.walker.shell(literal(word.text[text.start(1) :]), given)


def judge_blocked(given: Invocation) -> None:
    """Refuse what the project's settings block.

    Raises:
        DeniedError: They block it.
    """
    for blocked in _listed(given, given.policy.blocked_commands):
        if blocked not in RULED:
            deny(
                "blocked-command",
                given.shown,
                f"`{blocked}` is blocked in this project's settings",
                "Ask the person, or do without it.",
            )


def asked_first(given: Invocation) -> tuple[str, ...]:
    """List the entries of the person's ask list that this command matches."""
    return tuple(_listed(given, given.policy.ask_commands))


def _listed(given: Invocation, commands: Sequence[str]) -> Iterator[str]:
    """List the entries that this command matches: the same program, and words that all occur."""
    for listed in commands:
        wanted = listed.split()
        program = bool(wanted) and given.program == wanted[0].casefold()
        if program and _holds(given.arguments, wanted[1:]):
            yield listed


def _git_words(given: Invocation) -> tuple[Word, ...] | None:
    """Return the words after `git`, also for `git-branch` and the programs in git's own directory."""
    program = given.program
    if program == "git":
        return given.arguments
    if program.startswith("git-") and program[4:] in GIT_COMMANDS:
        return (literal(program[4:]), *given.arguments)
    other = program.startswith("git-") and program not in _GIT_LOOKS
    if program in _FRONT_ENDS or (other and "/" not in given.words[0].text):
        deny(
            GIT_RULE,
            given.shown,
            "This program changes the repository",
            "Use git status and git log.",
        )
    return None


_FRONT_ENDS = names(
    "gitk gitui tig lazygit hub jj scalar stg guilt topgit ungit gitkraken smartgit smerge"
    " sublime_merge myrepos"
)
_GIT_LOOKS = names(
    "git-cliff git-sizer git-quick-stats git-standup git-who git-summary git-effort git-graph"
    " git-secrets git-delta git-split-diffs git-stats"
)
"""Third-party git commands that only read. Any other `git-NAME` is refused."""


def _holds(arguments: Sequence[Word], wanted: Sequence[str]) -> bool:
    """Tell whether the wanted words occur in this order; short options in any cluster and place."""
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
    """Refuse a function that starts itself in a pipe, the background or a subshell: it never ends."""
    if _becomes_another(function):
        return  # which is judged in its turn
    if _only_starts_itself(function):
        _endless(function)
    stack = list(function.bodies)
    while stack:
        for pipeline in stack.pop().pipelines:
            spreads = len(pipeline.stages) > 1 or pipeline.operator == "&"
            for stage in pipeline.stages:
                if isinstance(stage, Compound):
                    stack.extend(stage.bodies)
                elif spreads and stage.words and stage.words[0].text == function.name:
                    _endless(function)


def _becomes_another(function: Compound) -> bool:
    """Tell whether the function first redefines its own name."""
    first = next(function.bodies[0].commands(), None)
    if isinstance(first, Compound) and first.kind == "group":
        first = next(first.bodies[0].commands(), None)
    return isinstance(first, Compound) and (first.kind, first.name) == ("function", function.name)


def _only_starts_itself(function: Compound) -> bool:
    """Tell whether its body is a subshell that starts it again at once."""
    body = next(function.bodies[0].commands(), None)
    if not isinstance(body, Compound) or body.kind != "subshell" or not body.bodies[0].pipelines:
        return False
    first = body.bodies[0].pipelines[0].stages[0]
    return isinstance(first, Simple) and first.values[:1] == (function.name,)


def _endless(function: Compound) -> NoReturn:
    reason = "This function starts itself without end"
    deny("destructive", function.name, reason, "Leave it out.")


_ALONE: Rules = MappingProxyType(
    {
        **package_managers.RULES,
        **dict.fromkeys(FORGES, judge_forge),
        **dict.fromkeys(RALPH, judge_ralph),
        **dict.fromkeys(AGENTS, judge_agent),
    }
)
_BESIDES: Rules = MappingProxyType(
    {
        **infrastructure.CLOUD_RULES,
        **signals.RULES,
        "ps": judge_ps,
        "just": judge_just,
        **dict.fromkeys(names("gpg security"), judge_key_printer),
        **dict.fromkeys(
            names("cat head tail tac base64 xxd dd gzip xz zstd rsync scp tar bsdtar tee zip 7z"),
            no_copies,
        ),
    }
)
"""Rules for one harm a program may do, beside those for what it starts and writes."""
_STARTS: Rules = MappingProxyType({**package_runners.RULES, **shells.RULES, **launchers.RULES})
_RUNS_CODE: Rules = MappingProxyType({**inline_code.RULES, **sed_awk.RULES, **interpreters.RULES})
_DESTROYS: Rules = MappingProxyType({**destructive.RULES, **infrastructure.CONTAINER_RULES})
_WRITES: Rules = MappingProxyType({**copy_move.RULES, **file_writers.RULES})
_NAMING = names(
    "curl wget aria2c psql mysql mariadb sqlite3 docker podman nerdctl npm pnpm yarn bun"
)
"""Programs with a rule of their own for which no operand may be a guarded file either."""
_ARITHMETIC = frozenset({"let", "test", "[", "unset", "read", "printf", "wait", "mapfile"})


def judged_alone(given: Invocation) -> bool:
    """Judge git, the forges, uv and other managers, for each of which one rule says all.

    Returns:
        Whether the program is one of them.

    Raises:
        DeniedError: The rule refuses it.
    """
    program = given.program
    if (git := _git_words(given)) is not None:
        if given.places.configured:
            reason = "Git would read its settings from another home directory"
            deny("environment", given.shown, reason, "Leave HOME and XDG_CONFIG_HOME as they are.")
        for written in judge_git(git, given.policy):
            given.places.check_write(written, given.shown)
    elif is_manager(program):
        if not judge_own_manager(given):
            refuse_manager(program, given.arguments, given.shown)
    elif program in _ALONE:
        _ALONE[program](given)
    else:
        return False
    return True


def _rules_for(program: str) -> Sequence[Rule]:
    """List the rules for what a program starts, runs as code, destroys and writes, in this order."""
    found = (
        _STARTS.get(program),
        interpreter(program) or _RUNS_CODE.get(program),
        destroyer(program) or _DESTROYS.get(program),
        _WRITES.get(program),
    )
    return [rule for rule in found if rule is not None]


def judged_by_rules(given: Invocation) -> bool:
    """Judge a program by every rule for what it does: starting, running code, destroying, writing.

    Returns:
        Whether there is one; otherwise only its operands have been looked at.

    Raises:
        DeniedError: A rule refuses it.
    """
    program = given.program
    if program == "unset":
        for word in given.arguments:
            judge_removal(word.text, given.shown)
    # Without an option printf's first word is its pattern, and none of the others is a variable.
    first = given.arguments[0].text[:1] if given.arguments else ""
    prints = program == "printf" and first not in ("", "-", UNKNOWN)
    if program in _ARITHMETIC and not prints:
        for word in given.arguments:
            judge_subscript(word, given.shown)
    if (beside := _BESIDES.get(program)) is not None:
        beside(given)  # what else it starts, as `kubectl exec` does, is judged as for any program
    rules = _rules_for(program)
    for rule in rules:
        rule(given)
    if program in _NAMING:
        spelled = [w for w in given.arguments if w.text[:1] == "-" or names_guarded(w.text)]
        check_named(spelled, given)
    if rules:
        return True
    judge_other(given)
    return False
