"""Every change of a repository is seen, put down to somebody with reason, and can be put back."""

import os
import shutil
import subprocess
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_tui.domain.errors import SetupError
from ralph_tui.guard.core.policy import Policy
from ralph_tui.guard.repository.changes import Author, Snapshot, compare, ends_run
from ralph_tui.guard.repository.watcher import RepositoryWatcher
from ralph_tui.guard.sandbox.environment import REFLOG_MARK, agent_environment
from tests.guard.test_shims import IDENTITY, make_repository


@pytest.fixture
def project(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of a repository that is made once."""
    made = tmp_path_factory.getbasetemp() / "watched"
    if not made.exists():
        make_repository(made)
        (made / "a.txt").write_text("a\n")
        (made / "b c.txt").write_text("b\n")
        bash(made, "git add -A && git commit -qm two && git branch other && git tag v1")
        bash(made, "echo x >> a.txt && git stash -q && git config some.key old")
    return Path(shutil.copytree(made, tmp_path / "proj", symlinks=True))


def bash(root: Path, command: str, **environment: str) -> None:
    subprocess.run(
        ["bash", "-c", command],
        cwd=root,
        env=os.environ | IDENTITY | environment,
        check=True,
        capture_output=True,
    )


CHANGES = {
    "git commit -q --allow-empty -m x": "branch main was moved",
    "git branch new": "branch new was created",
    "git branch 'odd;name'": "branch odd;name was created",
    "git branch -D other": "branch other was deleted",
    "git tag v2": "tag v2 was created",
    "git tag -d v1": "tag v1 was deleted",
    "git checkout -q other": "HEAD was moved from branch main to branch other",
    "git checkout -q --detach": "HEAD was moved from branch main to",
    "echo y > 'b c.txt'; git add 'b c.txt'": "the index was changed (b c.txt)",
    "echo y > new.txt; git add new.txt": "the index was changed (new.txt)",
    "git rm -q --cached a.txt": "the index was changed (a.txt)",
    "git update-index --assume-unchanged a.txt": "the index was changed (a.txt)",
    "git reset -q --hard HEAD~1": "branch main was moved",
    "echo z > a.txt; git stash -q": "a stash",
    "git stash drop -q": "was dropped",
    "git config a.b c": "the setting a.b was changed",
    "git config some.key new": "the setting some.key was changed",
    "git config --unset some.key": "the setting some.key was changed",
    "echo exit > .git/hooks/pre-commit": "the hook pre-commit was created",
    "mkdir -p .git/info; echo '* filter=x' > .git/info/attributes": "git's file info/attributes was changed",
    "git worktree add -q ../linked": "the worktree",
}


@pytest.mark.parametrize(("command", "told"), CHANGES.items())
def test_a_change_is_seen_and_its_command_puts_it_back(
    project: Path, command: str, told: str
) -> None:
    watch = RepositoryWatcher(project)
    before = watch.snapshot()
    assert before is not None
    bash(project, command)
    after = watch.snapshot()
    assert after == RepositoryWatcher(project).snapshot(), (
        "a later look sees what a first one would"
    )
    change = compare(before, after)
    assert change is not None
    assert told in " / ".join(item.text for item in change.items)
    assert {item.author for item in change.items} == {Author.UNKNOWN}
    if "info/" in told:
        return  # what the file said before is not kept
    assert change.restore
    bash(project, change.restore)
    if "--assume-unchanged" in command:
        bash(project, "git update-index --no-assume-unchanged a.txt")
    assert compare(before, watch.snapshot()) is None


def test_reading_and_working_changes_nothing(project: Path) -> None:
    watch = RepositoryWatcher(project)
    before = watch.snapshot()
    for command in (
        "git status", "git diff; git log; git stash list", "echo work >> a.txt", "touch a.txt; git status",
        "git gc -q", "git pack-refs --all", "echo x > untracked; git status --short", "rm a.txt",
    ):  # fmt: skip
        bash(project, command)
        assert compare(before, watch.snapshot()) is None, command


def test_what_changed_while_nothing_of_the_agent_ran_is_the_persons(project: Path) -> None:
    watch = RepositoryWatcher(project)
    before = watch.snapshot()
    bash(project, "git commit -q --allow-empty -m mine; git tag mine; git config my.own x")
    after = watch.snapshot()
    change = compare(before, after, quiet=True)
    assert change is not None
    assert change.by_person
    doubtful = compare(before, after)
    assert doubtful is not None
    assert not doubtful.by_person
    assert not doubtful.by_agent


def prepare_night(project: Path) -> None:
    """Give a project a remote that is ahead, and another worktree."""
    bash(project, "git commit -q --allow-empty -m before; git clone -q --bare . ../o.git")
    bash(project, "git remote add origin ../o.git; git fetch -q; git worktree add -q ../wb -b wb")
    bash(
        project,
        "git clone -q ../o.git ../c; cd ../c; git commit -q --allow-empty -m y; git push -q; rm -r ../c",
    )


ENDS = {
    # While a command runs; by the person; the command.
    "git fetch -q origin": (False, False),
    "git config --add branch.main.vscode-merge-base origin/main": (False, False),
    "git config remote.origin.gh-resolved base": (False, False),
    "git config maintenance.strategy incremental": (False, False),
    "git config user.nickname x": (False, False),
    "git update-ref refs/prefetch/remotes/origin/main HEAD": (False, False),
    "git tag t; git tag -d v1; git branch b2; git branch -D other": (False, False),
    "git worktree add -q ../linked": (False, False),
    "cd ../wb; echo x > w; git add w; git commit -qm w; git tag w": (False, False),
    "cd ../wb; echo x >> a.txt; git stash -q": (False, False),
    "git stash drop -q": (False, False),
    "echo x >> a.txt; git add a.txt; echo y > mine.txt; git add mine.txt": (False, False),
    "git gc -q; git update-server-info": (False, False),
    "git commit -q --allow-empty -m x": (True, False),
    "git rm -q --cached a.txt": (True, False),
    "git update-index --assume-unchanged a.txt": (True, False),
    "git config core.fsmonitor ./x": (True, False),
    "git config alias.st '!x'": (True, False),
    "git config filter.x.clean ./x": (True, False),
    "git config diff.x.textconv ./x": (True, False),
    "git config include.path ../x": (True, False),
    "git config url.x.insteadOf y": (True, False),
    "git config remote.origin.url x": (True, False),
    "echo exit > .git/hooks/pre-commit": (True, False),
    "mkdir -p .git/info; echo '* filter=x' > .git/info/attributes": (True, False),
    "git replace HEAD HEAD~1": (True, False),
    "git checkout -q --detach": (True, True),
    "git checkout -q -b new": (True, True),
    "git commit -q --amend --allow-empty -m x": (True, True),
    "git commit -q --allow-empty -m x; git reset -q --hard HEAD~2": (True, True),
    "echo x >> a.txt; git stash -q": (True, True),
}
"""Whether a change ends the run if it was made while a command ran, and if it is certainly the person's."""


def test_only_what_the_work_tree_builds_on_ends_a_run(project: Path, tmp_path: Path) -> None:
    prepare_night(project)
    kept = shutil.copytree(tmp_path, tmp_path.with_name("kept"), symlinks=True)
    found = {}
    for command in ENDS:
        shutil.rmtree(tmp_path)
        shutil.copytree(kept, tmp_path, symlinks=True)
        watch = RepositoryWatcher(project)
        before = watch.snapshot()
        assert before is not None
        bash(project, command)
        after = watch.snapshot()
        both = [compare(before, after, quiet=quiet) for quiet in (False, True)]
        assert all(both) or "gc" in command
        found[command] = tuple(
            any(ends_run(item, before, watch.follows) for item in (change.items if change else ()))
            for change in both
        )
    assert found == ENDS


def test_a_commit_on_a_detached_head_disturbs_nobody_and_is_named(project: Path) -> None:
    bash(project, "git checkout -q --detach")
    watch = RepositoryWatcher(project)
    before = watch.snapshot()
    assert before is not None
    bash(
        project, "git commit -q --allow-empty -m one; git commit -q --allow-empty -m 'two\x1b[31m'"
    )
    change = compare(before, watch.snapshot(), quiet=True)
    assert change is not None
    (head,) = change.items
    assert not ends_run(head, before, watch.follows)
    assert [line.partition(" ")[2][:3] for line in watch.commits(head.old, head.new)] == [
        "two",
        "one",
    ]


def test_a_commit_of_the_agent_that_got_through_is_known_by_its_mark(project: Path) -> None:
    watch = RepositoryWatcher(project)
    before = watch.snapshot()
    environment = agent_environment(Policy(root=project), os.environ | IDENTITY)
    sly = "PATH=/usr/bin:/bin GIT_CONFIG_COUNT=0 git commit -q --allow-empty -m sly"
    subprocess.run(["bash", "-c", sly], cwd=project, env=environment, check=True)
    change = compare(before, watch.snapshot(), quiet=True)
    assert change is not None
    assert change.by_agent
    assert not change.by_person
    assert REFLOG_MARK in (project / ".git/logs/HEAD").read_text()


def test_a_linked_worktree_shares_what_is_watched(project: Path) -> None:
    linked = project.parent / "linked"
    bash(project, f"git worktree add -q {linked}")
    watch = RepositoryWatcher(linked)
    before = watch.snapshot()
    bash(project, "git tag from-elsewhere")
    change = compare(before, watch.snapshot())
    assert change is not None
    assert change.items[0].text == "tag from-elsewhere was created"


def test_a_repository_that_appears_or_goes_is_a_change(tmp_path: Path) -> None:
    watch = RepositoryWatcher(tmp_path)
    assert watch.snapshot() is None
    assert compare(None, None) is None
    bash(tmp_path, "git init -q")
    made = watch.snapshot()
    assert made is not None
    assert made.head.startswith("refs/heads/"), "a branch without a commit yet"
    appeared, gone = compare(None, made), compare(made, None)
    assert appeared is not None
    assert "created" in appeared.summary
    assert gone is not None
    assert "deleted" in gone.summary


def test_a_repository_git_cannot_read_is_an_error_and_no_absence(tmp_path: Path) -> None:
    (tmp_path / ".git").write_text("nonsense")
    with pytest.raises(SetupError, match="cannot read"):
        RepositoryWatcher(tmp_path).snapshot()


def test_settings_of_the_repository_start_no_program(project: Path) -> None:
    bash(project, "git config core.fsmonitor 'touch ran; false'; git config core.hooksPath .git/h")
    assert RepositoryWatcher(project).snapshot() is not None
    assert not (project / "ran").exists()


REFS = st.dictionaries(
    st.sampled_from(["refs/heads/a", "refs/tags/b", "refs/x/c"]), st.sampled_from("01")
)


@given(REFS, REFS, st.sampled_from(["refs/heads/a", "0"]), st.sampled_from(["refs/heads/a", "0"]))
def test_comparing_says_nothing_only_when_nothing_differs(
    old: dict[str, str], new: dict[str, str], head: str, other: str
) -> None:
    before, after = Snapshot(head=head, refs=old), Snapshot(head=other, refs=new)
    change = compare(before, after)
    assert (change is None) == (old == new and head == other)
    assert compare(after, after) is None


def test_a_conflict_in_the_index_is_put_back_as_a_whole(project: Path) -> None:
    watch = RepositoryWatcher(project)
    before = watch.snapshot()
    bash(
        project, "echo m > a.txt; git stash -q; echo n > a.txt; git commit -qam n; ! git stash pop"
    )
    change = compare(before, watch.snapshot())
    assert change is not None
    assert "a.txt (stage 1)" in change.summary + "".join(i.text for i in change.items)
    assert "git read-tree HEAD" in change.restore


@pytest.fixture
def with_submodule(project: Path) -> Path:
    library = project.parent / "library"
    make_repository(library)
    add = f"git -c protocol.file.allow=always submodule --quiet add {library} lib"
    bash(project, f"{add} && git commit -qm lib")
    return project


def test_a_commit_in_a_submodule_is_seen_and_put_back(with_submodule: Path) -> None:
    watch = RepositoryWatcher(with_submodule)
    before = watch.snapshot()
    assert before is not None
    assert compare(before, watch.snapshot()) is None
    for change in (
        "git -C lib commit -q --allow-empty -m x",
        "git -C lib checkout -q --detach && git -C lib commit -q --allow-empty -m x",
        "git -C lib checkout -q -b sly && git -C lib commit -q --allow-empty -m x",
    ):
        bash(with_submodule, change)
        changed = watch.snapshot()
        assert changed == RepositoryWatcher(with_submodule).snapshot()
        found = compare(before, changed)
        assert found is not None
        assert not found.by_person
        assert "the submodule lib was moved from" in found.summary
        bash(with_submodule, found.restore)
        after = watch.snapshot()
        assert after is not None
        assert after.submodules == before.submodules


def test_a_script_cannot_commit_in_a_submodule(with_submodule: Path) -> None:
    environment = agent_environment(Policy(root=with_submodule), os.environ | IDENTITY)
    git = "env PATH=/usr/bin:/bin git -C lib commit --allow-empty -m sly"
    done = subprocess.run(
        ["bash", "-c", git],
        cwd=with_submodule,
        env=environment,
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode != 0
    assert "left to the person" in done.stderr


def test_a_project_that_is_a_part_of_a_repository_is_watched_as_a_whole(project: Path) -> None:
    part = project / "part"
    part.mkdir()
    watch = RepositoryWatcher(part)
    before = watch.snapshot()
    for command, told in (
        ("echo y > ../new.txt; git add ../new.txt", "the index was changed (new.txt)"),
        ("echo y > mine.txt; git add mine.txt", "the index was changed (part/mine.txt)"),
        ("git rm -q --cached ../a.txt", "the index was changed (a.txt)"),
    ):
        bash(part, command)
        change = compare(before, watch.snapshot())
        assert change is not None
        assert told in change.summary
        bash(part, change.restore)
        assert compare(before, watch.snapshot()) is None


@pytest.mark.parametrize(
    ("make", "where", "why"),
    [
        ("git init -q --bare bare", "bare", "is a bare repository"),
        ("git init -q --bare bare; mkdir bare/p", "bare/p", "is a bare repository"),
        ("git init -q x", "x/.git", "inside git's own directory"),
        ("mkdir -p x/p; echo 'gitdir: /gone' > x/.git", "x/p", "not a git repository: "),
    ],
)
def test_where_there_is_no_work_tree_nothing_is_begun(
    tmp_path: Path, make: str, where: str, why: str
) -> None:
    bash(tmp_path, make)
    with pytest.raises(SetupError) as caught:
        RepositoryWatcher(tmp_path / where).snapshot()
    assert why in caught.value.message
    assert caught.value.hint


def test_an_unchanged_repository_is_looked_at_with_four_processes(project: Path) -> None:
    watch = RepositoryWatcher(project)
    watch.snapshot()
    with patch.object(watch, "_run_git", wraps=watch._run_git) as asked:
        watch.snapshot()
    assert asked.call_count == 4
