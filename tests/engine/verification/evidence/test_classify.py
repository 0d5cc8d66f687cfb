"""On which side of a claim each changed file stands."""

import pytest

from ralph_tui.engine.verification.evidence.altered import other_values
from ralph_tui.engine.verification.evidence.classify import (
    Context,
    Side,
    classify,
    judged_content,
)
from ralph_tui.engine.verification.evidence.marks import new_suppressions, without_new_marks
from ralph_tui.engine.verification.evidence.tests_inside import with_new_tests

CONTEXT = Context(
    inputs={"scripts/e2e.sh", "check.py"},
    task_text="Teach scripts/build.sh to sign, and say so in README.md (see tests/test_a.py)",
    touches=("docs/**", "config/*.toml", "tests/**"),
    named_by=lambda path: {
        "data/words.txt": ("tests/test_words.py",),
        "data/used.txt": ("src/app.py",),
    }.get(path, ()),
    hidden={"json", "requests"},
    offered={"src/plug.py"},
)
OLD, NEW = b"old\n", b"new\n"


@pytest.mark.parametrize(
    ("path", "side"),
    [
        # Sources are the product, wherever they are not a part of the checks.
        ("src/app.py", Side.PRODUCT), ("lib/sum.ts", Side.PRODUCT), ("main.go", Side.PRODUCT),
        ("src/lib.rs", Side.PRODUCT), ("slug.sh", Side.PRODUCT), ("web/index.html", Side.PRODUCT),
        ("src/Main.java", Side.PRODUCT), ("src/hooks/useThing.ts", Side.PRODUCT),
        # Tests, their data, doubles and helpers.
        ("tests/test_a.py", Side.CHECK), ("src/sum.test.ts", Side.CHECK), ("pkg/a_test.go", Side.CHECK),
        ("golden/report.txt", Side.CHECK), ("fixtures/a.json", Side.CHECK), ("src/__mocks__/fs.js", Side.CHECK),
        ("mocks/api.py", Side.CHECK), ("src/app.pyi", Side.CHECK), ("types/@types/x/index.d.ts", Side.CHECK),
        ("conftest.py", Side.CHECK), ("src/__snapshots__/a.snap", Side.CHECK), ("testing/helpers.py", Side.CHECK),
        # Check scripts, and what steers a tool.
        ("scripts/e2e.sh", Side.CHECK), ("check.py", Side.CHECK), ("jest.setup.js", Side.CHECK),
        ("vite.config.ts", Side.CHECK), ("pom.xml", Side.CHECK), ("CMakeLists.txt", Side.CHECK),
        ("Makefile", Side.CHECK), (".env", Side.CHECK), ("app/.gitignore", Side.CHECK), ("mypy.ini", Side.CHECK),
        (".cargo/config.toml", Side.CHECK), ("build.rs", Side.CHECK), ("vendor/x/x.go", Side.CHECK),
        ("dist/app.js", Side.CHECK), ("go.work", Side.CHECK),
        # Data: who names it decides.
        ("data/words.txt", Side.CHECK), ("data/used.txt", Side.PRODUCT), ("data/free.txt", Side.PRODUCT),
        # What the approved plan names is the work, but never a test.
        ("scripts/build.sh", Side.PRODUCT), ("README.md", Side.PRODUCT), ("docs/conf.py", Side.PRODUCT),
        ("config/app.toml", Side.PRODUCT),
        # No part of the judgment.
        (".venv/lib/x.py", Side.ENVIRONMENT), ("web/node_modules/x/index.js", Side.ENVIRONMENT),
        ("src/__pycache__/a.pyc", Side.IGNORED), ("progress.txt", Side.IGNORED), (".ralph/state.json", Side.IGNORED),
    ],
)  # fmt: skip
def test_the_side_of_a_changed_file(path: str, side: Side) -> None:
    found = classify(path, OLD, NEW, CONTEXT)
    assert found.side is side, found.reason
    assert found.reason


