"""Defines what an agent may do: the project, the phase, and the lists in the settings."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from ralph_tui.domain.git_commands import GIT_READ_ONLY
from ralph_tui.domain.phase import Phase

PYTHON_TOOLS = (
    "pytest", "py.test", "mypy", "ruff", "black", "isort", "flake8", "pylint", "pyright",
    "basedpyright", "coverage",
)  # fmt: skip
"""Tools of the project's environment, sent through `uv run` when the agent forgets it."""

PHASE_TOOLS: Mapping[Phase, tuple[str, ...]] = MappingProxyType(
    {
        Phase.DISCOVERY: (
            "Read", "Glob", "Grep", "WebSearch", "WebFetch", "Write", "Task", "AskUserQuestion",
        ),
        Phase.PLANNING: ("Read", "Glob", "Grep", "WebSearch", "WebFetch", "Task"),
        Phase.BUILDING: (
            "Read", "Write", "Edit", "Bash", "Glob", "Grep", "Task", "WebSearch", "WebFetch",
            "NotebookEdit",
        ),
        Phase.VALIDATION: ("Read", "Glob", "Grep", "Bash", "Task", "WebFetch"),
    }
)  # fmt: skip

SKILL_TOOL = "Skill"

SECRETS = (
    ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".config/gcloud", ".config/gh", ".docker/config.json",
    ".git-credentials", ".config/git/credentials", ".pypirc", ".claude.json", ".vault-token", ".config/glab-cli", ".config/hub",
    ".config/doctl", ".config/rclone", ".fly/config.yml", ".terraform.d/credentials.tfrc.json", ".gem/credentials",
    ".password-store", ".local/share/keyrings",
)  # fmt: skip
"""Paths below the home directory that no install or test needs, so the sandbox hides them."""


RULED = frozenset({"rm -rf", "docker rm", "pip install", "python -m venv"})
"""The commands blocked by default, which rules judge more precisely than their words could: `rm -rf build`
inside the project and `docker inspect rm` are harmless."""


OWN_PROCESSES = ("ralph run", "python -I -X utf8 -m ralph_tui.guard.worker", "claude")
"""The command lines of the loop, of the process that judges commands, and of the agent."""


@dataclass(frozen=True, kw_only=True)
class Policy:
    """What one agent session may do."""

    root: Path
    phase: Phase = Phase.BUILDING
    blocked_commands: tuple[str, ...] = ()
    """Commands a person forbids, such as `npm publish`: a program, and words that must all occur."""
    ask_commands: tuple[str, ...] = ()
    """Commands in the same form, and tool names, that need the person's permission."""
    git_allowed: tuple[str, ...] = GIT_READ_ONLY
    python_tools: tuple[str, ...] = PYTHON_TOOLS
    tool_runs: Mapping[str, str] = field(default_factory=dict)
    """The command that runs a tool where plain `uv run` would not find it, such as `uv run --extra test`."""
    scripts_through_uv: bool = False
    """Whether `python x.py` runs in uv's environment, as in a uv project."""
    own_manager: str = ""
    """The project's package manager if it is not uv: poetry, pdm, pipenv or hatch."""
    mcp_servers: tuple[str, ...] = ()
    """Extra MCP servers of this phase; tools of other servers are refused."""
    skills: tuple[str, ...] = ()
    without_tools: tuple[str, ...] = ()
    specs: str = "specs"
    own_specs: tuple[str, ...] = ()
    """Files of the person's in that directory, which discovery leaves as they are."""
    home: Path | None = None
    """What `~` means; None counts as a place outside the project."""
    own_directories: tuple[Path, ...] = ()
    """Directories of ralph's own data outside the work tree, which only ralph may write."""
    own_pids: tuple[int, ...] = ()
    """Ralph's process and its ancestors, which an agent must not signal."""
    own_processes: tuple[str, ...] = OWN_PROCESSES
    """Command lines that patterns of `pkill` and the like must not match."""

    @property
    def uses_uv(self) -> bool:
        return self.scripts_through_uv or set(self.python_tools) >= set(PYTHON_TOOLS)

    @property
    def tools(self) -> tuple[str, ...]:
        return phase_tools(self.phase, skills=bool(self.skills), without=self.without_tools)


def phase_tools(phase: Phase, *, skills: bool, without: Collection[str] = ()) -> tuple[str, ...]:
    tools = (*PHASE_TOOLS[phase], SKILL_TOOL) if skills else PHASE_TOOLS[phase]
    return tuple(tool for tool in tools if tool not in without)
