"""What text cannot show, run for real: scripts meet the same rule through PATH and git's own hook."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ralph_tui.guard.core.policy import PYTHON_TOOLS, Policy
from ralph_tui.guard.sandbox.environment import (
    REMOVED,
    SHIMS,
    agent_environment,
    cli_overlay,
    hidden_names,
    repository,
)
from ralph_tui.guard.sandbox.git_shim import refused

Run = Callable[[str], subprocess.CompletedProcess[str]]
IDENTITY = {
    f"GIT_{who}_{what}": "x@y" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
}


def make_repository(path: Path) -> None:
    path.mkdir()
    for command in ("git init -q -b main", "git add -A", "git commit -q --allow-empty -m first"):
        subprocess.run(command, shell=True, cwd=path, env=os.environ | IDENTITY, check=True)


def refs(path: Path) -> str:
    command = "git for-each-ref; git rev-parse HEAD; git ls-files -s"
    return subprocess.run(
        command, shell=True, cwd=path, capture_output=True, text=True, check=True
    ).stdout


@pytest.fixture
def project(tmp_path: Path) -> Path:
    make_repository(tmp_path / "proj")
    return tmp_path / "proj"


@pytest.fixture
def run(project: Path) -> Run:
    env = agent_environment(Policy(root=project), os.environ | IDENTITY)

    def run(command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", "-c", command],
            cwd=project,
            env=env,
            capture_output=True,
            text=True,
            check=False,
        )

    return run


SCRIPTS = (
    "git commit -q --allow-empty -m x",
    "git -C . checkout -q -b pwn",
    "echo x > f && git add f",
    "git config a.b c",
    "printf 'x:\\n\\tgit branch pwn\\n' > m; make -f m",
    "printf 'import os; os.system(\"git tag pwn\")' > t.py; python3 t.py",
    'ln -s "$(PATH=/usr/local/bin:/usr/bin:/bin command -v git)" ./g; ./g branch pwn',
    "PATH=/usr/local/bin:/usr/bin:/bin git branch pwn",
    "command -p git tag pwn",
    "PATH=/usr/local/bin:/usr/bin:/bin git commit -q --allow-empty --no-verify -m x",
)


def test_scripts_cannot_change_the_repository(run: Run, project: Path) -> None:
    before = refs(project), (project / ".git/config").read_text()
    for script in SCRIPTS:
        run(script)
        assert (refs(project), (project / ".git/config").read_text()) == before, script
    refused = run("git commit -m x")
    assert refused.returncode == 1
    assert "git-read-only" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_reading_and_python_work(run: Run) -> None:
    for command in (
        "git status", "git log --oneline", "git diff", "git branch --list", "git config --get user.name || true",
        "git -C . log -1", "git rev-parse HEAD", "git --version", "git stash list", "uv --version", "python3 -c pass",
    ):  # fmt: skip
        result = run(command)
        assert (result.returncode, result.stderr) == (0, ""), command


def test_other_repositories_are_not_the_guards_business(run: Run, project: Path) -> None:
    other = project.parent / "other"
    other.mkdir()
    result = run(
        f"cd {other} && git init -q && git commit -q --allow-empty -m x && git tag t && git tag"
    )
    assert (result.returncode, result.stdout) == (0, "t\n"), result.stderr


def test_other_package_managers_point_to_uv(run: Run) -> None:
    for name in ("pip", "pip3", "virtualenv", "conda", "poetry", "pipenv"):
        result = run(f"{name} install x")
        assert result.returncode == 1
        assert "uv add" in result.stderr, name


def test_poetry_works_where_the_project_is_poetrys(tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "poetry").write_text('#!/bin/sh\necho "poetry $*"\n')
    (programs / "poetry").chmod(0o755)
    base = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}

    def said(manager: str, *words: str) -> str:
        tools = PYTHON_TOOLS if manager == "uv" else ()
        own = "" if manager == "uv" else manager
        policy = Policy(root=tmp_path, own_manager=own, python_tools=tools)
        env = agent_environment(policy, base)
        done = subprocess.run(
            ["poetry", *words], env=env, capture_output=True, text=True, check=False
        )
        return done.stdout or done.stderr

    assert said("poetry", "run", "pytest", "-q") == "poetry run pytest -q\n"
    assert "this project uses poetry; use that" in said("poetry", "publish")
    assert "this project uses uv; use uv run COMMAND" in said("uv", "run", "pytest")
    assert "declare the package in the project" in said("", "add", "flask")
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "x"\nversion = "1"\n')
    for tools in ((), PYTHON_TOOLS):
        env = agent_environment(Policy(root=tmp_path, python_tools=tools), dict(os.environ))
        subprocess.run(["uv", "run", "-q", "--offline", "true"], cwd=tmp_path, env=env, check=True)
        assert (tmp_path / "uv.lock").exists() is bool(tools)


def test_secrets_stay_and_the_clis_own_key_goes_along(tmp_path: Path) -> None:
    base = {
        "PATH": "/usr/bin", "HOME": "/h", "AWS_SECRET_ACCESS_KEY": "x", "DATABASE_PASSWORD": "x",
        "API_SECRET_KEY": "x", "GITHUB_TOKEN": "x", "MY_SECRET": "x", "TOKEN": "x", "pg_password": "x",
        "ANTHROPIC_API_KEY": "k", "CLAUDE_CODE_OAUTH_TOKEN": "t", "KEYBOARD": "de", "MONKEY": "1",
        "GIT_DIR": "/elsewhere", "GIT_AUTHOR_NAME": "me",
    }  # fmt: skip
    env = agent_environment(Policy(root=tmp_path), base)
    kept = {
        "PATH",
        "HOME",
        "ANTHROPIC_API_KEY",
        "CLAUDE_CODE_OAUTH_TOKEN",
        "KEYBOARD",
        "MONKEY",
        "GIT_AUTHOR_NAME",
    }
    assert kept == set(env) & set(base)
    assert len(hidden_names(base)) == 7
    again = agent_environment(Policy(root=tmp_path), env)
    assert again == env


def test_the_overlay_leads_to_the_agents_environment(tmp_path: Path) -> None:
    base = {"PATH": "/usr/bin", "DB_PASSWORD": "x", "GIT_DIR": "/elsewhere", "HOME": "/h"}
    policy = Policy(root=tmp_path)
    overlay = cli_overlay(policy, base)
    assert overlay["DB_PASSWORD"] == "", "hidden even where nobody removes it"
    assert "HOME" not in overlay
    laid = base | overlay
    for name in laid.pop(REMOVED).split():
        del laid[name]
    assert Path(laid.pop("CLAUDE_ENV_FILE")).is_file()
    assert laid == agent_environment(policy, base)


def test_a_cloud_that_serves_the_model_keeps_its_login() -> None:
    base = {"AWS_SECRET_ACCESS_KEY": "x", "AWS_SESSION_TOKEN": "x", "GOOGLE_API_KEY": "x"}
    assert hidden_names(base) == tuple(sorted(base))
    assert hidden_names(base | {"CLAUDE_CODE_USE_BEDROCK": "0"}) == tuple(sorted(base))
    assert hidden_names(base | {"CLAUDE_CODE_USE_BEDROCK": "1"}) == ("GOOGLE_API_KEY",)


def test_every_shim_can_be_executed() -> None:
    files = [path for path in SHIMS.rglob("*") if path.is_file() and path.suffix != ".sh"]
    assert len(files) > 8
    assert [path.name for path in files if not os.access(path, os.X_OK)] == []


def test_the_repository_of_a_linked_worktree(project: Path) -> None:
    linked = project.parent / "linked"
    subprocess.run(["git", "worktree", "add", "-q", str(linked)], cwd=project, check=True)
    assert repository(linked) == os.path.realpath(project / ".git")
    env = agent_environment(Policy(root=linked), os.environ | IDENTITY)
    before = refs(linked)
    subprocess.run(["git", "branch", "pwn"], cwd=linked, env=env, capture_output=True, check=False)
    hidden = "PATH=/usr/bin:/bin git branch pwn"
    subprocess.run(hidden, shell=True, cwd=linked, env=env, capture_output=True, check=False)
    assert refs(linked) == before


def test_the_repository_a_project_is_a_part_of(project: Path) -> None:
    part = project / "packages" / "mine"
    part.mkdir(parents=True)
    assert repository(part) == os.path.realpath(project / ".git")
    env = agent_environment(Policy(root=part), os.environ | IDENTITY)
    before = refs(project)
    for command in ("git branch pwn", "PATH=/usr/bin:/bin git branch pwn", "cd ../..; git tag pwn"):
        subprocess.run(command, shell=True, cwd=part, env=env, capture_output=True, check=False)
    assert refs(project) == before


CLI_SETTINGS = [
    "core.askPass=", "protocol.ext.allow=never", "submodule.recurse=false", "log.showSignature=false",
    "core.alternateRefsCommand=f() { git --git-dir=\"$1\" for-each-ref --format='%(objectname)'; }; f",
    "format.pretty=medium", "gc.auto=0", "maintenance.auto=false", "diff.autoRefreshIndex=false",
    "hook.pre-commit.enabled=false", "hook.p4-changelist.enabled=false", "core.hooksPath=/dev/null",
    "core.fsmonitor=", "safe.bareRepository=explicit", "protocol.file.allow=never",
]  # fmt: skip
"""What the CLI lays over the settings for its own calls."""

WORDS = st.sampled_from(
    [
        "log", "status", "diff", "show", "blame", "grep", "rev-list", "rev-parse", "remote", "config", "branch", "commit",
        "tag", "ls-files", "--version", "get-url", "show", "origin", "add", "-c", "--", "-n", "5", "-1", "-O", "-oless", "-Sx",
        "-S", "-e", "-f", "-v", "-h", "--help", "--oneline", "--output=x", "--outp", "--output", "--ext-diff", "--format=%H",
        "--format", "--porcelain", "--porcelain=v2", "--short", "--untracked-files=no", "--get", "--get-all", "--push", "--unset",
        "user.name", "a.b", "--show-current", "-d", "-m", "x", "HEAD", "-C", ".", "--git-dir=.git", "-p", "--all", "--stdin",
        "--open-files-in-pager", "core.pager=x", "alias.log=!x", "hook.x.command=touch y.enabled=false",
        "hook.x.command=y.enabled=false", "hook..enabled=false", "protocol.ext.allow=always", "", "--no-ext-diff", "--cached",
    ]
)  # fmt: skip
SETTINGS = st.lists(st.sampled_from(CLI_SETTINGS), max_size=3).map(
    lambda settings: [word for setting in settings for word in ("-c", setting)]
)


@pytest.fixture(scope="module")
def who_runs(tmp_path_factory: pytest.TempPathFactory) -> Callable[[list[str]], str]:
    """Say who runs git with these arguments: git itself at once, or first the guard's Python."""
    place = tmp_path_factory.mktemp("programs")
    for name in ("git", "python"):
        (place / name).write_text(f"#!/bin/sh\nprintf {name}\n")
        (place / name).chmod(0o755)
    env = {"PATH": f"{SHIMS}:{place}:/usr/bin:/bin", "RALPH_GUARD_PYTHON": str(place / "python")}

    def who_runs(arguments: list[str]) -> str:
        done = subprocess.run(
            [SHIMS / "git", *arguments], env=env, capture_output=True, text=True, check=True
        )
        return done.stdout

    return who_runs


