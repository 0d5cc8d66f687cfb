"""Where the write tools may write, with real links."""

import os
from pathlib import Path

import pytest

from ralph_tui.domain.project_state import Phase
from ralph_tui.guard.core.paths import judge_path
from ralph_tui.guard.core.policy import Policy


@pytest.fixture
def root(tmp_path: Path) -> Path:
    project = tmp_path / "proj"
    for name in (".ralph", ".git/hooks", ".claude", "src", "specs"):
        (project / name).mkdir(parents=True)
    (project / ".ralph/state.json").write_text("{}")
    (project / ".git/config").write_text("")
    (project / "src/a.py").write_text("")
    (tmp_path / "outside").mkdir()
    return project


def judged(root: Path, raw: str, phase: Phase = Phase.BUILDING, tool: str = "Write") -> str:
    verdict = judge_path(tool, raw, Policy(root=root, phase=phase))
    assert (verdict.decision == "deny") == bool(verdict.rule and verdict.reason and verdict.instead)
    return verdict.rule or verdict.decision


@pytest.mark.parametrize(
    "raw",
    ["src/a.py", "new/deep/file.py", ".gitignore", ".github/workflows/ci.yml", "a/../b.py",
     "src/.gitkeep", "ralph/x", "x.ralph", "MEMORY.md", ".env"],
)  # fmt: skip
def test_project_files_may_be_written(root: Path, raw: str) -> None:
    assert judged(root, raw) == "allow"
    assert judged(root, str(root / raw)) == "allow"


@pytest.mark.parametrize(
    ("raw", "rule"),
    [
        (".ralph/state.json", "ralph-files"),
        (".ralph", "ralph-files"),
        ("./.ralph/x", "ralph-files"),
        ("src/../.ralph/x", "ralph-files"),
        (".RALPH/state.json", "ralph-files"),
        (".Ralph./x", "ralph-files"),
        (".ra\u200clph/x", "ralph-files"),
        (".git/config", "git-files"),
        (".git", "git-files"),
        ("sub/.git/hooks/x", "git-files"),
        ("GIT~1/config", "git-files"),
        (".claude/settings.json", "cli-files"),
        ("../outside/x", "outside-project"),
        ("/etc/passwd", "outside-project"),
        ("~/x", "outside-project"),
        ("~root/x", "outside-project"),
        (".", "outside-project"),
        ("", "bad-path"),
        ("a\0b", "bad-path"),
        ("/proc/self/cwd/../../../../etc/passwd", "outside-project"),
    ],
)
def test_other_files_may_not(root: Path, raw: str, rule: str) -> None:
    for tool in ("Write", "Edit", "MultiEdit", "NotebookEdit"):
        assert judged(root, raw, tool=tool) == rule


def test_proc_cwd_is_followed(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(root)
    assert judged(root, "/proc/self/cwd/.ralph/state.json") == "ralph-files"


def test_symlinks_are_followed(root: Path) -> None:
    (root / "into").symlink_to(root / ".ralph")
    (root / "away").symlink_to(root.parent / "outside")
    (root / "file").symlink_to(".git/config")
    (root / "loop").symlink_to("loop")
    (root / "fine").symlink_to("src")
    (root / "dangling").symlink_to("/nowhere/at/all")
    assert judged(root, "into/state.json") == "ralph-files"
    assert judged(root, "into/new.json") == "ralph-files"
    assert judged(root, "away/x") == "outside-project"
    assert judged(root, "file") == "git-files"
    assert judged(root, "dangling") == "outside-project"
    assert judged(root, "fine/a.py") == "allow"
    assert judged(root, "loop/x") in ("bad-path", "allow")
    assert judged(root, "fine/../.ralph/x") == "ralph-files"


def test_a_project_reached_through_a_symlink(root: Path) -> None:
    alias = root.parent / "alias"
    alias.symlink_to(root)
    assert judged(alias, "src/a.py") == "allow"
    assert judged(alias, str(root / "src/a.py")) == "allow"
    assert judged(root, str(alias / "src/a.py")) == "allow"
    assert judged(alias, ".ralph/x") == "ralph-files"


def test_a_symlink_in_place_of_a_guarded_directory_is_guarded_still(root: Path) -> None:
    (root / ".git").rename(root.parent / "realgit")
    (root / ".git").symlink_to(root.parent / "realgit")
    assert judged(root, ".git/config") == "git-files"


def test_hard_links_to_state_are_found(root: Path) -> None:
    os.link(root / ".ralph/state.json", root / "innocent.json")
    os.link(root / ".git/config", root / "innocent.cfg")
    os.link(root / "src/a.py", root / "src/b.py")
    assert judged(root, "innocent.json") == "ralph-files"
    assert judged(root, "innocent.cfg") == "git-files"
    assert judged(root, "src/b.py") == "allow"


def test_discovery_writes_specifications_only(root: Path) -> None:
    assert judged(root, "specs/login.md", Phase.DISCOVERY) == "allow"
    assert judged(root, "specs/auth/login.md", Phase.DISCOVERY) == "allow"
    assert judged(root, "specs/login.py", Phase.DISCOVERY) == "phase-files"
    assert judged(root, "specs/../src/x.md", Phase.DISCOVERY) == "phase-files"
    assert judged(root, "README.md", Phase.DISCOVERY) == "phase-files"
    (root / "specs/out.md").symlink_to(root / "src/a.py")
    assert judged(root, "specs/out.md", Phase.DISCOVERY) == "phase-files"


@pytest.mark.parametrize("phase", [Phase.PLANNING, Phase.VALIDATION])
def test_other_phases_write_nothing(root: Path, phase: Phase) -> None:
    assert judged(root, "specs/x.md", phase) == "phase-files"
    assert judged(root, "src/a.py", phase) == "phase-files"


def test_ralphs_own_data_outside_the_work_tree_is_not_written(root: Path) -> None:
    own = root / "home/.local/state/ralph"
    own.mkdir(parents=True)
    policy = Policy(root=root, own_directories=(own,))
    (root / "link").symlink_to(own)
    for raw in (str(own / "x"), "home/.local/state/ralph/p/state.json", "link/x"):
        assert judge_path("Write", raw, policy).rule == "ralph-files"
    assert judge_path("Write", "home/.local/state/other", policy).decision == "allow"
    assert judge_path("Read", str(own / "x"), policy).decision == "allow"


def test_reading_is_free(root: Path) -> None:
    assert judged(root, ".ralph/state.json", tool="Read") == "allow"
    assert judged(root, "/etc/hosts", Phase.PLANNING, tool="Read") == "allow"
