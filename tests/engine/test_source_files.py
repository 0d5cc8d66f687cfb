"""Loading a file to import: one sentence for whatever is no readable text, and never a wait."""

import os
from pathlib import Path

import pytest

from ralph_tui.domain.errors import StoreError
from ralph_tui.engine.control.import_sources import load_source
from ralph_tui.interop.formats import MAX_BYTES, InteropError


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    return project


def refused(root: Path, given: str) -> InteropError:
    with pytest.raises(InteropError) as error:
        load_source(root, given)
    assert error.value.message.count("\n") == 0
    return error.value


def test_text_comes_without_its_mark_and_with_its_line_ends(root: Path) -> None:
    (root / "plan.md").write_bytes("\ufeff- [ ] Größe\r\n".encode())
    loaded = load_source(root, "./plan.md")
    assert (loaded.source.name, loaded.source.text, loaded.path) == (
        "./plan.md",
        "- [ ] Größe\r\n",
        "plan.md",
    )


@pytest.mark.parametrize(
    ("data", "line", "said"),
    [
        ("ok\nGröße\n".encode("latin-1"), 2, "byte 0xf6 is not UTF-8"),
        ("plan".encode("utf-16"), 1, "UTF-16"),
        (b"a\nb\0c\n", 2, "NUL"),
    ],
)
def test_what_is_no_utf8_text_is_told_with_its_line(
    root: Path, data: bytes, line: int, said: str
) -> None:
    (root / "plan.md").write_bytes(data)
    error = refused(root, "plan.md")
    assert (error.file, error.line) == ("plan.md", line)
    assert said in error.what


def test_what_is_no_file_is_refused_without_waiting(root: Path, tmp_path: Path) -> None:
    os.mkfifo(root / "pipe")
    (tmp_path / "secret").write_text("x")
    (root / "link.md").symlink_to(tmp_path / "secret")
    (root / "elsewhere").symlink_to(tmp_path)
    (root / "loop").symlink_to("loop")
    assert "not a regular file" in refused(root, "pipe").what
    assert "not a regular file" in refused(root, "/dev/zero").what
    assert "link to a place outside the project" in refused(root, "link.md").what
    assert "link to a place outside the project" in refused(root, "elsewhere").what
    assert "does not exist" in refused(root, "nothing.md").what
    with pytest.raises(StoreError, match="leaves its directory"):
        load_source(root, "loop")
    (root / "large.md").write_bytes(b"x" * (MAX_BYTES + 1))
    with pytest.raises(StoreError, match="more than the maximum"):
        load_source(root, "large.md")
    assert "not a valid file name" in refused(root, "a\0b").what


def test_a_link_inside_the_project_and_a_file_outside_are_read(root: Path, tmp_path: Path) -> None:
    (root / "real.md").write_text("in")
    (root / "link.md").symlink_to("real.md")
    (tmp_path / "other.md").write_text("out")
    assert load_source(root, "link.md").path == "real.md"
    assert load_source(root, "../other.md").path == str(tmp_path / "other.md")
