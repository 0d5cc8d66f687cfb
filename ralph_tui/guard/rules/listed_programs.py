"""Judges programs by what programs.toml says of their options and operands."""

import re
from collections.abc import Sequence
from dataclasses import replace

from ralph_tui.guard.core.arguments import Arguments, parse
from ralph_tui.guard.core.programs import Program
from ralph_tui.guard.core.rule_context import Invocation, check_writes, refuse_unreadable
from ralph_tui.guard.rules.read_only import check_outputs
from ralph_tui.guard.rules.shells import judge_joined
from ralph_tui.guard.shell.nodes import UNKNOWN, Word

_ASSIGNMENT = re.compile(r"[^=\0]+=", re.DOTALL)


def judge_listed(call: Invocation) -> None:
    program = call.listed
    if program.operands in ("run", "shell"):
        _judge_start(program, replace(call, under_uv=True) if program.elsewhere else call)
        return
    args = call.args
    named = _judge_options(program, args, call)
    if args.has(*program.unless) or (program.only and not args.has(*program.only)):
        return
    operands = args.operands[program.skip : program.most] if program.operands else ()
    if program.operands == "target":
        sources, targets = sources_and_targets(call)
        check_writes(sources if program.moves else (), call)
        check_writes(targets, call, into=True)
        if "*" in program.links or args.has(*program.links):
            for source in sources:
                call.dirs.check_guarded(source, call.shown)
    elif program.operands == "remove":
        for word in operands:
            call.dirs.check_removal(word, call.shown)
    else:
        check_writes(operands, call, into=program.into)
    if program.here and not (named or operands):
        call.dirs.check_current_directory(call.shown, certain=False)


def sources_and_targets(call: Invocation) -> tuple[Sequence[Word], Sequence[Word]]:
    operands, named = call.args.operands, call.args.values(*call.listed.target)
    return (operands, named) if named else (operands[:-1] or operands, operands[1:][-1:])


def _judge_start(program: Program, call: Invocation) -> None:
    before = parse(call.arguments, program.spec, stop=True)
    after = parse(before.operands[program.skip :], program.spec, stop=True)
    args = Arguments((*before.options, *after.options), after.operands)
    check_outputs([option.word for option in args.options], call)
    _judge_options(program, args, call)
    if args.has(*program.unless):
        return
    refuse_unknown_start(call, args.operands)
    if program.operands == "shell":
        judge_joined(call, args.operands)
    if program.operands == "run" or args.operands[1:]:
        run_words(call, args.operands, assigns=program.assigns)


def _judge_options(program: Program, args: Arguments, call: Invocation) -> list[Word]:
    texts = args.values(*program.shell)
    for text in texts:
        call.walker.shell(text, call)
    if program.feed and not texts and call.feed is not None:
        call.walker.shell(call.feed, call)
    named = args.values(*program.writes)
    for name in program.writes:
        if name.endswith("="):
            named += [w.cut(len(name)) for w in args.operands if w.text.startswith(name)]
    check_writes([word for word in named if word.text != "-"], call, into=program.into)
    return named


def refuse_unknown_start(call: Invocation, operands: Sequence[Word]) -> None:
    if operands and operands[0].text == UNKNOWN and operands[0].may_split:
        refuse_unreadable(call.shown, "An expansion takes the place of a command")


def run_words(call: Invocation, words: Sequence[Word], *, assigns: bool = False) -> None:
    while assigns and words and _ASSIGNMENT.match(words[0].text):
        call.walker.assign(words[0], call)
        words = words[1:]
    if words:
        call.walker.run(words, call, under_uv=call.under_uv)
