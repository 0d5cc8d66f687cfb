import os
import threading
from datetime import timedelta
from pathlib import Path

import pytest

from ralph_tui.domain.errors import StoreError
from ralph_tui.domain.project_state import Phase, SessionRecord
from ralph_tui.store.io.rotation import append_log
from ralph_tui.store.layout import Layout
from ralph_tui.store.project import Project
from tests.store.helpers import NOW


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path, clock=lambda: NOW)
    made.create()
    return made


def test_a_learning_is_one_line_in_the_form_of_the_seeds(project: Project) -> None:
    project.append_learning("PATTERN", "Use Pydantic models")
    project.append_learning("debug:ging", "two\nlines \x1b[31mred\ud800")
    assert project.layout.progress.read_text(encoding="utf-8").splitlines() == [
        "[2026-01-26 14:30:00] PATTERN: Use Pydantic models",
        "[2026-01-26 14:30:00] DEBUGGING: two lines red",
    ]


def test_learnings_are_only_ever_appended(project: Project) -> None:
    project.layout.progress.write_text("# mine\n\nby hand, no line end")
    project.append_learning("BUILD", "x")
    assert project.layout.progress.read_text().startswith("# mine\n\nby hand, no line end\n[")
    assert project.read_learnings(2) == (
        "by hand, no line end",
        "[2026-01-26 14:30:00] BUILD: x",
    )
    assert project.read_learnings(0) == ()
    assert len(project.read_learnings(99)) == 3


