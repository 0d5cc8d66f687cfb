"""Holds what an agent may do: the project, the phase, and the lists a person may change."""

from collections.abc import Collection, Mapping
from pathlib import Path
from types import MappingProxyType

from pydantic import Field

from ralph_tui.domain.base import Model
from ralph_tui.domain.git_commands import GIT_READ_ONLY
from ralph_tui.domain.project_state import Phase

PYTHON_TOOLS = (
    "pytest", "py.test", "mypy", "ruff", "black", "isort", "flake8", "pylint", "pyright",
    "basedpyright", "coverage",
)  # fmt: skip
"""Tools of the project's environment: run through `uv run`, whoever forgets it."""

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
"""The built-in tools of each phase, under the names this CLI has (SDK-FACTS section 1)."""

SKILL_TOOL = "Skill"

SECRETS = (
    ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".config/gcloud", ".config/gh", ".docker/config.json",
    ".git-credentials", ".config/git/credentials", ".pypirc", ".claude.json",
)  # fmt: skip
"""Below the home directory; what package managers log in with (.netrc) stays readable for uv."""


RULED = frozenset({"rm -rf", "docker rm", "pip install", "python -m venv"})
"""Blocked commands that a rule of the guard knows better than their words do: `rm -rf build` inside the
project and `docker inspect rm` are no harm. They are what the settings block from the start."""


OWN_PROCESSES = ("ralph run", "python -I -X utf8 -m ralph_tui.guard.worker", "claude")
"""The loop, the process that reads the agent's commands, and the agent's own."""


class Policy(Model):
    """What one agent session may do."""

    root: Path
    phase: Phase = Phase.BUILDING
    blocked_commands: tuple[str, ...] = ()
    """Commands a person forbids, such as `npm publish`: program and words that must all occur."""
    ask_commands: tuple[str, ...] = ()
    """Commands in the same form, and names of tools, that run only when the person allows it."""
    git_allowed: tuple[str, ...] = GIT_READ_ONLY
    python_tools: tuple[str, ...] = PYTHON_TOOLS
    tool_runs: Mapping[str, str] = Field(default_factory=dict)
    """What runs a tool where plain `uv run` would not find the project's own: `uv run --extra test`."""
    scripts_through_uv: bool = False
    """Whether `python x.py` runs in uv's environment, as in a uv project."""
    own_manager: str = ""
    """The package manager that owns the project where uv does not: poetry, pdm or hatch."""
    mcp_servers: tuple[str, ...] = ()
    """Extra MCP servers of this phase; the tools of others are refused."""
    skills: tuple[str, ...] = ()
    """Skills of this phase, under the names the model uses."""
    without_tools: tuple[str, ...] = ()
    """Built-in tools that the person takes from the phase."""
    home: Path | None = None
    """What `~` means; unknown is outside the project."""
    own_directories: tuple[Path, ...] = ()
    """Where ralph keeps its own data, outside the work tree: nobody else writes there."""
    own_pids: tuple[int, ...] = ()
    """Ralph's process and those it runs under: they take no signal from an agent."""
    own_processes: tuple[str, ...] = OWN_PROCESSES
    """Their command lines, and the agent's own, for the patterns of `pkill` and the like."""

    @property
    def tools(self) -> tuple[str, ...]:
        """The built-in tools of the phase, with the one that skills need."""
        return phase_tools(self.phase, skills=bool(self.skills), without=self.without_tools)


def phase_tools(phase: Phase, *, skills: bool, without: Collection[str] = ()) -> tuple[str, ...]:
    """List the built-in tools of a phase, `without` those that the person takes from it."""
    tools = (*PHASE_TOOLS[phase], SKILL_TOOL) if skills else PHASE_TOOLS[phase]
    return tuple(tool for tool in tools if tool not in without)
