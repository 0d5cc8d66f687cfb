"""Tests which layers of the guard hold on this machine."""

import os
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ralph_tui.agent.process import launch_script
from ralph_tui.domain.errors import RalphError
from ralph_tui.guard.core.policy import Policy
from ralph_tui.guard.sandbox.environ_block import visible_keys
from ralph_tui.guard.sandbox.environment import agent_environment, cli_overlay

SECONDS = 20

SECRET_NAMES = ("RALPH_DOCTOR_TOKEN", "ANTHROPIC_API_KEY")
"""Secrets that no command may see: the CLI starts without the first, and drops its own key before each command."""

SEE_SECRETS = "see a secret variable"

_CONNECT = "import socket, sys; socket.create_connection(('127.0.0.1', int(sys.argv[1])), 2)"


class TrialError(Exception):
    """The trial did not run, so it shows nothing; the message says why."""


@dataclass(frozen=True)
class Finding:
    """The result of one check.

    Attributes:
        needed: Whether a run cannot start while this is wrong.
        is_next: Whether nothing is wrong: something is not set up yet, and the advice is the next step.
    """

    name: str
    ok: bool
    text: str
    advice: str = ""
    needed: bool = True
    is_next: bool = False


@dataclass(frozen=True)
class TrialProject:
    """A temporary project, with a home directory beside it, in which to try what the guard prevents.

    Attributes:
        canary: The value of the secret variables.
        port: A port of this machine that listens outside any sandbox.
    """

    root: Path
    home: Path
    canary: str
    port: int

    @property
    def scratch(self) -> Path:
        return self.home.with_name("scratch")

    @property
    def attempts(self) -> dict[str, str]:
        home = shlex.quote(str(self.home))
        connect = f'"$RALPH_GUARD_PYTHON" -IS -c {shlex.quote(_CONNECT)} {self.port}'
        return {
            "write to .git": "touch .git/ralph-doctor",
            "write to .ralph": "touch .ralph/ralph-doctor",
            "write outside the project": f"touch {home}/ralph-doctor",
            "read ~/.ssh": f"cat {home}/.ssh/key",
            "reach a host that is not allowed": connect,
            SEE_SECRETS: f"env | grep {self.canary}",
        }


@contextmanager
def trial_project(directory: Path) -> Iterator[TrialProject]:
    """Create a trial project in an empty directory. Its port listens until the block ends."""
    root, home = directory / "project", directory / "home"
    for made in (root / ".git", root / ".ralph", home / ".ssh", directory / "scratch"):
        made.mkdir(parents=True)
    (home / ".ssh" / "key").write_text("of the doctor\n", encoding="utf-8")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield TrialProject(root, home, uuid.uuid4().hex, listener.getsockname()[1])


def successful_attempts(
    project: TrialProject, prefix: Sequence[str], attempts: Mapping[str, str]
) -> tuple[str, ...]:
    base = {**os.environ, **dict.fromkeys(SECRET_NAMES, project.canary)}
    environment = base | cli_overlay(Policy(root=project.root), base)
    starter = launch_script(environment["RALPH_GUARD_PYTHON"], "/bin/sh")
    script = "\n".join(
        f"if {{ {command}; }} >/dev/null 2>&1; then echo {shlex.quote(name)}; fi"
        for name, command in attempts.items()
    )
    script = f'. "$CLAUDE_ENV_FILE"\n{script}\necho tried'
    words = [*prefix, environment["RALPH_GUARD_PYTHON"], "-IS", "-c", starter, "-c", script]
    done = run_trial(words, project.root, environment)
    *found, last = done.stdout.splitlines() or [""]
    if last != "tried":
        errors = done.stderr.strip().splitlines()
        raise TrialError(errors[0] if errors else f"it ends with status {done.returncode}")
    return tuple(found)


