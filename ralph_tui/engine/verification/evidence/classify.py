"""Classify a changed file: is it the product, or does it decide what a check says about the product?"""

import ast
import contextlib
import fnmatch
import json
import os
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from ralph_tui.engine.core.project_tree import EXCLUDED_DIRECTORIES, is_source
from ralph_tui.engine.verification.detection.project_checks import PACKAGE
from ralph_tui.engine.verification.detection.python_declarations import table
from ralph_tui.engine.verification.evidence.tests_inside import (
    FRAMEWORK,
    has_own_tests,
    with_base_tests,
)

TEST_DIRECTORIES = frozenset({
    "tests", "test", "__tests__", "__snapshots__", "__mocks__", "testdata", "spec", "e2e", "t",
})  # fmt: skip
"""Directories of tests, test helpers and expected results."""

_TEST_SUFFIXES = (
    r"py|[cm]?[jt]sx?|go|rs|rb|exs?|dart|cc|cpp|cxx|c|h|hpp|java|kt|cs|scala|php|swift|lua|pl|sh|bash|r|jl"
    r"|zig|cljc?|hs|ml|erl|nim|groovy|fs"
)
_TEST_NAME = re.compile(
    rf"tests?\.(?:{_TEST_SUFFIXES})|test[_.-].*\.(?:{_TEST_SUFFIXES})|.+[_.-]tests?\.(?:{_TEST_SUFFIXES})"
    r"|.+\.spec\.[cm]?[jt]sx?|.+_spec\.(?:rb|lua|py|ex|exs)|.*\.(?:bats|feature)"
    r"|.*(?:Tests?|Spec)\.(?:java|kt|cs|scala|php|swift|groovy|hs|fs)"
)
_SETTINGS_NAME = re.compile(
    r".*\.(ini|cfg|toml|properties|props|pth|cmake|cabal|gemspec|(cs|fs)proj|sln|env)|\.env(\..*)?|[a-z]{3,}\d?rc"
    r"|\.(?!(?:nvm|bash|zsh|vim)rc)[\w-]*(rc|ignore)(\.\w+)?|\.gitmodules|[\w.-]+[._-](config|conf|setup|preload|plugin|hooks?)\.\w+"
    r"|conftest\.py|(site|user)customize\.py|noxfile\.py|manage\.py|pyrightconfig\.json|\.(flake8|bandit|sqlfluff|rspec)"
    r"|\.pre-commit-config\.yaml|\.clang-(tidy|format)|package\.json|\.pnpmfile\.c?js|pnpm-workspace\.yaml|(nx|turbo|lerna)\.json|tsconfig.*\.json"
    r"|(biome|dprint|deno)\.jsonc?|(vitest|vite)\.workspace\.\w+|(jest|vitest|mocha|tests?)setup\.\w+"
    r"|setup[._-]?(tests?|jest|vitest|mocha)\.\w+|global[._-]?(setup|teardown)\.\w+|\.[\w-]*lint|\.?[\w-]*lint(ci)?\.(ya?ml|jsonc?|toml)"
    r"|\.?golangci\.(ya?ml|json)|\.rubocop.*\.yml|rust-toolchain|go\.(mod|work)|(pom|build)\.xml|(config|runtime|setup|build)\.(rs|zig|sbt|exs)"
    r"|(build|settings)\.gradle(\.kts)?|gradlew|mvnw|CMake(Lists\.txt|Presets\.json)|meson(\.build|_options\.txt)|(BUILD|WORKSPACE|MODULE)(\.bazel)?"
    r"|configure(\.ac)?|Directory\.\w+\.targets|Gemfile|mix\.exs|rebar\.config|dune(-project)?|stack\.yaml|(phpunit|phpcs|psalm)\.xml(\.dist)?"
    r"|phpstan\.neon(\.dist)?|\.credo\.exs|\.scalafmt\.conf",
    re.IGNORECASE,
)
"""Names of files that a tool reads without being told: settings, build recipes, environment files, plugins."""
_RECIPE_NAME = re.compile(
    r"(GNUm|M|m)akefile|.*\.mk|\.?justfile|.*\.just|taskfile.*\.ya?ml|rakefile.*|.*\.rake",
    re.IGNORECASE,
)
_CHECK_NAME = re.compile(
    r"(^|[/_.-])(tests?|checks?|verify|verif\w*|lint|ci|spec|accept\w*|smoke|expect\w*|golden|validate|asserts?|baseline|fixtures?)([/_.-]|$)",
    re.IGNORECASE,
)
_LINTERS = re.compile(
    r"ruff|mypy|flake8|pylint|black|isort|pyright|basedpyright|ty|pyrefly|bandit|eslint|prettier|biome|tsc|stylelint|standard"
    r"|xo|oxlint|gofmt|goimports|golangci-lint|staticcheck|rustfmt|clang-format|clang-tidy|cppcheck|shellcheck|shfmt|rubocop"
    r"|ktlint|detekt|checkstyle|scalafmt|yamllint|markdownlint|hadolint|sqlfluff|codespell|typos|taplo|pre-commit"
    r"|go vet|cargo (?:clippy|fmt|check)|deno (?:lint|fmt)"
)
RUNNER_MODULES = frozenset({
    "pytest", "_pytest", "py", "pluggy", "iniconfig", "unittest", "nose", "coverage", "xdist", "hypothesis",
    "ralph_pytest_report",
})  # fmt: skip


