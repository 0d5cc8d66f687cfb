"""Judges programs that start others: `sudo`, `timeout`, `env`, `xargs`, `parallel`, `ssh`."""

import contextlib
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType

from ralph_tui.guard.core.arguments import NO_VALUES, Spec, names, parse
from ralph_tui.guard.core.paths import names_guarded
from ralph_tui.guard.core.rule_context import Invocation, Rules, check_all, moved, unreadable_part
from ralph_tui.guard.rules.assignments import judge_removal
from ralph_tui.guard.rules.read_only import check_outputs
from ralph_tui.guard.rules.shells import joined
from ralph_tui.guard.shell.nodes import UNKNOWN, Word, anything, literal


@dataclass(frozen=True, slots=True)
class Wrapper:
    """A program whose arguments are, after its options and `skip` operands, a command.

    Attributes:
        spec: Its options with values.
        skip: How many operands stand before the command.
        assigns: Whether `NAME=value` may stand before the command.
    """

    spec: Spec = NO_VALUES
    skip: int = 0
    assigns: bool = False


_SUDO = Wrapper(
    Spec(
        "ugpCDRTrthU",
        long=names(
            "--user --group --prompt --close-from --chdir --chroot --command-timeout --role"
            " --type --host --other-user"
        ),
    ),
    assigns=True,
)
_TIME = Wrapper(Spec("fo", long=names("--format --output")))
WRAPPERS: Mapping[str, Wrapper] = MappingProxyType(
    {
        "timeout": Wrapper(Spec("ks", long=names("--kill-after --signal")), skip=1),
        "gtimeout": Wrapper(Spec("ks", long=names("--kill-after --signal")), skip=1),
        "nice": Wrapper(Spec("n", attached="0123456789", long=names("--adjustment"))),
        "sudo": _SUDO,
        "doas": Wrapper(Spec("uCa")),
        "builtin": Wrapper(),
        "exec": Wrapper(Spec("a")),
        "time": _TIME,
        "gtime": _TIME,
        "stdbuf": Wrapper(Spec("ioe", long=names("--input --output --error"))),
        "ionice": Wrapper(Spec("cnpPu", long=names("--class --classdata"))),
        "chrt": Wrapper(Spec("TPD"), skip=1),
        "taskset": Wrapper(Spec(), skip=1),
        "numactl": Wrapper(Spec("CNmipl", long=names("--cpunodebind --membind --interleave"))),
        "prlimit": Wrapper(Spec("po", long=names("--pid --output"))),
        "strace": Wrapper(Spec("abeEIoOpPsSuUX")),
        "ltrace": Wrapper(Spec("aADeEfilnopsuxX")),
        "unshare": Wrapper(Spec("RwSG", long=names("--root --wd --setuid --setgid"))),
        "nsenter": Wrapper(Spec("tSG", long=names("--target --setuid --setgid"))),
        "chroot": Wrapper(Spec(long=names("--userspec --groups")), skip=1),
        "setpriv": Wrapper(Spec(long=names("--reuid --regid --groups --pdeathsig --inh-caps"))),
        "systemd-run": Wrapper(Spec("pHMutE", long=names("--unit --property --setenv --slice"))),
        "faketime": Wrapper(skip=1),
        "cpulimit": Wrapper(Spec("lpeP")),
        "perf": Wrapper(Spec("eoC"), skip=1),
        "valgrind": Wrapper(),
        "direnv": Wrapper(skip=2),
        "bundle": Wrapper(skip=1),
        "xvfb-run": Wrapper(Spec("efnpsw", long=names("--server-num --server-args"))),
        "jobs": Wrapper(),
        "busybox": Wrapper(),
        "toybox": Wrapper(),
        "setarch": Wrapper(),
        "linux32": Wrapper(),
        "linux64": Wrapper(),
        "ssh-agent": Wrapper(Spec("aEtP")),
        **dict.fromkeys(
            names(
                "nohup setsid unbuffer chronic eatmydata fakeroot caffeinate catchsegv stdoutisatty"
                " dbus-run-session rlwrap ts coproc firejail pkexec exec-with-piped torsocks"
            ),
            Wrapper(),
        ),
    }
)


