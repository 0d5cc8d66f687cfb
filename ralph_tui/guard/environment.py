"""The environment of an agent: shims first in PATH, git's hooks ours, secrets left out."""

import os
import re
import sys
from collections.abc import Mapping
from pathlib import Path

from ralph_tui.guard.policy import Policy

SHIMS = Path(__file__).with_name("shims")

_SECRET = re.compile(
    r".*(?:^|_)(?:TOKEN|SECRET|KEY|PASSWORD|PASSWD|PASSPHRASE|CREDENTIALS?)", re.IGNORECASE
)
_NEEDED = ("ANTHROPIC_", "CLAUDE_", "RALPH_GUARD_")
"""The CLI reads its own key from here."""
_INHERITED_GIT = re.compile(r"GIT_(?:CONFIG.*|DIR|WORK_TREE|INDEX_FILE|EXEC_PATH|SSH.*|ASKPASS)")
_GIT_SETTINGS = (
    ("core.fsmonitor", "false"),
    ("core.pager", "cat"),
    ("diff.external", ""),
)


def agent_environment(policy: Policy, base: Mapping[str, str]) -> dict[str, str]:
    """The variables for the CLI and everything it starts, made from those of this process."""
    kept = {n: v for n, v in base.items() if not _hidden(n) and not _INHERITED_GIT.fullmatch(n)}
    settings = [("core.hooksPath", str(SHIMS / "hooks")), *_GIT_SETTINGS]
    for number, (name, value) in enumerate(settings):
        kept[f"GIT_CONFIG_KEY_{number}"] = name
        kept[f"GIT_CONFIG_VALUE_{number}"] = value
    path = [p for p in base.get("PATH", os.defpath).split(os.pathsep) if p and p != str(SHIMS)]
    return kept | {
        "GIT_CONFIG_COUNT": str(len(settings)),
        "PATH": os.pathsep.join([str(SHIMS), *path]),
        "RALPH_GUARD_PYTHON": sys.executable,
        "RALPH_GUARD_REPOSITORY": repository(policy.root),
        "RALPH_GUARD_ROOT": os.path.realpath(policy.root),
    }


def hidden_names(base: Mapping[str, str]) -> tuple[str, ...]:
    """The variables kept from the agent because their names say that they are secret."""
    return tuple(sorted(name for name in base if _hidden(name)))


def _hidden(name: str) -> bool:
    return bool(_SECRET.fullmatch(name)) and not name.upper().startswith(_NEEDED)


def repository(root: Path) -> str:
    """The directory git keeps the project's references in; a linked worktree's is elsewhere."""
    found = root / ".git"
    try:
        if found.is_file():
            named = found.read_text().removeprefix("gitdir:").strip()
            directory = root / named
            common = directory / "commondir"
            found = directory / common.read_text().strip() if common.is_file() else directory
    except (OSError, UnicodeDecodeError):
        found = root / ".git"
    return os.path.realpath(found)
