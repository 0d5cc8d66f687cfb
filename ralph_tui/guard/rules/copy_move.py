"""Judges programs that move, copy and link: where files arrive, and whether a program gets another name."""

from collections.abc import Sequence
from types import MappingProxyType

from ralph_tui.guard.core.arguments import Arguments, Spec, names, parse
from ralph_tui.guard.core.rule_context import (
    Invocation,
    Rules,
    check_writes,
    last_operand,
    refuse_unreadable,
)
from ralph_tui.guard.core.verdicts import deny
from ralph_tui.guard.shell.nodes import Simple, Word

_TARGET_DIRECTORY = Spec("tSZ", long=names("--target-directory --suffix --context --backup"))
_MAX_PAIRS = 4000
"""The most pairs of a source and a target that are compared."""


def _move(call: Invocation) -> None:
    args = parse(call.arguments, _TARGET_DIRECTORY)
    sources, targets = _sources_and_targets(args)
    check_writes(sources, call)
    check_writes(targets, call, into=True)


def _copy(call: Invocation) -> None:
    args = parse(call.arguments, _TARGET_DIRECTORY)
    sources, targets = _sources_and_targets(args)
    check_writes(targets, call, into=True)
    # A later write to the link changes the source.
    if args.has("-l", "--link", "-s", "--symbolic-link"):
        for source in sources:
            call.dirs.check_guarded(source, call.shown)
    if len(sources) * len(targets) > _MAX_PAIRS:
        refuse_unreadable(call.shown, "The source or the target of the copy is not known")
    for target in targets:
        _judge_arrival(target, sources, call)


def _sources_and_targets(args: Arguments) -> tuple[Sequence[Word], Sequence[Word]]:
    targets = args.values("-t", "--target-directory")
    if targets:
        return args.operands, targets
    return args.operands[:-1], last_operand(args.operands)


def _judge_arrival(target: Word, sources: Sequence[Word], call: Invocation) -> None:
    targets = call.dirs.resolve(target)
    if targets is not None and call.dirs.root not in targets:
        return
    for source in sources:
        if source.text.rstrip("/").endswith("/.") and not all(
            map(call.dirs.may_write, call.dirs.resolve(source) or ())
        ):
            deny(
                "git-files",
                call.shown,
                "This also copies a .git/ directory",
                "Name the files to copy.",
            )
        name = source.text.rstrip("/").rpartition("/")[2]
        if name and not target.text.endswith(name):
            arrived = Word(f"{target.text}/{name}", "q" * (len(target.text) + 1 + len(name)))
            call.dirs.check_guarded(arrived, call.shown)


_GUARDED_PROGRAMS = names("git pip pip3 poetry conda pipenv virtualenv docker")


def looked_up_program(word: Word) -> str:
    """Return the program that a word such as `$(which git)` looks up, if judged by name; else an empty string."""
    simples = (
        stage
        for script in word.scripts
        for pipeline in script.pipelines
        for stage in pipeline.stages
        if isinstance(stage, Simple)
    )
    return next(
        (s.values[-1] for s in simples if s.values[-1:] and s.values[-1] in _GUARDED_PROGRAMS), ""
    )


def _link(call: Invocation) -> None:
    args = parse(call.arguments, _TARGET_DIRECTORY)
    for word in args.operands:
        call.dirs.check_guarded(word, call.shown)
    target = args.values("-t", "--target-directory") or last_operand(args.operands[1:])
    check_writes(target, call, into=True)


RULES: Rules = MappingProxyType({"mv": _move, "cp": _copy, "ln": _link, "link": _link})
