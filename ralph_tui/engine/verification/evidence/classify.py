"""Classify a changed file: is it the product, or does it decide what a check says about the product?"""

import ast
import contextlib
import difflib
import fnmatch
import itertools
import json
import os
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import yaml

from ralph_tui.engine.core.project_tree import EXCLUDED_DIRECTORIES, is_source
from ralph_tui.engine.verification.evidence.check_names import (
    TEST_DIRECTORIES,
    is_recipe,
    is_settings,
    is_test_file,
)
from ralph_tui.engine.verification.evidence.settings_parts import (
    controlling_part,
    with_original_part,
)
from ralph_tui.engine.verification.evidence.tests_inside import (
    FRAMEWORK,
    has_own_tests,
    with_base_tests,
)

SUPPRESSION = re.compile(
    r"noqa|type:\s*ignore|pylint:\s*disable|mypy:\s*ignore|pragma:\s*no\s*(?:cover|branch)|fmt:\s*(?:off|skip)"
    r"|nosec|@ts-(?:nocheck|ignore|expect-error)|eslint-disable|nolint|#!?\[(?:allow|expect)\(|#\[ignore|@SuppressWarnings"
    r"|@Disabled|@Ignore|@phpstan-ignore|#pragma\s+(?:warning|GCC diagnostic)|dead_code|no_type_check|\bif\b[^\n]*\bTYPE_CHECKING"
    r"|\bas\s+any\b|\bas\s+unknown\s+as\b|\bcast\((?:\w+\.)?Any\b"
    r"|(?:#|//|/\*|<!--|--)\s*[\w-]+(?:[:-]+\s*|\s+)(?:off|disable|ignore|skip)\b",
    re.IGNORECASE,
)
"""Marks that silence a check at one place."""


def suppressions(text: str) -> Counter[str]:
    return Counter(mark.lower() for mark in SUPPRESSION.findall(text))


def new_suppressions(old: bytes | None, new: bytes | None) -> int:
    before, after = (suppressions((one or b"").decode("utf-8", "replace")) for one in (old, new))
    return (after - before).total() + bool(old and new and with_old_types(old, new) != new)


_OPENING = re.compile(r"(?:/\*+|//+|#+|<!--|--|;+|%+)\s*$")


def without_new_marks(old: bytes, new: bytes) -> bytes:
    """Return the content without new marks that silence a check, and without the rest of their lines."""
    known = Counter(line.strip() for line in old.decode("utf-8", "replace").splitlines())
    kept = []
    for line in with_old_types(old, new).decode("utf-8", "replace").splitlines(keepends=True):
        mark = SUPPRESSION.search(line)
        if mark is None or known[line.strip()]:
            kept.append(line)
        elif "TYPE_CHECKING" in mark[0]:
            kept.append(_ONLY_TYPED.sub(_both_ways, line))
        elif mark[0].startswith(("as", "cast")):
            kept.append(_without_casts(line))
        else:
            end = line[len(line.rstrip("\r\n")) :]
            kept.append(f"{_OPENING.sub('', line[: mark.start()]).rstrip()}{end}")
    return "".join(kept).encode()


_CASTS = (
    (re.compile(r"\bas\s+any\b"), "as unknown"),
    (re.compile(r"\bas\s+unknown\s+as\b"), "as"),
    (re.compile(r"\bcast\((?:\w+\.)?Any\b"), "cast(object"),
)
"""Casts to what fits everywhere, with what has to be known of it before it fits."""


def _without_casts(line: str) -> str:
    for cast, stricter in _CASTS:
        line = cast.sub(stricter, line)
    return line


_ONLY_TYPED = re.compile(r"(not\s+)?((?:typing\.)?\bTYPE_CHECKING\b)")


def _both_ways(match: re.Match[str]) -> str:
    """Return the condition so that a type checker, too, looks at both of its ways."""
    both = f"{match[2]} and __name__"
    return f"{match[1]}({both})" if match[1] else both


_ANY = ("Any", "typing.Any", "object")
_SIGNATURE_END = re.compile(rb"\)\s*:")
_Place = tuple[str, str]


