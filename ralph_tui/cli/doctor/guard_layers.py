"""Tests which layers of the guard hold on this machine."""

import asyncio
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
from ralph_tui.cli.doctor.finding import Finding
from ralph_tui.domain.errors import RalphError
from ralph_tui.guard.core.policy import Policy
from ralph_tui.guard.sandbox.environ_block import shown_keys
from ralph_tui.guard.sandbox.environment import agent_environment, cli_overlay

SECONDS = 20

SECRET_NAMES = ("RALPH_DOCTOR_TOKEN", "ANTHROPIC_API_KEY")
"""The CLI is started without the first; its own key is taken away before each command."""

SEE_SECRETS = "see a secret variable"

_CONNECT = "import socket, sys; socket.create_connection(('127.0.0.1', int(sys.argv[1])), 2)"


class UntriedError(Exception):
    """The trial did not run, so it shows nothing; the message says why."""


@dataclass(frozen=True)
class TrialProject:
    """A project made for a trial, a home beside it, and what a command might find there.

    Attributes:
        canary: The value of variables whose names say that they are secret.
        port: A port on this machine that listens outside any sandbox.
    """

    root: Path
    home: Path
    canary: str
    port: int

    @property
    def scratch(self) -> Path:
        """Return the temporary directory of a command in the sandbox."""
        return self.home.with_name("scratch")

    @property
    def tries(self) -> dict[str, str]:
        """Return what the sandbox must prevent, in words, with the shell command that attempts it."""
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
    """Make a place in an empty directory; its port listens until the block is left."""
    root, home = directory / "project", directory / "home"
    for made in (root / ".git", root / ".ralph", home / ".ssh", directory / "scratch"):
        made.mkdir(parents=True)
    (home / ".ssh" / "key").write_text("of the doctor\n", encoding="utf-8")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield TrialProject(root, home, uuid.uuid4().hex, listener.getsockname()[1])


def what_succeeds(
    here: TrialProject, prefix: Sequence[str], tries: Mapping[str, str]
) -> tuple[str, ...]:
    """Return which of the attempts succeed in a command that is started with `prefix`, as the agent's are.

    Raises:
        UntriedError: The command did not run.
    """
    base = {**os.environ, **dict.fromkeys(SECRET_NAMES, here.canary)}
    environment = base | cli_overlay(Policy(root=here.root), base)
    starter = launch_script(environment["RALPH_GUARD_PYTHON"], "/bin/sh")
    script = "\n".join(
        f"if {{ {command}; }} >/dev/null 2>&1; then echo {shlex.quote(name)}; fi"
        for name, command in tries.items()
    )
    script = f'. "$CLAUDE_ENV_FILE"\n{script}\necho tried'
    words = [*prefix, environment["RALPH_GUARD_PYTHON"], "-IS", "-c", starter, "-c", script]
    done = run_trial(words, here.root, environment)
    *found, last = done.stdout.splitlines() or [""]
    if last != "tried":
        said = done.stderr.strip().splitlines()
        raise UntriedError(said[0] if said else f"it ends with status {done.returncode}")
    return tuple(found)


def run_trial(
    words: Sequence[str], cwd: Path, environment: Mapping[str, str]
) -> "subprocess.CompletedProcess[str]":
    """Run a trial to its end, whatever its status.

    Raises:
        UntriedError: It does not start, or takes too long.
    """
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
        raise UntriedError(str(error)) from error


_PTRACE_SCOPE = Path("/proc/sys/kernel/yama/ptrace_scope")
_ADVICE = (
    "Use the sandbox: there, no command sees other processes or these files. Without it, export keys in a "
    "shell that already runs, because its parents then do not show them."
)


def check_exposure(*, held: bool) -> Finding:
    """Check which keys a script of the agent can read; none where a sandbox hides them."""
    if held:
        text = "commands in the sandbox see no other process and no login file"
        return Finding("keys", ok=True, text=text, needed=False)
    found = [*_shown_by_parents(), *_login_files(), *_memory()]
    if not found:
        return Finding("keys", ok=True, text="no script can read them (tried)", needed=False)
    text = f"without a sandbox a script can read {'; '.join(found)}"
    return Finding("keys", ok=False, text=text, advice=_ADVICE, needed=False)


def _shown_by_parents() -> Iterator[str]:
    """Name keys in the environment of ralph's parent processes; ralph blanks its own at the start of a run."""
    import psutil

    this = psutil.Process()
    for process in (*([] if sys.platform == "linux" else [this]), *this.parents()):
        try:
            names = shown_keys(process.environ())
            if names:
                yield f"{', '.join(names)} in the environment of {process.name()} (pid {process.pid})"
        except (psutil.Error, OSError):  # gone meanwhile, or not ours to read
            continue


def _login_files() -> Iterator[str]:
    directory = Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude")
    for path in (directory / ".credentials.json", Path.home() / ".ssh"):
        if path.exists():
            yield str(path)


def _memory() -> Iterator[str]:
    """Say whether processes of one user can read each other's memory; Yama prevents it, except for root."""
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


def check_layers(start: Path, sandbox: str = "auto") -> Iterator[Finding]:
    """Try every layer, from the one that reads commands to the one that only notices; `sandbox` is the setting."""
    yield _reading(start)
    with tempfile.TemporaryDirectory(prefix="ralph-doctor-") as directory:
        repository = Path(directory, "repository")
        repository.mkdir()
        if git := shutil.which("git"):
            clean = {n: v for n, v in os.environ.items() if not n.startswith("GIT_")}
            run_trial([git, "init", "-q"], repository, clean)
        environment = agent_environment(Policy(root=repository), os.environ)
        yield _shims(git, repository, environment)
        yield _hooks(git, repository, environment)
        with trial_project(Path(directory, "place")) as here:
            yield _secrets(here)
            held = _sandbox(here, sandbox)
            yield held
            yield check_exposure(held=held.ok and sys.platform != "darwin")
    yield _fingerprint(start)


