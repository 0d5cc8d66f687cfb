"""Programs that start other programs: wrappers, shells, `xargs`, and the builtins that run text."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from ralph_tui.guard.names import names
from ralph_tui.guard.options import NO_VALUES, Spec, parse
from ralph_tui.guard.syntax import UNKNOWN, Word, anything
from ralph_tui.guard.walk import Invocation, unreadable_part

SHELLS = names("sh bash dash zsh ksh mksh pdksh ash yash rbash posh busybox-sh fish csh tcsh")
_STDIN = re.compile(r"/dev/stdin|/dev/fd/\d+|/proc/(?:self|\$\$|\d+)/fd/\d+|-")
_ASSIGNMENT = re.compile(r"[^=\0]+=", re.DOTALL)

Launcher = Callable[[Invocation], None]


@dataclass(frozen=True, slots=True)
class _Wrapper:
    """A program whose arguments are, after its options and `skip` operands, a command.

    Attributes:
        spec: Its options with values.
        skip: How many operands stand before the command.
        text: Options whose value is a text for a shell.
        assigns: Whether `NAME=value` may stand before the command.
    """

    spec: Spec = NO_VALUES
    skip: int = 0
    text: tuple[str, ...] = ()
    assigns: bool = False


_SUDO = _Wrapper(
    Spec(
        "ugpCDRTrthU",
        long=names(
            "--user --group --prompt --close-from --chdir --chroot --command-timeout --role"
            " --type --host --other-user"
        ),
    ),
    assigns=True,
)
_TIME = _Wrapper(Spec("fo", long=names("--format --output")))
_WRAPPERS: Mapping[str, _Wrapper] = MappingProxyType(
    {
        "timeout": _Wrapper(Spec("ks", long=names("--kill-after --signal")), skip=1),
        "gtimeout": _Wrapper(Spec("ks", long=names("--kill-after --signal")), skip=1),
        "nice": _Wrapper(Spec("n", attached="0123456789", long=names("--adjustment"))),
        "sudo": _SUDO,
        "doas": _Wrapper(Spec("uCa")),
        "builtin": _Wrapper(),
        "exec": _Wrapper(Spec("a")),
        "time": _TIME,
        "gtime": _TIME,
        "stdbuf": _Wrapper(Spec("ioe", long=names("--input --output --error"))),
        "ionice": _Wrapper(Spec("cnpPu", long=names("--class --classdata"))),
        "chrt": _Wrapper(Spec("TPD"), skip=1),
        "taskset": _Wrapper(Spec(), skip=1),
        "numactl": _Wrapper(Spec("CNmipl", long=names("--cpunodebind --membind --interleave"))),
        "prlimit": _Wrapper(Spec("po", long=names("--pid --output"))),
        "strace": _Wrapper(Spec("abeEIoOpPsSuUX")),
        "ltrace": _Wrapper(Spec("aADeEfilnopsuxX")),
        "unshare": _Wrapper(Spec("RwSG", long=names("--root --wd --setuid --setgid"))),
        "nsenter": _Wrapper(Spec("tSG", long=names("--target --setuid --setgid"))),
        "chroot": _Wrapper(Spec(long=names("--userspec --groups")), skip=1),
        "setpriv": _Wrapper(Spec(long=names("--reuid --regid --groups --pdeathsig --inh-caps"))),
        "systemd-run": _Wrapper(Spec("pHMutE", long=names("--unit --property --setenv --slice"))),
        "faketime": _Wrapper(Spec("f"), skip=1),
        "cpulimit": _Wrapper(Spec("lpeP")),
        "perf": _Wrapper(Spec("eoC"), skip=1),
        "valgrind": _Wrapper(),
        "direnv": _Wrapper(skip=2),
        "xvfb-run": _Wrapper(Spec("efnpsw", long=names("--server-num --server-args"))),
        "entr": _Wrapper(),
        "jobs": _Wrapper(),
        "busybox": _Wrapper(),
        "toybox": _Wrapper(),
        "setarch": _Wrapper(),
        "linux32": _Wrapper(),
        "linux64": _Wrapper(),
        "ssh-agent": _Wrapper(Spec("aEtP")),
        **dict.fromkeys(
            names(
                "nohup setsid unbuffer chronic eatmydata fakeroot caffeinate catchsegv stdoutisatty"
                " dbus-run-session rlwrap ts coproc firejail pkexec exec-with-piped torsocks"
            ),
            _Wrapper(),
        ),
    }
)


def launcher(program: str) -> Launcher | None:
    """The rule for a program that starts others, or None if it is not known as one."""
    if program in _WRAPPERS:
        return _wrapped
    if program in SHELLS:
        return _shell
    return _LAUNCHERS.get(program)


def _wrapped(given: Invocation) -> None:
    wrapper = _WRAPPERS[given.program]
    read = parse(given.arguments, wrapper.spec, stop=True)
    _no_hidden_options(given, read.operands)
    _run(given, read.operands[wrapper.skip :], assigns=wrapper.assigns)


def _no_hidden_options(given: Invocation, operands: Sequence[Word]) -> None:
    """An unknown word before the command could be the command."""
    if operands and operands[0].text == UNKNOWN and operands[0].may_split:
        unreadable_part(given.shown, "An expansion stands where a command may begin")


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
    for value in read.values("-S", "--split-string"):
        rest = "".join(" " + word.raw for word in read.operands)
        given.walker.shell(Word(value.text + rest, value.kinds + "q" * len(rest)), given)
        return
    _run(given, read.operands, assigns=True)


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


def _su(given: Invocation) -> None:
    for text in parse(given.arguments, Spec("cgGsw", long=names("--command"))).values(
        "-c", "--command"
    ):
        given.walker.shell(text, given)


def _runuser(given: Invocation) -> None:
    read = parse(given.arguments, Spec("cgGsuw", long=names("--command --user --group")), stop=True)
    for text in read.values("-c", "--command"):
        given.walker.shell(text, given)
    if read.has("-u", "--user"):
        _run(given, read.operands)


def _watch(given: Invocation) -> None:
    read = parse(given.arguments, Spec("nqs", long=names("--interval --equexit")), stop=True)
    _no_hidden_options(given, read.operands)
    _joined(given, read.operands)


def _joined(given: Invocation, words: Sequence[Word]) -> None:
    """Judge words that are put together with blanks and given to a shell."""
    if len(words) == 1:
        given.walker.shell(words[0], given)
    elif words:
        text = " ".join(word.text for word in words)
        kinds = "q".join(word.kinds for word in words)
        given.walker.shell(Word(text, kinds, text), given, None)


def _eval(given: Invocation) -> None:
    words = given.arguments
    _joined(given, words[1:] if words and words[0].text == "--" else words)


def _shell(given: Invocation) -> None:
    words, letters = _shell_options(given)
    if "c" in letters:
        if words:
            given.walker.shell(words[0], given, given.feed)
    elif "s" in letters or not words or _STDIN.fullmatch(words[0].text):
        if given.feed is not None:
            given.walker.shell(given.feed, given)
    else:
        _not_fed(words[0], given)


def _shell_options(given: Invocation) -> tuple[list[Word], str]:
    """The words after a shell's options, and the letters of all its option clusters."""
    words = list(given.arguments)
    letters = ""
    while words and words[0].text[:1] in ("-", "+") and words[0].text not in ("-", "--"):
        word = words.pop(0)
        if UNKNOWN in word.text:
            unreadable_part(given.shown, "An expansion stands where a shell's options are")
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
    """A file that a command writes at the same moment cannot be judged; others are scripts."""
    if file.feeds:
        unreadable_part(given.shown, "A shell would run the output of another command")
    if file.text == UNKNOWN and file.may_split:
        unreadable_part(given.shown, "An expansion stands where a shell's script should be")