def with_old_types(old: bytes, new: bytes) -> bytes:
    """Return Python source with the types that its functions had, where they have none now or one that is any."""
    try:
        before, after = (list(_types(ast.parse(one))) for one in (old, new))
    except (SyntaxError, ValueError, RecursionError):
        return new
    untyped = {place for place, _, type_ in before if type_ is None}
    known = {p: ast.unparse(type_) for p, _, type_ in before if type_ and p not in untyped}
    starts = list(itertools.accumulate(map(len, new.splitlines(keepends=True)), initial=0))

    def end_of(node: ast.expr | ast.arg) -> int:
        return starts[(node.end_lineno or 1) - 1] + (node.end_col_offset or 0)

    parts = []
    for place, node, type_ in after:
        was, now = known.get(place, "Any"), ast.unparse(type_) if type_ else "Any"
        if was in _ANY or now not in _ANY or (now == "object" and place[1]):
            continue
        if type_:
            parts.append((starts[type_.lineno - 1] + type_.col_offset, end_of(type_), f'"{was}"'))
        elif isinstance(node, ast.arg):
            parts.append((end_of(node), end_of(node), f': "{was}"'))
        else:
            inner = (one for one in ast.walk(node.args) if isinstance(one, (ast.expr, ast.arg)))
            last = max(map(end_of, inner), default=starts[node.lineno - 1] + node.col_offset)
            if match := _SIGNATURE_END.search(new, last):
                parts.append((match.start() + 1, match.start() + 1, f' -> "{was}"'))
    for start, end, text in sorted(parts, reverse=True):
        new = new[:start] + text.encode() + new[end:]
    return new


def _types(
    tree: ast.AST, within: str = ""
) -> Iterator[tuple[_Place, ast.arg | ast.FunctionDef | ast.AsyncFunctionDef, ast.expr | None]]:
    """Yield the functions and their arguments with their types; an argument's place has its name."""
    for node in ast.iter_child_nodes(tree):
        name = f"{within}.{node.name}" if isinstance(node, (*_FUNCTIONS, ast.ClassDef)) else within
        if isinstance(node, _FUNCTIONS):
            yield (name, ""), node, node.returns
            for one in ast.walk(node.args):
                if isinstance(one, ast.arg):
                    yield (name, one.arg), one, one.annotation
        yield from _types(node, name)


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


class Side(StrEnum):
    """What a changed file is to the checks."""

    PRODUCT = "product"
    """What the task makes; checks judge it."""
    CHECK = "check"
    """A test, its data, a check script, or something that steers a tool."""
    ENVIRONMENT = "environment"
    """An installed package or a compiled file."""
    IGNORED = "ignored"
    """A change without meaning, or a file that no check reads."""


SUBJECT = re.compile(r"is (?:a )?(?:test|mock|stub)\b.*|uses the test framework.*")
"""The reasons of files that linters and type checkers look at, as they look at the product."""


class Classified(NamedTuple):
    """The reason is a part of a sentence."""

    side: Side
    reason: str


@dataclass(frozen=True)
class Context:
    """What a classification has to know about the project and the approved plan.

    Attributes:
        inputs: Files that the check commands run or read, relative to the project.
        is_input: Returns whether the names and settings of the project make a path an input of its checks.
        named_by: Returns the files of the trusted base that name a path.
        hidden: The modules that a new module of the same name would hide.
        compiled: The names of removed and of new sources, which a build may list, and of their objects.
        offered: The plugins of a test framework that the project offers to others.
        imported: Returns whether the product imports a source.
    """

    inputs: Collection[str] = ()
    is_input: Callable[[str], bool] = lambda _: False
    task_text: str = ""
    touches: tuple[str, ...] = ()
    named_by: Callable[[str], tuple[str, ...]] = lambda _: ()
    hidden: Collection[str] = ()
    compiled: tuple[Collection[str], Collection[str]] = ((), ())
    offered: Collection[str] = ()
    imported: Callable[[str], bool] = lambda _: False

    def is_check(self, path: str, content: bytes = b"") -> bool:
        # A settings file without content steers nothing; what it says of the package is no check.
        own = Context(inputs=self.inputs, is_input=self.is_input)
        return classify(path, None, content, own).side is Side.CHECK


_PLACES = {
    "a stub": {"@types", "typings", "stubs"},
    "a mock": {"mocks", "mock", "fakes", "stub", "__mocks__"},
    "test data": {
        "fixtures", "fixture", "__fixtures__", "golden", "goldens", "snapshots", "expected", "testdata", "test_data",
        "test-data", "testfixtures", "test_fixtures", "test-fixtures", "test_files", "test-files", "testcases",
        "test_cases", "test-cases",
    },
    "a test helper": {"testing", "test_helpers", "testutils", "test_utils", "test-utils", "testlib"},
    "vendored": {"vendor", "third_party", "external"},
    "build output": {"dist", "build", "out", "target", "_build", "obj", "coverage"},
    "a hook or plugin of a tool": {
        ".husky", ".githooks", "hooks.d", ".cargo", ".mvn", ".vscode", ".config", ".yarn", ".bundle", "plugins.d",
    },
}  # fmt: skip
"""Directories by what their files are."""

_INSTALLED = {".venv", "venv", "node_modules", "site-packages", ".tox", ".nox"}
_NOTES = re.compile(
    r"(MEMORY\.md|progress\.txt(\.\d)?|\.ralph/.*|PROMPT_\w+\.md|\.coverage(\..+)?)"
)
_COMPILED = re.compile(r".*\.(py[cod]|o|class|tsbuildinfo)")
_FUNCTION = re.compile(rb"\b(?:def|function|func|fun|fn|sub)\b|=>")


