"""Which layers of the guard hold on this machine: `ralph doctor` tries each of them."""

import asyncio
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from ralph_tui.cli.finding import Finding
from ralph_tui.guard.environment import agent_environment
from ralph_tui.guard.policy import Policy

_SECONDS = 20


def layers(start: Path, sandbox: str = "auto") -> Iterator[Finding]:
    """Every layer, from the one that reads to the one that only notices; `sandbox` is the setting."""
    yield _reading(start)
    yield _shims()
    with tempfile.TemporaryDirectory(prefix="ralph-doctor-") as directory:
        root = Path(directory)
        yield _hooks(root)
        yield _sandbox(root, sandbox)
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
    advice = "Install ralph again: uv tool install --reinstall ralph-tui"
    return Finding("guard", ok, "reads commands" if ok else wrong, advice)


def _shims() -> Finding:
    """Whether the programs that stand before git and pip in an agent's PATH can be started."""
    from ralph_tui.guard.environment import SHIMS

    programs = [p for d in (SHIMS, SHIMS / "hooks") for p in sorted(d.glob("*")) if p.is_file()]
    broken = [p.name for p in programs if not p.suffix and not os.access(p, os.X_OK)]
    ok = bool(programs) and not broken
    wrong = f"cannot be run: {', '.join(broken)}" if broken else f"none in {SHIMS}"
    names = ", ".join(p.name for p in sorted(SHIMS.glob("*")) if p.is_file() and not p.suffix)
    text = f"stand before {names}" if ok else wrong
    return Finding("shims", ok, text, f"Make them executable: chmod +x {SHIMS}/*")


def _hooks(root: Path) -> Finding:
    """Try to commit in a repository of our own as a script of the agent would, past the shims."""
    git = shutil.which("git")
    if git is None:
        return Finding("git hook", ok=False, text="git is not installed", needed=False)
    _git(git, root, "init", "-q")
    environment = agent_environment(Policy(root=root), os.environ)
    done = _commit(git, root, environment)
    ok = done.returncode != 0 and "left to the person" in done.stderr
    text = "refuses commits of scripts" if ok else "does not refuse a commit; it needs git 2.28"
    return Finding("git hook", ok, text, "Install a newer git.", needed=False)


def _sandbox(root: Path, mode: str) -> Finding:
    """Try to write to a repository and to ralph's state in the sandbox, when there is one that works."""
    from ralph_tui.guard.sandbox import INSTALL, gate_prefix, sandbox_for, why_no_sandbox

    reason = "switched off (safety.sandbox)" if mode == "off" else why_no_sandbox()
    needed = mode == "required"
    guarded = [root / ".git", root / ".ralph"]
    for directory in guarded:
        directory.mkdir(exist_ok=True)
    if not reason and (prefix := gate_prefix(sandbox_for(root, Path.home(), os.environ))):
        written = [directory.name for directory in guarded if _can_write(prefix, directory)]
        reason = f"lets a command write to {' and '.join(written)}" if written else ""
    text = reason or (
        "holds scripts: .git and .ralph are read-only (tried), keys hidden, network limited"
    )
    advice = (
        "" if mode == "off" else f"{INSTALL}. Without it a script can do what it does not show."
    )
    return Finding("sandbox", not reason, text, advice, needed=needed)


def _can_write(prefix: Sequence[str], directory: Path) -> bool:
    target = directory / "ralph-doctor"
    words = [*prefix, "touch", str(target)]
    tried = subprocess.run(words, capture_output=True, timeout=_SECONDS, check=False)
    return tried.returncode == 0 or target.exists()


def _fingerprint(start: Path) -> Finding:
    """Whether the repository can be looked at as a run does before and after each session."""
    from ralph_tui.domain.errors import RalphError
    from ralph_tui.guard.gitwatch import GitWatch

    try:
        seen = GitWatch(start).snapshot()
    except RalphError as error:
        return Finding("fingerprint", ok=False, text=error.message, advice=error.hint)
    text = (
        "of the repository before and after each session"
        if seen
        else "nothing to watch: no repository"
    )
    return Finding("fingerprint", ok=True, text=text)


def _git(git: str, root: Path, *arguments: str) -> None:
    clean = {n: v for n, v in os.environ.items() if not n.startswith("GIT_")}
    subprocess.run(
        [git, *arguments], cwd=root, env=clean, capture_output=True, timeout=_SECONDS, check=True
    )


def _commit(
    git: str, root: Path, environment: dict[str, str]
) -> "subprocess.CompletedProcess[str]":
    who = ("-c", "user.name=ralph", "-c", "user.email=ralph@localhost")
    return subprocess.run(
        [git, *who, "commit", "-q", "--allow-empty", "-m", "doctor"],
        cwd=root,
        env=environment,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=_SECONDS,
        check=False,
    )
