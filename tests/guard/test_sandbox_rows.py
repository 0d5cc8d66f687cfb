"""What the guard's text rules let through and the sandbox holds: each such row of the corpora is played in it."""

import hashlib
import os
import subprocess
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ralph_tui.guard.sandbox.os_sandbox import cli_sandbox_prefix, sandbox_for
from tests.guard.corpora import ADVERSARIAL, CORPUS, classes

ROWS = [command for _, expect, command, _ in classes() if expect == "sandbox"] + [
    line["command"] for line in CORPUS + ADVERSARIAL if line["expect"] == "sandbox"
]
_MOST_SECONDS = 5
_KEY = "of the person"
_IDENTITY = ("-c", "user.name=a", "-c", "user.email=a@example.com")
_OUTSIDE = ("/etc", "/srv", "/home", "/opt")


def git(root: Path, *words: str) -> None:
    subprocess.run(["git", *_IDENTITY, *words], cwd=root, check=True, capture_output=True)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A person's home, a project with a remote, and a neighbor of the project."""
    root, home, remote = tmp_path / "above/proj", tmp_path / "home", tmp_path / "remote.git"
    for directory in (root / ".ralph", root / "build", tmp_path / "above/other", home / ".ssh"):
        directory.mkdir(parents=True)
    for file in (".bashrc", ".npmrc", ".profile", ".zshrc", ".ssh/id_rsa"):
        (home / file).write_text(f"# {_KEY}\n", encoding="utf-8")
    identity = "[user]\nname = a\nemail = a@example.com\n"
    (home / ".gitconfig").write_text(identity, encoding="utf-8")
    for file in (".ralph/state.json", ".ralph/tasks.json", "x", "f", "files.txt", "README.md"):
        (root / file).write_text("git push\n", encoding="utf-8")
    git(tmp_path, "init", "-q", "--bare", str(remote))
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "x", "f")
    git(root, "commit", "-qm", "first")
    git(root, "remote", "add", "origin", str(remote))
    git(root, "config", "push.default", "current")
    return tmp_path


def held(place: Path) -> Mapping[str, str]:
    """What a command must not change, each file with its digest, and the names in system directories."""
    found = [
        path
        for inside in ("home", "remote.git", "above/other", "above/proj/.git", "above/proj/.ralph")
        for path in (place / inside).rglob("*")
        if ".cache" not in path.parts  # of package managers, which may write there
    ]
    found.append(Path("/etc/passwd"))
    digests = {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        for path in found
    }
    listed = {
        str(directory): " ".join(sorted(path.name for path in directory.iterdir()))
        for directory in (*map(Path, _OUTSIDE), place / "above")
    }
    return {**digests, **listed}


def play(place: Path, row: str, *, confined: bool) -> str:
    """Run a row in the project; return what it printed."""
    root, home = place / "above/proj", place / "home"
    environ = {"HOME": str(home), "PATH": os.environ["PATH"]}
    prefix = cli_sandbox_prefix(sandbox_for(root, home, environ), root) if confined else ()
    words = [*prefix, "bash", "-c", row.replace("/home/me", str(home))]
    out, into = subprocess.PIPE, subprocess.STDOUT
    with subprocess.Popen(
        words, cwd=root, env=environ, stdin=subprocess.DEVNULL, stdout=out, stderr=into
    ) as started:
        try:
            told, _ = started.communicate(timeout=_MOST_SECONDS)
        except subprocess.TimeoutExpired:  # it stopped itself, and everything in its sandbox
            started.kill()
            told, _ = started.communicate()
    return told.decode("utf-8", "replace")


@pytest.mark.needs("sandbox")
def test_what_the_text_rules_let_through_has_no_effect_in_the_sandbox(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN", _KEY)
    before = held(place)
    with ThreadPoolExecutor(8) as pool:
        told = list(pool.map(lambda row: play(place, row, confined=True), ROWS))
    assert [row for row, text in zip(ROWS, told, strict=True) if _KEY in text] == []
    assert held(place) == before
    assert len(ROWS) > 150


@pytest.mark.parametrize("row", ["git commit -qam x", "echo x >>~/.bashrc", "echo x >../other/x"])
def test_the_same_look_finds_what_the_sandbox_would_hold(place: Path, row: str) -> None:
    before = held(place)
    assert play(place, f"{row}; cat ~/.ssh/id_rsa", confined=False).endswith(f"{_KEY}\n")
    assert held(place) != before
