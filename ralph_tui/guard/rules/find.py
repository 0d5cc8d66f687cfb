"""Judges what `find` and `fd` start, remove and write, by the files that they may find."""

import fnmatch
from collections.abc import Sequence

from ralph_tui.guard.core.arguments import names, parse
from ralph_tui.guard.core.paths import GUARDED
from ralph_tui.guard.core.rule_context import Invocation
from ralph_tui.guard.shell.nodes import Word, anything, expanded, literal

_NAME_TESTS = names("-name -iname -path -ipath -wholename -iwholename -regex -iregex -lname")
_EXECUTIONS = names("-exec -execdir -ok -okdir")
_PRINTS = names("-fprint -fprint0 -fls -fprintf")
_FILES_OF_GIT = ("HEAD", "config", "index", "index.lock", "packed-refs")
_MAX_NAME = 255


def judge_find(call: Invocation) -> None:
    words = list(call.arguments)
    roots: list[Word] = []
    while words and words[0].text in ("-H", "-L", "-P"):
        words.pop(0)
    while words and not words[0].text.startswith(("-", "(", "!")):
        roots.append(words.pop(0))
    found = found_paths(roots or [literal(".")], words)
    for at, word in enumerate(words):
        if word.text == "-delete":
            for path in found:
                call.dirs.check_removal(path, call.shown)
        elif word.text in _PRINTS and at + 1 < len(words):
            call.dirs.check_write(words[at + 1], call.shown)
        elif word.text in _EXECUTIONS:
            _judge_execution(words[at + 1 :], found, call)


def _judge_execution(words: Sequence[Word], found: Sequence[Word], call: Invocation) -> None:
    end = next((i for i, w in enumerate(words) if w.text in (";", "+")), len(words))
    command = words[:end]
    for path in found:
        filled = tuple(_filled(word, path) for word in command)
        if filled:
            call.walker.run(filled, call)


def _filled(word: Word, path: Word) -> Word:
    if "{}" not in word.text:
        return word
    if word.text == "{}":
        return path
    return expanded(word.text.replace("{}", path.text), word.raw)


def found_paths(roots: Sequence[Word], tests: Sequence[Word]) -> list[Word]:
    """Return one path for each root that represents everything `find` may find there.

    Where `find` may find a guarded file, the path is a guarded one.
    """
    pattern = _pattern(tests)
    excluded = all(any(name in w.text for w in tests) for name in (".git", ".ralph"))
    found: list[Word] = []
    for root in roots:
        name = root.text.rstrip("/").rpartition("/")[2]
        covers = name in ("", ".", "..") or "\0" in root.text
        if pattern is None:
            known = excluded if covers else True
            text = root.text if known and not covers else f"{root.text}/found"
        else:
            known = not covers or excluded or not _may_be_guarded(pattern)
            text = f"{root.text}/{pattern.rpartition('/')[2] or 'found'}"
        if not known:
            text = f"{root.text}/.git"
        found.append(expanded(text))
    return found or [anything()]


def _pattern(tests: Sequence[Word]) -> str | None:
    for at, word in enumerate(tests[:-1]):
        negated = at > 0 and tests[at - 1].text in ("!", "-not")
        if word.text in _PATH_TESTS and _below_plain_directory(tests[at + 1].text):
            return "found"
        if word.text in _NAME_TESTS and not negated and tests[at + 1].known:
            return tests[at + 1].text
        if word.text in _NAME_TESTS and not negated and "q" in tests[at + 1].kinds:
            return tests[at + 1].text
    return None


_PATH_TESTS = names("-path -ipath -wholename -iwholename")


def _below_plain_directory(pattern: str) -> bool:
    parts = pattern.split("/")[:-1]
    return not any(name in pattern for name in GUARDED) and any(
        part.strip(".") and not any(c in part for c in "*?[") for part in parts
    )


def _may_be_guarded(pattern: str) -> bool:
    last = pattern.rpartition("/")[2].casefold()
    matched = any(fnmatch.fnmatchcase(name.casefold(), last) for name in (*_FILES_OF_GIT, *GUARDED))
    return len(last) > _MAX_NAME or matched or any(n in pattern for n in GUARDED)


def judge_fd(call: Invocation) -> None:
    words = call.arguments
    for at, word in enumerate(words):
        if word.text in ("-x", "-X", "--exec", "--exec-batch"):
            args = parse(words[:at], call.listed.spec)
            roots = [*args.operands[1:], *args.values("--search-path")] or [literal(".")]
            found = [Word(f"{w.text}/found", f"{w.kinds}qqqqqq", f"{w.raw}/found") for w in roots]
            filled = any("{" in after.text for after in words[at:])
            _judge_execution([*words[at + 1 :], *(() if filled else [literal("{}")])], found, call)
