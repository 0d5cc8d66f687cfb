"""Check the extra MCP servers and skills of a phase before a run, and prepare them for its sessions."""

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path

from ralph_tui.config.load import DEFAULT, effective_entries, source_of
from ralph_tui.config.settings import PhaseExtras, Settings
from ralph_tui.domain.documents.extensions import OWN_SERVER, McpServer
from ralph_tui.domain.errors import ConfigError
from ralph_tui.domain.project_state import Phase
from ralph_tui.domain.redaction import MIN_VALUE
from ralph_tui.domain.sanitize import one_line
from ralph_tui.domain.variable_references import Reference, pieces
from ralph_tui.guard.core.policy import PHASE_TOOLS

PREFIX = "RALPH_EXTRA_"
"""The prefix of the variables that carry `${NAME}` values to the CLI; the agent's commands do not get them."""

BRACE = f"{PREFIX}BRACE"
"""The variable with a literal `${` as its value, because the CLI has no way to escape one."""

NAMES = "RALPH_EXTRA_NAMES"
"""Lists these variables for the shell, which removes them (guard/sandbox/shims/every_command.sh)."""

SKILL_FILE = "SKILL.md"


def extras_of(settings: Settings, phase: Phase) -> PhaseExtras:
    extras: PhaseExtras = getattr(settings.phases, phase.value)
    return extras


def skill_directories(extras: PhaseExtras, root: Path) -> tuple[Path, ...]:
    return tuple((root / Path(name).expanduser()).resolve() for name in extras.skills)


def skill_names(extras: PhaseExtras, root: Path) -> tuple[str, ...]:
    return tuple(f"{OWN_SERVER}:{path.name}" for path in skill_directories(extras, root))


def check_extras(
    settings: Settings, phases: Iterable[Phase], root: Path, environ: Mapping[str, str]
) -> None:
    """Check the extensions of phases before the run, instead of when a phase begins."""
    for phase in phases:
        extras, key = extras_of(settings, phase), f"phases.{phase}"
        for name, server in extras.mcp_servers.items():
            missing = [
                one.name
                for one in server.variables
                if one.default is None and not environ.get(one.name)
            ]
            if missing:
                where = source_of(f"{key}.mcp_servers", effective_entries(root))
                place = "" if where == DEFAULT else f"{where}: "
                raise ConfigError(
                    f"{place}{key}.mcp_servers.{name}: the environment variable {missing[0]} is not set.",
                    f"Set it, give it a default, or remove {name} from the settings.",
                )
        for skill, path in zip(extras.skills, skill_directories(extras, root), strict=True):
            if not (path / SKILL_FILE).is_file():
                raise ConfigError(
                    f"{key}.skills: {skill!r} is not a directory with a {SKILL_FILE}.",
                    "Give the path of the skill, relative to the project.",
                )
        unknown = [tool for tool in extras.without_tools if tool not in PHASE_TOOLS[phase]]
        if unknown:
            raise ConfigError(
                f"{key}.without_tools: {one_line(unknown[0], 60)!r} is not a built-in tool of this phase.",
                f"The tools of this phase: {', '.join(PHASE_TOOLS[phase])}.",
            )
        names = skill_names(extras, root)
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice:
            raise ConfigError(
                f"{key}.skills: two skills are named {twice}.", "Rename one of the directories."
            )


def prepared_servers(extras: PhaseExtras) -> dict[str, McpServer]:
    """Return the servers for the CLI, which fills in the variables, so that no argument contains a secret."""

    def for_cli(piece: str | Reference) -> str:
        if isinstance(piece, Reference):
            return f"${{{_name_for_cli(piece)}}}"
        return piece.replace("${", f"${{{BRACE}}}")

    def renamed(texts: Mapping[str, str]) -> dict[str, str]:
        return {name: "".join(map(for_cli, pieces(text))) for name, text in texts.items()}

    return {
        name: server.model_copy(
            update={"env": renamed(server.env), "headers": renamed(server.headers)}
        )
        for name, server in extras.mcp_servers.items()
    }


def _name_for_cli(reference: Reference) -> str:
    if reference.default is None:
        return f"{PREFIX}{reference.name}"
    other = hashlib.sha256(reference.default.encode()).hexdigest()[:8]
    return f"{PREFIX}{reference.name}_{other}"


def extra_environment(extras: PhaseExtras, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment variables that the CLI needs for the servers."""
    references = {found for server in extras.mcp_servers.values() for found in server.variables}
    values = {_name_for_cli(one): environ.get(one.name) or one.default or "" for one in references}
    texts = (
        text
        for server in extras.mcp_servers.values()
        for text in (*server.env.values(), *server.headers.values())
    )
    if any("$${" in text for text in texts):
        values[BRACE] = "${"
    return values | {NAMES: " ".join(sorted(values))} if values else {}


def extra_values(settings: Settings, environ: Mapping[str, str]) -> tuple[str, ...]:
    servers = (s for phase in Phase for s in extras_of(settings, phase).mcp_servers.values())
    values = (environ.get(found.name, "") for server in servers for found in server.variables)
    return tuple(dict.fromkeys(value for value in values if len(value) >= MIN_VALUE))
