"""Judges programs that put together the commands they start: `env`, `xargs`, `parallel`."""

import contextlib
import re
import shlex
from collections.abc import Sequence

from ralph_tui.guard.core.rule_context import Invocation, in_directories
from ralph_tui.guard.rules.assignments import judge_removal
from ralph_tui.guard.rules.listed_programs import refuse_unknown_start, run_words
from ralph_tui.guard.rules.shells import judge_joined
from ralph_tui.guard.shell.nodes import UNKNOWN, Word, anything, expanded, literal


def judge_xargs(call: Invocation) -> None:
    args = call.args
    refuse_unknown_start(call, args.operands)
    if not args.operands:
        return
    added = _stdin_words(call)
    marks = [v.text for v in args.values("-I", "-J", "-i", "--replace")]
    if not marks and args.has("-i", "--replace", "-I"):
        marks = ["{}"]
    if not marks:
        call.walker.run((*args.operands, *added), call)
        call.walker.run(args.operands, call)  # as with empty input
        delimited = args.has("-d", "-0", "--delimiter", "--null")
        for item in _stdin_items(call, quotes=not delimited):
            call.walker.run((*args.operands, item), call)
        return
    # With a placeholder, an item is a whole line.
    for item in _stdin_items(call, quotes=True, lines=True):
        call.walker.run(tuple(_fill_in(word, marks[0], item) for word in args.operands), call)


def _stdin_words(call: Invocation) -> list[Word]:
    if call.feed is not None and UNKNOWN not in call.feed.text and len(call.feed.text) < 4096:
        return [literal(text) for text in call.feed.text.split()] or [anything()]
    return [anything()]


def _stdin_items(call: Invocation, *, quotes: bool, lines: bool = False) -> list[Word]:
    words = _stdin_words(call)
    if call.feed is None or not words[0].known:
        return words
    texts = call.feed.text.split("\n")
    if quotes and any(mark in call.feed.text for mark in "'\"\\"):
        with contextlib.suppress(ValueError):  # xargs would reject such quotes
            split = shlex.split(call.feed.text)
            texts = [" ".join(shlex.split(text)) for text in texts] if lines else split
    return [literal(text) for t in texts[:16] if (text := t.strip())] or words


def _fill_in(word: Word, mark: str, item: Word) -> Word:
    if not mark or mark not in word.text:
        return word
    return expanded(word.text.replace(mark, item.text), word.raw)  # one word, even with blanks


def judge_parallel(call: Invocation) -> None:
    words = call.args.operands
    end = next((i for i, w in enumerate(words) if w.text.startswith(":::")), len(words))
    if words[:end]:
        listed = words[end:][:1] and words[end].text == ":::"
        items = [word.text for word in words[end + 1 :]] if listed else []
        known = items and not any(i.startswith(":::") or UNKNOWN in i for i in items)
        for item in items[:16] if known else ():
            _judge_filled(call, words[:end], shlex.quote(item))
        if not known:
            _judge_filled(call, words[:end], '"$1"')
    elif words:  # without a command, each argument is one
        for word in words[1:]:
            if not word.text.startswith(":::"):
                call.walker.shell(word, call)
    elif call.feed is not None:
        call.walker.shell(call.feed, call)


def _judge_filled(call: Invocation, command: Sequence[Word], item: str) -> None:
    marked = any(_PLACEHOLDER.search(word.text) for word in command)
    pieces = [expanded(_PLACEHOLDER.sub(lambda _: item, word.text)) for word in command]
    judge_joined(call, [*pieces, *([] if marked else [literal(item)])])


_PLACEHOLDER = re.compile(r"\{(?:/|//|\.|/\.|#|%)?\}")


_ENV_BLANK = re.compile(r"\\[_tnrfv]")


def judge_env(call: Invocation) -> None:
    args = call.args
    refuse_unknown_start(call, args.operands)
    call = call.fork()  # its settings apply only to what it starts
    call = in_directories(call, args.values("-C", "--chdir"))
    for name in args.values("-u", "--unset"):
        judge_removal(name.text, call.shown)
    for option in args.options:
        if option.name not in ("-S", "--split-string") or (value := option.value) is None:
            continue
        at = call.arguments.index(option.word) + (2 if value in call.arguments else 1)
        rest = "".join(" " + word.raw for word in call.arguments[at:])
        for text in {value.text, _ENV_BLANK.sub(" ", value.text)}:
            call.walker.shell(expanded(text + rest), call)
        return
    run_words(call, args.operands, assigns=True)
