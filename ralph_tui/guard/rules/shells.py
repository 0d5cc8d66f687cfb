"""Judges the text that shells, and builtins that run text, receive."""

from collections.abc import Sequence

from ralph_tui.guard.core.arguments import parse
from ralph_tui.guard.core.rule_context import Invocation, refuse_unreadable
from ralph_tui.guard.rules.inline_code import STDIN
from ralph_tui.guard.shell.nodes import UNKNOWN, Word


def judge_shell(call: Invocation) -> None:
    words, letters = _shell_options(call)
    if "c" in letters:
        if words:
            call.walker.shell(words[0], call.fork(), call.feed)
    elif "s" in letters or not words or STDIN.fullmatch(words[0].text):
        if call.feed is not None:
            call.walker.shell(call.feed, call)
    else:
        _judge_script_file(words[0], call)


def _shell_options(call: Invocation) -> tuple[list[Word], str]:
    words = list(call.arguments)
    letters = ""
    while words and words[0].text[:1] in ("-", "+") and words[0].text not in ("-", "--"):
        word = words.pop(0)
        if UNKNOWN in word.text:
            refuse_unreadable(call.shown, "An expansion takes the place of a shell's options")
        if word.text in ("--rcfile", "--init-file") and words:
            _judge_script_file(words.pop(0), call)
        if word.text.startswith("--"):
            continue
        letters += word.text[1:]
        if word.text[-1] in "oO" and words:
            words.pop(0)
    if (words and words[0].text == "--") or (words and words[0].text == "-" and "c" in letters):
        words.pop(0)
    return words, letters


def _judge_script_file(file: Word, call: Invocation) -> None:
    if file.feeds:
        refuse_unreadable(call.shown, "A shell would run the output of another command")
    if file.text == UNKNOWN and file.may_split:
        refuse_unreadable(call.shown, "An expansion takes the place of a shell's script")


def judge_joined(call: Invocation, words: Sequence[Word]) -> None:
    if len(words) == 1:
        call.walker.shell(words[0], call)
    elif words:
        text = " ".join(word.text for word in words)
        kinds = "q".join(word.kinds for word in words)
        start = words[0].start
        if start >= 0 and not call.walker.source.startswith(text, start):
            start = -1
        call.walker.shell(Word(text, kinds, text, start), call, None)


def judge_eval(call: Invocation) -> None:
    words = call.arguments
    judge_joined(call, words[1:] if words and words[0].text == "--" else words)


def judge_source(call: Invocation) -> None:
    words = [word for word in call.arguments if word.text != "--"]
    if not words:
        return
    if STDIN.fullmatch(words[0].text):
        if call.feed is not None:
            call.walker.shell(call.feed, call)
    else:
        _judge_script_file(words[0], call)


def judge_trap(call: Invocation) -> None:
    args = parse(call.arguments, stop=True)
    if len(args.operands) > 1 and not args.has("-l", "-p"):
        call.walker.shell(args.operands[0], call)


def judge_alias(call: Invocation) -> None:
    for word in call.arguments:
        _, equals, _ = word.text.partition("=")
        if equals:
            value = word.cut(word.text.index("=") + 1)
            followed = f'{value.text} "$@"'  # represents the arguments of the alias
            kinds = value.kinds + "q" * (len(followed) - len(value.text))
            call.walker.shell(Word(followed, kinds, followed), call)


def judge_hash(call: Invocation) -> None:
    if call.args.has("-p"):
        refuse_unreadable(call.shown, "This gives a program another name")
