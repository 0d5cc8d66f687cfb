"""The words of the command line: each help in `__snapshots__/test_words.ambr`, and whole sessions in `sessions/`.

A session is a text that begins in a project of three tasks. It has `$ ralph ...` (`<<< text` is standard input), `> FILE text` to
write a file, `$ loop` and `$ no loop` around a loop that runs, `$ cat FILE`, `$ ln TARGET NAME` and `$ rm NAME`. What follows a line in the file, further
in, is what it said: standard error after `!`, then the status and the files that it wrote or removed.
`pytest tests/cli/test_words.py --snapshot-update` writes down what is said now. Look at each change before you commit it.
"""

import os
import re
import shlex
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from ralph_tui.cli.app import command_tree
from ralph_tui.store.layout import Layout
from ralph_tui.store.lock import LoopLock
from tests.cli.processes import inside
from tests.harness.projects import make_project, task
from tests.harness.tables import spelled

SESSIONS = sorted(Path(__file__).with_name("sessions").glob("*.txt"))
UNTOLD = (".ralph/lock", ".ralph/write.lock", ".ralph/logs", ".ralph/.gitignore")
"""Files whose changes are nobody's business."""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr("ralph_tui.cli.doctor.checks.check_layers", lambda *_: ())
    tasks = [
        task("task-1", description="Write the parser"),
        task("task-2", description="Test the parser", dependencies=["task-1"]),
        task("task-3", description="Write the guide"),
    ]
    return make_project(tmp_path / "sample", tasks)


def files(root: Path) -> dict[str, bytes]:
    """Read the project, and what stands beside it."""
    found = {os.path.relpath(p, root): p for p in root.parent.rglob("*") if p.is_file()}
    return {name: p.read_bytes() for name, p in found.items() if not name.startswith(UNTOLD)}


def changes(before: dict[str, bytes], after: dict[str, bytes]) -> str:
    written = sorted(name for name in after if after[name] != before.get(name))
    removed = sorted(before.keys() - after)
    parts = {"wrote": ", ".join(written), "removed": ", ".join(removed)}
    return "; ".join(f"{what} {names}" for what, names in parts.items() if names)


def told(words: list[str], root: Path, stdin: str = "") -> str:
    """What a command says, its status, and what it wrote."""
    before = files(root)
    done = inside(*words, cwd=root, stdin=stdin)
    lines = [*done.stdout.splitlines(), *(f"! {line}" for line in done.stderr.splitlines())]
    last = f"[{done.returncode}] {changes(before, files(root))}".rstrip()
    return steady("\n".join((*lines, last, "")), root)


def steady(text: str, root: Path) -> str:
    """Leave out what differs from day to day or machine to machine."""
    text = text.replace(str(root.parent), "").replace(os.environ["HOME"], "~")
    text = re.sub(rf"\b(pid\"?:?|process) {os.getpid()}\b", r"\1 PID", text)
    text = text.replace(f'"host": "{socket.gethostname()}"', '"host": HOST')
    text = re.sub(r" on \S+ since [\d-]+ [\d:]+ UTC", " on HOST since WHEN", text)
    text = re.sub(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d)?(\.\d+)?(Z|\+00:00)?)?", "WHEN", text)
    return re.sub(r"\b(?=[a-f]*\d)[0-9a-f]{12,16}\b", "ID", text)


def replayed(text: str, root: Path) -> Iterator[str]:
    lock = LoopLock(Layout(root))
    for line in text.splitlines():
        if line[:1] == " ":
            continue
        yield line
        sign, _, rest = line.partition(" ")
        if sign == ">":
            name, _, written = rest.partition(" ")
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_bytes(spelled(written))
        elif sign == "$":
            words = shlex.split(rest)
            if words == ["loop"]:
                lock.acquire("run-1")
            elif words == ["no", "loop"]:
                lock.release()
            elif words[0] == "cat":
                text_of = (root / words[1]).read_text(encoding="utf-8")
                yield from indented(steady(text_of, root))
            elif words[0] == "ln":
                (root / words[2]).symlink_to(words[1])
            elif words[0] == "rm":
                place = root / words[1]
                shutil.rmtree(place) if place.is_dir() else place.unlink()
            else:
                at = words.index("<<<") if "<<<" in words else len(words)
                stdin = spelled("".join(words[at + 1 :])).decode()
                yield from indented(told(words[1:at], root, stdin))
    lock.release()


def indented(text: str) -> Iterator[str]:
    yield from (f"    {line}".rstrip() for line in text.splitlines() if line.strip())


@pytest.mark.parametrize("path", SESSIONS, ids=lambda path: path.stem)
def test_a_session(path: Path, root: Path, pytestconfig: pytest.Config) -> None:
    text = path.read_text(encoding="utf-8")
    now = "".join(f"{line}\n" for line in replayed(text, root))
    if pytestconfig.option.update_snapshots:
        path.write_text(now, encoding="utf-8")
    else:
        assert now == text


def test_help(root: Path, snapshot: SnapshotAssertion) -> None:
    tree = command_tree().commands
    groups = {name: getattr(command, "commands", {}) for name, command in tree.items()}
    within = [f"{name} {inner}" for name, inside_it in groups.items() for inner in inside_it]
    helps = {name: told([*name.split(), "--help"], root) for name in ("", *tree, *within)}
    no_example = [name for name in helps if f"Example: ralph {name}" not in helps[name]]
    assert set(no_example) <= {name for name, inside_it in groups.items() if inside_it}
    shown = (f"$ ralph {name} --help".replace("  ", " ") + f"\n{helps[name]}" for name in helps)
    assert "\n".join(shown) == snapshot
