"""Alter the files of a claim, so that a check has to notice.

Tests get other values or must fail, the product computes others, variables get other names, and sources lose the marks that
silence a check.
"""

import ast
import itertools
import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import PurePosixPath
from typing import NamedTuple

from ralph_tui.engine.core.project_tree import is_source
from ralph_tui.engine.verification.evidence.classify import (
    SUBJECT,
    TEST_DIRECTORIES,
    TESTS,
    classify,
    is_settings,
    is_test_file,
    without_new_marks,
)
from ralph_tui.engine.verification.evidence.tests_inside import has_own_tests, tests_in
from ralph_tui.engine.verification.evidence.trusted_base import Inspection, TrustedBase
from ralph_tui.vcs.snapshots import Content

_LEANS = re.compile(
    rb"\bimpl\b[^\n{]*\bPartialEq\b|\boperator\s*==|\bdef\s+==|__eq__|asymmetricMatch|toPrimitive|\bvalueOf\b|\bequals\(Object"
    rb"|\b(?:func|fn|def|function|bool|boolean)\s+\w*(?i:same|equal|compare)\w*\s*\("
    rb"|\b(?:inspect|linecache|_getframe|currentframe|captureStackTrace|prepareStackTrace)\b|\.stack\b"
)
"""How code decides what equals it, or finds its caller. Of such code alone, tests must fail with other values: a test that only
expects an error, or that something is true, may well pass with them."""
_VARIABLE = re.compile(
    rb"""(?:(?i:env)\w*(?!!)(?:\W{1,3}(?:get|var|fetch))?\W{1,4}|["'](?=\w+["'] (?:not )?in [\w.]*env))([A-Z][A-Z0-9_]+)\b"""
)
"""How code reads a variable when it runs, unlike Rust's `env!`, which is the same in every build."""
_OF_REQUEST = re.compile(rb"(?<![\w.])env(?:iron)?(?=\[|\.(?:get|fetch)\b)")
"""How an application reads what a web server says, unless it imports a name for the environment."""
_PATH_PART = re.compile(rb"""["'/]([\w-]+)(?=["'/])""")
_MOST_TESTS = 50


