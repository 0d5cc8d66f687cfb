"""Commits in odd repositories: below the top, without a first commit, in a linked worktree; and what is refused."""

import subprocess
from pathlib import Path

import pytest

from ralph_tui.domain.errors import SetupError
from ralph_tui.vcs.branches import (
    Head,
    branch_name,
    changed_paths,
    check_out,
    push_line,
    read_head,
    require_clean,
    require_committable,
)
from ralph_tui.vcs.commits import CommitRefusedError, CommitRequest, Committer, HookError
from ralph_tui.vcs.git import Git
from tests.harness.projects import git


@pytest.fixture
def top(tmp_path: Path) -> Path:
    top = tmp_path / "top"
    top.mkdir()
    git(top, "init", "-q", "-b", "work")
    git(top, "config", "user.name", "Me")
    git(top, "config", "user.email", "me@example.org")
    return top


@pytest.fixture
def begun(top: Path) -> Path:
    (top / "a").write_text("1\n")
    git(top, "add", "-A")
    git(top, "commit", "-q", "-m", "Begin")
    return top


def test_the_first_commit_of_a_repository(top: Path) -> None:
    (top / "a").write_text("1\n")
    made = Committer(top, None).commit(CommitRequest("feat: a"))
    assert made is not None
    assert made.additions == 1
    assert git(top, "log", "--format=%s %D").strip() == "feat: a HEAD -> work"
    assert git(top, "status", "--porcelain") == ""


def test_a_project_below_the_top_commits_only_what_is_in_it(begun: Path) -> None:
    project = begun / "apps" / "one"
    (project / ".ralph").mkdir(parents=True)
    (project / ".ralph/state.json").write_text("{}")
    (project / "new").write_text("1\n")
    (begun / "other").write_text("mine\n")
    made = Committer(project, None).commit(CommitRequest("feat: one"))
    assert made is not None
    assert list(made.staged) == ["apps/one/new"]
    assert git(begun, "status", "--porcelain").split() == ["??", "apps/one/.ralph/", "??", "other"]
    assert changed_paths(Git(project)) == ["other"], "the whole repository is looked at"


def test_a_linked_worktree_commits_to_its_own_branch(begun: Path, tmp_path: Path) -> None:
    linked = tmp_path / "linked"
    git(begun, "worktree", "add", "-q", "-b", "beside", str(linked))
    (linked / "new").write_text("1\n")
    made = Committer(linked, None).commit(CommitRequest("feat: beside"))
    assert made is not None
    assert made.branch == "beside"
    assert git(begun, "log", "--format=%s", "work").strip() == "Begin"
    with pytest.raises(SetupError, match="worktree"):
        check_out(Git(linked), "work", read_head(Git(linked)), lambda: None)


def test_nothing_changed_makes_no_commit(begun: Path) -> None:
    assert Committer(begun, None).commit(CommitRequest("feat: a")) is None


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (".env", "PLAIN=1\n"),
        ("deep/id_ed25519", "x\n"),
        ("key.txt", "-----BEGIN RSA PRIVATE KEY-----\nabc\n"),
        ("long.txt", "x" * 3_000_000 + "\nAKIAIOSFODNN7EXAMPLE\n"),
        ("binary", "\0\1 sk-" + "a1" * 20 + "\n"),
    ],
)
def test_a_secret_is_refused_and_nothing_is_committed(begun: Path, name: str, text: str) -> None:
    path = begun / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    with pytest.raises(CommitRefusedError, match="a secret") as refused:
        Committer(begun, None).commit(CommitRequest("feat: a"))
    assert name in str(refused.value)
    assert git(begun, "log", "--format=%s").strip() == "Begin"
    assert git(begun, "diff", "--cached", "--name-only") == "", "what ralph staged is not left"


@pytest.mark.parametrize("ignores", [".ralph", ".ralph/", "*.ralph*", ""])
def test_a_project_that_ignores_ralph_is_committed(begun: Path, ignores: str) -> None:
    (begun / ".gitignore").write_text(f"{ignores}\n*.log\n")
    (begun / ".ralph").mkdir()
    for name in ("new", "x.log", ".ralph/state.json"):
        (begun / name).write_text("1\n")
    (begun / "a").unlink()
    made = Committer(begun, None).commit(CommitRequest("feat: a"))
    assert made is not None
    assert sorted(made.staged) == [".gitignore", "a", "new"]


@pytest.mark.parametrize("name", [".env.example", "docs.md"])
def test_what_only_looks_like_a_secret_is_committed(begun: Path, name: str) -> None:
    (begun / name).write_text(
        "postgres://user:password@localhost/db\nAuthorization: Bearer TOKEN\n"
    )
    assert Committer(begun, None).commit(CommitRequest("feat: a")) is not None


def test_the_value_of_a_secret_that_is_taken_out_is_no_reason_to_refuse(begun: Path) -> None:
    key = "ghp_" + "a1B2" * 9
    (begun / "a").write_text(f"{key}\n")
    git(begun, "commit", "-q", "-am", "A slip")
    (begun / "a").write_text("gone\n")
    assert Committer(begun, None).commit(CommitRequest("feat: a")) is not None


def test_a_repository_of_its_own_is_refused(begun: Path) -> None:
    inner = begun / "vendor"
    inner.mkdir()
    git(inner, "init", "-q")
    git(
        inner, "-c", "user.name=x", "-c", "user.email=x", "commit", "-q", "--allow-empty", "-m", "x"
    )
    with pytest.raises(CommitRefusedError, match="vendor is a separate git repository"):
        Committer(begun, None).commit(CommitRequest("feat: a"))


