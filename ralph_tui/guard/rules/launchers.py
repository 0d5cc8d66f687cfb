"""Judges programs that start others: `sudo`, `timeout`, `env`, `xargs`, `parallel`, `ssh`."""

import contextlib
import re
import shlex
from collections.abc import Sequence
from itertools import pairwise
from types import MappingProxyType

from ralph_tui.guard.core.arguments import Spec, names, parse
from ralph_tui.guard.core.paths import names_guarded
from ralph_tui.guard.core.rule_context import (
    Invocation,
    Rules,
    check_writes,
    in_directories,
    refuse_unreadable,
)
from ralph_tui.guard.rules.assignments import judge_removal
from ralph_tui.guard.rules.programs import PROGRAMS
from ralph_tui.guard.rules.read_only import check_outputs
from ralph_tui.guard.rules.shells import judge_joined
from ralph_tui.guard.shell.nodes import UNKNOWN, Word, anything, literal


def _refuse_unknown_start(call: Invocation, operands: Sequence[Word]) -> None:
    if operands and operands[0].text == UNKNOWN and operands[0].may_split:
        refuse_unreadable(call.shown, "An expansion takes the place of a command")


_XARGS = Spec(
    "aEIJLnPsdR",
    attached="eil",
    long=names("--arg-file --delimiter --max-args --max-procs --max-chars --process-slot-var"),
)


def _xargs(call: Invocation) -> None:
    args = parse(call.arguments, _XARGS, stop=True)
    _refuse_unknown_start(call, args.operands)
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
        return [Word(text, "q" * len(text), text) for text in call.feed.text.split()] or [
            anything()
        ]
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
    return [Word(text, "q" * len(text), text) for t in texts[:16] if (text := t.strip())] or words


def _fill_in(word: Word, mark: str, item: Word) -> Word:
    if not mark or mark not in word.text:
        return word
    if item.text == UNKNOWN:
        # An item stays one word, even with blanks.
        text = word.text.replace(mark, UNKNOWN)
        return Word(text, "".join("x" if c == UNKNOWN else "q" for c in text), word.raw)
    text = word.text.replace(mark, item.text)
    return Word(text, "q" * len(text), word.raw)


def _parallel(call: Invocation) -> None:
    spec = Spec("jaNnLIPS", long=names("--jobs --arg-file --max-args --delay --timeout --joblog"))
    words = parse(call.arguments, spec, stop=True).operands
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
    pieces = []
    for word in command:
        text = _PLACEHOLDER.sub(lambda _: item, word.text)
        pieces.append(Word(text, "".join("x" if c == UNKNOWN else "q" for c in text), text))
    judge_joined(call, [*pieces, *([] if marked else [literal(item)])])


_PLACEHOLDER = re.compile(r"\{(?:/|//|\.|/\.|#|%)?\}")


def _fd(call: Invocation) -> None:
    for at, word in enumerate(call.arguments):
        if word.text in ("-x", "--exec", "-X", "--exec-batch"):
            below = [w for w in call.arguments[:at] if names_guarded(w.text)]
            found = literal(f"{below[0].text}/found") if below else anything()
            rest = [_fill_in(w, "{}", found) for w in call.arguments[at + 1 :]]
            if rest:
                if below and all("{}" not in w.text for w in call.arguments[at + 1 :]):
                    rest.append(found)
                call.walker.run(rest, call, under_uv=call.under_uv)
            return


_ASSIGNMENT = re.compile(r"[^=\0]+=", re.DOTALL)

_ENV_BLANK = re.compile(r"\\[_tnrfv]")
"""Escapes that separate words in `env -S`, as blanks do."""


def _wrapped(call: Invocation) -> None:
    program = PROGRAMS[call.program]
    args = parse(call.arguments, program.spec, stop=True)
    _refuse_unknown_start(call, args.operands)
    check_writes(args.values(*program.writes), call)
    check_outputs([option.word for option in args.options], call)
    if call.program == "sudo":
        call = in_directories(call, args.values("-D", "--chdir"))
    if call.program == "sudo" and args.has("-e", "--edit"):
        check_writes(args.operands, call)
        return
    _run(call, args.operands[program.skip :], assigns=program.assigns)


def _run(call: Invocation, words: Sequence[Word], *, assigns: bool = False) -> None:
    while assigns and words and _ASSIGNMENT.match(words[0].text):
        call.walker.assign(words[0], call)
        words = words[1:]
    if words:
        call.walker.run(words, call, under_uv=call.under_uv)


