"""Check files: which they are, whose changes count, and how quickly they are looked at."""

import json
import os
import time
from pathlib import Path

import pytest

from ralph_tui.engine.verification.evidence.check_files import (
    MOST_BYTES,
    CheckFiles,
    only_adds_tests,
)
from ralph_tui.engine.verification.evidence.check_paths import CheckInputs, walk
from ralph_tui.engine.verification.evidence.settings_parts import (
    controlling_part,
    with_original_part,
)
from tests.engine.verification.evidence.projects import PROJECT, Changes, write

COMMANDS = ("uv run pytest", "sh scripts/check.sh", "make test")
FILES = {
    **PROJECT,
    "scripts/check.sh": ". ./scripts/common.sh\nsh run.sh | diff - scripts/expected.txt\n",
    "scripts/common.sh": "",
    "scripts/expected.txt": "3\n",
    "run.sh": "echo 3\n",
    "Makefile": "test:\n\ttrue\n",
    "web/app.test.ts": "",
    "web/app.ts": "",
    "web/vitest.config.ts": "",
    ".cargo/config.toml": "",
    "tests/data/golden.json": "{}",
    "src/pkg/conftest.py": "",
    "README.md": "",
    "node_modules/x/package.json": "{}",
}


def project(root: Path, files: Changes = FILES) -> CheckFiles:
    write(root, files)
    return CheckFiles(root)


def test_what_belongs_to_checks(tmp_path: Path) -> None:
    project(tmp_path)
    found = {path for path, _ in walk(tmp_path, CheckInputs(tmp_path, COMMANDS))}
    assert found == {*FILES} - {
        "total.py",
        "run.sh",
        "web/app.ts",
        "README.md",
        "node_modules/x/package.json",
    }


@pytest.mark.parametrize(
    ("command", "words", "watched"),
    [
        ("python app.py", "Fix the parser", True),
        ("python app.py", "Fix app.py", False),
        ("python check_app.py", "Make check_app.py pass", True),
        ("shellcheck run.sh", "Fix it", False),
        ("./run.sh", "Fix it", True),
        ("cat README.md", "Write it", False),
    ],
)
def test_a_file_that_a_check_runs_is_the_check_or_the_work(
    tmp_path: Path, command: str, words: str, watched: bool
) -> None:
    write(tmp_path, {"app.py": "", "check_app.py": "", "run.sh": "", "README.md": ""})
    assert bool(CheckInputs(tmp_path, [command], words).named) is watched


def test_what_the_agent_does_is_a_change_and_what_the_person_does_is_not(tmp_path: Path) -> None:
    files = project(tmp_path)
    files.begin("a", COMMANDS)
    write(
        tmp_path, {"tests/test_total.py": "weak", "scripts/check.sh": None, "conftest.py": "x = 1"}
    )
    write(
        tmp_path, {"total.py": "x", "tests/test_more.py": "def test_x(): ...", "README.md": "new"}
    )
    found = files.changes(COMMANDS)
    assert found.names == (
        "tests/test_total.py (changed)",
        "scripts/check.sh (deleted)",
        "conftest.py (new)",
    )
    assert found.new_tests == ("tests/test_more.py",)
    files.end(COMMANDS)

    later = CheckFiles(tmp_path)  # another run
    write(tmp_path, {"Makefile": "test:\n\tfalse\n", "scripts/check.sh": FILES["scripts/check.sh"]})
    assert later.changes(COMMANDS).names == ("tests/test_total.py (changed)", "conftest.py (new)")
    later.begin("a", COMMANDS)
    assert later.changes(COMMANDS).names == ("tests/test_total.py (changed)", "conftest.py (new)")
    assert later.original("tests/test_total.py") == PROJECT["tests/test_total.py"].encode()
    assert later.original("Makefile") == b"test:\n\tfalse\n"


def test_after_a_kill_nothing_becomes_the_persons(tmp_path: Path) -> None:
    project(tmp_path).begin("a", COMMANDS)
    write(tmp_path, {"tests/test_total.py": "weak"})
    again = CheckFiles(tmp_path)
    again.begin("a", COMMANDS)
    assert again.changes(COMMANDS).names == ("tests/test_total.py (changed)",)


def test_where_originals_cannot_be_kept_they_are_known_for_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "/proc/nowhere")
    files = project(tmp_path)
    files.begin("a", COMMANDS)
    assert files.store.trouble
    write(tmp_path, {"tests/test_total.py": "weak"})
    assert files.changes(COMMANDS).names == ("tests/test_total.py (changed)",)
    restored = files.originals(files.changes(COMMANDS).changed)
    assert restored == {"tests/test_total.py": ("100644", PROJECT["tests/test_total.py"].encode())}


def test_what_changes_in_a_session_without_a_task_is_the_agents(tmp_path: Path) -> None:
    files = project(tmp_path)
    files.begin("", COMMANDS)
    write(tmp_path, {"tests/test_total.py": "weak"})
    files.end(COMMANDS)
    files.begin("a", COMMANDS)
    assert files.changes(COMMANDS).names == ("tests/test_total.py (changed)",)


def test_an_accepted_task_is_trusted_and_what_another_left_is_not(tmp_path: Path) -> None:
    files = project(tmp_path)
    files.begin("a", COMMANDS)
    write(tmp_path, {"tests/test_total.py": "weak"})  # a is not accepted
    files.end(COMMANDS)
    files.begin("b", COMMANDS)
    write(tmp_path, {"tests/test_b.py": "def test_b(): ..."})
    files.accept("b", COMMANDS)
    files.end(COMMANDS)
    files.begin("a", COMMANDS)
    write(tmp_path, {"tests/test_b.py": "weak"})
    assert files.changes(COMMANDS).names == (
        "tests/test_b.py (changed)",
        "tests/test_total.py (changed)",
    )


