"""Programs that complete a command from what they read: xargs, parallel, fd."""

import contextlib
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from ralph_tui.guard.guarded_names import names_guarded
from ralph_tui.guard.names import names
from ralph_tui.guard.options import Spec, parse
from ralph_tui.guard.shells import joined
from ralph_tui.guard.syntax import UNKNOWN, Word, anything, literal
from ralph_tui.guard.walk import Invocation, unreadable_part


def no_hidden_options(given: Invocation, operands: Sequence[Word]) -> None:
    """An unknown word before the command could be the command."""
    if operands and operands[0].text == UNKNOWN and operands[0].may_split:
        unreadable_part(given.shown, "An expansion stands where a command may begin")


_XARGS = Spec(
    "aEIJLnPsdR",
    attached="eil",
    long=names("--arg-file --delimiter --max-args --max-procs --max-chars --process-slot-var"),
)


def _xargs(given: Invocation) -> None:
    read = parse(given.arguments, _XARGS, stop=True)
    no_hidden_options(given, read.operands)
    if not read.operands:
        return
    added = _fed_words(given)
    marks = [v.text for v in read.values("-I", "-J", "-i", "--replace")]
    if not marks and read.has("-i", "--replace", "-I"):
        marks = ["{}"]
    if not marks:
        given.walker.run((*read.operands, *added), given)
        given.walker.run(read.operands, given)  # as when it reads nothing
        delimited = read.has("-d", "-0", "--delimiter", "--null")
        for item in _fed_items(given, quotes=not delimited):
            given.walker.run((*read.operands, item), given)
        return
    for item in _fed_items(given, quotes=True, lines=True):  # with a mark an item is a whole line
        given.walker.run(tuple(_put(word, marks[0], item) for word in read.operands), given)


def _fed_words(given: Invocation) -> list[Word]:
    """The words that standard input holds, if the text says."""
    if given.feed is not None and UNKNOWN not in given.feed.text and len(given.feed.text) < 4096:
        return [Word(text, "q" * len(text), text) for text in given.feed.text.split()] or [
            anything()
        ]
    return [anything()]


def _fed_items(given: Invocation, *, quotes: bool, lines: bool = False) -> list[Word]:
    """What xargs makes of what it reads, if the text says: lines, or words that may be quoted."""
    words = _fed_words(given)
    if given.feed is None or not words[0].known:
        return words
    texts = given.feed.text.split("\n")
    if quotes and any(mark in given.feed.text for mark in "'\"\\"):
        with contextlib.suppress(ValueError):  # quotes that xargs itself would refuse
            split = shlex.split(given.feed.text)
            texts = [" ".join(shlex.split(text)) for text in texts] if lines else split
    return [Word(text, "q" * len(text), text) for t in texts[:16] if (text := t.strip())] or words


def _put(word: Word, mark: str, item: Word) -> Word:
    """A word with xargs' mark replaced."""
    if not mark or mark not in word.text:
        return word
    if item.text == UNKNOWN:
        # One item stays one word, whatever it holds.
        text = word.text.replace(mark, UNKNOWN)
        return Word(text, "".join("x" if c == UNKNOWN else "q" for c in text), word.raw)
    text = word.text.replace(mark, item.text)
    return Word(text, "q" * len(text), word.raw)


def _parallel(given: Invocation) -> None:
    spec = Spec("jaNnLIPS", long=names("--jobs --arg-file --max-args --delay --timeout --joblog"))
    words = parse(given.arguments, spec, stop=True).operands
    end = next((i for i, w in enumerate(words) if w.text.startswith(":::")), len(words))
    if words[:end]:
        listed = words[end:][:1] and words[end].text == ":::"
        items = [word.text for word in words[end + 1 :]] if listed else []
        known = items and not any(i.startswith(":::") or UNKNOWN in i for i in items)
        for item in items[:16] if known else ():
            _filled_in(given, words[:end], shlex.quote(item))
        if not known:
            _filled_in(given, words[:end], '"$1"')
    elif words:  # no command: each of the arguments is one
        for word in words[1:]:
            if not word.text.startswith(":::"):
                given.walker.shell(word, given)
    elif given.feed is not None:
        given.walker.shell(given.feed, given)


def _filled_in(given: Invocation, command: Sequence[Word], item: str) -> None:
    """Parallel gives a shell the command with the item, quoted, in its places or at its end."""
    marked = any(_PLACE.search(word.text) for word in command)
    pieces = []
    for word in command:
        text = _PLACE.sub(lambda _: item, word.text)
        pieces.append(Word(text, "".join("x" if c == UNKNOWN else "q" for c in text), text))
    joined(given, [*pieces, *([] if marked else [literal(item)])])


_PLACE = re.compile(r"\{(?:/|//|\.|/\.|#|%)?\}")


def _fd(given: Invocation) -> None:
    for at, word in enumerate(given.arguments):
        if word.text in ("-x", "--exec", "-X", "--exec-batch"):
            below = [w for w in given.arguments[:at] if names_guarded(w.text)]
            found = literal(f"{below[0].text}/found") if below else anything()
            rest = [_put(w, "{}", found) for w in given.arguments[at + 1 :]]
            if rest:
                if below and all("{}" not in w.text for w in given.arguments[at + 1 :]):
                    rest.append(found)
                given.walker.run(rest, given, under_uv=given.under_uv)
            return


FILLERS: Mapping[str, Callable[[Invocation], None]] = MappingProxyType(
    {
        **dict.fromkeys(names("xargs gxargs"), _xargs),
        "parallel": _parallel,
        **dict.fromkeys(names("fd fdfind"), _fd),
    }
)
