"""Judges programs that move, copy and link: what arrives where, and which programs get another name."""

import re
from collections.abc import Sequence
from types import MappingProxyType
from typing import NoReturn

from ralph_tui.guard.core.arguments import Arguments, Spec, names, parse
from ralph_tui.guard.core.rule_context import (
    Invocation,
    Rules,
    check_all,
    last_operand,
    unreadable_part,
)
from ralph_tui.guard.core.verdicts import deny
from ralph_tui.guard.shell.nodes import Simple, Word

_TARGET_DIRECTORY = Spec("tSZ", long=names("--target-directory --suffix --context --backup"))
_COPIES_IN_CODE = re.compile(
    r"\b(?:copy|symlink|link|rename|move|cp)\w*\s*\(?[^;\n]{0,40}?(?:/bin/|which\(\s*['\"])"
    r"(?:git|pip3?|poetry|conda|docker)['\"]",
    re.IGNORECASE,
)
_MOST_PAIRS = 4000
"""Of things copied and places they may arrive at."""


def _move(given: Invocation) -> None:
    read = parse(given.arguments, _TARGET_DIRECTORY)
    sources, targets = _sources_and_targets(read)
    check_all(sources, given)
    check_all(targets, given, into=True)


def _copy(given: Invocation) -> None:
    read = parse(given.arguments, _TARGET_DIRECTORY)
    sources, targets = _sources_and_targets(read)
    check_all(targets, given, into=True)
    if read.has("-l", "--link", "-s", "--symbolic-link"):  # what is then written is the source
        for source in sources:
            given.places.check_guarded(source, given.shown)
    _no_copies_of_programs(sources, given)
    if len(sources) * len(targets) > _MOST_PAIRS:
        unreadable_part(given.shown, "It is not known what is copied where")
    for target in targets:
        _into_directory(target, sources, given)


def _sources_and_targets(read: Arguments) -> tuple[Sequence[Word], Sequence[Word]]:
    targets = read.values("-t", "--target-directory")
    if targets:
        return read.operands, targets
    return read.operands[:-1], last_operand(read.operands)


def _into_directory(target: Word, sources: Sequence[Word], given: Invocation) -> None:
    """Judge `cp -r other/.git .`, which arrives as `./.git`; below a directory of its own a copy does no harm."""
    places = given.places.resolve(target)
    if places is not None and given.places.root not in places:
        return
    for source in sources:
        if source.text.rstrip("/").endswith("/.") and not all(
            map(given.places.may_write, given.places.resolve(source) or ())
        ):
            deny("git-files", given.shown, "A .git/ would be copied as well", "Name what to copy.")
        name = source.text.rstrip("/").rpartition("/")[2]
        if name and not target.text.endswith(name):
            arrived = Word(f"{target.text}/{name}", "q" * (len(target.text) + 1 + len(name)))
            given.places.check_guarded(arrived, given.shown)


_NAMESAKES = names("git pip pip3 poetry conda pipenv virtualenv docker")
_PROGRAM = re.compile(
    rf"(?:.*/)?(?:bin/(?:{'|'.join(sorted(_NAMESAKES))})|git-core(?:/(?!.*(?:\.sh|completion)).*)?)/?"
)


def names_program(word: Word) -> bool:
    """Tell whether a word is a program that is judged by its name, of which a copy would have another."""
    return bool(_PROGRAM.fullmatch(word.text) or looked_up(word))


def no_copies(given: Invocation) -> None:
    """Refuse to read such a program, for whatever a copy may be made by.

    Raises:
        DeniedError: One of the words is one.
    """
    inputs = [word.cut(3) for word in given.arguments if word.text.startswith("if=")]
    _no_copies_of_programs([*given.arguments, *inputs], given)


def _no_copies_of_programs(sources: Sequence[Word], given: Invocation) -> None:
    for word in sources:
        if looked_up(word) or any(map(names_program, given.places.forms(word) or (word,))):
            refuse_copy(given.shown)


def judge_copies_in_code(code: str, shown: str) -> None:
    """Refuse code in any language that gives such a program another name.

    Raises:
        DeniedError: It does.
    """
    if ("bin/" in code or "which" in code) and _COPIES_IN_CODE.search(code):
        refuse_copy(shown)


def refuse_copy(shown: str) -> NoReturn:
    """Refuse to give a program another name.

    Raises:
        DeniedError: Always.
    """
    deny("git-read-only", shown, "This gives a program another name", "Call it by its own.")


def looked_up(word: Word) -> str:
    """Return the program that a word such as `$(which git)` names; empty when it is none of these."""
    simples = (
        stage
        for script in word.scripts
        for pipeline in script.pipelines
        for stage in pipeline.stages
        if isinstance(stage, Simple)
    )
    return next((s.values[-1] for s in simples if s.values[-1:] and s.values[-1] in _NAMESAKES), "")


def _link(given: Invocation) -> None:
    read = parse(given.arguments, _TARGET_DIRECTORY)
    for word in read.operands:
        given.places.check_guarded(word, given.shown)
    target = read.values("-t", "--target-directory") or last_operand(read.operands[1:])
    check_all(target, given, into=True)
    _no_copies_of_programs(read.operands, given)


def _install(given: Invocation) -> None:
    spec = Spec("gmotSC", long=names("--group --mode --owner --target-directory --suffix"))
    read = parse(given.arguments, spec)
    targets = read.values("-t", "--target-directory") or last_operand(read.operands)
    made = list(read.operands) if read.has("-d", "--directory") else targets
    check_all(made, given, into=True)
    _no_copies_of_programs(read.operands, given)


RULES: Rules = MappingProxyType(
    {"mv": _move, "cp": _copy, "ln": _link, "link": _link, "install": _install}
)
