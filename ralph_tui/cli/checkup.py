"""The looks `ralph doctor` takes at everything a run needs."""

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from ralph_tui.cli.loops import no_screen
from ralph_tui.cli.preflight import LOGIN_HINT, login, uv_version
from ralph_tui.config.load import config_paths, load_settings
from ralph_tui.domain.errors import RalphError, SetupError
from ralph_tui.domain.plan import TaskStatus
from ralph_tui.tui.render.figures import plural

LOW_DISK_BYTES = 500_000_000
SDK = "claude-agent-sdk"


@dataclass(frozen=True)
class Finding:
    """What one look found; `needed` things must be right for a run."""

    name: str
    ok: bool
    text: str
    advice: str = ""
    needed: bool = True


def examine(start: Path) -> Iterator[Finding]:
    """Every finding, in the order a person would put things right."""
    yield _try("uv", uv_version, "works")
    yield _try("claude", cli_version, "bundled with the SDK")
    how = login()
    yield Finding("login", how is not None, f"by {how}" if how else "none", LOGIN_HINT)
    yield _git(start)
    yield _try("guard", lambda: _guard(start), "")
    yield _shims()
    yield _sandbox()
    reason = no_screen()
    yield Finding(
        "terminal",
        reason is None,
        reason or f"can show the screen (TERM={os.environ.get('TERM', '')})",
        "Runs use line mode here; use a terminal for the screen.",
        needed=False,
    )
    root = _project_root(start)
    yield _try("config", lambda: _config(root or start), "")
    yield _try("plan", lambda: _plan(root), "")
    yield _disk(root or start)


def cli_version() -> str:
    """The version of the Claude Code CLI that runs use, asked of the CLI itself.

    Raises:
        SetupError: It is missing or does not run.
    """
    path = _bundled_cli()
    if path is None:
        raise SetupError(
            "the Claude Code CLI is missing from the SDK.",
            f"Install it again: uv sync --reinstall-package {SDK}",
        )
    try:
        done = subprocess.run(
            [path, "--version"], capture_output=True, text=True, timeout=30, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise SetupError(
            f"the Claude Code CLI ({path}) does not run: {error}.",
            f"Install it again: uv sync --reinstall-package {SDK}",
        ) from error
    return done.stdout.strip()


def _bundled_cli() -> Path | None:
    """Where the SDK keeps the CLI; found without importing the SDK, which takes seconds."""
    try:
        files = distribution(SDK).files or []
    except PackageNotFoundError:
        return None
    found = (file for file in files if file.parts[-2:] == ("_bundled", "claude"))
    path = next((Path(str(file.locate())) for file in found), None)
    return path if path is not None and path.is_file() else None


def _try(name: str, look: Callable[[], str], suffix: str) -> Finding:
    try:
        text = look()
    except RalphError as error:
        return Finding(name, ok=False, text=error.message, advice=error.hint)
    return Finding(name, ok=True, text=f"{text}, {suffix}" if suffix else text)


def _git(start: Path) -> Finding:
    advice = "Agents may look at git's history; without it they cannot. `git init` makes one."
    if shutil.which("git") is None:
        return Finding("git", ok=False, text="not installed", advice=advice, needed=False)
    done = subprocess.run(
        ["git", "rev-parse", "--show-toplevel"],
        cwd=start,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode != 0:
        return Finding("git", ok=False, text="not a repository", advice=advice, needed=False)
    return Finding("git", ok=True, text=f"repository {done.stdout.strip()}", needed=False)


def _guard(root: Path) -> str:
    """Start the child that reads commands, as a run does, and have it judge two of them.

    Raises:
        SetupError: It does not answer, or not as it must.
    """
    from ralph_tui.guard.policy import Policy
    from ralph_tui.guard.worker import CommandJudge

    async def ask() -> tuple[str, str]:
        judge = CommandJudge(Policy(root=root))
        try:
            allowed = await judge.judge("git status")
            denied = await judge.judge("git push")
        finally:
            await judge.close()
        return allowed.decision, denied.decision

    if asyncio.run(ask()) != ("allow", "deny"):
        raise SetupError(
            "the process that reads commands does not answer, so every command would be denied.",
            "Install ralph again: uv tool install --reinstall ralph-tui",
        )
    return "reads commands"


def _shims() -> Finding:
    """Whether the programs that stand before git and pip in an agent's PATH can be started."""
    from ralph_tui.guard.environment import SHIMS

    programs = [p for d in (SHIMS, SHIMS / "hooks") for p in sorted(d.glob("*")) if p.is_file()]
    broken = [p.name for p in programs if not p.suffix and not os.access(p, os.X_OK)]
    ok = bool(programs) and not broken
    wrong = f"cannot be run: {', '.join(broken)}" if broken else f"none in {SHIMS}"
    text = plural(len(programs), "file") if ok else wrong
    return Finding("shims", ok, text, f"Make them executable: chmod +x {SHIMS}/*")


def _sandbox() -> Finding:
    """Whether the operating system could hold what a guard that reads commands cannot see."""
    programs = ("sandbox-exec",) if sys.platform == "darwin" else ("bwrap", "socat")
    missing = [name for name in programs if shutil.which(name) is None]
    return Finding(
        "sandbox",
        ok=not missing,
        text=f"{' and '.join(missing)} not installed"
        if missing
        else f"{' and '.join(programs)} installed, not used by this version",
        advice="This version runs without one; use a container for work you do not trust.",
        needed=False,
    )


def _project_root(start: Path) -> Path | None:
    from ralph_tui.store.project import Project

    try:
        return Project.find(start).root
    except RalphError:
        return None  # the finding about the plan says so


def _config(root: Path) -> str:
    load_settings(root)
    used = [str(path) for path in config_paths(root) if path.exists()]
    return ", ".join(used) if used else "defaults"


def _plan(root: Path | None) -> str:
    if root is None:
        raise SetupError("no ralph project here.", "Run `ralph init` in your project.")
    from ralph_tui.engine.loop import require_workable
    from ralph_tui.store.project import Project

    plan = Project(root).load().plan
    require_workable(plan)
    return f"{plural(len(plan.tasks), 'task')}, {plan.counts()[TaskStatus.COMPLETE]} complete"


def _disk(root: Path) -> Finding:
    free = shutil.disk_usage(root).free
    writable = os.access(root, os.W_OK)
    text = f"{free / 1e9:.1f} GB free" if writable else f"{root} is not writable"
    ok = writable and free > LOW_DISK_BYTES
    return Finding("disk", ok=ok, text=text, advice="Free some space, or make it writable.")