def _no_hidden_options(given: Invocation, operands: Sequence[Word]) -> None:
    """Refuse an unknown word before the command, because it could be the command."""
    if operands and operands[0].text == UNKNOWN and operands[0].may_split:
        unreadable_part(given.shown, "An expansion is where a command may begin")


_XARGS = Spec(
    "aEIJLnPsdR",
    attached="eil",
    long=names("--arg-file --delimiter --max-args --max-procs --max-chars --process-slot-var"),
)


def _xargs(given: Invocation) -> None:
    read = parse(given.arguments, _XARGS, stop=True)
    _no_hidden_options(given, read.operands)
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
    """List the words that standard input holds, if the text says."""
    if given.feed is not None and UNKNOWN not in given.feed.text and len(given.feed.text) < 4096:
        return [Word(text, "q" * len(text), text) for text in given.feed.text.split()] or [
            anything()
        ]
    return [anything()]


def _fed_items(given: Invocation, *, quotes: bool, lines: bool = False) -> list[Word]:
    """List what xargs makes of what it reads, if the text says: lines, or words that may be quoted."""
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
    """Replace xargs' mark in a word."""
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
    """Judge the command that parallel gives a shell, with the item, quoted, in its places or at its end."""
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


_ASSIGNMENT = re.compile(r"[^=\0]+=", re.DOTALL)

_ENV_BLANK = re.compile(r"\\[_tnrfv]")
"""What separates words for `env -S`, beside blanks."""


def _wrapped(given: Invocation) -> None:
    wrapper = WRAPPERS[given.program]
    read = parse(given.arguments, wrapper.spec, stop=True)
    _no_hidden_options(given, read.operands)
    if given.program in _LOGGING:
        check_all(read.values("-o", "--output"), given)
    check_outputs([option.word for option in read.options], given)
    if given.program == "sudo":
        given = moved(given, read.values("-D", "--chdir"))
    if given.program == "sudo" and read.has("-e", "--edit"):
        for word in read.operands:
            given.places.check_write(word, given.shown)
        return
    _run(given, read.operands[wrapper.skip :], assigns=wrapper.assigns)


_LOGGING = names("time gtime strace ltrace perf")


def _run(given: Invocation, words: Sequence[Word], *, assigns: bool = False) -> None:
    while assigns and words and _ASSIGNMENT.match(words[0].text):
        given.walker.assign(words[0], given)
        words = words[1:]
    if words:
        given.walker.run(words, given, under_uv=given.under_uv)


def _env(given: Invocation) -> None:
    spec = Spec("uCS", long=names("--unset --chdir --split-string"))
    read = parse(given.arguments, spec, stop=True)
    _no_hidden_options(given, read.operands)
    given = given.at(given.places.fork())  # what it sets holds for what it starts
    given = moved(given, read.values("-C", "--chdir"))
    for name in read.values("-u", "--unset"):
        judge_removal(name.text, given.shown)
    for option in read.options:
        if option.name not in ("-S", "--split-string") or (value := option.value) is None:
            continue
        at = given.arguments.index(option.word) + (2 if value in given.arguments else 1)
        rest = "".join(" " + word.raw for word in given.arguments[at:])
        for text in {value.text, _ENV_BLANK.sub(" ", value.text)}:
            kinds = "".join("x" if c == UNKNOWN else "q" for c in text)
            given.walker.shell(Word(text + rest, kinds + "q" * len(rest)), given)
        return
    _run(given, read.operands, assigns=True)


def _entr(given: Invocation) -> None:
    read = parse(given.arguments, stop=True)
    if read.has("-s"):
        joined(given, read.operands)
    else:
        _run(given, read.operands)


def _daemon(given: Invocation) -> None:
    words = given.arguments
    end = next((i for i, word in enumerate(words) if word.text == "--"), len(words))
    for option, program in pairwise(words[:end]):
        if option.text in ("-x", "--exec", "-a", "--startas"):
            _run(given, [program, *words[end + 1 :]])


