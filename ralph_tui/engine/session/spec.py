"""Build the spec of an agent session and the guard's policy for a phase."""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path

from ralph_tui.config.settings import Settings
from ralph_tui.domain.documents.specs import persons_own
from ralph_tui.domain.project_state import Phase
from ralph_tui.domain.verification.check_commands import NO_CHECKS, ProjectChecks
from ralph_tui.engine.context import SpecFor
from ralph_tui.engine.core.ports import SessionSpec
from ralph_tui.engine.core.project_tree import files_of
from ralph_tui.engine.prompts.prompts import builtin_template, system_prompt
from ralph_tui.engine.prompts.subagents import sub_agents
from ralph_tui.engine.prompts.tool_schemas import PHASE_RALPH_TOOLS, tool_specs
from ralph_tui.engine.safety.phase_extensions import (
    extras_of,
    prepared_servers,
    skill_directories,
    skill_names,
)
from ralph_tui.engine.verification.detection.project_checks import checks_of
from ralph_tui.guard.core.policy import OWN_PROCESSES, PYTHON_TOOLS, Policy, phase_tools
from ralph_tui.guard.sandbox.os_sandbox import Sandbox
from ralph_tui.store.backup.mirror import state_home
from ralph_tui.store.project import Project

_MAX_COMMAND_LINE = 1000
"""Characters of a command line that the guard compares with patterns."""


def with_own_processes(policy: Policy) -> Policy:
    """Return the policy with the pids and command lines of this process and its parents, so that no agent may signal them."""
    import psutil

    pids, lines = [], []
    try:
        this = psutil.Process()
        chain = [this, *this.parents()]
    except psutil.Error:
        chain = []
    for process in chain:
        pids.append(process.pid)
        try:
            line = " ".join(process.cmdline()) or process.name()
            lines += [line[:_MAX_COMMAND_LINE], process.name()]
        except psutil.Error:  # another user's process, or one that has ended; its pid is kept
            continue
    names = dict.fromkeys((*policy.own_processes, *lines))
    return replace(policy, own_pids=tuple(pids), own_processes=tuple(names))


CLAUDE_MD_LIMIT = 40_000
"""Characters of CLAUDE.md in the system prompt, which is passed as an argument of limited length."""


NOTEBOOK_TOOL = "NotebookEdit"
"""Left out of projects without notebooks, since its description is a twentieth of a request."""

READ_TOOLS = ("Read", "Grep", "Glob")
"""The tools of a reviewer."""

MOST_REVIEW_TURNS = 60

MAX_FILES_SEARCHED = 20_000
"""How many files are searched for a notebook."""


def guard_policy(project: Project, settings: Settings, phase: Phase) -> Policy:
    extras = extras_of(settings, phase)
    checks = checks_of(project.root, settings)
    specs = project.layout.specs.relative_to(project.root).as_posix()
    # The system prompt is an argument of the CLI, so `pkill -f` also matches the prompt's words.
    prompt = _system_prompt(project, settings, phase, checks)
    # An empty directory becomes a uv project.
    through_uv = PYTHON_TOOLS if checks.uses_uv or checks == NO_CHECKS else tuple(checks.tool_runs)
    return Policy(
        root=project.root,
        phase=phase,
        blocked_commands=settings.safety.blocked_commands,
        ask_commands=settings.safety.ask_commands,
        git_allowed=settings.git.commands,
        mcp_servers=tuple(extras.mcp_servers),
        skills=skill_names(extras, project.root),
        without_tools=extras.without_tools,
        specs=specs,
        own_specs=_own_specs(project) if phase is Phase.DISCOVERY else (),
        home=Path.home(),
        own_directories=(state_home() / "ralph",),
        own_processes=(*OWN_PROCESSES, f"claude {prompt}"),
        python_tools=through_uv,
        tool_runs=checks.tool_runs,
        scripts_through_uv=checks.uses_uv,
        own_manager="" if checks.python in ("", "uv", "pip") else checks.python,
    )


def _own_specs(project: Project) -> tuple[str, ...]:
    if not project.layout.dot.is_dir():
        return ()  # `ralph guard check` also judges commands outside a project
    state, specs = project.look().state, project.read_specs()
    own = persons_own([spec.name for spec in specs], state.specs, state.specs_before)
    return tuple(spec.path for spec in specs if spec.name in own)


