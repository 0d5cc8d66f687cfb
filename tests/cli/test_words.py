"""The words of the command line, whole and in one place: `__snapshots__/test_words.ambr`.

The other tests of this folder ask for statuses, fields and events. Where a wording changes on purpose,
`pytest tests/cli/test_words.py --snapshot-update` writes it down.
"""

import os
import re
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from ralph_tui.cli.app import command_tree
from ralph_tui.store.layout import Layout
from ralph_tui.store.lock import LoopLock
from tests.cli.processes import inside
from tests.harness.projects import make_project, task

SESSION = """
status
status -v
tasks
tasks --pending
history
memory
memory --stats
answer
steps
steps --reset ghost --reason x
steps --reset commit
steps --reset commit --reason hook_repaired
limits
config set models.primary opus
config set models.primry opus
add Say_how_long_it_took --after task-2
add x --after ghost
edit task-3 --priority 7
edit task-3
edit task-3 --part one --part two
hold task-2
release task-2
skip task-1
skip task-9
retry task-1
retry task-1
complete task-1 --reason by_hand
drop task-2
drop task-3-2
feature
feature new No
inject use_argparse
inject --now look_up
approve
reject
answer q-1 yes
pause
stop
attach
limits --max-cost nan
limits --model two_words
limits --max-cost 5
build --headless
validate --headless
build --max-iterations x
statsu
-C nowhere status
-C . demo
demo rusty
demo cobol
guard check git_push
status
tasks
memory --show --stats
undo task-1
undo 7
undo ghost
reset
reset --yes
reset --yes
restore
"""
"""One command a line, in this order, in one project; `_` is a space inside a word."""

RUNNING = (
    "status",
    "pause",
    "status",
    "pause",
    "resume",
    "stop",
    "status",
    "inject --now x",
    "retry",
    "build",
)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COLUMNS", "100")
    tasks = [
        task("task-1", description="Write the parser"),
        task("task-2", description="Test the parser", dependencies=["task-1"]),
        task("task-3", description="Write the guide"),
    ]
    return make_project(tmp_path / "sample", tasks)


def told(line: str, root: Path) -> str:
    """What a command says, and its status; what differs from day to day or machine to machine is left out."""
    words = [word.replace("_", " ") for word in line.split()]
    done = inside(*words, cwd=root)
    text = done.stdout + "".join(f"! {line}\n" for line in done.stderr.splitlines())
    text = text.replace(str(root.parent), "").replace(str(os.getpid()), "PID")
    text = re.sub(r" on \S+ since [\d-]+ [\d:]+ UTC", " on HOST since WHEN", text)
    text = re.sub(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)?", "WHEN", text)
    return f"$ ralph {' '.join(words)}\n{text}[{done.returncode}]\n"


def test_help(root: Path, snapshot: SnapshotAssertion) -> None:
    tree = command_tree().commands
    groups = {name: getattr(command, "commands", {}) for name, command in tree.items()}
    within = [f"{name} {inner}" for name, inside_it in groups.items() for inner in inside_it]
    helps = {name: told(f"{name} --help", root) for name in ("", *tree, *within)}
    no_example = [name for name in helps if f"Example: ralph {name}" not in helps[name]]
    assert set(no_example) <= {name for name, inside_it in groups.items() if inside_it}
    assert "\n".join(helps.values()) == snapshot


def test_what_commands_say(root: Path, snapshot: SnapshotAssertion) -> None:
    lines = SESSION.strip().splitlines()
    assert "\n".join(told(line, root) for line in lines) == snapshot


def test_what_commands_say_while_a_loop_runs(root: Path, snapshot: SnapshotAssertion) -> None:
    lock = LoopLock(Layout(root))
    lock.acquire("run-1")
    try:
        assert "\n".join(told(line, root) for line in RUNNING) == snapshot
    finally:
        lock.release()