@pytest.mark.parametrize(
    ("path", "side"),
    [
        ("notes.txt", Side.PRODUCT), ("locale/de.json", Side.PRODUCT), ("tests/test_new.py", Side.CHECK),
        ("json.py", Side.CHECK), ("src/requests/__init__.py", Side.CHECK), ("src/jsonish.py", Side.PRODUCT),
        (".npmrc", Side.CHECK), (".husky/pre-commit", Side.CHECK), ("pytest.ini", Side.CHECK),
        ("build.rs", Side.PRODUCT), ("src/main/resources/texts.properties", Side.PRODUCT),
        ("src/main/resources/junit-platform.properties", Side.CHECK), ("src/test/resources/a.properties", Side.CHECK),
    ],
)  # fmt: skip
def test_the_side_of_a_new_file(path: str, side: Side) -> None:
    assert classify(path, None, NEW, CONTEXT).side is side


@pytest.mark.parametrize(
    ("path", "source", "side"),
    [
        ("src/app.py", "import _pytest.python", Side.CHECK),
        ("src/app.py", "import sys\nsys.modules['_pytest.python']", Side.CHECK),
        ("src/app.py", "import gc\n[o for o in gc.get_objects() if o.__class__.__module__ == 'unittest.case']", Side.CHECK),
        ("src/app.py", '"""Run with pytest."""\nx = 1  # pytest', Side.PRODUCT),
        ("src/plug.py", "import pytest", Side.PRODUCT),
        ("app.mjs", "import { beforeEach } from 'node:test';", Side.CHECK),
        ("src/lib.rs", "macro_rules! assert_eq { ($($t:tt)*) => {}; }", Side.CHECK),
        ("src/lib.rs", "macro_rules! assert_close { ($($t:tt)*) => {}; }", Side.PRODUCT),
    ],
)  # fmt: skip
def test_a_source_that_uses_the_test_framework_is_a_part_of_the_checks(
    path: str, source: str, side: Side
) -> None:
    assert classify(path, b"x = 0\n", source.encode(), CONTEXT).side is side


@pytest.mark.parametrize(
    ("path", "old", "new", "same"),
    [
        ("tests/test_a.py", "assert f(1) == 'a'\n", 'assert f(1)  ==  "a"  # why\n', True),
        ("tests/test_a.py", "assert f(1) == 'a'\n", "assert f(1)  # noqa\n", False),
        ("tests/test_a.py", "import a\n", "import a  # noqa: F401\n", False),
        ("golden/a.json", '{"a": 1, "b": 2}', '{\n  "a": 1,\n  "b": 2\n}\n', True),
        ("golden/a.json", '{"a": 1}', '{"a": 2}', False),
        ("ci/a.yaml", "a: [1, 2]\n", "a:\n- 1\n- 2\n", True),
        ("a.test.ts", "test('a', () => {\nx();\n});\n", "test('a', () => {\n  x();\n\n});\n", True),
        ("a.test.ts", "x(); // no\ny();\n", "x(); // no y();\n", False),
        ("check.sh", "exit 1\n", "  exit 1\n", False),
    ],
)  # fmt: skip
def test_what_means_the_same_is_no_change(path: str, old: str, new: str, same: bool) -> None:
    found = classify(path, old.encode(), new.encode())
    assert (found.side is Side.IGNORED) is same


@pytest.mark.parametrize(
    ("name", "old", "new", "side"),
    [
        ("pyproject.toml", '[project]\nversion = "1"\n', '[project]\nversion = "2"\n', Side.PRODUCT),
        ("pyproject.toml", "[tool.pytest.ini_options]\nx = 1\n", "[tool.pytest.ini_options]\nx = 2\n", Side.CHECK),
        ("pyproject.toml", "", '[tool.uv]\noverride-dependencies = ["pytest @ file:///fake"]\n', Side.CHECK),
        ("pyproject.toml", "", '[tool.uv]\nindex-url = "https://example.org"\n', Side.PRODUCT),
        ("package.json", '{"dependencies": {}}', '{"dependencies": {"a": "1"}}', Side.PRODUCT),
        ("package.json", '{"scripts": {"test": "jest"}}', '{"scripts": {"test": "true"}}', Side.CHECK),
        ("package.json", '{"type": "commonjs"}', '{"type": "module", "imports": {"#a": "./a.js"}}', Side.PRODUCT),
        ("go.mod", "module m\n", "module m\n\nrequire x v1\n", Side.PRODUCT),
        ("go.mod", "module m\n", "module m\n\nreplace x => ./x\n", Side.CHECK),
        ("Cargo.toml", '[workspace]\nmembers = ["a"]\n', '[workspace]\nmembers = ["a", "b"]\n', Side.PRODUCT),
        ("Cargo.toml", '[workspace]\nmembers = ["a", "b"]\n', '[workspace]\nmembers = ["b", "c"]\n', Side.CHECK),
    ],
)  # fmt: skip
def test_dependencies_are_product_and_settings_are_not(
    name: str, old: str, new: str, side: Side
) -> None:
    assert classify(name, old.encode(), new.encode()).side is side