class Altered(NamedTuple):
    """The altered files of one claim, by path. Every method blocks."""

    base: TrustedBase
    inspection: Inspection

    @property
    def _contents(self) -> list[dict[str, Content]]:
        return [
            self.base.trees.contents(one) for one in (self.inspection.base, self.inspection.claim)
        ]

    def without_marks(self, changed: Mapping[str, Content | None]) -> dict[str, Content]:
        """Return the changed files with new suppression marks, without them; `changed` are contents in place of the claim's."""
        old, new = self._contents
        found: dict[str, Content] = {}
        for path in (change.path for change in self.inspection.changes):
            if held := changed.get(path, new.get(path)):
                before = self.base.read(old[path]) if path in old else b""
                text = self.base.read(held)
                if (other := without_new_marks(before, text)) != text:
                    found[path] = self.base.trees.put(other, held.mode)
        return found

    def with_other_values(self, *, data: bool = False) -> dict[str, Content]:
        """Return the base's tests with other numbers and texts: sources, or data that the changed product names."""
        tests = self.inspection.originals()
        held = {**self._contents[1], **self.inspection.judged}
        wanted = self._told_data() if data else is_source
        chosen = [p for p in sorted(tests | self.inspection.product.keys()) if wanted(p)]
        names = {PurePosixPath(path).stem for path in tests}
        found = {}
        for path, kept in islice(((path, held.get(path)) for path in chosen), _MOST_TESTS):
            text = self.base.read(kept) if kept else b""
            is_test = path in tests or has_own_tests(os.fsdecode(text))
            other = other_values(text, names, words=not is_source(path))
            if kept and is_test and other != text:
                found[path] = self.base.trees.put(other, kept.mode)
        return found

    def with_other_results(self) -> tuple[dict[str, Content], dict[str, Content]]:
        """Return new tests that give the product other inputs, and the changed product that returns others; its data without code."""
        old, new = self._contents
        tests = {c.path for c in self.inspection.checks if TESTS.fullmatch(c.reason)}
        product = {p for p in self.inspection.product if not is_settings(p)} - tests
        code = {*filter(is_source, product)} or product
        paths = islice(sorted((tests | product) & new.keys()), _MOST_TESTS)
        texts = {path: os.fsdecode(self.base.read(new[path])) for path in paths}
        defined = (one for p in texts.keys() & code for one in _DEFINED.finditer(texts[p]))
        names = {one[one.lastindex or 0] for one in defined} - _WORDS
        call, other = re.compile(_CALL % "|".join(names or {"(?!)"})), others()
        found: dict[bool, dict[str, Content]] = {True: {}, False: {}}
        for path, text in texts.items():
            known = {*self.base.read(old[path]).splitlines()} if path in old else {b""}
            inside = [(0, len(text))] if path in tests else tests_in(path, text)
            at, lines = 0, list[str]()
            for line in text.splitlines(keepends=True):
                tested = any(a <= at < b for a, b in inside)
                at += len(line)
                if os.fsencode(line.rstrip("\r\n")) in known or not (tested or path in code):
                    lines.append(line)
                elif tested:
                    lines.append(call.sub(lambda match: _VALUE.sub(other, match[0]), line))
                else:
                    lines.append(computing_otherwise(path, line, other))
            if (changed := "".join(lines)) != text:
                kept = self.base.trees.put(os.fsencode(changed), new[path].mode)
                found[bool(inside)][path] = kept
        return found[True], found[False]

    def only_removes(self) -> bool:
        """Return whether the changed product has no new line, so that no result of its own can stand in for the work."""
        base, claim = self.inspection.base, self.inspection.claim
        changed = self.base.trees.differences(base, claim, with_lines=True)
        return not any(one.additions for one in changed if one.path in self.inspection.product)

    def with_failing_tests(
        self, tests: Iterable[str]
    ) -> tuple[dict[str, Content], tuple[str, ...]]:
        """Return the Python sources of these tests, changed so that they must fail, and those that are found there."""
        held = {**self._contents[1], **self.inspection.judged}
        names = [*tests]
        words = {word for name in names for word in re.split(r"[/.:]+", name.partition("[")[0])}
        near = (p for p in held if p.endswith(".py") and PurePosixPath(p).stem in words)
        found: dict[str, Content] = {}
        known: set[str] = set()
        for path in islice(near, _MOST_TESTS):
            if kept := held[path]:
                changed, inside = failing_tests(self.base.read(kept))
                found[path] = self.base.trees.put(changed, kept.mode)
                known |= inside
        return found, tuple(name for name in names if _place_of(name) in known)

    def _told_data(self) -> Callable[[str], bool]:
        """Return whether a file is data of tests that the changed product names, so that it may take its results from there."""
        told = b"\0".join(new for *_, new in self._product())
        directories = TEST_DIRECTORIES & {*map(os.fsdecode, _PATH_PART.findall(told))}

        def is_told(path: str) -> bool:
            *places, name = path.split("/")
            named = name.encode() in told or not directories.isdisjoint(places)
            named |= len(places) > 1 and "/".join(places).encode() in told
            is_data = not is_source(path) and SUBJECT.fullmatch(classify(path, None, b"").reason)
            return bool(is_data and named)

        return is_told

    def with_other_variables(self, known: Collection[str]) -> dict[str, Content]:
        """Return all files with other names for the variables that the product newly reads; a test runner sets the old ones.

        What a build reads tells it nothing of tests, nor does what is `known` to the person.
        """
        both = [
            [{*_VARIABLE.findall(_of_process(text))} for text in (old, new)]
            for path, old, new in self._product()
            if not path.endswith("build.rs")
        ]
        names = {os.fsdecode(one) for old, new in both for one in new - old}.difference(known)
        if not names:
            return {}
        held, either = self.base.trees.contents(self.inspection.claim), "|".join(sorted(names))
        pattern = re.compile(rf"\b({either})\b".encode())
        texts = {
            p: self.base.read(held[p])
            for p in self.base.found(self.inspection.claim, "-wE", either)
        }
        return {
            p: self.base.trees.put(pattern.sub(rb"\1_BY_OTHER_NAME", text), held[p].mode)
            for p, text in texts.items()
        }

    def leans_on_tests(self) -> bool:
        """Return whether the changed product may take its results from tests, which it names, or says itself what equals them."""
        known = self.inspection.originals()
        tests = [PurePosixPath(path).name if is_test_file(path) else path for path in known]
        named = [os.fsencode(one) for one in tests if is_test_file(one) or "/" in one]
        return any(
            _LEANS.search(new) or any(one in new for one in named) for *_, new in self._product()
        )

    def _product(self) -> Iterator[tuple[str, bytes, bytes]]:
        old, new = self._contents
        for path in filter(is_source, self.inspection.product.keys() & new.keys()):
            yield path, self.base.read(old[path]) if path in old else b"", self.base.read(new[path])