def test_what_changes_after_the_checks_ran_is_not_trusted(tmp_path: Path) -> None:
    files = project(tmp_path)
    files.begin("a", COMMANDS)
    write(tmp_path, {"tests/test_total.py": "judged"})
    files.changes(COMMANDS)
    write(tmp_path, {"tests/test_total.py": "weak", "conftest.py": "x = 1"})
    files.accept("a", COMMANDS)
    files.end(COMMANDS)
    files.begin("b", COMMANDS)
    assert files.changes(COMMANDS).names == ("tests/test_total.py (changed)", "conftest.py (new)")
    assert files.original("tests/test_total.py") == b"judged"


def test_only_the_part_that_steers_checks_counts(tmp_path: Path) -> None:
    files = project(tmp_path)
    files.begin("a", COMMANDS)
    text = FILES["pyproject.toml"]
    write(
        tmp_path,
        {"pyproject.toml": text.replace('"1"', '"2"'), "package.json": '{"dependencies": {}}'},
    )
    assert not files.changes(COMMANDS)
    write(tmp_path, {"pyproject.toml": text.replace('["."]', '["fake"]').replace('"1"', '"2"')})
    assert files.changes(COMMANDS).names == ("pyproject.toml (changed)",)
    restored = files.originals(("pyproject.toml",))
    assert restored["pyproject.toml"][1].decode() == text.replace('"1"', '"2"')


@pytest.mark.parametrize(
    ("name", "current", "original", "merged"),
    [
        ("pyproject.toml", "not [toml", "[tool.pytest]\na = 1\n", "[tool.pytest]\na = 1\n"),
        (
            "pyproject.toml",
            "[tool]\npytest = {a = 2}\n",
            "[tool.pytest]\na = 1\n",
            "[tool.pytest]\na = 1\n",
        ),
        ("pytest.ini", "[pytest]\nx=1", "[pytest]\n", "[pytest]\n"),
    ],
)
def test_where_parts_cannot_be_told_apart_the_whole_original_counts(
    name: str, current: str, original: str, merged: str
) -> None:
    assert with_original_part(name, current.encode(), original.encode()) == merged.encode()


def test_what_takes_the_place_of_pytest_steers_and_dependencies_do_not() -> None:
    before = b'[project]\nname = "x"\n'
    fake = b'[tool.uv]\noverride-dependencies = ["pytest @ file:///tmp/fake"]\n'
    assert controlling_part("pyproject.toml", before + fake) != controlling_part(
        "pyproject.toml", before
    )
    more = before + b'dependencies = ["rich"]\n[tool.uv]\nindex-url = "https://example.org"\n'
    assert controlling_part("pyproject.toml", more) == controlling_part("pyproject.toml", before)


def test_package_scripts_steer_and_dependencies_do_not() -> None:
    before = json.dumps({"scripts": {"test": "jest"}, "dependencies": {}}).encode()
    after = json.dumps({"scripts": {"test": "true"}, "dependencies": {"a": "1"}}).encode()
    assert controlling_part("package.json", before) != controlling_part("package.json", after)
    merged = json.loads(with_original_part("package.json", after, before))
    assert merged == {"scripts": {"test": "jest"}, "dependencies": {"a": "1"}}


def test_a_large_file_with_the_same_size_and_time_is_another(tmp_path: Path) -> None:
    files = project(tmp_path)
    large = tmp_path / "tests" / "large.txt"
    large.write_bytes(b"3" + bytes(MOST_BYTES))
    files.begin("a", COMMANDS)
    info = large.stat()
    with large.open("r+b") as opened:
        opened.write(b"0")
    os.utime(large, ns=(info.st_atime_ns, info.st_mtime_ns))
    assert files.changes(COMMANDS).names == ("tests/large.txt (changed)",)


@pytest.mark.parametrize(
    ("source", "adds"),
    [
        (
            "import app\n\ndef test_x(monkeypatch):\n    monkeypatch.setattr(app, 'x', 1)\n    assert app.x\n",
            True,
        ),
        ("class TestX:\n    def test(self):\n        self.x = 1\n", True),
        ("import app\napp.total = sum\n", False),
        ("def test_x():\n    import app\n    app.total = sum\n", False),
        ("import app\nsetattr(app, 'total', sum)\n", False),
        ("import sys\nsys.modules['app'] = None\n", False),
        ("import _pytest.python\n", False),
        ("import app\napp.KNOWN.update(a=1)\n", False),
        ("import app\n\ndef test_x():\n    found = {}\n    found.update(a=app.a)\n", True),
        ("from unittest.mock import patch\npatch('app.x').start()\n", False),
        ("from unittest.mock import patch\n\n@patch('app.x')\ndef test_x(x): ...\n", True),
        ("def (", False),
    ],
)
def test_a_file_that_only_adds_tests(source: str, adds: bool) -> None:
    assert only_adds_tests(source.encode()) is adds


@pytest.mark.long
def test_a_look_at_twenty_thousand_files_is_quick(tmp_path: Path) -> None:
    for number in range(200):
        directory = tmp_path / ("tests" if number < 20 else "src") / f"d{number}"
        directory.mkdir(parents=True)
        for name in range(100):
            (directory / f"f{name}.py").touch()
    files = CheckFiles(tmp_path)
    files.begin("a", ["uv run pytest"])
    started = time.process_time()
    assert not files.changes(["uv run pytest"])
    assert time.process_time() - started < 1.0, "milliseconds on an idle machine"