def run_trial(
    words: Sequence[str], cwd: Path, environment: Mapping[str, str]
) -> "subprocess.CompletedProcess[str]":
    try:
        return subprocess.run(
            words,
            cwd=cwd,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise TrialError(str(error)) from error


_PTRACE_SCOPE = Path("/proc/sys/kernel/yama/ptrace_scope")
_ADVICE = (
    "Use the sandbox, in which no command sees other processes or these files. Without it, export keys only in "
    "a running shell, because its parent processes then do not show them."
)


def check_exposure(*, sandboxed: bool) -> Finding:
    """Check which keys a script of the agent can read; none if a sandbox hides them."""
    if sandboxed:
        text = "commands in the sandbox see no other process and no login file"
        return Finding("keys", ok=True, text=text, needed=False)
    directory = Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude")
    logins = (directory / ".credentials.json", Path.home() / ".ssh")
    found = [*_keys_of_parents(), *(str(p) for p in logins if p.exists()), *_readable_memory()]
    if not found:
        return Finding("keys", ok=True, text="no script can read them (tried)", needed=False)
    text = f"without a sandbox a script can read {'; '.join(found)}"
    return Finding("keys", ok=False, text=text, advice=_ADVICE, needed=False)


def _keys_of_parents() -> Iterator[str]:
    import psutil

    this = psutil.Process()
    for process in (*([] if sys.platform == "linux" else [this]), *this.parents()):
        try:
            names = visible_keys(process.environ())
            if names:
                yield f"{', '.join(names)} in the environment of {process.name()} (pid {process.pid})"
        except (psutil.Error, OSError):  # the process is gone, or we may not read it
            continue


def _readable_memory() -> Iterator[str]:
    """Yield a clause if processes of one user can read each other's memory; Yama prevents it, except for root."""
    if sys.platform != "linux":
        return
    try:
        scope = _PTRACE_SCOPE.read_text().strip()
    except OSError:
        scope = "0"
    if scope == "0" or os.geteuid() == 0:
        yield "the memory of ralph and the CLI"


_REINSTALL = "Install ralph again: uv tool install --reinstall ralph-tui"
_COMMIT = (
    *("-c", "user.name=ralph", "-c", "user.email=ralph@localhost"),
    *("commit", "-q", "--allow-empty", "-m", "doctor"),
)


def check_layers(start: Path, mode: str = "auto") -> Iterator[Finding]:
    """Try every layer of the guard, from judging commands to noticing changes; `mode` is `safety.sandbox`."""
    yield _check_guard(start)
    with tempfile.TemporaryDirectory(prefix="ralph-doctor-") as directory:
        repository = Path(directory, "repository")
        repository.mkdir()
        if git := shutil.which("git"):
            clean = {n: v for n, v in os.environ.items() if not n.startswith("GIT_")}
            run_trial([git, "init", "-q"], repository, clean)
        environment = agent_environment(Policy(root=repository), os.environ)
        yield _check_shims(git, repository, environment)
        yield _check_git_hook(git, repository, environment)
        with trial_project(Path(directory, "place")) as project:
            yield _check_secrets(project)
            sandbox = _check_sandbox(project, mode)
            yield sandbox
            yield check_exposure(sandboxed=sandbox.ok and sys.platform != "darwin")
    yield _check_fingerprint(start)


def _check_guard(root: Path) -> Finding:
    from ralph_tui.guard.command_judge import judging

    with judging(Policy(root=root)) as judge:
        ok = (judge("git status").decision, judge("git push").decision) == ("allow", "deny")
    wrong = "the process that judges commands does not answer, so every command would be denied"
    return Finding("guard", ok, "judges commands (tried)" if ok else wrong, _REINSTALL)


def _check_shims(git: str | None, root: Path, environment: Mapping[str, str]) -> Finding:
    from ralph_tui.guard.sandbox.environment import SHIMS

    programs = [p for d in (SHIMS, SHIMS / "hooks") for p in sorted(d.glob("*")) if p.is_file()]
    broken = [p.name for p in programs if not p.suffix and not os.access(p, os.X_OK)]
    advice = f"Make them executable: chmod +x {SHIMS}/*"
    if broken or not programs:
        wrong = f"cannot be run: {', '.join(broken)}" if broken else f"none in {SHIMS}"
        return Finding("shims", ok=False, text=wrong, advice=advice)
    attempts: dict[str, tuple[Sequence[str], str]] = {}
    if git:
        attempts["git commit"] = (("git", *_COMMIT), "(git-read-only)")
    attempts["pip install"] = (("pip", "install", "ralph-doctor"), "this project uses uv")
    allowed = [
        f"{name} ({why})"
        for name, (words, answer) in attempts.items()
        if (why := _why_not_refused(words, answer, root, environment))
    ]
    names = ", ".join(p.name for p in sorted(SHIMS.glob("*")) if p.is_file() and not p.suffix)
    refused = f"refuse {' and '.join(attempts)} (tried); they replace {names}"
    text = f"do not refuse {', '.join(allowed)}" if allowed else refused
    return Finding("shims", not allowed, text, _REINSTALL)


def _check_git_hook(git: str | None, root: Path, environment: Mapping[str, str]) -> Finding:
    if git is None:
        return Finding("git hook", ok=False, text="git is not installed", needed=False)
    why = _why_not_refused((git, *_COMMIT), "left to the person", root, environment)
    text = (
        f"does not refuse a commit ({why}); it needs git 2.28"
        if why
        else ("refuses commits and branches of scripts (tried)")
    )
    return Finding("git hook", not why, text, "Install a newer git.", needed=False)


def _why_not_refused(
    words: Sequence[str], answer: str, root: Path, environment: Mapping[str, str]
) -> str:
    try:
        done = run_trial(words, root, environment)
    except TrialError as error:
        return str(error)
    if done.returncode == 0:
        return "it was done"
    errors = done.stderr.strip().splitlines()
    return "" if answer in done.stderr else (errors[0] if errors else f"status {done.returncode}")


def _check_secrets(project: TrialProject) -> Finding:
    try:
        seen = successful_attempts(project, (), {SEE_SECRETS: project.attempts[SEE_SECRETS]})
    except TrialError as error:
        return Finding("secrets", ok=False, text=f"could not be tried: {error}", advice=_REINSTALL)
    wrong = "a command sees variables with secret names"
    text = wrong if seen else "commands do not see variables with keys (tried)"
    return Finding("secrets", not seen, text, _REINSTALL)


def _check_sandbox(project: TrialProject, mode: str) -> Finding:
    from ralph_tui.guard.sandbox.os_sandbox import INSTALL, NOT_HELD, sandbox_problem

    if mode == "off":
        return Finding("sandbox", ok=False, text="switched off (safety.sandbox)", needed=False)
    reason = sandbox_problem()
    problem = f"not available: {reason}" if reason else _sandbox_leaks(project)
    who = (
        "the agent's commands, but not the checks that ralph runs on macOS"
        if sys.platform == "darwin"
        else "the agent's commands and the checks (each tried)"
    )
    text = problem or (
        f"contains {who}: .git, .ralph and everything outside the project are read-only, keys are hidden, "
        "no network except safety.sandbox_domains"
    )
    advice = f"{INSTALL}. Without a sandbox, nothing holds back {NOT_HELD}."
    return Finding("sandbox", not problem, text, advice, needed=mode == "required")


def _sandbox_leaks(project: TrialProject) -> str:
    from ralph_tui.guard.sandbox.os_sandbox import (
        SandboxAccess,
        cli_sandbox_prefix,
        sandbox_for,
        sandbox_prefix,
    )

    sandbox = sandbox_for(project.root, project.home, os.environ)
    prefixes = [cli_sandbox_prefix(sandbox, project.root)]
    if sys.platform != "darwin":
        prefixes.append(sandbox_prefix(sandbox, project.root, SandboxAccess(project.scratch, {})))
    try:
        done = [
            name
            for prefix in prefixes
            if prefix
            for name in successful_attempts(project, prefix, project.attempts)
        ]
    except TrialError as error:
        return f"could not be tried: {error}"
    return f"does not hold, a command can {', '.join(dict.fromkeys(done))}" if done else ""


def _check_fingerprint(start: Path) -> Finding:
    from ralph_tui.guard.repository.watcher import RepositoryWatcher

    try:
        seen = RepositoryWatcher(start).snapshot()
    except RalphError as error:
        return Finding("fingerprint", ok=False, text=error.message, advice=error.hint)
    text = (
        "of the repository before and after each session"
        if seen
        else "nothing to watch: no repository"
    )
    return Finding("fingerprint", ok=True, text=text)