def _of_process(text: bytes) -> bytes:
    imported = re.search(rb"\bimport\b[^\n]*\benv", text)
    return text if imported else _OF_REQUEST.sub(b"", text)


def _place_of(test: str) -> str:
    return ".".join(re.split(r"::|\.", test.partition("[")[0])[-2:])


_VALUE = re.compile(
    r"(?<![\w.$&>-])(?<!exit )(?<!return )(?<!sleep )(?<!exit\()(?<!timeout )[1-9]\d{0,5}(?![\w.]|\s*[<>&])"
    r"""|(?<=")(?!__\w+__")[\w][\w ,!?-]*(?=")|(?<=')(?!__\w+__')[\w][\w ,!?-]+(?=')"""
)
"""A number, or a text in quotes that is no path and no `__main__`. Zero is left, because it is a status or a bound as well."""
_DATA = re.compile(r"""(?<![\w."-])[1-9]\d{0,5}(?![\w."])|(?<=")\w[\w ,!?.-]*(?="(?!\s*:))""")
_LOADS = re.compile(
    r"""\b(?:require\w*|import|use|using|include|source|from|load|open|package|plan|done_testing|assertions|env::var|(?i:\w*env(?:iron)?))\b"""
    r"""|^\s*(?:[\w.]+\s+)?"[^"]*"\s*$"""
)
"""A line that loads something, such as one of Go's imports, names a variable of the environment or counts tests: it has no values."""


def other_values(data: bytes, names: Collection[str] = (), *, words: bool = False) -> bytes:
    """Return a test with other numbers and texts, each changed by another number, so that no assertion about them holds.

    Args:
        names: Texts that are no values, such as those of modules that a runner loads.
        words: Whether it is data, where all words may be texts.
    """
    other = others(names)
    text = data.decode("utf-8", "replace")
    if words:
        return re.sub(_DATA if _DATA.search(text) else r"\w+", other, text).encode()
    lines = text.splitlines(keepends=True)
    return "".join(
        line if _LOADS.search(line) else _VALUE.sub(other, line) for line in lines
    ).encode()


def others(names: Collection[str] = ()) -> Callable[[re.Match[str]], str]:
    count = itertools.count(7, 2)

    def other(match: re.Match[str]) -> str:
        if (word := match[0]) in names:
            return word
        number = next(count)  # a text keeps its letters, by which code may look for it
        letter = next(filter(str.isalnum, word), "_")
        return str(int(word) + number) if word.isdecimal() else word + letter * number

    return other


