"""Which rule judges a program: the one place that knows all the rooms of rules."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from ralph_tui.guard.clouds import CLOUDS
from ralph_tui.guard.copies import no_copies
from ralph_tui.guard.destructive import destroyer
from ralph_tui.guard.forges import FORGES, judge_forge
from ralph_tui.guard.git import judge_git
from ralph_tui.guard.guarded_names import names_guarded
from ralph_tui.guard.interpreters import interpreter
from ralph_tui.guard.launchers import launcher
from ralph_tui.guard.loop_commands import AGENTS, RALPH, judge_agent, judge_ralph
from ralph_tui.guard.names import names
from ralph_tui.guard.packages import RULES as PACKAGE_RULES
from ralph_tui.guard.packages import is_manager, judge_own_manager, refuse_manager
from ralph_tui.guard.process_memory import judge_ps
from ralph_tui.guard.readers import check_named, judge_other
from ralph_tui.guard.secret_files import judge_key_printer
from ralph_tui.guard.signals import SIGNALLERS
from ralph_tui.guard.suspects import git_words
from ralph_tui.guard.syntax import UNKNOWN
from ralph_tui.guard.tool_variables import judge_just
from ralph_tui.guard.variables import judge_removal, judge_subscript
from ralph_tui.guard.verdicts import deny
from ralph_tui.guard.walk import Invocation
from ralph_tui.guard.writers import writer

_ALONE: Mapping[str, Callable[[Invocation], None]] = MappingProxyType(
    {
        **PACKAGE_RULES,
        **dict.fromkeys(FORGES, judge_forge),
        **dict.fromkeys(RALPH, judge_ralph),
        **dict.fromkeys(AGENTS, judge_agent),
    }
)
_BESIDES: Mapping[str, Callable[[Invocation], None]] = MappingProxyType(
    {
        **CLOUDS,
        **SIGNALLERS,
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
    if (git := git_words(given)) is not None:
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
    rules = (launcher(program), interpreter(program), destroyer(program), writer(program))
    for rule in rules:
        if rule is not None:
            rule(given)
    if program in _NAMING:
        spelled = [w for w in given.arguments if w.text[:1] == "-" or names_guarded(w.text)]
        check_named(spelled, given)
    if any(rules):
        return True
    judge_other(given)
    return False
