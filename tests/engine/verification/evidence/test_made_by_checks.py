"""What a check creates is not the work, unless it is the lock file of the project's own tool."""

from pathlib import Path

import pytest

from ralph_tui.engine.verification.evidence.trusted_base import MadeByChecks
from ralph_tui.engine.verification.judge_tree import JudgeTree
from tests.engine.verification.evidence.projects import Tried, write


def test_what_a_check_creates_is_the_work_once_something_else_changes_it(tmp_path: Path) -> None:
    write(tmp_path, {"app.py": "x = 1\n"})
    made, tree = MadeByChecks(tmp_path), JudgeTree(tmp_path)
    before = made.before(tree)
    write(tmp_path, {"report.xml": "1", "app.py": "x = 2\n"})  # a formatter changed the source
    made.after(tree, before)
    assert made.paths == {"report.xml"}
    write(tmp_path, {"report.xml": "by hand"})
    before = made.before(tree)
    assert made.paths == set()
    write(tmp_path, {"report.xml": "2"})
    made.after(tree, before)
    assert made.paths == {"report.xml"}


def test_what_checks_build_is_not_what_others_wrote(tmp_path: Path) -> None:
    write(tmp_path, {".gitignore": "target\ndist\nc\n", "target/old.o": "", "c/CACHEDIR.TAG": ""})
    made, tree = MadeByChecks(tmp_path), JudgeTree(tmp_path)
    before = made.before(tree)
    write(tmp_path, {"target/app.o": ""})
    made.after(tree, before)
    write(tmp_path, {"dist/app.js": ""})
    before = made.before(tree)
    assert made.others == {"dist"}
    write(tmp_path, {"target/more.o": ""})
    made.after(tree, before)
    made.before(tree)
    assert made.others == {"dist"}, "as before the first claim"


def test_what_installs_packages_keeps_their_versions_as_work(tmp_path: Path) -> None:
    write(tmp_path, {"app.py": ""})
    made, tree = MadeByChecks(tmp_path), JudgeTree(tmp_path)
    before = made.before(tree)
    locks = ("api/Cargo.lock", "go.sum", "package-lock.json", "pnpm-lock.yaml", "uv.lock")
    write(tmp_path, dict.fromkeys((*locks, "lock.txt", "locks/a.xml"), ""))
    made.after(tree, before)
    assert made.paths == {"lock.txt", "locks/a.xml"}


async def test_a_source_of_the_same_size_and_second_is_read_anew_in_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")  # or each check compiles all anew
    look = """test -z "$PYTHONDONTWRITEBYTECODE" && python3 -S -c 'import m; assert m.x == int(open("n").read())'"""
    tried, made = Tried(tmp_path, {"m.py": "x = 8\n", "n": "8"}, look), MadeByChecks(tmp_path)
    for number in range(8):
        write(tmp_path, {"m.py": f"x = {number}\n", "n": f"{number}"})
        made.before(tried.tree)
        assert (await tried.claim()).passed
