"""Judges programs that write, move, remove, pack or transfer files, by the words that name those files."""

import re
from itertools import pairwise
from types import MappingProxyType

from ralph_tui.guard.core.arguments import NO_VALUES, Spec, names, parse
from ralph_tui.guard.core.constants import just_made
from ralph_tui.guard.core.paths import names_guarded
from ralph_tui.guard.core.rule_context import Invocation, Rule, Rules, check_all, last_operand
from ralph_tui.guard.core.verdicts import deny
from ralph_tui.guard.shell.nodes import UNKNOWN, Word, literal


def _scp(given: Invocation) -> None:
    read = parse(given.arguments, Spec("cDFiJloPSX"))
    for text in read.values("-S"):
        given.walker.shell(text, given)
    for word in read.values("-o"):
        started = re.fullmatch(r"\w+command\s*[= ]\s*(.+)", word.text, re.IGNORECASE | re.DOTALL)
        if started is not None:
            given.walker.shell(literal(started[1]), given)
    check_all([w for w in last_operand(read.operands) if ":" not in w.text], given, into=True)


def _zip(given: Invocation) -> None:
    for option, value in pairwise(given.arguments):
        if option.text in ("-TT", "--unzip-command"):
            given.walker.shell(value, given)
    read = parse(given.arguments)
    check_all(read.operands if read.has("-m", "--move") else read.operands[:1], given)


def _rsync(given: Invocation) -> None:
    spec = Spec("efT", long=names("--rsh --exclude --include --filter --exclude-from --files-from"))
    read = parse(given.arguments, spec)
    for text in read.values("-e", "--rsh"):
        given.walker.shell(text, given)
    clears = any(option.name.startswith("--del") for option in read.options)
    target = [w for w in last_operand(read.operands) if ":" not in w.text]
    check_all(target, given, into=not clears)
    if read.has("--remove-source-files"):
        check_all([w for w in read.operands[:-1] if ":" not in w.text], given)


def _download(given: Invocation) -> None:
    spec = Spec("oOPdHXFuAebcmTwUxQ", long=names("--output --output-document --directory-prefix"))
    if given.program == "curl":
        spec = Spec("odHXFuAebcmTwUxK", long=names("--output --output-dir --data --header"))
    names_of_files = (
        "-o", "-P", "--output", "--output-document", "--directory-prefix", "--output-dir",
    )  # fmt: skip
    wget = given.program == "wget"
    read = parse(given.arguments, spec)
    values = read.values(*names_of_files, *(("-O",) if wget else ()))
    check_all([v for v in values if v.text != "-"], given, into=True)
    if not values and (wget or read.has("-O", "--remote-name", "--remote-name-all")):
        given.places.check_here(given.shown, certain=False)
    for text in read.values("--use-askpass"):
        given.walker.shell(text, given)


def _tar(given: Invocation) -> None:
    words = list(given.arguments)
    if words and not words[0].text.startswith("-") and words[0].bare:
        words[0] = Word("-" + words[0].text, "u" + words[0].kinds, words[0].raw)
    spec = Spec("fCTXbgHIKLNV", long=names("--file --directory --exclude --files-from"))
    read = parse(words, spec)
    for option in read.options:
        if option.value is not None and option.name in _TAR_PROGRAMS:
            text = option.value.text.removeprefix("exec=")
            given.walker.shell(Word(text, "q" * len(text), text), given)
    if read.has("-x", "--extract", "--get"):
        directories = read.values("-C", "--directory")
        check_all(directories, given, into=True)
        check_all([word for word in read.operands if names_guarded(word.text)], given)
        if not directories and not read.has("-O", "--to-stdout"):
            given.places.check_here(given.shown, certain=False)
    elif read.has("-c", "-r", "-u", "--create", "--append", "--update"):
        archives = read.values("-f", "--file")
        check_all([v for v in archives if v.text != "-"], given)
        if read.has("--remove-files"):
            for word in read.operands:
                given.places.check_removal(word, given.shown)


_TAR_PROGRAMS = (
    "-I", "--use-compress-program", "--to-command", "--checkpoint-action", "--info-script",
    "--new-volume-script", "--rsh-command", "--rmt-command",
)  # fmt: skip


def _unzip(given: Invocation) -> None:
    read = parse(given.arguments, Spec("dxP"))
    check_all(read.values("-d"), given, into=True)
    if not read.has("-d", "-l", "-p", "-t", "-v", "-Z"):
        given.places.check_here(given.shown, certain=False)


_DELETES = re.compile(r"-sdel|-d[frw]\d?")
_MOVES = names("m mf")


def _archiver(given: Invocation) -> None:
    """Judge 7z, rar and their like: a verb, an archive, files, which some options and verbs delete."""
    places = [word.cut(2) for word in given.arguments if word.text.startswith("-o")]
    check_all(places, given, into=True)
    verb, *files = [w for w in given.arguments if not w.text.startswith("-")] or [literal("")]
    if verb.text in _MOVES or any(_DELETES.fullmatch(word.text) for word in given.arguments):
        for word in files[1:]:
            given.places.check_removal(word, given.shown)


def _aria(given: Invocation) -> None:
    spec = Spec("doijsxk", long=names("--dir --out --input-file --split"))
    check_all(parse(given.arguments, spec).values("-d", "--dir", "-o", "--out"), given, into=True)


def _compressor(given: Invocation) -> None:
    check_all(parse(given.arguments).operands, given)


def _keeping_compressor(given: Invocation) -> None:
    """Judge a compressor that leaves its source alone unless it is told to remove it."""
    read = parse(given.arguments)
    check_all(read.operands if read.has("--rm", "-j") else read.operands[1:], given)


_MODES = Spec(long=names("--reference --from"))


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


RULES: Rules = MappingProxyType(
    {
        "rsync": _rsync,
        "scp": _scp,
        **dict.fromkeys(names("curl wget"), _download),
        **dict.fromkeys(names("tar bsdtar"), _tar),
        "unzip": _unzip,
        "zip": _zip,
        **dict.fromkeys(names("7z 7za 7zz 7zr rar arj lha"), _archiver),
        "aria2c": _aria,
        **dict.fromkeys(names("gzip gunzip bzip2 bunzip2 xz unxz zstd unzstd"), _compressor),
        **dict.fromkeys(names("pigz unpigz lzma unlzma pbzip2 lzop"), _compressor),
        **dict.fromkeys(names("lz4 unlz4 brotli"), _keeping_compressor),
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