def _source(given: Invocation) -> None:
    words = [word for word in given.arguments if word.text != "--"]
    if not words:
        return
    if _STDIN.fullmatch(words[0].text):
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
            given.walker.shell(Word(value.text + " " + UNKNOWN, value.kinds + "qx"), given)


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
        return
    for item in added[:16]:
        given.walker.run(tuple(_put(word, marks[0], item) for word in read.operands), given)


def _fed_words(given: Invocation) -> list[Word]:
    """The words that standard input holds, if the text says."""
    if given.feed is not None and UNKNOWN not in given.feed.text and len(given.feed.text) < 4096:
        return [Word(text, "q" * len(text), text) for text in given.feed.text.split()] or [
            anything()
        ]
    return [anything()]


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
    command = [_put(word, "{}", anything()) for word in words[:end]]
    if command:
        _joined(given, [*command, Word(UNKNOWN, "x")])
    elif given.feed is not None:
        given.walker.shell(given.feed, given)


def _fd(given: Invocation) -> None:
    for at, word in enumerate(given.arguments):
        if word.text in ("-x", "--exec", "-X", "--exec-batch"):
            rest = [_put(w, "{}", anything()) for w in given.arguments[at + 1 :]]
            _run(given, rest)
            return


def _at(given: Invocation) -> None:
    if given.feed is not None:
        given.walker.shell(given.feed, given)


_LAUNCHERS: Mapping[str, Launcher] = MappingProxyType(
    {
        "env": _env,
        "genv": _env,
        "command": _command,
        "flock": _flock,
        "script": _script,
        "su": _su,
        "runuser": _runuser,
        "watch": _watch,
        "eval": _eval,
        "source": _source,
        ".": _source,
        "trap": _trap,
        "alias": _alias,
        "hash": _hash,
        "compgen": _completion,
        "complete": _completion,
        "mapfile": _mapfile,
        "readarray": _mapfile,
        "xargs": _xargs,
        "gxargs": _xargs,
        "parallel": _parallel,
        "fd": _fd,
        "fdfind": _fd,
        "at": _at,
        "batch": _at,
    }
)