def is_test_file(path: str) -> bool:
    return _TEST_NAME.fullmatch(path.rpartition("/")[2]) is not None


def is_settings(path: str) -> bool:
    """Return whether tools read a file for their settings; resources of a JVM project are its own, but for those of JUnit."""
    name = path.rpartition("/")[2]
    own = "main/resources" in path and name != "junit-platform.properties" and not is_source(name)
    return _SETTINGS_NAME.fullmatch(name) is not None and not own


def names_check(path: str) -> bool:
    return _CHECK_NAME.search(path) is not None


def lints(program: tuple[str, ...]) -> bool:
    left = program[2:] if program[1:2] == ("-m",) else program
    names = (left[0].rpartition("/")[2], " ".join(left[:2])) if left else ()
    return any(map(_LINTERS.fullmatch, names))


def is_recipe(name: str) -> bool:
    return _RECIPE_NAME.fullmatch(name) is not None


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


_OPENING = re.compile(r"(?:/\*+|//+|#+|<!--|--|;+|%+)\s*$")


def without_new_marks(old: bytes, new: bytes) -> bytes:
    """Return the content without new marks that silence a check, and without the rest of their lines."""
    before, after = os.fsdecode(old), os.fsdecode(with_old_types(old, new))
    if not suppressions(after) - suppressions(before):
        return os.fsencode(after)
    known = Counter(line.strip() for line in before.splitlines())
    kept = []
    for line in after.splitlines(keepends=True):
        mark = SUPPRESSION.search(line)
        if mark is None or known[line.strip()]:
            kept.append(line)
            continue
        stricter = line
        for loose, strict in _STRICTER:
            stricter = loose.sub(strict, stricter)
        end = line[len(line.rstrip("\r\n")) :]
        cut = f"{_OPENING.sub('', line[: mark.start()]).rstrip()}{end}"
        kept.append(stricter if stricter != line else cut)
    return os.fsencode("".join(kept))


_STRICTER = (
    (re.compile(r"\bas\s+any\b"), "as unknown"),
    (re.compile(r"\bas\s+unknown\s+as\b"), "as"),
    (re.compile(r"\bcast\((?:\w+\.)?Any\b"), "cast(object"),
    (re.compile(r"((?:typing\.)?\bTYPE_CHECKING\b)"), r"(\1 and __name__)"),
)
"""What fits everywhere or is hidden from type checkers, with what has to fit or is hidden from nobody."""
_SIGNATURE = re.compile(
    r"^[ \t]*(?:async )?def (\w+)\(((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)[^:\n]*:", re.MULTILINE
)
_ARGUMENT = re.compile(r"(?:^|,)\s*\*{0,2}(\w+)")
_TYPE = re.compile(r"(?::|->(?!\s*object\b))(?!\s*(?:typing\.)?Any\b)")