def _system_prompt(
    project: Project, settings: Settings, phase: Phase, checks: ProjectChecks, *, rules: str = ""
) -> str:
    claude_md = project.read_text(project.root / "CLAUDE.md", CLAUDE_MD_LIMIT)
    template = builtin_template(rules) if rules else ""
    specs = project.layout.specs.relative_to(project.root).as_posix()
    allowed = settings.git.allowed_operations
    return system_prompt(phase, claude_md, allowed, checks, rules=template, specs=specs)


def spec_maker(
    project: Project,
    settings_now: Callable[[], Settings],
    environment: Mapping[str, str],
    phase: Phase,
    *,
    sandbox: Sandbox | None,
) -> SpecFor:
    """Return a function that makes session specs; they stay equal between iterations, so that a standby session fits.

    The model and the budget are read for each spec, because a person may change them while the loop runs.
    """
    settings = settings_now()
    checks = checks_of(project.root, settings)
    extras = extras_of(settings, phase)
    tools = phase_tools(phase, skills=bool(extras.skills), without=extras.without_tools)
    searched = islice(files_of(project.root), MAX_FILES_SEARCHED)
    if NOTEBOOK_TOOL in tools and not any(file.name.endswith(".ipynb") for file in searched):
        tools = tuple(tool for tool in tools if tool != NOTEBOOK_TOOL)
    spec = SessionSpec(
        phase=phase,
        cwd=project.root,
        system_prompt=_system_prompt(project, settings, phase, checks),
        tools=tools,
        ralph_tools=tool_specs(*PHASE_RALPH_TOOLS[phase]),
        sub_agents=sub_agents(phase, extras.without_tools),
        mcp_servers=prepared_servers(extras),
        skills=skill_directories(extras, project.root),
        max_turns=settings.agent.max_turns,
        setting_sources=settings.agent.setting_sources,
        environment=dict(environment),
        sandbox=sandbox if "Bash" in tools else None,
        max_api_retries=settings.agent.max_api_retries,
        idle_timeout_seconds=int(settings.agent.idle_timeout_seconds),
    )

    def spec_for(remaining_usd: float) -> SessionSpec:
        now = settings_now()
        budget = min(now.safety.cost_limits.per_iteration or remaining_usd, remaining_usd)
        limit = budget if math.isfinite(budget) else None
        return spec.model_copy(update={"max_budget_usd": limit, "model": model_of(phase, now)})

    return spec_for


def model_of(phase: Phase, settings: Settings) -> str:
    plans = phase in (Phase.DISCOVERY, Phase.PLANNING)
    return settings.models.planning if plans else settings.models.primary


def step_spec(spec: SessionSpec, project: Project, settings: Settings, model: str) -> SessionSpec:
    """Return the spec of a step's session: a building session with other rules and without task tools."""
    checks = checks_of(project.root, settings)
    prompt = _system_prompt(project, settings, spec.phase, checks, rules="step_system.md")
    return spec.model_copy(
        update={
            "system_prompt": prompt,
            "ralph_tools": tool_specs("ralph_append_learning"),
            "model": model or spec.model,
        }
    )


_NOTHING_ELSE: Mapping[str, object] = {
    "sub_agents": (),
    "mcp_servers": {},
    "skills": (),
    "setting_sources": (),
    "sandbox": None,
}
"""What a session without commands goes without."""


def compaction_spec(spec: SessionSpec) -> SessionSpec:
    """Return the spec of a session that shortens the learnings; it has no tools but the one to submit them."""
    return spec.model_copy(
        update={
            "system_prompt": builtin_template("compact_system.md"),
            "tools": (),
            "ralph_tools": tool_specs("ralph_submit_learnings"),
            **_NOTHING_ELSE,
        }
    )


def review_spec(spec: SessionSpec, directory: Path, settings: Settings) -> SessionSpec:
    """Return the spec of a reviewer's session, which reads files in `directory` and changes nothing."""
    return spec.model_copy(
        update={
            "cwd": directory,
            "system_prompt": builtin_template("review_system.md"),
            "tools": READ_TOOLS,
            "ralph_tools": tool_specs("ralph_submit_review"),
            **_NOTHING_ELSE,
            "max_turns": MOST_REVIEW_TURNS,
            "model": settings.models.review or settings.models.primary,
        }
    )
