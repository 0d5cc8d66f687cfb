"""Programs that write, move or remove files, and which of their words name those files."""

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from types import MappingProxyType

from ralph_tui.guard.names import names
from ralph_tui.guard.options import NO_VALUES, Spec, parse
from ralph_tui.guard.scratch import just_made
from ralph_tui.guard.syntax import UNKNOWN, Simple, Word, literal
from ralph_tui.guard.verdicts import deny
from ralph_tui.guard.walk import Invocation

Rule = Callable[[Invocation], None]

READERS = names(
    "cat bat less more head tail grep egrep fgrep zgrep rg ag ack ls ll dir vdir exa eza jq yq wc"
    " diff colordiff sdiff cmp comm stat du df file tree test [ [[ sha1sum sha256sum sha512sum"
    " md5sum b2sum cksum sum xxd od hexdump strings cut sort uniq tr awk gawk mawk sed nl tac"
    " paste join fold fmt expand unexpand base64 base32 realpath readlink dirname basename echo"
    " printf cd pushd popd pwd column pr rev look which type command whereis man info help true"
    " false : exit return wait sleep seq date env printenv id whoami uname find fd fdfind locate"
    " xargs tee time watch lsof fuser zcat bzcat xzcat gzcat zless view python -m read set shopt"
    " export local declare typeset readonly unset let getopts shift break continue compgen"
    " complete hash jobs kill bg fg disown umask ulimit history test source . git uv gh yes expr pgrep pkill pidof killall tldr cheat apropos"
    " whatis dpkg rpm wc tput clear banner envsubst iconv dos2unix sum printenv logname tty"
)
"""Programs that may name guarded files, because they only read, or are judged elsewhere."""

_TARGET_DIRECTORY = Spec("tSZ", long=names("--target-directory --suffix --context --backup"))
_MODES = Spec(long=names("--reference --from"))
_EXCLUDES = ("exclude", "ignore", "omit", "skip", "not", "prune", "filter")


def writer(program: str) -> Rule | None:
    """The rule for a program that writes files, or None."""
    return _RULES.get(program)


def judge_other(given: Invocation) -> None:
    """Any other program: guarded files are no operands of what is not known to only read."""
    if given.program in READERS:
        return
    previous = ""
    for word in given.arguments:
        text = word.text
        excluded = previous.startswith("-") and any(e in previous for e in _EXCLUDES)
        previous = text
        if text.startswith("-"):
            name, equals, _ = text.partition("=")
            if equals and name.startswith("--out"):
                given.places.check_write(word.cut(len(name) + 1), given.shown)
            elif text.startswith("-o") and "/" not in given.program:
                given.places.check_guarded(word.cut(2), given.shown)
            continue
        if not excluded and "\n" not in text and " " not in text and value_is_path(text):
            given.places.check_guarded(word, given.shown)


def value_is_path(text: str) -> bool:
    """Whether a word could be a path rather than an address, a pattern or an assignment."""
    return not any(mark in text for mark in ("://", "*", "=", ":", "!"))


def _check_all(words: Sequence[Word], given: Invocation) -> None:
    for word in words:
        if word.text:  # as in BSD's `sed -i ''`
            given.places.check_write(word, given.shown)


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


def _everything(given: Invocation) -> None:
    _check_all(parse(given.arguments, Spec("srmdt", attached="")).operands, given)


def _operands(spec: Spec = NO_VALUES, skip: int = 0) -> Rule:
    def rule(given: Invocation) -> None:
        _check_all(parse(given.arguments, spec).operands[skip:], given)

    return rule


def _chmod(given: Invocation) -> None:
    operands = parse(given.arguments, _MODES).operands
    _check_all(operands[1:] if len(operands) > 1 else operands, given)
    for word in operands[1:]:
        if any(path == given.places.root for path in given.places.resolve(word) or ()):
            _whole_project(given)


def _whole_project(given: Invocation) -> None:
    recursive = any(o.name in ("-R", "--recursive") for o in parse(given.arguments).options)
    if recursive:
        deny("git-files", given.shown, "This changes .git/ as well", "Name the files to change.")


def _move(given: Invocation) -> None:
    read = parse(given.arguments, _TARGET_DIRECTORY)
    _check_all([*read.operands, *read.values("-t", "--target-directory")], given)


