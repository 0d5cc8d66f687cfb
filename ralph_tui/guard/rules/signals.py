"""Refuses signals to ralph, the agent's CLI or any of their ancestors."""

import re
from collections.abc import Sequence
from typing import NoReturn

from ralph_tui.guard.core.arguments import Arguments, parse
from ralph_tui.guard.core.paths import names_guarded
from ralph_tui.guard.core.policy import Policy
from ralph_tui.guard.core.rule_context import Invocation
from ralph_tui.guard.core.verdicts import deny
from ralph_tui.guard.shell.nodes import UNKNOWN, Word

RULE = "ralph-signals"
_SIGNAL = re.compile(r"-(?:\d+|(?:SIG)?[A-Z][A-Z0-9+]+)")
_PARENT = re.compile(r"\bPPID\b|\bPPid\b")
_LAST_JOB = re.compile(r"[\"']?\$(?:!|\{!\})[\"']?")
_MAX_PATTERN = 200


def _refuse(
    call: Invocation,
    reason: str = "This may signal ralph, the agent's CLI or a process they run under,",
) -> NoReturn:
    instead = "End only what you started: kill %1, kill $!, or the process ID of your own server."
    deny(RULE, call.shown, reason, instead)


def _matches_own(pattern: str, policy: Policy, *, full: bool, exact: bool = False) -> bool:
    if len(pattern) > _MAX_PATTERN:
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


def judge_signal_by_name(call: Invocation) -> None:
    args = parse([w for w in call.arguments if not _SIGNAL.fullmatch(w.text)], call.listed.spec)
    if args.has("-v", "--inverse"):
        _refuse(call, "This signals every process except those that match")
    for word in (*args.values("-P", "--parent"), *args.values("-F", "--pidfile")):
        if _is_own(word, call) or names_guarded(word.text):
            _refuse(call)
    if not args.operands and not args.has("-P", "--parent", "-F", "--pidfile"):
        _refuse(call, "This signals every process of a user, a group or a terminal")
    if _finds_own(args, call.policy, [f for w in args.operands for f in _possible_texts(w, call)]):
        _refuse(call)


def _finds_own(args: Arguments, policy: Policy, patterns: Sequence[str]) -> bool:
    full, exact = args.has("-f", "--full"), args.has("-x", "--exact")
    return any(_matches_own(pattern, policy, full=full, exact=exact) for pattern in patterns)


def _possible_texts(word: Word, call: Invocation) -> list[str]:
    if UNKNOWN not in word.text:
        return [word.text]
    return [form.text for form in call.dirs.possible_words(word)]


def judge_signal_all(call: Invocation) -> None:
    args = parse([w for w in call.arguments if not _SIGNAL.fullmatch(w.text)], call.listed.spec)
    if not args.operands and not args.has("-l", "--list", "-V", "--version"):
        _refuse(call, "This signals every process of a user")
    patterns = args.has("-r", "--regexp")
    for text in [form for word in args.operands for form in _possible_texts(word, call)]:
        name = text if patterns else re.escape(text.rpartition("/")[2])
        if _matches_own(name, call.policy, full=False, exact=not patterns):
            _refuse(call)


def judge_signal(call: Invocation) -> None:
    words = list(call.arguments)
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
            deny("destructive", call.shown, reason, "Name the processes to end.")
        if _is_own(word, call):
            _refuse(call)


def _is_own(word: Word, call: Invocation) -> bool:
    if _PARENT.search(word.raw) or names_guarded(word.raw):
        return True
    if UNKNOWN in word.text and not _LAST_JOB.fullmatch(word.raw):
        return any(_own_number(form, call) for form in _possible_texts(word, call))
    return _own_number(word.text, call)


def _own_number(text: str, call: Invocation) -> bool:
    number = text.lstrip("-")
    return number.isdigit() and int(number) in (1, *call.policy.own_pids)


_KILLS_FOUND = re.compile(r"\bkill(?! -0|(?: -\w+)? (?:%?\d|[\"']?\$(?:!|\{!\})))")
"""A `kill` of something else than a number, a job or the last process that was started."""
_LISTS_PROCESSES = re.compile(r"(?<!docker )(?<!podman )(?<!compose )\bps\b")


def judge_find_process(call: Invocation) -> None:
    if not _KILLS_FOUND.search(call.walker.source):
        return
    args = call.args
    named = call.program == "pidof"
    patterns = [re.escape(w.text) if named else w.text for w in args.operands]
    if _finds_own(args, call.policy, patterns):
        _refuse(call)


def judge_search_processes(call: Invocation) -> None:
    """Judge what keeps lines of `ps`, as in `ps aux | grep node | awk '{print $2}' | xargs kill`."""
    source = call.walker.source
    if not (_KILLS_FOUND.search(source) and _LISTS_PROCESSES.search(source)):
        return
    args = call.args
    texts = [w.text for w in args.values("-e", "--regexp") or args.operands[:1]]
    if call.program.endswith("awk"):
        texts = [found for text in texts for found in re.findall(r"/([^/]+)/", text)]
    own = any(_matches_own(text, call.policy, full=True) for text in texts)
    if own and not args.has("-v", "--invert-match"):
        _refuse(call)
