"""What ralph keeps: memory, the journal, and a project put back to its beginning."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ralph_tui.domain import events as ev
from ralph_tui.store.journal.journal import JournalWriter
from ralph_tui.store.lock import LoopLock
from ralph_tui.store.project import Project
from tests.cli.processes import inside
from tests.cli.recorded import COMPLETE, whole_run


@pytest.fixture
def project(tmp_path: Path) -> Project:
    project = Project(tmp_path)
    project.create()
    return project


def journal(project: Project, *events: ev.Event) -> None:
    writer = JournalWriter(project.layout.events)
    writer.write([writer.stamp(event) for event in events])
    writer.close()


def test_only_what_is_old_and_archived_is_cleaned_up(project: Project) -> None:
    for number in range(1, 23):
        project.write_iteration_memory(number, "i")
    old, young = sorted(project.layout.memory_archive.iterdir())
    long_ago = time.time() - 31 * 86_400
    kept = project.layout.memory_iterations / "iter-022.md"
    for path in (old, kept):
        os.utime(path, (long_ago, long_ago))
    done = inside("memory", "--cleanup", cwd=project.root)
    assert done.stdout == f"removed  {old.relative_to(project.root)}\n"
    assert [path.name for path in project.layout.memory_archive.iterdir()] == [young.name]
    assert (project.layout.memory_iterations / "iter-022.md").exists()
    assert (
        "Nothing was archived or removed." in inside("memory", "--cleanup", cwd=project.root).stdout
    )
    os.utime(young, (long_ago, long_ago))
    Project(project.root).write_iteration_memory(23, "i")  # the next run cleans up by itself
    assert [path.name for path in project.layout.memory_archive.iterdir()] == ["iter-003.md"]


def test_a_cleanup_archives_what_is_over_the_bounds(project: Project) -> None:
    layout = project.layout
    for number in range(1, 25):  # written by an older ralph, or copied here
        (layout.memory_iterations / f"iter-{number:03}.md").write_text("i")
    for number in range(1, 13):
        (layout.memory_sessions / f"session-{number:03}.md").write_text("s")
    done = json.loads(inside("memory", "--cleanup", "--json", cwd=project.root).stdout)
    assert done["archived"] == [
        *(f".ralph/memory/iterations/iter-00{number}.md" for number in range(1, 5)),
        *(f".ralph/memory/sessions/session-00{number}.md" for number in range(1, 3)),
    ]
    assert len(list(layout.memory_archive.iterdir())) == 6
    assert len(list(layout.memory_iterations.iterdir())) == 20
    assert len(list(layout.memory_sessions.iterdir())) == 10


def test_metrics_come_from_the_journal(project: Project) -> None:
    empty = inside("report", "--json", cwd=project.root)
    assert {metric["denominator"] for metric in json.loads(empty.stdout)["metrics"]} == {0}
    journal(project, *whole_run(), COMPLETE)
    with project.layout.events.open("a", encoding="utf-8") as file:
        file.write('{"seq":1,"type":"iteration_finished","iteration":\n')
    done = inside("report", "--json", cwd=project.root)
    found = {m["name"]: m for m in json.loads(done.stdout)["metrics"]}
    rate = found["task_completion_rate"]
    assert (rate["numerator"], rate["denominator"]) == (1, 1)
    assert (found["false_exit_rate"]["numerator"], found["false_exit_rate"]["denominator"]) == (
        1,
        2,
    )
    assert "Skipped 1 unreadable line of the journal." in done.stderr


def attached(project: Project, *words: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "ralph_tui", "attach", *words],
        cwd=project.root,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def with_loop(project: Project, act: Callable[["subprocess.Popen[str]"], None], *words: str) -> str:
    """What `attach` prints of a loop of this process while `act` goes on beside it."""
    earlier = (ev.LoopStarted(run_id="0", project="old", phase="building"), COMPLETE)
    lock = LoopLock(project.layout)
    lock.acquire("run-1")
    try:
        started = ev.LoopStarted(run_id="1", project="new", phase="building")
        journal(project, *earlier)
        with project.layout.events.open("ab") as file:
            file.write(b'{"type":"notice","text":"damaged\n{"type":"of_tomorrow"}\n')
        journal(project, started, ev.Notice(text="before"))
        process = attached(project, *words)
        assert process.stdout is not None
        said = ""
        for line in process.stdout:
            said += line
            if "before" in line:
                break
        act(process)
    finally:
        lock.release()
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0
    return said + out + err


def test_attach_tells_this_run_from_its_start_to_its_end(project: Project) -> None:
    said = with_loop(project, lambda _: journal(project, ev.Notice(text="after"), COMPLETE))
    assert "old" not in said
    lines = said.splitlines()
    assert lines[0].startswith("ralph: new, building")
    assert lines[-1].startswith("ralph: complete")
    assert any("after" in line for line in lines)


def test_attach_as_json(project: Project) -> None:
    after = ev.Notice(text="gr\N{LATIN SMALL LETTER U WITH DIAERESIS}n")
    said = with_loop(project, lambda _: journal(project, after, COMPLETE), "--json")
    kinds = [json.loads(line)["type"] for line in said.splitlines()]
    assert kinds == ["loop_started", "notice", "notice", "loop_finished"]
    assert said.isascii(), "what a locale or a terminal could stumble over is escaped"


def test_leaving_does_not_end_the_loop(project: Project) -> None:
    def leave(process: "subprocess.Popen[str]") -> None:
        process.send_signal(signal.SIGINT)
        process.wait(60)  # while the loop still goes on

    said = with_loop(project, leave)
    assert "Detached. The loop continues." in said


def test_a_loop_that_died_is_noticed(project: Project) -> None:
    said = with_loop(project, lambda _: None)
    assert "the loop ended without a final event." in said


def used(project: Project) -> Project:
    root = project.root
    project.write_memory("# Session Memory - Iteration 1\n")
    project.append_learning("x", "y")
    project.queue_injection("later")
    project.write_iteration_memory(1, "# Iteration 1\n")
    journal(project, *whole_run())
    (root / "specs").mkdir()
    for name in ("specs/a.md", "AGENTS.md", "main.py", ".ralph/config.yaml"):
        (root / name).write_text("", encoding="utf-8")
    project.transact(lambda docs: docs.with_state(specs=("a.md",)))
    return project


def test_a_reset_is_undone_by_restore(project: Project) -> None:
    plan = '{"tasks": [{"id": "by hand", "description": "x"}]}'
    project.layout.plan.write_text(plan)  # never read by ralph before the reset
    root = used(project).root
    before = project.load()
    told = inside("reset", "--yes", cwd=root).stdout
    assert "`ralph restore`" in told
    assert inside("reset", "--yes", cwd=root).returncode == 0  # keeps the copy
    (root / ".ralph" / "fix_plan.md").write_text("theirs")
    restored = inside("restore", cwd=root)
    assert restored.returncode == 0, restored.stderr
    assert project.layout.plan.read_text() == plan
    assert project.load() == before
    assert (root / "specs/a.md").exists()
    assert project.layout.events.exists()


def test_reset_keeps_a_link_and_what_it_points_to(
    project: Project, tmp_path_factory: pytest.TempPathFactory
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "keep.md").write_text("", encoding="utf-8")
    project.transact(lambda docs: docs.with_state(specs=("keep.md",)))
    (project.root / "specs").symlink_to(elsewhere)
    assert inside("reset", "--yes", cwd=project.root).returncode == 0
    assert (elsewhere / "keep.md").exists()
    assert (project.root / "specs").is_symlink()