def with_old_types(old: bytes, new: bytes) -> bytes:
    """Return Python source with the signatures that its functions had, where they have fewer types now."""
    seen: Counter[str] = Counter()
    known: dict[str, re.Match[str]] = {}

    def place(match: re.Match[str]) -> str:
        arguments = ",".join(_ARGUMENT.findall(match[2]))
        seen[signature := f"{match[1]}({arguments})"] += 1
        return f"{signature} {seen[signature]}"

    def signature(match: re.Match[str]) -> str:
        was = known.get(place(match), match)[0]
        return was if len(_TYPE.findall(was)) > len(_TYPE.findall(match[0])) else match[0]

    for match in _SIGNATURE.finditer(os.fsdecode(old)):
        known[place(match)] = match
    seen.clear()
    return os.fsencode(_SIGNATURE.sub(signature, os.fsdecode(new)))


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
TESTS = re.compile(f"{SUBJECT.pattern}|is run by a check")


class Classified(NamedTuple):
    """The reason is a part of a sentence."""

    side: Side
    reason: str


@dataclass(frozen=True)
class Context:
    """What a classification has to know about the project and the approved plan.

    Attributes:
        inputs: Files that the check commands run or read, relative to the project.
        named_by: Returns the files of the trusted base that name a path.
        hidden: The modules that a new module of the same name would hide.
        imported: Returns whether the product imports a source.
    """

    inputs: Collection[str] = ()
    task_text: str = ""
    touches: tuple[str, ...] = ()
    named_by: Callable[[str], tuple[str, ...]] = lambda _: ()
    hidden: Collection[str] = ()
    imported: Callable[[str], bool] = lambda _: False

    def is_check(self, path: str, content: bytes = b"") -> bool:
        # A settings file without content steers nothing; what it says of the package is no check.
        own = Context(inputs=self.inputs)
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
        if _uses_framework(name, old, new):
            yield Side.CHECK, "uses the test framework outside the tests"
        yield Side.PRODUCT, "is source of the project"
    if old is None:
        yield Side.PRODUCT, "is a new file that steers no tool"
    named = context.named_by(path)
    reader = next(filter(context.is_check, named), "")
    yield Side.CHECK, f"is named by {reader}" if reader else ""
    lost = (one for one in _lost_entries(path, old, new) if not _is_removed(one, context.task_text))
    yield Side.CHECK, "is data that loses entries" if named and any(lost) else ""
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
    if settings or hidden:
        before, after = (controlling_part(name, one or b"", old or b"") for one in (old, new))
        free = (before, after) != (old or b"", new or b"")
        if old and new and _with_lists(old, new) == new:
            return ""
        only_free = free and (before or b"{}") == (after or b"{}")  # names, versions, dependencies
        return "" if only_free or _is_read(path, context) else "steers a tool"
    stem = name.partition(".")[0]
    stem = places[-1] if stem == "__init__" and places else stem
    if old is None and stem in context.hidden and name.endswith((".py", ".so", ".pyd")):
        return f"hides the module {stem}"
    return ""


def _is_read(path: str, context: Context) -> bool:
    """Return whether a file in a directory is data, in a form of settings, that sources of the product read by its name."""
    if "/" not in path or path.startswith(".") or not path.endswith((".toml", ".ini", ".cfg")):
        return False
    readers = context.named_by(path)
    return any(map(is_source, readers)) and not any(map(context.is_check, readers))


_COMPILED_SOURCE = r"(?<![\w./+-])[\w./+-]+\.(?:c|cc|cpp|cxx|h|hpp|m|mm|f90|o)\b"
_SOURCES = re.compile(rf"{_COMPILED_SOURCE}(?:[\s\\]+{_COMPILED_SOURCE})*")


