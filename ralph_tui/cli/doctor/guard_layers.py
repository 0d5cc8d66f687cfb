"""Tests which layers of the guard hold on this machine."""

import os
import shlex
import shutil
import socket
import sys
import tempfile
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ralph_tui.agent.process import launch_script
from ralph_tui.cli.doctor.preflight import Finding, TrialError, asked, checked, failure_of
from ralph_tui.domain.errors import SetupError
from ralph_tui.guard.core.policy import Policy
from ralph_tui.guard.sandbox.environ_block import visible_keys
from ralph_tui.guard.sandbox.environment import agent_environment, cli_overlay

SECRET_NAMES = ("RALPH_DOCTOR_TOKEN", "ANTHROPIC_API_KEY")
"""Secrets that no command may see: the CLI starts without the first, and drops its own key before each command."""

SEE_SECRETS = "see a secret variable"

_CONNECT = "import socket, sys; socket.create_connection(('127.0.0.1', int(sys.argv[1])), 2)"


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
    done = asked(words, project.root, environment)
    *found, last = done.stdout.splitlines() or [""]
    if last != "tried":
        raise TrialError(failure_of(done))
    return tuple(found)


_PTRACE_SCOPE = Path("/proc/sys/kernel/yama/ptrace_scope")
_ADVICE = (
    "Use the sandbox, in which no command sees other processes or these files. Without it, export keys only in "
    "a running shell, because its parent processes then do not show them."
)


def _exposure(sandboxed: bool) -> str:  # noqa: FBT001 - beside its only caller
    """Check which keys a script of the agent can read; none if a sandbox hides them."""
    if sandboxed:
        return "commands in the sandbox see no other process and no login file"
    directory = Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude")
    logins = (directory / ".credentials.json", Path.home() / ".ssh")
    found = [*_keys_of_parents(), *(str(p) for p in logins if p.exists()), *_readable_memory()]
    if found:
        raise SetupError(f"without a sandbox a script can read {'; '.join(found)}", _ADVICE)
    return "no script can read them (tried)"


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
    yield from checked("guard", _guard, start)
    with tempfile.TemporaryDirectory(prefix="ralph-doctor-") as directory:
        repository = Path(directory, "repository")
        repository.mkdir()
        if git := shutil.which("git"):
            clean = {n: v for n, v in os.environ.items() if not n.startswith("GIT_")}
            asked([git, "init", "-q"], repository, clean)
        environment = agent_environment(Policy(root=repository), os.environ)
        yield from checked("shims", _shims, git, repository, environment)
        yield from checked("git hook", _git_hook, git, repository, environment, needed=False)
        with trial_project(Path(directory, "place")) as project:
            yield from checked("secrets", _secrets, project)
            sandbox = [*checked("sandbox", _sandbox, project, mode, needed=mode == "required")]
            yield from sandbox
            hidden = sandbox[0].ok and sys.platform != "darwin"
            yield from checked("keys", _exposure, hidden, needed=False)
    yield from checked("fingerprint", _fingerprint, start)


def _guard(root: Path) -> str:
    from ralph_tui.guard.command_judge import judging

    with judging(Policy(root=root)) as judge:
        if (judge("git status").decision, judge("git push").decision) != ("allow", "deny"):
            wrong = (
                "the process that judges commands does not answer, so every command would be denied"
            )
            raise SetupError(wrong, _REINSTALL)
    return "judges commands (tried)"


def _shims(git: str | None, root: Path, environment: Mapping[str, str]) -> str:
    from ralph_tui.guard.sandbox.environment import SHIMS

    programs = [p for d in (SHIMS, SHIMS / "hooks") for p in sorted(d.glob("*")) if p.is_file()]
    broken = [p.name for p in programs if not p.suffix and not os.access(p, os.X_OK)]
    if broken or not programs:
        wrong = f"cannot be run: {', '.join(broken)}" if broken else f"none in {SHIMS}"
        raise SetupError(wrong, f"Make them executable: chmod +x {SHIMS}/*")
    attempts: dict[str, tuple[Sequence[str], str]] = {}
    if git:
        attempts["git commit"] = (("git", *_COMMIT), "(git-read-only)")
    attempts["pip install"] = (("pip", "install", "ralph-doctor"), "this project uses uv")
    allowed = [
        f"{name} ({why})"
        for name, (words, answer) in attempts.items()
        if (why := _why_not_refused(words, answer, root, environment))
    ]
    if allowed:
        raise SetupError(f"do not refuse {', '.join(allowed)}", _REINSTALL)
    names = ", ".join(p.name for p in sorted(SHIMS.glob("*")) if p.is_file() and not p.suffix)
    return f"refuse {' and '.join(attempts)} (tried); they replace {names}"


def _git_hook(git: str | None, root: Path, environment: Mapping[str, str]) -> str:
    if git is None:
        raise SetupError("git is not installed")
    if why := _why_not_refused((git, *_COMMIT), "left to the person", root, environment):
        wrong = f"does not refuse a commit ({why}); it needs git 2.28"
        raise SetupError(wrong, "Install a newer git.")
    return "refuses commits and branches of scripts (tried)"


def _why_not_refused(
    words: Sequence[str], answer: str, root: Path, environment: Mapping[str, str]
) -> str:
    try:
        done = asked(words, root, environment)
    except TrialError as error:
        return str(error)
    if done.returncode == 0:
        return "it was done"
    return "" if answer in done.stderr else failure_of(done)


def _secrets(project: TrialProject) -> str:
    try:
        seen = successful_attempts(project, (), {SEE_SECRETS: project.attempts[SEE_SECRETS]})
    except TrialError as error:
        raise SetupError(f"could not be tried: {error}", _REINSTALL) from error
    if seen:
        raise SetupError("a command sees variables with secret names", _REINSTALL)
    return "commands do not see variables with keys (tried)"


def _sandbox(project: TrialProject, mode: str) -> str:
    from ralph_tui.guard.sandbox.os_sandbox import INSTALL, NOT_HELD, sandbox_problem

    if mode == "off":
        raise SetupError("switched off (safety.sandbox)")
    reason = sandbox_problem()
    if problem := f"not available: {reason}" if reason else _sandbox_leaks(project):
        advice = f"{INSTALL}. Without a sandbox, nothing holds back {NOT_HELD}."
        raise SetupError(problem, advice)
    who = (
        "the agent's commands, but not the checks that ralph runs on macOS"
        if sys.platform == "darwin"
        else "the agent's commands and the checks (each tried)"
    )
    return (
        f"contains {who}: .git, .ralph and everything outside the project are read-only, keys are hidden, "
        "no network except safety.sandbox_domains"
    )


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


def _fingerprint(start: Path) -> str:
    from ralph_tui.guard.repository.watcher import RepositoryWatcher

    if RepositoryWatcher(start).snapshot():
        return "of the repository before and after each session"
    return "nothing to watch: no repository"