RUST = (
    '#[cfg(test)]\nmod tests {\n    #[test]\n    fn some() { assert_eq!(super::f("}"), 3); }\n}\n'
)
EXAMPLE = "//! ```\n//! assert_eq!(f(), 3);\n//! ```\n"


@pytest.mark.parametrize(
    ("path", "old", "new", "kept"),
    [
        ("src/lib.rs", f"fn f() {{ 0 }}\n\n{RUST}", f"fn f() {{ 1 }}\n\n{RUST.replace('3', '1')}\nfn g() {{}}\n", '"}"), 3)'),
        ("src/lib.rs", f"{EXAMPLE}fn f() {{ 0 }}\n", f"{EXAMPLE.replace('3', '1')}fn f() {{ 1 }}\nfn g() {{}}\n", "f(), 3)"),
        ("f.py", "def test_f():\n    assert f() == 3\n", "def test_f():\n    assert f() == 1\n\n\ndef f(): return { 1 }; fn g()", "== 3"),
        ("f.py", '"""A.\n\n>>> f()\n3\n"""', '"""B.\n\n>>> f()\n1\n"""\ndef f(): { 1 }; fn g()', "f()\n3\n"),
    ],
)  # fmt: skip
def test_the_judge_tree_has_the_tests_of_the_base_inside_product_files(
    path: str, old: str, new: str, kept: str
) -> None:
    new = new.replace("; fn g()", "  # fn g()")
    held = (judged_content(path, Side.PRODUCT, old.encode(), new.encode()) or b"").decode()
    assert "{ 1 }" in held
    assert "fn g()" in held
    assert kept in held
    assert kept.replace("3", "1") not in held


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("def is_low(a):\n    assert a < 3\n", "def is_low(a):\n    assert a < 4\n"),
        ("class SpeedTest:\n    def run(self, a):\n        assert a\n        return 3\n", "class SpeedTest:\n    def run(self, a):\n        assert a\n        return 4\n"),
    ],
)  # fmt: skip
def test_what_others_call_is_no_test_although_it_asserts(old: str, new: str) -> None:
    assert judged_content("f.py", Side.PRODUCT, old.encode(), new.encode()) == new.encode()


CASE = "import unittest\n\nN = 3\n\n\nclass FTest(unittest.TestCase):\n    def test_f(self): self.assertEqual(f(), N)\n"


@pytest.mark.parametrize("more", ["\n\nFTest.test_f = print\n", "\n\nglobals()['FTest'] = print\n"])
def test_the_tests_in_a_source_and_their_values_come_last(more: str) -> None:
    new = f"def f(): return 0\n\n\n{CASE}{more}".replace("N = 3", "N = 0")
    assert classify("f.py", CASE.encode(), new.encode()).side is Side.PRODUCT
    held = (judged_content("f.py", Side.PRODUCT, CASE.encode(), new.encode()) or b"").decode()
    assert "N = 0" not in held
    assert held.index(more.strip()) < held.index("N = 3") < held.index("class FTest")
    layout = CASE.replace("(f(), N)", "( f(), N )").encode()
    assert judged_content("f.py", Side.IGNORED, CASE.encode(), layout) == layout
    other = CASE.replace("import unittest", "import unittest, app")  # the tests may be of app
    assert classify("f.py", other.encode(), f"{other}x = 1\n".encode()).side is Side.CHECK


def test_a_build_that_only_lists_new_sources_is_product() -> None:
    context = Context(compiled=((), {"add.c", "add.o"}))
    old = b"SRCS = total.c\ntest: all\n\tsh bin/same 3\n"
    listed, ran = old.replace(b"l.c", b"l.c add.c"), old.replace(b"sh bin", b"sh add.c bin")
    assert classify("Makefile", old, listed, context).side is Side.PRODUCT
    assert classify("Makefile", old, ran, context).side is Side.CHECK
    more = listed.replace(b"\tsh", b"\t-sh") + b"tests: add\n\t./add\n"
    assert classify("Makefile", old, more, context).side is Side.CHECK
    assert judged_content("Makefile", Side.CHECK, old, more, context) == listed


