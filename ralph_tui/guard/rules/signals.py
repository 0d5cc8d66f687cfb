"""Refuses signals that would reach ralph, the agent's CLI or a process they run under."""

import re
from collections.abc import Sequence
from types import MappingProxyType
from typing import NoReturn

from ralph_tui.guard.core.arguments import Arguments, Spec, names, parse
from ralph_tui.guard.core.paths import names_guarded
from ralph_tui.guard.core.policy import Policy
from ralph_tui.guard.core.rule_context import Invocation, Rules
from ralph_tui.guard.core.verdicts import deny
from ralph_tui.guard.shell.nodes import UNKNOWN, Simple, Word

RULE = "ralph-signals"
_SIGNAL = re.compile(r"-(?:\d+|(?:SIG)?[A-Z][A-Z0-9+]+)")
"""The signal, as `-9` or `-KILL`."""
_PARENT = re.compile(r"\bPPID\b|\bPPid\b")
_LAST_JOB = re.compile(r"[\"']?\$(?:!|\{!\})[\"']?")
_LONGEST = 200
"""Characters of a pattern that is compared; a longer one counts as a match."""
_PATTERNS = Spec(
    "gGPstuUFr", long=names("--euid --uid --group --signal --parent --pgroup --session --pidfile")
)
_KILLALL = Spec("sucyonZ", long=names("--signal --user --context --younger-than --older-than"))


def _refuse(given: Invocation, reason: str = "") -> NoReturn:
    reason = reason or "This may signal ralph, the agent's CLI or a process they run under,"
    instead = "End only what you started: kill %1, kill $!, or the process ID of your own server."
    deny(RULE, given.shown, reason, instead)


def _matches_own(pattern: str, policy: Policy, *, full: bool, exact: bool = False) -> bool:
    """Tell whether a pattern matches ralph, the CLI or a process they run under.

    Args:
        pattern: A regular expression.
        policy: Knows their command lines.
        full: Whether it is compared with the whole command line instead of the program's name.
        exact: Whether it must match all of that.
    """
    if len(pattern) > _LONGEST:
        return True
    try:
        compiled = re.compile(pattern, re.IGNORECASE)
    except re.error:
        return "ralph" in pattern.casefold()
    match = compiled.fullmatch if exact else compiled.search
    lines = policy.own_processes if full else map(_program, policy.own_processes)
    return any(match(line) for line in lines)


def _program(line: str) -> str:
    return line.partition(" ")[0].rpartition("/")[2]


def _by_pattern(given: Invocation) -> None:
    """Judge `pkill`, which compares names, or whole command lines with `-f`."""
    read = parse([w for w in given.arguments if not _SIGNAL.fullmatch(w.text)], _PATTERNS)
    if read.has("-v", "--inverse"):
        _refuse(given, "This signals every process but those that match")
    for word in (*read.values("-P", "--parent"), *read.values("-F", "--pidfile")):
        if _is_own(word, given) or names_guarded(word.text):
            _refuse(given)
    if not read.operands and not read.has("-P", "--parent", "-F", "--pidfile"):
        _refuse(given, "This signals every process of a user, a group or a terminal")
    if _finds_own(read, given.policy, [f for w in read.operands for f in _forms(w, given)]):
        _refuse(given)


def _finds_own(read: Arguments, policy: Policy, patterns: Sequence[str]) -> bool:
    full, exact = read.has("-f", "--full"), read.has("-x", "--exact")
    return any(_matches_own(pattern, policy, full=full, exact=exact) for pattern in patterns)


def _forms(word: Word, given: Invocation) -> list[str]:
    """List what a word may be, or nothing when that is unknown."""
    if UNKNOWN not in word.text:
        return [word.text]
    return [form.text for form in given.places.forms(word)]


def _by_name(given: Invocation) -> None:
    """Judge `killall`, which takes whole names, or patterns with `-r`."""
    read = parse([w for w in given.arguments if not _SIGNAL.fullmatch(w.text)], _KILLALL)
    if not read.operands and not read.has("-l", "--list", "-V", "--version"):
        _refuse(given, "This signals every process of a user")
    patterns = read.has("-r", "--regexp")
    for text in [form for word in read.operands for form in _forms(word, given)]:
        name = text if patterns else re.escape(text.rpartition("/")[2])
        if _matches_own(name, given.policy, full=False, exact=not patterns):
            _refuse(given)


def _by_number(given: Invocation) -> None:
    """Judge `kill`, whose targets are jobs, process IDs, or groups as negative numbers."""
    words = list(given.arguments)
    first = words[0].text if words else ""
    if first in ("-l", "-L", "-0"):
        return
    if first in ("-s", "-n", "--signal"):
        words = words[2:]
    elif first.startswith("-") and first != "--" and (len(words) > 1 or first == "-1"):
        words = words[1:] if len(words) > 1 else words
    for word in words:
        if word.text == "-1":
            reason = "This ends every process of the user"
            deny("destructive", given.shown, reason, "Name the processes to end.")
        if _is_own(word, given):
            _refuse(given)


