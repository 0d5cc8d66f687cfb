import errno
import os
import stat
from pathlib import Path

import pytest

from ralph_tui.domain.errors import StoreError
from ralph_tui.store.io import files
from ralph_tui.store.io.files import append_durable, remove_stale_temps, write_atomic


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_a_new_file_is_private_whatever_the_umask(tmp_path: Path, umask: int) -> None:
    old = os.umask(umask)
    try:
        write_atomic(tmp_path / "a", b"x")
    finally:
        os.umask(old)
    assert mode(tmp_path / "a") == 0o600


@pytest.mark.parametrize("kept", [0o640, 0o664, 0o400])
def test_an_existing_file_keeps_its_mode(tmp_path: Path, kept: int) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    path.chmod(kept)
    old = os.umask(0o077)
    try:
        write_atomic(path, b"new")
    finally:
        os.umask(old)
    assert (path.read_bytes(), mode(path)) == (b"new", kept)


def test_a_reader_keeps_the_old_content(tmp_path: Path) -> None:
    path = tmp_path / "a"
    write_atomic(path, b"old")
    with path.open("rb") as reader:
        write_atomic(path, b"new")
        assert reader.read() == b"old"


def test_short_writes_are_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: real(fd, data[:3]))
    write_atomic(tmp_path / "a", b"0123456789")
    append_durable(tmp_path / "a", b"abcdefgh\n")
    assert (tmp_path / "a").read_bytes() == b"0123456789\nabcdefgh\n"


def test_a_symlink_within_the_directory_is_written_through(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to("real")
    write_atomic(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"


@pytest.mark.parametrize("target", ["../outside", "/etc/hostname", "link", "hop"])
def test_a_symlink_that_leaves_the_directory_is_refused(tmp_path: Path, target: str) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (tmp_path / "outside").write_bytes(b"old")
    (home / "hop").symlink_to("../outside")
    (home / "link").symlink_to(target)
    for act in (write_atomic, append_durable):
        with pytest.raises(StoreError, match="symlink"):
            act(home / "link", b"new")
    assert (tmp_path / "outside").read_bytes() == b"old"


def test_append_ends_an_unfinished_line(tmp_path: Path) -> None:
    path = tmp_path / "log"
    append_durable(path, b"one\n")
    path.write_bytes(b"one\ntwo")
    append_durable(path, b"three\n")
    assert path.read_bytes() == b"one\ntwo\nthree\n"


@pytest.mark.parametrize("call", ["write", "fsync"])
def test_a_failed_append_leaves_no_part_of_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    path = tmp_path / "log"
    append_durable(path, b"one\n")
    real, calls = os.write, []

    def full(fd: int, data: bytes) -> int:
        calls.append(data)
        if len(calls) > 1:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(fd, data[:2])

    def broken(_: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(os, call, full if call == "write" else broken)
        with pytest.raises(StoreError, match="append to"):
            append_durable(path, b"two\n")
    assert path.read_bytes() == b"one\n"


def test_a_full_disk_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(StoreError) as caught:
        write_atomic(tmp_path / "a", b"x")
    assert str(tmp_path / "a") in caught.value.message
    assert "No space left" in caught.value.message
    assert "disk space" in caught.value.hint
    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_cannot_be_synced_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.fsync

    def picky(fd: int) -> None:
        if stat.S_ISDIR(os.fstat(fd).st_mode):
            raise OSError(errno.EINVAL, "Invalid argument")
        real(fd)

    monkeypatch.setattr(os, "fsync", picky)
    write_atomic(tmp_path / "a", b"x")
    assert (tmp_path / "a").read_bytes() == b"x"


def test_temporary_files_of_dead_writers_are_removed_and_no_others(tmp_path: Path) -> None:
    dead = files.stage(tmp_path / "a", b"x")
    gone = dead.rename(tmp_path / f".a.{2**22 + 1}-abcd.tmp")
    editors = (".a.swp", "a~", "#a#", ".#a", "4913", "a.orig")
    kept = [tmp_path / ".a.x-1.tmp", tmp_path / f".a.{os.getppid()}-1.tmp", tmp_path / "b.tmp"]
    kept += [tmp_path / name for name in editors]
    for path in kept:
        path.touch()
    remove_stale_temps(tmp_path)
    assert not gone.exists()
    assert all(path.exists() for path in kept)
