"""Judges programs that move, copy and link, by where files arrive."""

from collections.abc import Sequence

from ralph_tui.guard.core.arguments import Arguments
from ralph_tui.guard.core.paths import guarded_part
from ralph_tui.guard.core.rule_context import Invocation, check_writes, last_operand
from ralph_tui.guard.core.verdicts import deny
from ralph_tui.guard.shell.nodes import Word


def judge_move(call: Invocation) -> None:
    sources, targets = _sources_and_targets(call.args)
    check_writes(sources, call)
    check_writes(targets, call, into=True)


def judge_copy(call: Invocation) -> None:
    sources, targets = _sources_and_targets(call.args)
    check_writes(targets, call, into=True)
    into_root = any(call.dirs.root in (call.dirs.resolve(word) or ()) for word in targets)
    if into_root and any(_brings_repository(source, call) for source in sources):
        deny(
            "git-files", call.shown, "This also copies a .git/ directory", "Name the files to copy."
        )
    # A later write to the link changes the source.
    if call.args.has("-l", "--link", "-s", "--symbolic-link"):
        for source in sources:
            call.dirs.check_guarded(source, call.shown)


def _brings_repository(source: Word, call: Invocation) -> bool:
    path = source.text.rstrip("/")
    elsewhere = not all(map(call.dirs.may_write, call.dirs.resolve(source) or ()))
    return (path.endswith("/.") and elsewhere) or guarded_part(
        (path.rpartition("/")[2],)
    ) is not None


def _sources_and_targets(args: Arguments) -> tuple[Sequence[Word], Sequence[Word]]:
    targets = args.values("-t", "--target-directory")
    if targets:
        return args.operands, targets
    return args.operands[:-1], last_operand(args.operands)


def judge_link(call: Invocation) -> None:
    for word in call.args.operands:
        call.dirs.check_guarded(word, call.shown)
    target = call.args.values("-t", "--target-directory") or last_operand(call.args.operands[1:])
    check_writes(target, call, into=True)