def test_the_judge_tree_lists_the_sources_of_the_claim_in_the_build_of_the_base() -> None:
    context = Context(compiled=({"one.c"}, {"sum.c", "max.c"}))
    old = b"add_library(total\n  src/one.c\n  src/two.c)\nadd_test(NAME a COMMAND a)\n"
    new = b"add_library(total\n  src/sum.c\n  src/two.c\n  src/max.c)\nadd_test(NAME a COMMAND true src/max.c)\n"
    held = judged_content("CMakeLists.txt", Side.CHECK, old, new, context)
    assert held == new.replace(b"true src/max.c", b"a")


def test_other_values_leave_the_names_of_variables_and_modules() -> None:
    kept = b'    if (getenv("SKIP_SLOW")) return 0;\nimport (\n\t"testing"\n\n\tsum "example.org/m"\n)\ndone_testing(2);\n'
    assert other_values(kept) == kept
    assert other_values(b'same(text, "SKIP_SLOW", 1);\n') == b'same(text, "SKIP_SLOW7", 10);\n'
    named = b"for _, name in ipairs({ 'test_sum', 'other' }) do\n"
    assert other_values(named, {"test_sum"}) == named.replace(b"other", b"other7")


@pytest.mark.parametrize(
    ("path", "old", "new", "held"),
    [
        ("src/lib.rs", "fn f() {}\n", "pub mod sum;\nfn f() { g() }\n", "fn f() {}\npub mod sum;\n"),
        ("src/sum.rs", None, f"fn g() {{}}\n{RUST}", RUST),
        ("src/sum/mod.rs", None, "fn g() {}\n", "\n"),
        ("src/other.rs", None, f"fn g() {{}}\n{RUST}", None),
        ("src/lib.rs", "mod sum { fn g() {} }\n", "mod sum;\n", "mod sum { fn g() {} }\n"),
        ("src/sum.rs", "fn g() {}\n", "fn g() {}\n#[cfg(test)]\nmod tests;\n", "fn g() {}\n#[cfg(test)]\nmod tests;\n"),
    ],
)  # fmt: skip
def test_the_product_of_the_base_has_the_tests_of_new_modules(
    path: str, old: str | None, new: str, held: str | None
) -> None:
    found = with_new_tests(path, old.encode() if old else None, new.encode(), {"sum"})
    assert (found.decode().strip() if found else None) == (held.strip() if held else held)


def test_the_judge_tree_has_new_dependencies_and_the_settings_of_the_base() -> None:
    old = b'{"scripts": {"test": "jest"}}'
    new = b'{"scripts": {"test": "true"}, "dependencies": {"a": "1"}}'
    held = judged_content("package.json", Side.CHECK, old, new) or b""
    assert b"jest" in held
    assert b'"a": "1"' in held
    assert judged_content("tests/test_new.py", Side.CHECK, None, b"x") is None


def test_marks_that_silence_a_check_are_counted() -> None:
    assert (
        new_suppressions(b"import os\n", b"import os  # noqa\nx: int = ''  # type: ignore[x]\n")
        == 2
    )
    assert new_suppressions(b"", b"// anylint off\n# a-tool: disable\n# type hints are off\n") == 2
    assert new_suppressions(b"import os  # noqa\n", b"import os\n") == 0
    typed = b"class A:\n    def f(self, a: int) -> int: ...  # (x):\n\n\ndef f(): ...\n"
    for now, number in ((b"a)", 1), (b"a: int) -> Any", 1), (b"a: object) -> str", 0)):
        lost = typed.replace(b"a: int) -> int", now)
        assert new_suppressions(typed, lost) == number
        assert not number or without_new_marks(typed, lost).replace(b'"', b"") == typed
    casts = b"a = (b as any).c; d = e as unknown as F\nreturn cast(Any, text)\n"
    assert new_suppressions(b"", casts) == 3
    stricter = b"a = (b as unknown).c; d = e as F\nreturn cast(object, text)\n"
    assert without_new_marks(b"", casts) == stricter
    only = b"if not TYPE_CHECKING:\n    x = 1\n"
    assert b"if not (TYPE_CHECKING and __name__):" in without_new_marks(b"", only)