def _last(operands: Sequence[Word]) -> list[Word]:
    """The last operand; one that may vanish leaves its place to the one before it."""
    at = max(len(operands) - 1, 0)
    while at > 0 and operands[at].text == UNKNOWN and operands[at].may_split:
        at -= 1
    return list(operands[at:])


def _copy(given: Invocation) -> None:
    read = parse(given.arguments, _TARGET_DIRECTORY)
    targets = read.values("-t", "--target-directory")
    sources = read.operands
    if not targets:
        sources, targets = read.operands[:-1], _last(read.operands)
    _check_all(targets, given)
    _no_copies_of_programs(sources, given)
    for target in targets:
        _into_directory(target, sources, given)


def _into_directory(target: Word, sources: Sequence[Word], given: Invocation) -> None:
    """`cp -r other/.git .` arrives as `./.git`; below a directory of its own a copy does no harm."""
    places = given.places.resolve(target)
    if places is not None and given.places.root not in places:
        return
    for source in sources:
        name = source.text.rstrip("/").rpartition("/")[2]
        if name and not target.text.endswith(name):
            arrived = Word(f"{target.text}/{name}", "q" * (len(target.text) + 1 + len(name)))
            given.places.check_guarded(arrived, given.shown)


_NAMESAKES = names("git pip pip3 poetry conda pipenv virtualenv docker")


def _no_copies_of_programs(sources: Sequence[Word], given: Invocation) -> None:
    for source in sources:
        directory, _, name = source.text.rpartition("/")
        if (name in _NAMESAKES and directory.endswith("bin")) or _looked_up(source):
            deny(
                "git-read-only",
                given.shown,
                "This gives a program another name",
                "Call it by its own.",
            )


def _looked_up(word: Word) -> bool:
    """Whether a word is `$(which git)` or the like."""
    simples = (
        stage
        for script in word.scripts
        for pipeline in script.pipelines
        for stage in pipeline.stages
        if isinstance(stage, Simple)
    )
    return any(s.values[-1:] and s.values[-1] in _NAMESAKES for s in simples)


def _link(given: Invocation) -> None:
    read = parse(given.arguments, _TARGET_DIRECTORY)
    for word in read.operands:
        given.places.check_guarded(word, given.shown)
    target = read.values("-t", "--target-directory") or _last(read.operands[1:])
    _check_all(target, given)
    _no_copies_of_programs(read.operands, given)


def _install(given: Invocation) -> None:
    spec = Spec("gmotSC", long=names("--group --mode --owner --target-directory --suffix"))
    read = parse(given.arguments, spec)
    targets = read.values("-t", "--target-directory") or _last(read.operands)
    _check_all(list(read.operands) if read.has("-d", "--directory") else targets, given)
    _no_copies_of_programs(read.operands, given)


def _dd(given: Invocation) -> None:
    for word in given.arguments:
        if word.text.startswith("of="):
            given.places.check_write(word.cut(3), given.shown)


def _scp(given: Invocation) -> None:
    read = parse(given.arguments, Spec("cDFiJloPSX"))
    for text in read.values("-S"):
        given.walker.shell(text, given)
    for word in read.values("-o"):
        started = re.fullmatch(r"\w+command\s*[= ]\s*(.+)", word.text, re.IGNORECASE | re.DOTALL)
        if started is not None:
            given.walker.shell(literal(started[1]), given)
    _check_all([w for w in _last(read.operands) if ":" not in w.text], given)


def _zip(given: Invocation) -> None:
    for option, value in pairwise(given.arguments):
        if option.text in ("-TT", "--unzip-command"):
            given.walker.shell(value, given)
    _first_operand(given)


def _rsync(given: Invocation) -> None:
    spec = Spec("efT", long=names("--rsh --exclude --include --filter --exclude-from --files-from"))
    read = parse(given.arguments, spec)
    for text in read.values("-e", "--rsh"):
        given.walker.shell(text, given)
    _check_all([w for w in _last(read.operands) if ":" not in w.text], given)