def _with_lists(old: bytes, new: bytes) -> bytes:
    """Return the old content of a build recipe with the lists of sources of the new one, if these have the same tests."""
    lists = iter(_SOURCES.findall(new.decode("utf-8", "replace")))

    def tests(text: str) -> list[str]:
        return [word for word in re.findall(_COMPILED_SOURCE, text) if names_check(word)]

    def listed(match: re.Match[str]) -> str:
        now = next(lists, match[0])
        return now if tests(now) == tests(match[0]) else match[0]

    return _SOURCES.sub(listed, old.decode("utf-8", "replace")).encode()


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


# Data.

_REMOVES = re.compile(r"\b(?:remov|delet|drop|prun|retir|discard)", re.IGNORECASE)
_RECORD = re.compile(r"[\W_]*|\s*#.*|\s*- .*|\W*[\w.]+\W*|\s*[^:=,;|\t]+[:=,;|\t].*")
_ENTRY = re.compile(r"^[^\w#\n]*([\w./@$-]+)[\"']?[ \t]*[:=,;|]?[ \t]*(.*?),?$", re.MULTILINE)
_LOCK = re.compile(r".+[.-]lock(\.\w+|b)?|go\.sum|Package\.resolved")


def is_lock(path: str) -> bool:
    """Return whether a tool that installs packages keeps their versions in this file."""
    return _LOCK.fullmatch(path.rpartition("/")[2]) is not None


def _lost_entries(path: str, old: bytes | None, new: bytes | None) -> Iterator[str]:
    """Yield the keys, items and lines that a file of data has no longer, with what they said, unless they are renamed."""
    texts = ("" if is_lock(path) else _lines_of_data(one or b"") for one in (old, new))
    before, now = (Counter(_ENTRY.findall(text)) for text in texts)
    had, has = (Counter(name for name, _ in each.elements()) for each in (before, now))
    moved = {value for name, value in now if name not in had}
    for name, value in before - now:
        if had[name] > has[name] and value not in moved:
            yield f"{name} {value}"


def _lines_of_data(data: bytes) -> str:
    text = data.decode("utf-8-sig", "replace")
    with contextlib.suppress(ValueError, RecursionError):
        text = json.dumps(json.loads(text), indent=0, ensure_ascii=False)
    return text if all(map(_RECORD.fullmatch, text.splitlines())) else ""


def _is_removed(entry: str, text: str) -> bool:
    words = {*re.findall(r"\w{2,}", entry.lower())}
    return bool(_REMOVES.search(text)) and not words.isdisjoint(re.findall(r"\w+", text.lower()))


# Meaning.


def same_meaning(path: str, old: bytes, new: bytes) -> bool:
    """Return whether two contents of a file mean the same; new suppression marks are a difference."""
    if old == new:
        return True
    if not path.endswith((".py", ".pyi")):
        return False
    with contextlib.suppress(SyntaxError, ValueError, RecursionError):
        before, after = old.decode(), new.decode()
        same = ast.dump(ast.parse(before)) == ast.dump(ast.parse(after))
        return same and suppressions(before) == suppressions(after)
    return False


# What the judge tree holds.


def judged_content(path: str, side: Side, old: bytes | None, new: bytes | None) -> bytes | None:
    """Return the content that a changed file has in the judge tree; None if it is not there."""
    if side is Side.IGNORED:
        return new
    if side is Side.PRODUCT:
        return with_base_tests(path, old, new)
    if old and new and (is_settings(path) or is_recipe(path.rpartition("/")[2])):
        return _with_lists(old, new)
    return old


# The part of a settings file that controls checks. Every tool may add a table or key, so what is not known to be free is one.


