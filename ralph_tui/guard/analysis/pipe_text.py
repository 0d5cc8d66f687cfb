"""Predicts from the text what commands print, because the next command may run it."""

import re
from collections.abc import Sequence

from ralph_tui.guard.rules.destructive import found_paths
from ralph_tui.guard.shell.expansions import unescape_ansi
from ralph_tui.guard.shell.nodes import (
    UNKNOWN,
    Command,
    Compound,
    Redirect,
    Word,
    anything,
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
    if program == "find":
        tests = next(
            (i for i, w in enumerate(arguments) if w.text.startswith(("-", "(", "!"))),
            len(arguments),
        )
        paths = found_paths(arguments[:tests] or [literal(".")], arguments[tests:])
        return _text_word("\n".join(path.text for path in paths))
    return anything()


def _echo_output(arguments: Sequence[Word]) -> Word:
    words = list(arguments)
    escapes = False
    while words and re.fullmatch(r"-[neE]+", words[0].text):
        escapes = escapes or "e" in words.pop(0).text
    text = " ".join(word.text for word in words)
    if any(word.has_glob for word in words):
        text += UNKNOWN
    if escapes and _OCTAL.search(text):
        return anything(text)
    plain = _unescaped(text) if escapes else text
    return _text_word(plain + "\n")


def _printf_output(arguments: Sequence[Word]) -> Word:
    words = arguments[1:] if arguments[0].text == "--" else arguments
    if not words or words[0].text.startswith("-") or not all(word.known for word in words):
        return anything()
    pattern, values = words[0].text, [word.text for word in words[1:]]
    text, *following = re.split(r"%([sbd%])", _unescaped(pattern))
    conversions, pieces = following[::2], following[1::2]
    filled = len(conversions) - conversions.count("%")
    if _NUL.search(pattern) or any("%" in piece for piece in (text, *pieces)):
        return anything()  # a conversion that cuts, pads or quotes its value
    # Otherwise printf would repeat the format, or leave conversions empty.
    if filled and filled != len(values):
        return anything()
    for place, piece in zip(conversions, pieces, strict=True):
        value = "%" if place == "%" else values.pop(0)
        if place == "b" and _OCTAL.search(value):
            return anything()
        text += (_unescaped(value) if place == "b" else value) + piece
    return _text_word(text)


_OCTAL = re.compile(r"\\[0-7c]")
"""Escapes that `echo -e` and `%b` read differently."""
_NUL = re.compile(r"\\(?:0{1,3}(?![0-7])|x0{1,2}(?![0-9A-Fa-f])|[uU]0+(?![0-9A-Fa-f]))")
"""Separates words for `xargs -0`, but is ignored by a shell."""


def _unescaped(text: str) -> str:
    return UNKNOWN.join(unescape_ansi(part) for part in text.split(UNKNOWN))


def _text_word(text: str) -> Word:
    return Word(text, "".join("x" if c == UNKNOWN else "q" for c in text), text)