def _reading(root: Path) -> Finding:
    """Start the child that reads commands, as a run does, and have it judge two of them."""
    from ralph_tui.guard.worker import CommandJudge

    async def ask() -> tuple[str, str]:
        judge = CommandJudge(Policy(root=root))
        try:
            allowed = await judge.judge("git status")
            denied = await judge.judge("git push")
        finally:
            await judge.close()
        return allowed.decision, denied.decision

    ok = asyncio.run(ask()) == ("allow", "deny")
    wrong = "the process that reads commands does not answer, so every command would be denied"
    return Finding("guard", ok, "reads commands (tried)" if ok else wrong, _REINSTALL)


def _shims(git: str | None, root: Path, environment: Mapping[str, str]) -> Finding:
    """Have the programs that stand before git and pip in an agent's PATH refuse something."""
    from ralph_tui.guard.sandbox.environment import SHIMS

    programs = [p for d in (SHIMS, SHIMS / "hooks") for p in sorted(d.glob("*")) if p.is_file()]
    broken = [p.name for p in programs if not p.suffix and not os.access(p, os.X_OK)]
    advice = f"Make them executable: chmod +x {SHIMS}/*"
    if broken or not programs:
        wrong = f"cannot be run: {', '.join(broken)}" if broken else f"none in {SHIMS}"
        return Finding("shims", ok=False, text=wrong, advice=advice)
    tries: dict[str, tuple[Sequence[str], str]] = {}
    if git:
        tries["git commit"] = (("git", *_COMMIT), "(git-read-only)")
    tries["pip install"] = (("pip", "install", "ralph-doctor"), "this project uses uv")
    open_to = [
        f"{name} ({why})"
        for name, (words, answer) in tries.items()
        if (why := _let_through(words, answer, root, environment))
    ]
    names = ", ".join(p.name for p in sorted(SHIMS.glob("*")) if p.is_file() and not p.suffix)
    held = f"refuse {' and '.join(tries)} (tried); stand before {names}"
    text = f"do not refuse {', '.join(open_to)}" if open_to else held
    return Finding("shims", not open_to, text, _REINSTALL)


def _hooks(git: str | None, root: Path, environment: Mapping[str, str]) -> Finding:
    """Try to move a branch in a repository of our own as a script of the agent would, past the shims."""
    if git is None:
        return Finding("git hook", ok=False, text="git is not installed", needed=False)
    why = _let_through((git, *_COMMIT), "left to the person", root, environment)
    text = (
        f"does not refuse a commit ({why}); it needs git 2.28"
        if why
        else ("refuses commits and branches of scripts (tried)")
    )
    return Finding("git hook", not why, text, "Install a newer git.", needed=False)


def _let_through(
    words: Sequence[str], answer: str, root: Path, environment: Mapping[str, str]
) -> str:
    """Return why a command counts as let through; empty when it is refused with `answer`."""
    try:
        done = run_trial(words, root, environment)
    except UntriedError as error:
        return str(error)
    if done.returncode == 0:
        return "it was done"
    said = done.stderr.strip().splitlines()
    return "" if answer in done.stderr else (said[0] if said else f"status {done.returncode}")


def _secrets(here: TrialProject) -> Finding:
    """Hand a secret over to a command as a session would, and have the command look for it."""
    try:
        seen = what_succeeds(here, (), {SEE_SECRETS: here.tries[SEE_SECRETS]})
    except UntriedError as error:
        return Finding("secrets", ok=False, text=f"could not be tried: {error}", advice=_REINSTALL)
    wrong = "a command sees variables whose names say that they are secret"
    text = wrong if seen else "commands do not see variables with keys (tried)"
    return Finding("secrets", not seen, text, _REINSTALL)


def _sandbox(here: TrialProject, mode: str) -> Finding:
    """Try in the sandbox what it must not allow, where there is a sandbox that works."""
    from ralph_tui.guard.sandbox.os_sandbox import INSTALL, why_no_sandbox

    if mode == "off":
        return Finding("sandbox", ok=False, text="switched off (safety.sandbox)", needed=False)
    reason = why_no_sandbox()
    held = f"not available: {reason}" if reason else _held(here)
    who = (
        "the agent's commands, but not the checks that ralph runs on macOS"
        if sys.platform == "darwin"
        else "the agent's commands and the checks (each tried)"
    )
    text = held or (
        f"holds {who}: .git, .ralph and all outside the project read-only, keys hidden, "
        "no network but safety.sandbox_domains"
    )
    advice = f"{INSTALL}. Without a sandbox, the effects of scripts cannot be checked."
    return Finding("sandbox", not held, text, advice, needed=mode == "required")


def _held(here: TrialProject) -> str:
    """Return what the sandbox lets through, in words; empty when it holds."""
    from ralph_tui.guard.sandbox.os_sandbox import Openings, held_prefix, sandbox_for, trial_prefix

    held = sandbox_for(here.root, here.home, os.environ)
    prefixes = [trial_prefix(held, here.root)]
    if sys.platform != "darwin":
        prefixes.append(held_prefix(held, here.root, Openings(here.scratch, {})))
    try:
        done = [
            name
            for prefix in prefixes
            if prefix
            for name in what_succeeds(here, prefix, here.tries)
        ]
    except UntriedError as error:
        return f"could not be tried: {error}"
    return f"does not hold, a command can {', '.join(dict.fromkeys(done))}" if done else ""


def _fingerprint(start: Path) -> Finding:
    """Check that the repository can be read as a run does before and after each session."""
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