def _env(call: Invocation) -> None:
    spec = Spec("uCS", long=names("--unset --chdir --split-string"))
    args = parse(call.arguments, spec, stop=True)
    _refuse_unknown_start(call, args.operands)
    call = call.at(call.dirs.fork())  # its settings apply only to what it starts
    call = in_directories(call, args.values("-C", "--chdir"))
    for name in args.values("-u", "--unset"):
        judge_removal(name.text, call.shown)
    for option in args.options:
        if option.name not in ("-S", "--split-string") or (value := option.value) is None:
            continue
        at = call.arguments.index(option.word) + (2 if value in call.arguments else 1)
        rest = "".join(" " + word.raw for word in call.arguments[at:])
        for text in {value.text, _ENV_BLANK.sub(" ", value.text)}:
            kinds = "".join("x" if c == UNKNOWN else "q" for c in text)
            call.walker.shell(Word(text + rest, kinds + "q" * len(rest)), call)
        return
    _run(call, args.operands, assigns=True)


def _entr(call: Invocation) -> None:
    args = parse(call.arguments, stop=True)
    if args.has("-s"):
        judge_joined(call, args.operands)
    else:
        _run(call, args.operands)


def _daemon(call: Invocation) -> None:
    words = call.arguments
    end = next((i for i, word in enumerate(words) if word.text == "--"), len(words))
    for option, program in pairwise(words[:end]):
        if option.text in ("-x", "--exec", "-a", "--startas"):
            _run(call, [program, *words[end + 1 :]])


def _command(call: Invocation) -> None:
    args = parse(call.arguments, stop=True)
    if not args.has("-v", "-V"):
        _run(call, args.operands)


def _flock(call: Invocation) -> None:
    args = parse(call.arguments, Spec("wEc", long=names("--wait --timeout --command")))
    for text in args.values("-c", "--command"):
        call.walker.shell(text, call)
    after = parse(call.arguments, Spec("wE", long=names("--wait --timeout")), stop=True).operands
    if len(after) > 1 and not after[1].text.startswith("-"):
        _run(call, after[1:])


def _script(call: Invocation) -> None:
    spec = Spec("cEIOBTmo", long=names("--command --echo --log-in --log-out --log-io --log-timing"))
    args = parse(call.arguments, spec)
    for text in args.values("-c", "--command"):
        call.walker.shell(text, call)
    for word in args.operands[:1]:
        call.dirs.check_write(word, call.shown)
    if len(args.operands) > 1:  # the BSD form: a file, then a command
        _run(call, args.operands[1:])
    elif not args.has("-c", "--command") and call.feed is not None:
        call.walker.shell(call.feed, call)


def _su(call: Invocation) -> None:
    texts = parse(call.arguments, Spec("cgGsw", long=names("--command"))).values("-c", "--command")
    for text in texts:
        call.walker.shell(text, call)
    if not texts and call.feed is not None:
        call.walker.shell(call.feed, call)


def _pager(call: Invocation) -> None:
    for word in call.arguments:
        if word.text.startswith("+") and "!" in word.text:
            call.walker.shell(literal(word.text.partition("!")[2]), call)


def _runuser(call: Invocation) -> None:
    spec = Spec("cgGsuw", long=names("--command --user --group"))
    for text in parse(call.arguments, spec).values("-c", "--command"):
        call.walker.shell(text, call)
    args = parse(call.arguments, spec, stop=True)
    if args.has("-u", "--user"):
        _run(call, args.operands)


def _ssh(call: Invocation) -> None:
    """Judge a command for another machine, because that may be this one.

    The tools there do not run in this project's environment.
    """
    call = call.in_uv()
    args = parse(call.arguments, Spec("BbcDEeFIiJLlmOoPpRSWw"), stop=True)
    for word in args.values("-o"):
        started = re.fullmatch(r"\w+command\s*[= ]\s*(.+)", word.text, re.IGNORECASE | re.DOTALL)
        if started is not None:
            call.walker.shell(literal(started[1]), call)
    words = args.operands[1:]
    if words:
        judge_joined(call, words)
    if call.feed is not None and call.feed.text.strip(UNKNOWN + " \n"):
        call.walker.shell(call.feed, call)


def _watch(call: Invocation) -> None:
    args = parse(call.arguments, Spec("nqs", long=names("--interval --equexit")), stop=True)
    _refuse_unknown_start(call, args.operands)
    judge_joined(call, args.operands)
    if len(args.operands) > 1:
        _run(call, args.operands)


RULES: Rules = MappingProxyType(
    {
        **dict.fromkeys(names("xargs gxargs"), _xargs),
        "parallel": _parallel,
        **dict.fromkeys(names("fd fdfind"), _fd),
        "env": _env,
        "genv": _env,
        "entr": _entr,
        "start-stop-daemon": _daemon,
        "command": _command,
        "flock": _flock,
        "script": _script,
        "su": _su,
        **dict.fromkeys(names("less more most pg"), _pager),
        "ssh": _ssh,
        "runuser": _runuser,
        "watch": _watch,
        **{name: _wrapped for name, program in PROGRAMS.items() if program.operands == "run"},
    }
)