def _download(given: Invocation) -> None:
    spec = Spec("oOPdHXFuAebcmTwUxQ", long=names("--output --output-document --directory-prefix"))
    if given.program == "curl":
        spec = Spec("odHXFuAebcmTwUxK", long=names("--output --output-dir --data --header"))
    names_of_files = (
        "-o", "-P", "--output", "--output-document", "--directory-prefix", "--output-dir",
    )  # fmt: skip
    values = parse(given.arguments, spec).values(
        *names_of_files, *(("-O",) if given.program == "wget" else ())
    )
    _check_all([v for v in values if v.text != "-"], given)


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
        _check_all(read.values("-C", "--directory"), given)
    elif read.has("-c", "-r", "-u", "--create", "--append", "--update"):
        archives = read.values("-f", "--file")
        _check_all([v for v in archives if v.text != "-"], given)
        if read.has("--remove-files"):
            for word in read.operands:
                given.places.check_removal(word, given.shown)


_TAR_PROGRAMS = (
    "-I", "--use-compress-program", "--to-command", "--checkpoint-action", "--info-script",
    "--new-volume-script", "--rsh-command", "--rmt-command",
)  # fmt: skip


def _sort(given: Invocation) -> None:
    read = parse(given.arguments, Spec("oktST", long=names("--output --key --field-separator")))
    _check_all(read.values("-o", "--output"), given)
    for text in read.values("--compress-program"):
        given.walker.shell(text, given)


def _split(given: Invocation) -> None:
    read = parse(given.arguments, Spec("abClnt", long=names("--filter --bytes --lines")))
    for text in read.values("--filter"):
        given.walker.shell(text, given)
    _check_all(read.operands[1:], given)


def _unzip(given: Invocation) -> None:
    _check_all(parse(given.arguments, Spec("dxP")).values("-d"), given)


def _in_place(given: Invocation) -> None:
    read = parse(given.arguments, Spec("opIn"))
    if read.has("-i", "--inplace", "--in-place"):
        _check_all(read.operands[1:] or read.operands, given)


def _first_operand(given: Invocation) -> None:
    _check_all(parse(given.arguments).operands[:1], given)


def _last_of_two(given: Invocation) -> None:
    _check_all(parse(given.arguments, Spec("fsw")).operands[1:], given)


def _patch(given: Invocation) -> None:
    read = parse(given.arguments, Spec("dDioprBFgVYz", long=names("--directory --output --input")))
    values = read.values("-d", "-o", "--directory", "--output")
    _check_all([*values, *read.operands[:1]], given)


def _xxd(given: Invocation) -> None:
    read = parse(given.arguments, Spec("cgloRs", long=names("-cols -len -offset -seek")))
    _check_all(read.operands[1:], given)


def _csplit(given: Invocation) -> None:
    read = parse(given.arguments, Spec("bfn", long=names("--prefix --suffix-format --digits")))
    _check_all(read.values("-f", "--prefix"), given)


_RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "rm": _remove,
        "grm": _remove,
        "unlink": _everything,
        "rmdir": _everything,
        "shred": _operands(Spec("ns", long=names("--iterations --size"))),
        "tee": _operands(),
        "touch": _operands(Spec("drt", long=names("--date --reference --time"))),
        "truncate": _operands(Spec("rs", long=names("--reference --size"))),
        "mkdir": _operands(Spec("m", long=names("--mode"))),
        "mkfifo": _operands(Spec("m", long=names("--mode"))),
        "mknod": _operands(Spec("m", long=names("--mode"))),
        "sponge": _operands(),
        "chmod": _chmod,
        "chown": _chmod,
        "chgrp": _chmod,
        "chattr": _chmod,
        "setfacl": _chmod,
        "mv": _move,
        "rename": _operands(skip=1),
        "cp": _copy,
        "ln": _link,
        "link": _link,
        "install": _install,
        "dd": _dd,
        "rsync": _rsync,
        "scp": _scp,
        "curl": _download,
        "wget": _download,
        "tar": _tar,
        "bsdtar": _tar,
        "sort": _sort,
        "split": _split,
        "csplit": _csplit,
        "xxd": _xxd,
        "unzip": _unzip,
        "yq": _in_place,
        "zip": _zip,
        "sqlite3": _first_operand,
        "uniq": _last_of_two,
        "patch": _patch,
        **dict.fromkeys(names("gzip gunzip bzip2 bunzip2 xz unxz zstd unzstd"), _operands()),
    }
)
