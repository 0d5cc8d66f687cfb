"""Predicts from the text what commands print, because the next command may run it."""

import re
from collections.abc import Sequence

from ralph_tui.guard.core.paths import names_guarded
from ralph_tui.guard.rules.find import found_paths
from ralph_tui.guard.shell.nodes import (
    UNKNOWN,
    Command,
    Compound,
    Redirect,
    Word,
    anything,
    expanded,
    literal,
)


def stdin_after(redirects: Sequence[Redirect], feed: Word | None) -> Word | None:
    for redirect in redirects:
        target = redirect.target
        if redirect.descriptor not in ("", "0"):
            if feed is None and redirect.operator == "<<<":  # for /dev/fd/3 and the like
                feed = Word(target.text + "\n", target.kinds + "q", target.raw, target.start)
            elif feed is None and redirect.body is not None:
                feed = redirect.body
        elif redirect.body is not None:
            feed = redirect.body
        elif redirect.operator == "<<<":
            feed = Word(target.text + "\n", target.kinds + "q", target.raw, target.start)
        elif redirect.operator == "<":
            feed = anything(target.raw) if target.feeds else None
        elif redirect.operator == "<&" and target.text not in ("0", "-"):
            feed = anything(target.raw)
    return feed


def output_of(command: Command, feed: Word | None) -> Word:
    if isinstance(command, Compound) or not command.words or not command.words[0].known:
        return anything()
    program = command.words[0].text
    arguments = command.words[1:]
    if any(r.operator == "<<<" or r.body is not None for r in command.redirects):
        feed = stdin_after(command.redirects, feed)
    if program == "echo":
        return _echo_output(arguments)
    if program == "printf" and arguments:
        return _printf_output(arguments)
    if program == "cat" and not [w for w in arguments if w.text != "-"]:
        return feed if feed is not None else literal("")
    if program == "tee" and feed is not None:
        return feed
    if program == "ls" and any(names_guarded(word.text) for word in arguments):
        return expanded("\n".join(w.text for w in arguments if not w.text.startswith("-")))
    if program == "find":
        tests = next(
            (i for i, w in enumerate(arguments) if w.text.startswith(("-", "(", "!"))),
            len(arguments),
        )
        paths = found_paths(arguments[:tests] or [literal(".")], arguments[tests:])
        return expanded("\n".join(path.text for path in paths))
    return anything()


def _echo_output(arguments: Sequence[Word]) -> Word:
    words = list(arguments)
    escapes = False
    while words and re.fullmatch(r"-[neE]+", words[0].text):
        escapes = escapes or "e" in words.pop(0).text
    text = " ".join(word.text for word in words)
    if any(word.has_glob for word in words):
        text += UNKNOWN
    plain = text.replace("\\n", "\n") if escapes else text
    return anything(text) if escapes and "\\" in plain else expanded(plain + "\n")


def _printf_output(arguments: Sequence[Word]) -> Word:
    words = arguments[1:] if arguments[0].text == "--" else arguments
    if not words or not all(word.known for word in words):
        return anything()
    pieces = re.split(r"(%[s%])", words[0].text.replace("\\n", "\n"))
    if not _PLAIN_FORMAT.fullmatch(words[0].text) or pieces.count("%s") != len(words) - 1:
        return anything()
    values = iter(words[1:])
    return expanded(
        "".join(next(values).text if p == "%s" else p.replace("%%", "%") for p in pieces)
    )


_PLAIN_FORMAT = re.compile(r"(?!-)(?:[^%\\]|%s|%%|\\n)*")
"""A format that printf fills once, with nothing cut, padded or escaped."""
