"""Judges programs that write, remove, pack or transfer files by more than programs.toml can say of them."""

import re
from itertools import pairwise

from ralph_tui.guard.core.arguments import names, parse
from ralph_tui.guard.core.constants import is_fresh_temp_directory
from ralph_tui.guard.core.paths import guarded_part, names_guarded
from ralph_tui.guard.core.rule_context import Invocation, check_writes
from ralph_tui.guard.core.verdicts import deny
from ralph_tui.guard.rules.listed_programs import sources_and_targets
from ralph_tui.guard.rules.secrets import judge_secret_paths
from ralph_tui.guard.shell.nodes import UNKNOWN, Word, literal


def judge_zip(call: Invocation) -> None:
    for option, value in pairwise(call.arguments):
        if option.text in ("-TT", "--unzip-command"):
            call.walker.shell(value, call)
    operands = call.args.operands
    check_writes(operands if call.args.has("-m", "--move") else operands[:1], call)


def judge_rsync(call: Invocation) -> None:
    args = call.args
    for text in args.values("-e", "--rsh"):
        call.walker.shell(text, call)
    clears = any(option.name.startswith("--del") for option in args.options)
    target = [w for w in args.operands[-1:] if ":" not in w.text]
    check_writes(target, call, into=not clears)
    if args.has("--remove-source-files"):
        check_writes([w for w in args.operands[:-1] if ":" not in w.text], call)


def judge_tar(call: Invocation) -> None:
    words = list(call.arguments)
    if words and not words[0].text.startswith("-") and words[0].bare:
        words[0] = Word("-" + words[0].text, "u" + words[0].kinds, words[0].raw)
    args = parse(words, call.listed.spec)
    for option in args.options:
        if option.value is not None and option.name in _TAR_PROGRAMS:
            text = option.value.text.removeprefix("exec=")
            call.walker.shell(literal(text), call)
    if args.has("-x", "--extract", "--get"):
        directories = args.values("-C", "--directory")
        check_writes(directories, call, into=True)
        check_writes([word for word in args.operands if names_guarded(word.text)], call)
        if not directories and not args.has("-O", "--to-stdout"):
            call.dirs.check_current_directory(call.shown, certain=False)
    elif args.has("-c", "-r", "-u", "--create", "--append", "--update"):
        for directory in args.values("-C", "--directory"):
            below = Word(f"{directory.text}/", f"{directory.kinds}q", f"{directory.raw}/")
            inside = [
                Word(below.text + word.text, below.kinds + word.kinds, below.raw + word.raw)
                for word in args.operands
            ]
            judge_secret_paths(inside, call.dirs, call.shown)
        archives = args.values("-f", "--file")
        check_writes([v for v in archives if v.text != "-"], call)
        if args.has("--remove-files"):
            for word in args.operands:
                call.dirs.check_removal(word, call.shown)


_TAR_PROGRAMS = (
    "-I", "--use-compress-program", "--to-command", "--checkpoint-action", "--info-script",
    "--new-volume-script", "--rsh-command", "--rmt-command",
)  # fmt: skip


_DELETES = re.compile(r"-sdel|-d[frw]\d?")
_MOVES = names("m mf")


def judge_archiver(call: Invocation) -> None:
    outputs = [word.cut(2) for word in call.arguments if word.text.startswith("-o")]
    check_writes(outputs, call, into=True)
    verb, *files = [w for w in call.arguments if not w.text.startswith("-")] or [literal("")]
    if verb.text in _MOVES or any(_DELETES.fullmatch(word.text) for word in call.arguments):
        for word in files[1:]:
            call.dirs.check_removal(word, call.shown)


def judge_remove(call: Invocation) -> None:
    args = call.args
    recursive = args.has("-r", "-R") or any(
        "--recursive".startswith(o.name) and len(o.name) > 3 for o in args.options
    )
    if any(UNKNOWN in o.name for o in args.options):
        recursive = True
    for word in args.operands:
        if is_fresh_temp_directory(word, call.walker.source):
            continue
        if recursive:
            call.dirs.check_removal(word, call.shown)
        else:
            call.dirs.check_write(word, call.shown)


_ADDS_ACCESS = re.compile(r"[ug]{0,2}\+[rwX]+|[ugoa]*\+[rX]+")
"""A mode that only lets the person read and change more; nothing in git's directory depends on it."""


def judge_change_mode(call: Invocation) -> None:
    operands = call.args.operands
    adds = call.program == "chmod" and operands and _ADDS_ACCESS.fullmatch(operands[0].text)
    check_writes(operands[1:] if len(operands) > 1 else operands, call, into=True)
    for word in operands[1:]:
        whole = any(path == call.dirs.root for path in call.dirs.resolve(word) or ())
        if whole and not adds:
            recursive = any(o.name in ("-R", "--recursive") for o in parse(call.arguments).options)
            if recursive:
                deny(
                    "git-files", call.shown, "This also changes .git/", "Name the files to change."
                )


def judge_copy(call: Invocation) -> None:
    sources, targets = sources_and_targets(call)
    into_root = any(call.dirs.root in (call.dirs.resolve(word) or ()) for word in targets)
    if into_root and any(_brings_repository(source, call) for source in sources):
        deny(
            "git-files", call.shown, "This also copies a .git/ directory", "Name the files to copy."
        )


def _brings_repository(source: Word, call: Invocation) -> bool:
    path = source.text.rstrip("/")
    elsewhere = not all(map(call.dirs.may_write, call.dirs.resolve(source) or ()))
    return (path.endswith("/.") and elsewhere) or guarded_part(
        (path.rpartition("/")[2],)
    ) is not None