def _is_own(word: Word, given: Invocation) -> bool:
    """Tell whether a word may be the ID of one of ralph's processes or process groups."""
    if _PARENT.search(word.raw):
        return True
    if UNKNOWN in word.text and not _LAST_JOB.fullmatch(word.raw):
        known = _forms(word, given)
        return given.walker.looked_for_ralph or any(_own_number(f, given) for f in known)
    return _own_number(word.text, given)


def _own_number(text: str, given: Invocation) -> bool:
    number = text.lstrip("-")
    return number.isdigit() and int(number) in (1, *given.policy.own_pids)


def _using(given: Invocation) -> None:
    """Judge `fuser -k`, which signals every process that uses a file or directory."""
    read = parse(given.arguments, Spec("nN", long=names("--namespace")))
    if not read.has("-k", "--kill"):
        return
    for word in read.operands:
        paths = given.places.resolve(word) or ()
        around = any(f"{given.places.root}/".startswith(f"{path}/") for path in paths)
        whole = read.has("-m", "-M", "--mount", "--ismountpoint", "-c")
        if around or whole or given.places.guarded(word) is not None:
            _refuse(given)


def _attach(given: Invocation) -> None:
    """Judge programs that trace, slow down or read another process."""
    found = any(_PARENT.search(w.raw) or _own_number(w.text, given) for w in given.arguments)
    hunted = given.walker.looked_for_ralph and any(UNKNOWN in w.text for w in given.arguments)
    if found or hunted:
        _refuse(given)


def _multiplexer(given: Invocation) -> None:
    """Judge `tmux` and `screen`: ralph may run in one of them."""
    texts = [word.text for word in given.arguments]
    named = any(text.startswith(("-t", "-S")) for text in texts) and "-a" not in texts
    if "kill-server" in texts or (not named and {"kill-session", "quit"} & set(texts)):
        _refuse(given, "This may end the terminal that ralph runs in")


RULES: Rules = MappingProxyType(
    {
        "kill": _by_number,
        **dict.fromkeys(names("pkill skill"), _by_pattern),
        "killall": _by_name,
        "fuser": _using,
        **dict.fromkeys(names("tmux screen"), _multiplexer),
        **dict.fromkeys(
            names(
                "gdb lldb strace ltrace gcore py-spy perf renice prlimit taskset ionice chrt reptyr"
                " nsenter cpulimit"
            ),
            _attach,
        ),
    }
)

# --- finding whom to signal -------------------------------------------------------------------

_PARENTS = re.compile(r"-?o?(?:ppid|pgid|pgrp|sid|sess)=?", re.IGNORECASE)
"""Columns of `ps` with the IDs of parents, groups or sessions."""
_SEARCHES = names("grep egrep rg awk gawk mawk sed")
_REGEX = re.compile(r"/([^/]+)/")


_SIGNALS = re.compile(r"kill|fuser|" + "|".join(sorted(RULES)))


def mentions_signals(source: str) -> bool:
    """Tell quickly whether a text may signal or trace a process. Most do not."""
    return bool(_SIGNALS.search(source))


def looks_for_ralph(command: Simple, policy: Policy) -> bool:
    """Tell whether a command looks up the ID of one of ralph's processes."""
    held = [a.value for a in command.assignments] + [r.target for r in command.redirects]
    if any(_PARENT.search(w.raw) or ".ralph" in w.text for w in (*command.words, *held)):
        return True
    if not command.words:
        return False
    program, words = command.words[0].text.rpartition("/")[2], command.words[1:]
    if program == "pgrep":
        read = parse(words, _PATTERNS)
        return _finds_own(read, policy, [w.text for w in read.operands])
    if program == "pidof":
        return any(_matches_own(re.escape(w.text), policy, full=False, exact=True) for w in words)
    if program == "ps":
        return any(_PARENTS.fullmatch(word.text) for word in words)
    return program in _SEARCHES and _keeps_own(program, words, policy)


def _keeps_own(program: str, words: Sequence[Word], policy: Policy) -> bool:
    """Tell whether a filter of the output of `ps` keeps the lines of ralph."""
    operands = [word.text for word in words if not word.text.startswith("-")]
    if len(operands) != 1 or any(w.text in ("-v", "--invert-match") for w in words):
        return False
    patterns = operands if program in names("grep egrep rg") else _REGEX.findall(operands[0])
    return any(_matches_own(pattern, policy, full=True) for pattern in patterns)


# --- in other languages -----------------------------------------------------------------------

_SENDS = re.compile(r"\b(?:kill|killpg|terminate|suspend|send_signal|posix_kill|pidfd_send\w*)\b")
_AT_PARENT = re.compile(r"ppid|\bparents?\s*\(|\bkill\w*\s*\(?\s*(?:-1|1)\s*,|process_iter")


def judge_signals_in_code(code: str, given: Invocation) -> None:
    """Refuse code in any language that signals its parents.

    Raises:
        DeniedError: It does, or may.
    """
    if _SENDS.search(code) and _AT_PARENT.search(code):
        _refuse(given)