OF_CLI = [word for setting in CLI_SETTINGS for word in ("-c", setting)]


def test_the_clis_own_reading_starts_no_python(who_runs: Callable[[list[str]], str]) -> None:
    for arguments in (
        [*OF_CLI, "remote", "get-url", "origin"],
        [*OF_CLI, "remote"],
        ["-c", "core.fsmonitor=", "ls-files", "--error-unmatch", "--", ":(icase).claude/settings.local.json"],
        ["remote", "get-url", "--push", "origin"],
        ["status", "--porcelain"],
        ["log", "-n", "5", "--format=%h %s"],
        ["diff", "--cached", "--stat", "--", "a.txt"],
        ["config", "--get", "user.name"],
        ["branch", "--show-current"],
    ):  # fmt: skip
        assert who_runs(arguments) == "git", arguments


@given(settings_of_the_cli=SETTINGS, words=st.lists(WORDS, max_size=5))
@settings(max_examples=150)
@example(settings_of_the_cli=[], words=["-c", "log", "commit"])
@example(settings_of_the_cli=[], words=["-c", "hook.x.command=y.enabled=false", "log"])
@example(settings_of_the_cli=[], words=["log", "-S", "--", "--output=x"])
@example(settings_of_the_cli=[], words=["remote", "get-url", "x", "add"])
@example(settings_of_the_cli=[], words=["core.fsmonitor=", "log"])
def test_what_the_shell_lets_through_python_would_too(
    who_runs: Callable[[list[str]], str], settings_of_the_cli: list[str], words: list[str]
) -> None:
    arguments = [*settings_of_the_cli, *words]
    if who_runs(arguments) == "git":
        assert refused(arguments) == ""
        assert not any(word.startswith(("--outp", "--ext", "--open", "-O")) for word in words)


def test_the_clis_settings_do_not_help_to_write(run: Run, project: Path) -> None:
    before = refs(project)
    prefix = "git -c core.hooksPath=/dev/null -c hook.reference-transaction.enabled=false"
    assert run(f"{prefix} tag pwn").returncode == 1
    assert run(f"{prefix} commit --allow-empty -m x").returncode == 1
    assert run(f"{prefix} remote").returncode == 0
    assert refs(project) == before
