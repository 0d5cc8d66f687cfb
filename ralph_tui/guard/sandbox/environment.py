"""Builds an agent's environment: shims first in PATH, ralph's git hooks, no secrets."""

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path

from ralph_tui.domain.redaction import is_secret_name
from ralph_tui.guard.core.policy import Policy

SHIMS = Path(__file__).with_name("shims")

_NEEDED = ("ANTHROPIC_", "CLAUDE_", "RALPH_GUARD_")
"""Prefixes of variables that the CLI needs, among them its own key."""
_PROVIDERS = {
    "CLAUDE_CODE_USE_BEDROCK": "AWS_",
    "CLAUDE_CODE_USE_VERTEX": "GOOGLE_",
    "CLAUDE_CODE_USE_FOUNDRY": "AZURE_",
}
"""For each cloud that may serve the model: its switch, and the prefix of variables the CLI logs in with."""
REFLOG_MARK = "ralph-agent"
"""The mark that git writes to the reflog for most changes by an agent's process, in case one succeeds."""
_OFF = ("", "0", "false", "no", "off")
REMOVED = "RALPH_GUARD_REMOVED"
_SHELL_SETUP = {"CLAUDE_ENV_FILE": str(SHIMS / "every_command.sh")}
"""The script runs before every command, after the person's shell settings, which may change PATH."""
_INHERITED_GIT = re.compile(r"GIT_(?:CONFIG.*|DIR|WORK_TREE|INDEX_FILE|EXEC_PATH|SSH.*|ASKPASS)")
_GIT_SETTINGS = (
    ("core.fsmonitor", "false"),
    ("core.pager", "cat"),
    ("diff.external", ""),
)


def agent_environment(policy: Policy, base: Mapping[str, str]) -> dict[str, str]:
    hidden = set(hidden_names(base))
    kept = {n: v for n, v in base.items() if n not in hidden and not _INHERITED_GIT.fullmatch(n)}
    settings = [("core.hooksPath", str(SHIMS / "hooks")), *_GIT_SETTINGS]
    for number, (name, value) in enumerate(settings):
        kept[f"GIT_CONFIG_KEY_{number}"] = name
        kept[f"GIT_CONFIG_VALUE_{number}"] = value
    path = [p for p in base.get("PATH", os.defpath).split(os.pathsep) if p and p != str(SHIMS)]
    if (
        not policy.uses_uv
    ):  # `uv run` would leave a uv.lock and a .venv in a project of another tool
        kept["UV_ISOLATED"] = "1"
    return kept | {
        "GIT_CONFIG_COUNT": str(len(settings)),
        "GIT_OPTIONAL_LOCKS": "0",  # keeps `git status` from writing the index
        "GIT_REFLOG_ACTION": REFLOG_MARK,
        "PATH": os.pathsep.join([str(SHIMS), *path]),
        "RALPH_GUARD_MANAGER": policy.own_manager or ("uv" if policy.uses_uv else ""),
        "RALPH_GUARD_PYTHON": sys.executable,
        "RALPH_GUARD_REPOSITORY": repository(policy.root),
        "RALPH_GUARD_ROOT": os.path.realpath(policy.root),
        "RALPH_GUARD_SHIMS": str(SHIMS),
    }


def cli_overlay(policy: Policy, base: Mapping[str, str]) -> dict[str, str]:
    """Return the changes that turn `base`, which the SDK passes to the CLI, into `agent_environment`.

    The SDK can only override variables, not remove them. Those to remove are set to an empty string and
    listed in a variable, so that the launch script can remove them.
    """
    wanted = agent_environment(policy, base)
    removed = sorted(name for name in base if name not in wanted)
    changed = {name: value for name, value in wanted.items() if base.get(name) != value}
    return changed | dict.fromkeys(removed, "") | {REMOVED: " ".join(removed), **_SHELL_SETUP}


def hidden_names(base: Mapping[str, str]) -> tuple[str, ...]:
    clouds = (prefix for switch, prefix in _PROVIDERS.items() if base.get(switch, "") not in _OFF)
    needed = (*_NEEDED, *clouds)
    return tuple(sorted(name for name in base if _hidden(name, needed)))


def _hidden(name: str, needed: tuple[str, ...]) -> bool:
    return is_secret_name(name) and not name.upper().startswith(needed)


def repository(root: Path) -> str:
    """Return the directory with the project's git references.

    A linked worktree has it elsewhere, and the project may be part of a larger repository.
    """
    real = Path(os.path.realpath(root))
    holder = next((d for d in (real, *real.parents) if os.path.lexists(d / ".git")), real)
    found = holder / ".git"
    try:
        if found.is_file():
            named = found.read_text().removeprefix("gitdir:").strip()
            directory = holder / named
            common = directory / "commondir"
            found = directory / common.read_text().strip() if common.is_file() else directory
    except (OSError, UnicodeDecodeError):
        found = holder / ".git"
    return os.path.realpath(found)
