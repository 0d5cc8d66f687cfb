"""Programs that start other programs with a command or a text of their arguments."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from types import MappingProxyType

from ralph_tui.guard.carriers import CARRIERS
from ralph_tui.guard.directories import moved
from ralph_tui.guard.fillers import FILLERS, no_hidden_options
from ralph_tui.guard.names import names
from ralph_tui.guard.options import Spec, parse
from ralph_tui.guard.readers import check_outputs
from ralph_tui.guard.shells import SHELL_RULES, joined
from ralph_tui.guard.syntax import UNKNOWN, Word, literal
from ralph_tui.guard.variables import judge_removal
from ralph_tui.guard.walk import Invocation
from ralph_tui.guard.wrappers import WRAPPERS
from ralph_tui.guard.written import check_all

_ASSIGNMENT = re.compile(r"[^=\0]+=", re.DOTALL)

_ENV_BLANK = re.compile(r"\\[_tnrfv]")
"""What separates words for `env -S`, beside blanks."""

Launcher = Callable[[Invocation], None]


def launcher(program: str) -> Launcher | None:
    """The rule for a program that starts others, or None if it is not known as one."""
    if program in WRAPPERS:
        return _wrapped
    return _LAUNCHERS.get(program)


def _wrapped(given: Invocation) -> None:
    wrapper = WRAPPERS[given.program]
    read = parse(given.arguments, wrapper.spec, stop=True)
    no_hidden_options(given, read.operands)
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
    no_hidden_options(given, read.operands)
    given = replace(given, places=given.places.fork())  # what it sets holds for what it starts
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
    """`less +!COMMAND` starts a program before it shows anything."""
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
    """The other machine may be this one; what is not known of its commands is its own matter.

    So are its tools: they do not run in this project's environment.
    """
    given = replace(given, under_uv=True)
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
    no_hidden_options(given, read.operands)
    joined(given, read.operands)
    if len(read.operands) > 1:
        _run(given, read.operands)


_LAUNCHERS: Mapping[str, Launcher] = MappingProxyType(
    {
        **FILLERS,
        **CARRIERS,
        **SHELL_RULES,
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
    }
)