_DEFINED = re.compile(
    r"\b(?:defp?|fn|func?|fun|function|sub|class)\s+(?:\([^)\n]*\)\s*)?(?:\w+[.:])*(\w+)|\b(\w+)\s*=|\b(\w+)\([^;()\n]*\)\s*\{"
)
_WORDS = frozenset({"assert", "for", "foreach", "if", "return", "switch", "while"})
_CALL = r"\b(?:%s)[?!]?\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)"
_LITERAL = r"""(?:-?[\d.]+|None|nil|null|undefined|[Tt]rue|False|false|"[^"]*"|'[^']*'|\[\]|\{\})"""
_CONSTANT = re.compile(
    rf"(?:(?:\breturn|\byield|(?<!\(\) )=>|\becho|\blambda[^:]+:)\s*{_LITERAL}?|\{{\s*{_LITERAL}|^\s*{_LITERAL})[;\s}}]*$"
)
"""The end of a line that returns the same whatever it is given."""
_KEPT = re.compile(r"\s*(?:#|//|/?\*|--|<!--|while\b|until\b|loop\b)|.{1000}")
"""Lines that compute nothing, may never end if they compute otherwise, or are too long."""
_CONDITION = re.compile(
    r"(\s*(?:\} )?(?:else )?(?:el)?if )(?!let\b)"
    r"(?:([^;]+?)(?= \{| ?:| then)|(\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))(?= \w))( \{|:| then| \w.*;)(\s*)"
)
_TEXT = re.compile(
    rf"""{_VALUE.pattern}|(?<=["`])[%{{<$]*\w[\w ,!?.:/%{{}}()<>$\\-]*(?<!\\)(?=["`])|(?<=')\w[\w.:/-]*(?=')|(?<=\w=)0\b|(?<=\w = )0\b|(?<=\w := )0\b"""
)
_RETURNS = re.compile(
    r"(.*?(?:\b(?:return|yield(?! from))\s|=>))\s*([^\s{;](?:.*?[^\s,({\[;])?)(;?[\s}]*)"
)
_LISTS = re.compile(r".+\.(?:py|rb|php|[cm]?[jt]sx?)")
"""Sources in which what a function returns may as well be a list."""
_EFFECT = re.compile(r"(\s*)((?:await )?(?!if\b|for\b)[\w$][\w.#$>()-]*[.:>]\w+\(.*\);?)(\s*)")
_VALUED = (".rs", ".kt", ".scala", ".swift")
"""Sources in which a last line without a semicolon is what the function returns."""
_NEVER = {"py": "if False: %s", "rb": "%s if false", "lua": "if false then %s end"}
_OPERATORS = {
    "==": "!=", "!=": "==", "===": "!==", "!==": "===", "<": ">=", ">=": "<", ">": "<=", "<=": ">", "&&": "||",
    "||": "&&", "and": "or", "or": "and", "+": "-", "-": "+", "*": "+", "/": "*", "%": "+",
}  # fmt: skip
_OPERATOR = re.compile(rf"(?<= )(?:{'|'.join(map(re.escape, _OPERATORS))})(?= )")


def computing_otherwise(path: str, line: str, other: Callable[[re.Match[str]], str]) -> str:
    """Return a line of a product that computes another value, unless what it returns is constant."""
    if not is_source(path):
        return re.sub(_DATA if _DATA.search(line) else r"\w+", other, line)
    if _LOADS.search(line) or _KEPT.match(line):
        return line
    end = constant.start() if (constant := _CONSTANT.search(line)) else len(line)
    line, rest = line[:end], line[end:]
    found = _RETURNS.fullmatch(line) if _LISTS.fullmatch(path) else None
    if found and all(found[2].count(a) == found[2].count(b) for a, b in ("()", "[]", "{}")):
        return f"{found[1]} [{found[2]}]{found[3]}{rest}"
    if found := _CONDITION.fullmatch(line):
        no = "!" if found[4][-1] in "{;" else "not "
        return f"{found[1]}({no}({found[2] or found[3]})){found[4]}{found[5]}{rest}"
    found = _EFFECT.fullmatch(line)
    if found and (found[2].endswith(";") or not path.endswith(_VALUED)):
        never = _NEVER.get(path.rpartition(".")[2], "if (false) { %s }")
        return f"{found[1]}{never % found[2]}{found[3]}{rest}"
    line = _TEXT.sub(other, line)
    if not re.search("^\\s*for\\b|[\"'`]", line):  # texts have no difference
        line = _OPERATOR.sub(lambda match: _OPERATORS[match[0]], line)
    return line + rest


_MUST_FAIL = (
    'if hasattr({0}, "assertEqual"): {0}.assertEqual("ralph", 0)\nelse: raise AssertionError\n'
)


def failing_tests(data: bytes) -> tuple[bytes, frozenset[str]]:
    """Return Python source whose tests always fail, and their names, each after its class or the ending of its file."""
    names = set()
    try:
        tree = ast.parse(data)
    except (SyntaxError, ValueError):
        return data, frozenset()
    for above in list(ast.walk(tree)):
        for node in ast.iter_child_nodes(above):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name[:4] == "test":
                names.add(f"{above.name if isinstance(above, ast.ClassDef) else 'py'}.{node.name}")
                first = node.args.args[0].arg if node.args.args else "None"
                fails = ast.parse(_MUST_FAIL.format(first)).body
                node.body = [ast.Try(body=node.body, handlers=[], orelse=[], finalbody=fails)]
    return ast.unparse(ast.fix_missing_locations(tree)).encode(), frozenset(names)