def test_settings_that_ask_sign_or_run_programs_do_nothing(begun: Path) -> None:
    ran = begun.parent / "ran"
    for key, value in {
        "commit.gpgSign": "true",
        "gpg.program": f"sh -c 'touch {ran}'",
        "core.editor": f"touch {ran}",
        "core.fsmonitor": f"touch {ran}",
        "core.pager": f"touch {ran}",
    }.items():
        git(begun, "config", key, value)
    (begun / "a").write_text("2\n")
    hook = begun / ".git/hooks/post-commit"
    hook.write_text(f"#!/bin/sh\ntouch {ran}\n")
    hook.chmod(0o755)
    assert Committer(begun, None).commit(CommitRequest("feat: a")) is not None
    assert not ran.exists()


def test_a_commit_is_not_made_on_a_branch_that_moved_meanwhile(begun: Path) -> None:
    (begun / "a").write_text("2\n")

    def move(_: str) -> None:
        git(begun, "commit", "-q", "--allow-empty", "-m", "Mine")

    with pytest.raises(SetupError, match="update-ref"):
        Committer(begun, None).commit(CommitRequest("feat: a", intend=move))
    assert git(begun, "log", "--format=%s").split("\n")[0] == "Mine"


def test_an_unfinished_merge_names_the_command_that_helps(begun: Path) -> None:
    git(begun, "switch", "-q", "-c", "other")
    (begun / "a").write_text("theirs\n")
    git(begun, "commit", "-q", "-am", "Theirs")
    git(begun, "switch", "-q", "work")
    (begun / "a").write_text("ours\n")
    git(begun, "commit", "-q", "-am", "Ours")
    subprocess.run(["git", "merge", "-q", "other"], cwd=begun, check=False, capture_output=True)
    with pytest.raises(SetupError, match="A merge is not finished") as refused:
        require_committable(Git(begun))
    assert "git merge --abort" in refused.value.hint


def test_no_repository_is_said(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="is not in a git repository") as refused:
        require_committable(Git(tmp_path))
    assert "git init" in refused.value.hint


def test_an_existing_branch_is_checked_out_and_never_moved(begun: Path) -> None:
    git(begun, "branch", "feature/x")
    kept = git(begun, "rev-parse", "feature/x")
    git(begun, "commit", "-q", "--allow-empty", "-m", "More")
    assert check_out(Git(begun), "feature/x", read_head(Git(begun)), lambda: None) is False
    assert git(begun, "rev-parse", "HEAD") == kept


@pytest.mark.parametrize("prefix", ["-x/", "a..b/", "a b/", "x.lock/", "~"])
def test_a_prefix_that_git_takes_no_branch_with_is_refused(begun: Path, prefix: str) -> None:
    with pytest.raises(SetupError, match="is not a valid git branch name"):
        branch_name(Git(begun), prefix, "Title")


def test_a_branch_is_named_for_the_first_text_that_has_letters(begun: Path) -> None:
    assert branch_name(Git(begun), "feature/", "", "日本", "A Habit  Tracker!", "x") == (
        "feature/a-habit-tracker"
    )


def test_changes_of_an_unfinished_task_are_continued_only_on_its_branch(begun: Path) -> None:
    (begun / "a").write_text("half\n")
    here, head = Git(begun), read_head(Git(begun))
    require_clean(here, head, Head("work", head.commit), "git.commit")
    for other in (
        None,
        Head("feature/x", head.commit),
        Head("work", "1" * 40),
    ):
        with pytest.raises(SetupError, match=r"1 file has uncommitted changes \(a\)"):
            require_clean(here, head, other, "git.commit")


def test_the_push_line_names_a_remote(begun: Path) -> None:
    assert push_line(Git(begun), "work") == ""
    git(begun, "remote", "add", "mine", "https://example.invalid/x")
    assert push_line(Git(begun), "work") == "git push -u mine work"
    git(begun, "config", "branch.work.remote", "mine")
    assert push_line(Git(begun), "work") == "git push mine work"


def test_a_hook_that_writes_a_file_again_as_it_was_has_changed_nothing(begun: Path) -> None:
    (begun / "a").write_text("2\n")
    (begun / "report.xml").touch()  # by an earlier check
    hook = begun / ".git/hooks/pre-commit"
    hook.write_text("#!/bin/sh\n")
    hook.chmod(0o755)

    def rewrites(_: object, directory: Path, *__: object) -> tuple[int, str]:
        assert directory == begun
        text = (begun / "a").read_text()
        (begun / "a").unlink()
        (begun / "a").write_text(text)
        return 0, ""

    request = CommitRequest("feat: a", left_out=("report.xml",))
    assert Committer(begun, rewrites).commit(request) is not None
    (begun / "a").write_text("3\n")

    def makes(_: object, directory: Path, *__: object) -> tuple[int, str]:
        (directory / "new.txt").touch()
        return 0, ""

    with pytest.raises(HookError, match=r"pre-commit changed 1 file \(new.txt\)"):
        Committer(begun, makes).commit(request)


def test_a_hook_that_takes_too_long_is_said(begun: Path) -> None:
    (begun / "a").write_text("2\n")
    hook = begun / "hooks" / "pre-commit"
    hook.parent.mkdir()
    hook.write_text("#!/bin/sh\n")
    hook.chmod(0o755)
    git(begun, "config", "core.hooksPath", "hooks")
    with pytest.raises(HookError, match="pre-commit took too long"):
        Committer(begun, lambda *_: (None, "")).commit(CommitRequest("feat: a"))
