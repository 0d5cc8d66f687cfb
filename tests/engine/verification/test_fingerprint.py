"""The project's files stand for what is in them, not for when they were written."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from ralph_tui.engine.verification import fingerprint
from ralph_tui.engine.verification.fingerprint import Fingerprinter

Change = Callable[[Path], object]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "app.py").write_text("x = 1\n")
    (tmp_path / "link").symlink_to("app.py")
    (tmp_path / "dir").mkdir()
    (tmp_path / "dir/b.txt").write_text("b")
    return tmp_path


def replaced(path: Path) -> None:
    info = path.stat()
    path.with_suffix(".new").write_text("x = 2\n")
    path.with_suffix(".new").replace(path)
    os.utime(path, ns=(info.st_atime_ns, info.st_mtime_ns))


@pytest.mark.parametrize(
    "change",
    [
        lambda root: (root / "app.py").write_text("x = 2\n"),
        lambda root: replaced(root / "app.py"),
        lambda root: (root / "new.py").touch(),
        lambda root: (root / "dir/b.txt").unlink(),
        lambda root: (root / "app.py").chmod(0o755),
        lambda root: (root / "app.py").rename(root / "dir/app.py"),
        lambda root: [(root / "link").unlink(), (root / "link").symlink_to("dir/b.txt")],
        lambda root: os.mkfifo(root / "pipe"),  # nobody writes into it: to read is to hang
    ],
)
def test_other_contents_are_seen(project: Path, change: Change) -> None:
    looks = Fingerprinter(project)
    before = looks.digest()
    change(project)
    assert before
    assert looks.digest() not in ("", before)


def test_the_same_contents_are_the_same_whoever_looks(project: Path) -> None:
    looks = Fingerprinter(project)
    before = looks.digest()
    (project / "app.py").write_text("x = 2\n")
    (project / ".venv").mkdir()
    (project / ".venv/x").touch()
    assert looks.digest() != before
    (project / "app.py").unlink()
    (project / "app.py").write_text("x = 1\n")
    assert looks.digest() == Fingerprinter(project).digest() == before


@pytest.mark.parametrize(("limit", "value"), [("MOST_FILES", 2), ("MOST_BYTES", 3)])
def test_a_project_that_is_too_large_is_not_looked_at(
    project: Path, monkeypatch: pytest.MonkeyPatch, limit: str, value: int
) -> None:
    monkeypatch.setattr(fingerprint, limit, value)
    looks = Fingerprinter(project)
    assert looks.digest() == ""
    monkeypatch.setattr(fingerprint, "files_of", lambda _: pytest.fail("it was looked at again"))
    assert looks.digest() == ""
