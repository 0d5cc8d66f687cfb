"""Programs that write, move or remove files, and which of their words name those files."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from ralph_tui.guard.copies import COPIERS
from ralph_tui.guard.names import names
from ralph_tui.guard.options import NO_VALUES, Spec, parse
from ralph_tui.guard.packers import PACKERS
from ralph_tui.guard.scratch import just_made
from ralph_tui.guard.syntax import UNKNOWN
from ralph_tui.guard.verdicts import deny
from ralph_tui.guard.walk import Invocation
from ralph_tui.guard.written import check_all

Rule = Callable[[Invocation], None]


_MODES = Spec(long=names("--reference --from"))


def writer(program: str) -> Rule | None:
    """The rule for a program that writes files, or None."""
    return _RULES.get(program)


def _remove(given: Invocation) -> None:
    read = parse(given.arguments, Spec(long=names("--interactive")))
    recursive = read.has("-r", "-R") or any(
        "--recursive".startswith(o.name) and len(o.name) > 3 for o in read.options
    )
    if any(UNKNOWN in o.name for o in read.options):
        recursive = True
    for word in read.operands:
        if just_made(word, given.walker.source):
            continue
        if recursive:
            given.places.check_removal(word, given.shown)
        else:
            given.places.check_write(word, given.shown)


def _remove_trees(given: Invocation) -> None:
    for word in parse(given.arguments).operands:
        given.places.check_removal(word, given.shown)


def _output(given: Invocation) -> None:
    read = parse(given.arguments, Spec("oLPIHTin", long=names("--output")))
    check_all(read.values("-o", "--output"), given)


def _everything(given: Invocation) -> None:
    check_all(parse(given.arguments, Spec("srmdt", attached="")).operands, given)


def _operands(spec: Spec = NO_VALUES, skip: int = 0, *, into: bool = False) -> Rule:
    def rule(given: Invocation) -> None:
        check_all(parse(given.arguments, spec).operands[skip:], given, into=into)

    return rule


def _chmod(given: Invocation) -> None:
    operands = parse(given.arguments, _MODES).operands
    check_all(operands[1:] if len(operands) > 1 else operands, given, into=True)
    for word in operands[1:]:
        if any(path == given.places.root for path in given.places.resolve(word) or ()):
            _whole_project(given)


def _whole_project(given: Invocation) -> None:
    recursive = any(o.name in ("-R", "--recursive") for o in parse(given.arguments).options)
    if recursive:
        deny("git-files", given.shown, "This changes .git/ as well", "Name the files to change.")


def _dd(given: Invocation) -> None:
    for word in given.arguments:
        if word.text.startswith("of="):
            given.places.check_write(word.cut(3), given.shown)


def _sort(given: Invocation) -> None:
    read = parse(given.arguments, Spec("oktST", long=names("--output --key --field-separator")))
    check_all(read.values("-o", "--output"), given)
    for text in read.values("--compress-program"):
        given.walker.shell(text, given)


def _split(given: Invocation) -> None:
    read = parse(given.arguments, Spec("abClnt", long=names("--filter --bytes --lines")))
    for text in read.values("--filter"):
        given.walker.shell(text, given)
    check_all(read.operands[1:], given)
    if len(read.operands) < 2 and not read.has("--filter"):
        given.places.check_here(given.shown, certain=False)


def _in_place(given: Invocation) -> None:
    read = parse(given.arguments, Spec("opIn"))
    if read.has("-i", "--inplace", "--in-place"):
        check_all(read.operands[1:] or read.operands, given)


def _first_operand(given: Invocation) -> None:
    check_all(parse(given.arguments).operands[:1], given)


def _last_of_two(given: Invocation) -> None:
    check_all(parse(given.arguments, Spec("fsw")).operands[1:], given)


def _patch(given: Invocation) -> None:
    read = parse(given.arguments, Spec("dDioprBFgVYz", long=names("--directory --output --input")))
    values = read.values("-d", "-o", "--directory", "--output")
    check_all([*values, *read.operands[:1]], given, into=True)
    if not values and not read.operands:
        given.places.check_here(given.shown, certain=False)


def _xxd(given: Invocation) -> None:
    read = parse(given.arguments, Spec("cgloRs", long=names("-cols -len -offset -seek")))
    check_all(read.operands[1:], given)


def _csplit(given: Invocation) -> None:
    read = parse(given.arguments, Spec("bfn", long=names("--prefix --suffix-format --digits")))
    check_all(read.values("-f", "--prefix"), given)
    if not read.has("-f", "--prefix"):
        given.places.check_here(given.shown, certain=False)


_RULES: Mapping[str, Rule] = MappingProxyType(
    {
        **PACKERS,
        **COPIERS,
        "rm": _remove,
        "grm": _remove,
        "unlink": _everything,
        "rmdir": _everything,
        "shred": _operands(Spec("ns", long=names("--iterations --size"))),
        "tee": _operands(),
        "touch": _operands(Spec("drt", long=names("--date --reference --time")), into=True),
        "fallocate": _operands(Spec("lo", long=names("--length --offset"))),
        "truncate": _operands(Spec("rs", long=names("--reference --size"))),
        "mkdir": _operands(Spec("m", long=names("--mode")), into=True),
        "mkfifo": _operands(Spec("m", long=names("--mode"))),
        "mknod": _operands(Spec("m", long=names("--mode"))),
        "sponge": _operands(),
        **dict.fromkeys(names("dos2unix unix2dos mac2unix trash trash-put"), _operands()),
        **dict.fromkeys(names("rimraf del-cli srm wipe"), _remove_trees),
        **dict.fromkeys(names("tree shuf iconv"), _output),
        "chmod": _chmod,
        "chown": _chmod,
        "chgrp": _chmod,
        "chattr": _chmod,
        "setfacl": _chmod,
        "rename": _operands(skip=1),
        "dd": _dd,
        "sort": _sort,
        "split": _split,
        "csplit": _csplit,
        "xxd": _xxd,
        "yq": _in_place,
        "sqlite3": _first_operand,
        "uniq": _last_of_two,
        "patch": _patch,
    }
)