_CONTROLLING_TABLES = {
    "pyproject.toml": (
        "tool.pdm.scripts", "tool.poetry.plugins", "tool.uv.sources", "tool.uv.required-environments",
        "tool.uv.override-dependencies", "tool.uv.managed", "project.entry-points",
    ),
    "Cargo.toml": (
        "test", "bench", "lib", "bin", "profile", "lints", "patch", "replace", "workspace.lints",
        "workspace.members", "workspace.exclude", "workspace.default-members", "package.autotests",
        "package.autobins", "package.workspace",
    ),
}  # fmt: skip
"""Tables and keys that control checks, including their subtables."""

_FREE_TOOLS = frozenset({"uv", "poetry", "pdm"})
"""Tables below `tool` in pyproject.toml that declare dependencies; every other tool may be a check or affect one."""

_FREE_KEYS = frozenset({
    "name", "version", "description", "keywords", "license", "author", "repository", "files", "main", "module",
    "types", "type", "exports", "imports", "bin", "dependencies", "devDependencies", "peerDependencies",
    "optionalDependencies", "engines", "private",
})  # fmt: skip
"""Keys of package.json that describe the package."""

_Table = dict[str, Any]
_LOADERS: dict[str, Callable[[str], _Table]] = {
    "pyproject.toml": tomllib.loads,
    "Cargo.toml": tomllib.loads,
    PACKAGE: lambda text: json.loads(text or "{}"),
}
_REPLACE = re.compile(r"^replace\s*(?:\([^)]*\)|[^(\n]*)\n?", re.MULTILINE)
"""The directives of go.mod that replace a module by another one."""


_RULE = re.compile(r"^([A-Za-z][\w-]*)[ \t]*:(?![=:])[^\n=]*\n(?:\t[^\n]*\n?|\n)*", re.MULTILINE)
_PHONY = re.compile(r"^\.PHONY[ \t]*:([^\n\\]*)\n?", re.MULTILINE)
_MAKEFILES = frozenset({"Makefile", "makefile", "GNUmakefile"})


def controlling_part(name: str, data: bytes, original: bytes = b"") -> bytes:
    """Return the part of a file that controls checks, which is the whole file for most files.

    A target that the original neither has nor names is free, unless it is named like a check.
    """
    try:
        if name in _MAKEFILES:
            rest = data.decode()
            for rule in _new_rules(data.decode(), original.decode()):
                rest = rest.replace(rule, "", 1)
            return (
                rest.encode() if len(rest) == len(data.decode()) else rest.strip().encode() + b"\n"
            )
        if name in _LOADERS:
            now, then = (_LOADERS[name](text.decode()) for text in (data, original))
            control = _controlling(name, now, then)
            return json.dumps(control, sort_keys=True, default=str).encode()
        if name == "go.mod":
            return "".join(_REPLACE.findall(data.decode())).encode()
    except (ValueError, AttributeError):
        return data  # invalid: compare the whole file
    return data


def _controlling(name: str, data: _Table, original: _Table) -> _Table:
    """Return what controls checks in settings, by place; members may be added to a workspace."""
    control = dict[str, Any]()
    adds = _members(data) >= _members(original)
    places = [dotted.split(".") for dotted in _CONTROLLING_TABLES.get(name, ())]
    places += [["tool", one] for one in table(data, "tool") if one not in _FREE_TOOLS]
    if name == PACKAGE:
        places = [[key] for key in data if key not in _FREE_KEYS]
    for *above, key in places:
        held = table(data, *above)
        if key in held and not (key == "members" and adds):
            control[".".join((*above, key))] = held[key]
    return control


def _members(data: _Table) -> set[str]:
    found = table(data, "workspace").get("members")
    return {*map(str, found)} if isinstance(found, list) else set()


def _new_rules(text: str, original: str) -> list[str]:
    found = {m[1]: m[0] for m in _RULE.finditer(text) if not _is_known(m[1], original)}
    phony = (m for m in _PHONY.finditer(text) if m[1].strip() and {*m[1].split()} <= {*found})
    return [*found.values(), *(match[0] for match in phony)]


def _is_known(name: str, original: str) -> bool:
    named = re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", original) is not None
    return named or is_recipe(name) or names_check(name)
