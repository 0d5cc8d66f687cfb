"""Judges what shells, and the builtins that run a text, are given: as a script."""

import re
from collections.abc import Sequence
from types import MappingProxyType

from ralph_tui.guard.core.arguments import Spec, names, parse
from ralph_tui.guard.core.rule_context import Invocation, Rules, check_all, unreadable_part
from ralph_tui.guard.rules.inline_code import STDIN
from ralph_tui.guard.shell.nodes import UNKNOWN, Word

SHELLS = names("sh bash dash zsh ksh mksh pdksh ash yash rbash posh busybox-sh fish csh tcsh")


def _shell(given: Invocation) -> None:
    words, letters = _shell_options(given)
    if "c" in letters:
        if words:
            places = given.places.fork()
            for word in words[1:]:  # what `$1` and its like may be
                places.note(word)
            given.walker.shell(words[0], given.at(places), given.feed)
    elif "s" in letters or not words or STDIN.fullmatch(words[0].text):
        if given.feed is not None:
            given.walker.shell(given.feed, given)
    else:
        _not_fed(words[0], given)


def _shell_options(given: Invocation) -> tuple[list[Word], str]:
    """Return the words after a shell's options, and the letters of all its option clusters."""
    words = list(given.arguments)
    letters = ""
    while words and words[0].text[:1] in ("-", "+") and words[0].text not in ("-", "--"):
        word = words.pop(0)
        if UNKNOWN in word.text:
            unreadable_part(given.shown, "An expansion is where a shell's options are")
        if word.text in ("--rcfile", "--init-file") and words:
            _not_fed(words.pop(0), given)
        if word.text.startswith("--"):
            continue
        letters += word.text[1:]
        if word.text[-1] in "oO" and words:
            words.pop(0)
    if (words and words[0].text == "--") or (words and words[0].text == "-" and "c" in letters):
        words.pop(0)
    return words, letters


def _not_fed(file: Word, given: Invocation) -> None:
    """Judge a file that a shell runs: one just written is known, one written at the same moment is refused."""
    if file.feeds:
        unreadable_part(given.shown, "A shell would run the output of another command")
    if file.text == UNKNOWN and file.may_split:
        unreadable_part(given.shown, "An expansion is where a shell's script should be")
    given.walker.written(file, given)


def joined(given: Invocation, words: Sequence[Word]) -> None:
    """Judge words that are put together with blanks and given to a shell."""
    if len(words) == 1:
        given.walker.shell(words[0], given)
    elif words:
        text = " ".join(word.text for word in words)
        kinds = "q".join(word.kinds for word in words)
        start = words[0].start
        if start >= 0 and not given.walker.source.startswith(text, start):
            start = -1
        given.walker.shell(Word(text, kinds, text, start), given, None)


def _eval(given: Invocation) -> None:
    words = given.arguments
    joined(given, words[1:] if words and words[0].text == "--" else words)


def _source(given: Invocation) -> None:
    words = [word for word in given.arguments if word.text != "--"]
    if not words:
        return
    if STDIN.fullmatch(words[0].text):
        if given.feed is not None:
            given.walker.shell(given.feed, given)
    else:
        _not_fed(words[0], given)


def _trap(given: Invocation) -> None:
    read = parse(given.arguments, stop=True)
    if len(read.operands) > 1 and not read.has("-l", "-p"):
        given.walker.shell(read.operands[0], given)


def _alias(given: Invocation) -> None:
    for word in given.arguments:
        _, equals, _ = word.text.partition("=")
        if equals:
            value = word.cut(word.text.index("=") + 1)
            followed = f'{value.text} "$@"'  # what a person types behind it
            kinds = value.kinds + "q" * (len(followed) - len(value.text))
            given.walker.shell(Word(followed, kinds, followed), given)


def _hash(given: Invocation) -> None:
    if parse(given.arguments, Spec("p"), stop=True).has("-p"):
        unreadable_part(given.shown, "This gives a program another name")


def _completion(given: Invocation) -> None:
    read = parse(given.arguments, Spec("CFWAGPSX"))
    for option in read.options:
        if option.name in ("-C", "-F", "-W") and option.value is not None:
            given.walker.shell(option.value, given)


def _mapfile(given: Invocation) -> None:
    for text in parse(given.arguments, Spec("CcdnOsu")).values("-C"):
        given.walker.shell(text, given)


def _repeat(given: Invocation) -> None:
    """Refuse `fc`, which runs again what the history holds, which may never have been run."""
    if not any(re.fullmatch(r"-[nr]*l[nr]*", word.text) for word in given.arguments):
        unreadable_part(given.shown, "This runs a line of the shell's history, which is not known")


def _enable(given: Invocation) -> None:
    if parse(given.arguments, Spec("f")).has("-f"):
        unreadable_part(given.shown, "This loads code into the shell itself")


def _history(given: Invocation) -> None:
    read = parse(given.arguments, Spec("d"))
    if read.has("-w", "-a"):
        check_all(read.operands, given)


def _at(given: Invocation) -> None:
    if given.feed is not None:
        given.walker.shell(given.feed, given)


RULES: Rules = MappingProxyType(
    {
        **dict.fromkeys(SHELLS, _shell),
        "eval": _eval,
        "source": _source,
        ".": _source,
        "trap": _trap,
        "alias": _alias,
        "hash": _hash,
        **dict.fromkeys(names("compgen complete"), _completion),
        **dict.fromkeys(names("mapfile readarray"), _mapfile),
        "fc": _repeat,
        "enable": _enable,
        "history": _history,
        **dict.fromkeys(names("at batch newgrp"), _at),
    }
)