def classify(
    path: str,
    old: bytes | None,
    new: bytes | None,
    context: Context | None = None,
    *,
    same_kind: bool = True,
) -> Classified:
    """Return the side of a changed file.

    Args:
        path: The file, relative to the project, with slashes.
        old: Its content in the trusted base; None if it is new.
        new: Its content in the claimed tree; None if it was deleted.
        same_kind: Whether it is still a file, a program or a link, as before.
    """
    if same_kind and old is not None and new is not None and same_meaning(path, old, new):
        return Classified(Side.IGNORED, "means the same as before")
    found = _sides(path, old, new, context or Context())
    return next(Classified(*one) for one in found if one[1])


def _sides(
    path: str, old: bytes | None, new: bytes | None, context: Context
) -> Iterator[tuple[Side, str]]:
    name, parts = path.rpartition("/")[2], path.split("/")
    if not _INSTALLED.isdisjoint(parts):
        yield Side.ENVIRONMENT, "is an installed package"
    if not EXCLUDED_DIRECTORIES.isdisjoint(parts):
        yield Side.IGNORED, "is a cache"
    if _COMPILED.fullmatch(name):
        yield Side.ENVIRONMENT, "is compiled"
    if _NOTES.fullmatch(path):
        yield Side.IGNORED, "is a note about the work"
    yield Side.CHECK, _is_test(path, old, new, context)
    if any(fnmatch.fnmatchcase(path, glob) for glob in context.touches):
        yield Side.PRODUCT, "is named by `touches` in the plan"
    if is_named(path, context.task_text):
        yield Side.PRODUCT, "is named by the task"
    yield Side.CHECK, _steers(path, old, new, context)
    if is_source(name):
        if path not in context.offered and _uses_framework(name, old, new):
            yield Side.CHECK, "uses the test framework outside the tests"
        yield Side.PRODUCT, "is source of the project"
    if old is None:
        yield Side.PRODUCT, "is a new file that steers no tool"
    reader = next(filter(context.is_check, context.named_by(path)), "")
    yield Side.CHECK, f"is named by {reader}" if reader else ""
    yield Side.PRODUCT, "is read by no check"


def _is_test(path: str, old: bytes | None, new: bytes | None, context: Context) -> str:
    *places, name = path.split("/")
    if is_test_file(name) or not TEST_DIRECTORIES.isdisjoint(places):
        return "is a test or its data"
    for what, names in _PLACES.items():
        if what in {"a mock", "test data"} and not names.isdisjoint(places):
            code = what == "test data" and is_source(name) and _FUNCTION.search(old or new or b"")
            if not (code and context.imported(path)):  # unlike the fixtures of a league
                return f"is {what}"
    if name.endswith((".pyi", ".snap")):
        return "is a stub" if name.endswith(".pyi") else "is test data"
    alone = path.endswith(".py") and has_own_tests(os.fsdecode(old or b""), alone=True)
    return "is run by a check" if path in context.inputs and not alone else ""


def _steers(path: str, old: bytes | None, new: bytes | None, context: Context) -> str:
    *places, name = path.split("/")
    for what, names in _PLACES.items():
        if what != "test data" and not names.isdisjoint(places):
            return f"is {what}" if what.startswith(("a ", "test")) else f"is in {what}"
    settings = is_settings(path) or is_recipe(name)
    hidden = name.startswith(".") and not is_source(name)
    if old is None and name == "build.rs":
        return ""  # what it generates, no test had before
    if settings or hidden or context.is_input(path):
        before, after = (controlling_part(name, one or b"", old or b"") for one in (old, new))
        free = (before, after) != (old or b"", new or b"")
        lists = (_words(one, own) for one, own in zip((old, new), context.compiled, strict=True))
        if old and new and len({*lists}) == 1:
            return ""
        only_free = free and (before or b"{}") == (after or b"{}")  # names, versions, dependencies
        return "" if only_free else "steers a tool"
    stem = name.partition(".")[0]
    stem = places[-1] if stem == "__init__" and places else stem
    if old is None and stem in context.hidden and name.endswith((".py", ".so", ".pyd")):
        return f"hides the module {stem}"
    return ""


_WORD = re.compile(r"[\w./+-]+|[^\s\w\"',\\]")


def _words(data: bytes | None, but: Collection[str]) -> tuple[str, ...]:
    """Return the words without these names, where they stand beside another one of their kind."""
    words = _WORD.findall((data or b"").decode("utf-8", "replace"))
    ends = ["", *(word.rpartition(".")[2] for word in words), ""]
    beside = zip(words, ends, ends[1:], ends[2:], strict=False)
    return tuple(
        word
        for word, before, end, after in beside
        if word.rpartition("/")[2] not in but or end not in (before, after)
    )