def test_no_learning_of_many_threads_is_lost(project: Project) -> None:
    def learn(name: int) -> None:
        for number in range(10):
            project.append_learning("T", f"{name}-{number}")

    threads = [threading.Thread(target=learn, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = project.read_learnings(1000)
    assert len(set(lines)) == 40


def test_a_long_log_is_read_from_its_end(project: Project) -> None:
    project.layout.progress.write_text("".join(f"line {n}\n" for n in range(100_000)))
    assert project.read_learnings(2) == ("line 99998", "line 99999")
    assert all(line.startswith("line ") for line in project.read_learnings(100_000))


def test_memories_are_kept_whole(project: Project) -> None:
    assert project.read_memory() == ""
    assert project.write_memory("# Hand-off\nü\ud800") == project.root / "MEMORY.md"
    assert project.read_memory() == "# Hand-off\nü?"
    assert project.write_active_memory("active") == project.layout.active_memory
    assert project.layout.active_memory.read_text() == "active"


def test_iteration_memories_rotate_into_the_archive(project: Project) -> None:
    written = [project.write_iteration_memory(n, f"did {n}") for n in range(95, 125)]
    assert written[-1].name == "iter-124.md"
    kept = sorted(p.name for p in project.layout.memory_iterations.iterdir())
    assert kept == [f"iter-{n:03d}.md" for n in range(105, 125)]
    archived = sorted(p.name for p in project.layout.memory_archive.iterdir())
    assert archived == [f"iter-{n:03d}.md" for n in range(95, 105)]
    assert project.recent_iteration_memories() == ("did 122", "did 123", "did 124")
    assert project.recent_iteration_memories(0) == ()


def test_numbers_of_four_digits_are_newer_than_those_of_three(project: Project) -> None:
    for number in (998, 999, 1000):
        project.write_iteration_memory(number, str(number))
    assert project.recent_iteration_memories(2) == ("999", "1000")


def test_session_memories_rotate(project: Project) -> None:
    for number in range(1, 13):
        project.write_session_memory(number, "x")
    assert len(list(project.layout.memory_sessions.iterdir())) == 10
    assert (project.layout.memory_archive / "session-001.md").exists()


def test_the_archive_is_cleaned_by_itself_once_in_a_while(tmp_path: Path) -> None:
    hours = 0
    project = Project(tmp_path, clock=lambda: NOW + timedelta(hours=hours))
    project.create()
    project.write_iteration_memory(1, "the first look")
    old, young = (project.layout.memory_archive / name for name in ("iter-a.md", "iter-b.md"))
    old.touch()
    os.utime(old, (0, 0))
    young.touch()
    project.write_iteration_memory(2, "looked a moment ago")
    assert old.exists()
    hours = 1
    project.write_iteration_memory(3, "looks again")
    assert (old.exists(), young.exists()) == (False, True)


def test_ended_sessions_are_kept_in_order(project: Project) -> None:
    records = tuple(SessionRecord(session_id=f"s{n}", iteration=n) for n in range(3))
    for record in records:
        project.archive_session(record)
    # A session that ends is told without a time: it is now.
    records = tuple(record.model_copy(update={"ended_at": NOW}) for record in records)
    assert project.read_sessions() == records
    with project.layout.sessions.open("a") as file:
        file.write('{"session_id": "cut')
    project.archive_session(records[0])
    assert project.read_sessions() == (*records, records[0])
    (told,) = project.damage()
    assert "1 unreadable lines" in told


def test_notes_inside_a_project_that_is_gone_are_refused(tmp_path: Path) -> None:
    project = Project(tmp_path)
    record = SessionRecord(session_id="s", iteration=1)
    for act in (
        lambda: project.archive_session(record),
        lambda: project.write_iteration_memory(1, "x"),
        lambda: project.write_active_memory("x"),
        lambda: project.log_path("x.log"),
    ):
        with pytest.raises(StoreError):
            act()
    assert list(tmp_path.iterdir()) == []


def test_a_text_is_bounded_and_replaced_where_it_is_not_utf_8(project: Project) -> None:
    path = project.layout.prompt(Phase.PLANNING)
    assert path.name == "PROMPT_plan.md"
    assert project.read_text(path, 100) == ""
    path.write_bytes(b"\xef\xbb\xbfgood \xff bad")
    assert project.read_text(path, 100) == "good \N{REPLACEMENT CHARACTER} bad"
    path.write_text("äöü", encoding="utf-8")
    assert project.read_text(path, 3) == "ä"
    assert project.read_text(Path("PROMPT_plan.md"), 100) == "äöü"
    assert project.read_text(project.root, 100) == ""


def test_a_text_is_never_read_from_outside(
    project: Project, tmp_path_factory: pytest.TempPathFactory
) -> None:
    secret = tmp_path_factory.mktemp("outside") / "secret"
    secret.write_text("secret")
    (project.root / "AGENTS.md").symlink_to(secret)
    (project.root / "docs").symlink_to(secret.parent)
    (project.root / "loop").symlink_to("loop")
    for path in (
        "AGENTS.md",
        "docs/secret",
        str(secret),
        "loop",
        f"../{secret.parent.name}/secret",
    ):
        assert project.read_text(Path(path), 100) == ""
    (project.root / "inside").write_text("fine")
    (project.root / "CLAUDE.md").symlink_to("inside")
    assert project.read_text(Path("CLAUDE.md"), 100) == "fine"


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a/b", "a\\b", ".hidden", "a\0b", "a\nb"])
def test_the_name_of_a_log_stays_in_its_directory(project: Project, name: str) -> None:
    with pytest.raises(StoreError):
        project.log_path(name)


def test_a_log_has_its_place_and_is_private(project: Project) -> None:
    path = project.log_path("cli.log")
    assert path == project.layout.logs / "cli.log"
    with path.open("a") as log:
        log.write("line\n")
    assert project.log_path("cli.log").read_text() == "line\n"
    assert path.stat().st_mode & 0o077 == 0


def test_a_log_that_leads_elsewhere_is_refused(project: Project, tmp_path: Path) -> None:
    link = project.layout.logs / "cli.log"
    link.symlink_to(tmp_path / "elsewhere")
    for act in (lambda: project.log_path("cli.log"), lambda: append_log(link, "line\n")):
        with pytest.raises(StoreError):
            act()
    assert not (tmp_path / "elsewhere").exists()


def test_the_layout_is_the_designs(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    inside = {
        "state": "state.json",
        "plan": "implementation_plan.json",
        "budget": "context_budget.json",
        "breaker": "circuit_breaker.json",
        "config": "config.yaml",
        "injections": "injections.json",
        "questions": "questions.json",
        "validation_report": "validation_report.json",
        "events": "events.jsonl",
        "lock": "lock",
        "logs": "logs",
        "sessions": "session_history/sessions.jsonl",
        "memory_iterations": "memory/iterations",
        "memory_phases": "memory/phases",
        "memory_sessions": "memory/sessions",
        "memory_archive": "memory/archive",
        "active_memory": "MEMORY.md",
    }
    for name, relative in inside.items():
        assert getattr(layout, name) == tmp_path / ".ralph" / relative
    beside = {
        "memory": "MEMORY.md",
        "progress": "progress.txt",
        "agents_md": "AGENTS.md",
        "specs": "specs",
    }
    for name, relative in beside.items():
        assert getattr(layout, name) == tmp_path / relative
    names = [layout.prompt(phase).name for phase in Phase]
    assert names == [
        "PROMPT_discovery.md",
        "PROMPT_plan.md",
        "PROMPT_build.md",
        "PROMPT_validate.md",
    ]


def test_two_plans_archived_within_a_second_are_both_kept(project: Project) -> None:
    for text in ("{}", '{"tasks": []}', '{"tasks": [{"id": "a"}]}'):
        project.layout.plan.write_text(text, encoding="utf-8")
        project.archive_plan()
    kept = {p.name: p.read_text() for p in project.layout.session_history.glob("plan-*.json")}
    assert kept == {
        "plan-20260126T143000.json": "{}",
        "plan-20260126T143000-2.json": '{"tasks": []}',
        "plan-20260126T143000-3.json": '{"tasks": [{"id": "a"}]}',
    }