def _command(given: Invocation) -> None:
    read = parse(given.arguments, stop=True)
    if not read.has("-v", "-V"):
        _run(given, read.operands)


def _flock(given: Invocation) -> None:
    read = parse(given.arguments, Spec("wEc", long=names("--wait --timeout --command")))
    for text in read.values("-c", "--command"):
        given.walker.shell(text, given)
    after = parse(given.arguments, Spec("wE", long=names("--wait --timeout")), stop=True).operands
    if len(after) > 1 and not after[1].text.startswith("-"):
        _run(given, after[1:])


def _script(given: Invocation) -> None:
    spec = Spec("cEIOBTmo", long=names("--command --echo --log-in --log-out --log-io --log-timing"))
    read = parse(given.arguments, spec)
    for text in read.values("-c", "--command"):
        given.walker.shell(text, given)
    for word in read.operands[:1]:
        given.places.check_write(word, given.shown)
    if len(read.operands) > 1:  # the BSD form: a file, then a command
        _run(given, read.operands[1:])
    elif not read.has("-c", "--command") and given.feed is not None:
        given.walker.shell(given.feed, given)


def _su(given: Invocation) -> None:
    texts = parse(given.arguments, Spec("cgGsw", long=names("--command"))).values("-c", "--command")
    for text in texts:
        given.walker.shell(text, given)
    if not texts and given.feed is not None:
        given.walker.shell(given.feed, given)


def _pager(given: Invocation) -> None:
    """Judge `less +!COMMAND`, which starts a program before it shows anything."""
    for word in given.arguments:
        if word.text.startswith("+") and "!" in word.text:
            given.walker.shell(literal(word.text.partition("!")[2]), given)


_HELPERS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "rg": names("--pre --hostname-bin"),
        "bat": names("--pager"),
        "batcat": names("--pager"),
        "ag": names("--pager"),
        "ack": names("--pager"),
    }
)
"""Options with which programs that read start another."""


def _helped(given: Invocation) -> None:
    options = _HELPERS[given.program]
    for text in parse(given.arguments, Spec(long=options)).values(*options):
        given.walker.shell(text, given)


def _man(given: Invocation) -> None:
    spec = Spec("PHCLMSesEpr", long=names("--pager --html"))
    for text in parse(given.arguments, spec).values("-P", "-H", "--pager", "--html"):
        given.walker.shell(text, given)


def _runuser(given: Invocation) -> None:
    spec = Spec("cgGsuw", long=names("--command --user --group"))
    for text in parse(given.arguments, spec).values("-c", "--command"):
        given.walker.shell(text, given)
    read = parse(given.arguments, spec, stop=True)
    if read.has("-u", "--user"):
        _run(given, read.operands)


def _ssh(given: Invocation) -> None:
    """Judge what runs on another machine, which may be this one; the rest is that machine's matter.

    So are its tools: they do not run in this project's environment.
    """
    given = given.in_uv()
    read = parse(given.arguments, Spec("BbcDEeFIiJLlmOoPpRSWw"), stop=True)
    for word in read.values("-o"):
        started = re.fullmatch(r"\w+command\s*[= ]\s*(.+)", word.text, re.IGNORECASE | re.DOTALL)
        if started is not None:
            given.walker.shell(literal(started[1]), given)
    words = read.operands[1:]
    if words:
        joined(given, words)
    if given.feed is not None and given.feed.text.strip(UNKNOWN + " \n"):
        given.walker.shell(given.feed, given)


def _watch(given: Invocation) -> None:
    read = parse(given.arguments, Spec("nqs", long=names("--interval --equexit")), stop=True)
    _no_hidden_options(given, read.operands)
    joined(given, read.operands)
    if len(read.operands) > 1:
        _run(given, read.operands)


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
        **dict.fromkeys(_HELPERS, _helped),
        "man": _man,
        "ssh": _ssh,
        "runuser": _runuser,
        "watch": _watch,
        **dict.fromkeys(WRAPPERS, _wrapped),
    }
)