def _with_lists(old: bytes, new: bytes, compiled: tuple[Collection[str], Collection[str]]) -> bytes:
    """Return the old content of a build recipe with the sources that the new one lists, and nothing else of it."""
    texts = [one.decode("utf-8", "replace") for one in (old, new)]
    before, after = ([*_WORD.finditer(text)] for text in texts)
    one, two = ([match[0] for match in words] for words in (before, after))
    parts, at = [], 0
    for tag, i, end, j, j_end in difflib.SequenceMatcher(
        None, one, two, autojunk=False
    ).get_opcodes():
        if tag != "equal" and i and j:
            gone = _leading(before[i:end], compiled[0])
            parts.append(texts[0][at : before[i - 1].end()])
            if added := _leading(after[j:j_end], compiled[1]):
                parts.append(texts[1][after[j - 1].end() : added[-1].end()])
            at = (gone or before[i - 1 : i])[-1].end()
    found = "".join([*parts, texts[0][at:]]).encode()
    return found if _words(found, compiled[1]) == _words(old, compiled[0]) else old


def _leading(words: list[re.Match[str]], names: Collection[str]) -> list[re.Match[str]]:
    return [*itertools.takewhile(lambda word: word[0].rpartition("/")[2] in names, words)]


def is_named(path: str, text: str) -> bool:
    name = path.rpartition("/")[2]
    if name not in text:  # of thousands of paths
        return False
    wanted = "|".join(map(re.escape, dict.fromkeys((path, name))))
    return re.search(rf"(?<![\w/.-])(?:\./)?(?:{wanted})(?![\w/-]|\.\w)", text) is not None


def _uses_framework(name: str, old: bytes | None, new: bytes | None) -> bool:
    lines = _framework_lines(name, old if new is None else new)
    if not lines or lines != _framework_lines(name, old):
        return bool(lines)
    # The examples and the tests in a source are put back. Of a module that imports others, the tests may be of those.
    examples = b">>>" in (old or b"") and all("doctest" in line for line in lines)
    return not examples and not (name.endswith(".py") and has_own_tests(os.fsdecode(old or b"")))


def _framework_lines(name: str, data: bytes | None) -> list[str]:
    text = (data or b"").decode("utf-8", "replace")
    if name.endswith(".py") and FRAMEWORK.search(text):
        with contextlib.suppress(SyntaxError, ValueError):
            text = ast.unparse(_WithoutProse().visit(ast.parse(text)))
    return [line for line in text.splitlines() if FRAMEWORK.search(line)]


class _WithoutProse(ast.NodeTransformer):
    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        return None if isinstance(node.value, ast.Constant) else self.generic_visit(node)


# Meaning.


_FREE_LAYOUT = re.compile(r".+\.([cm]?[jt]sx?|go|rs|c|cc|cpp|h|hpp|java|kt|cs|css|scss|php|swift)")


def same_meaning(path: str, old: bytes, new: bytes) -> bool:
    """Return whether two contents of a file mean the same; new suppression marks are a difference."""
    if old == new:
        return True
    try:
        before, after = old.decode(), new.decode()
    except ValueError:
        return False
    if suppressions(before) != suppressions(after):
        return False
    try:
        if path.endswith((".py", ".pyi")):
            return ast.dump(ast.parse(before)) == ast.dump(ast.parse(after))
        for suffixes, load in _LOADERS:
            if path.endswith(suffixes):
                one, two = load(before), load(after)
                return repr(one) == repr(two)
    except (SyntaxError, ValueError, RecursionError, yaml.YAMLError):
        return False
    if _FREE_LAYOUT.fullmatch(path) and "`" not in before + after:
        return _lines(before) == _lines(after)
    return False


_LOADERS: tuple[tuple[tuple[str, ...], Callable[[str], object]], ...] = (
    ((".json",), json.loads),
    ((".toml",), tomllib.loads),
    ((".yaml", ".yml"), lambda text: list(yaml.safe_load_all(text))),
)


def _lines(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines() if line.strip()]


# What the judge tree holds.


def judged_content(
    path: str, side: Side, old: bytes | None, new: bytes | None, context: Context | None = None
) -> bytes | None:
    """Return the content that a changed file has in the judge tree; None if it is not there."""
    if side is Side.IGNORED:
        return new
    if side is Side.PRODUCT:
        return with_base_tests(path, old, new)
    name, compiled = path.rpartition("/")[2], (context or Context()).compiled
    if old and new and any(compiled) and not is_source(name):
        old = _with_lists(old, new, compiled)
    if new is None or controlling_part(name, new, old or b"") == new:
        return old
    merged = with_original_part(name, new, old or (b"{}" if name.endswith("json") else b""))
    return merged or old
