"""Define the paths of a project. No other module knows the file names."""

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ralph_tui.domain.features import is_specs_folder
from ralph_tui.domain.project_state import Phase
from ralph_tui.store.project_root import DOT

PROMPT_NAMES = {
    Phase.DISCOVERY: "discovery",
    Phase.PLANNING: "plan",
    Phase.BUILDING: "build",
    Phase.VALIDATION: "validate",
}

SPECS = "specs"

_FOLDER_SET = re.compile(r"^[^#\n]*\bspecs[\"']?\s*:", re.MULTILINE)


def specs_folder(config: Path) -> str:
    """Return the value of `project.specs` in a project's settings file; the default if it is missing or invalid.

    The settings themselves refuse an invalid value, and any other place for this one.
    """
    try:
        text = config.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return SPECS
    if not _FOLDER_SET.search(text):
        return SPECS
    import yaml  # rarely needed, and slow to import

    try:
        folder = yaml.safe_load(text)["project"]["specs"]
    except (yaml.YAMLError, KeyError, TypeError):
        return SPECS
    return folder if isinstance(folder, str) and is_specs_folder(folder) else SPECS


FEATURES = "features"


@dataclass(unsafe_hash=True)
class Layout:
    """The paths of one feature of a project.

    Files that belong to a plan are in `home`: in `.ralph` itself for the plan without a name, otherwise in the
    feature's folder. All features share the settings, locks, journal, logs and sessions.

    Attributes:
        write_lock: The lock of one transaction, held for milliseconds.
        directories: Every directory in `.ralph` that ralph writes to for this feature.
    """

    root: Path
    feature: str = ""

    def __post_init__(self) -> None:
        root, feature = self.root, self.feature
        self.dot = dot = root / DOT
        self.features = dot / FEATURES
        self.home = home = self.features / feature if feature else dot

        self.project = dot / "project.json"
        self.config = dot / "config.yaml"
        self.events = dot / "events.jsonl"
        self.lock = dot / "lock"
        self.write_lock = dot / "write.lock"
        self.commit = dot / "commit.json"
        self.gitignore = dot / ".gitignore"
        self.typed = dot / "typed.jsonl"  # of an older ralph: texts that a person typed
        self.archive = dot / "archive"
        self.logs = dot / "logs"
        self.last_prompt = self.logs / "last-prompt.md"
        self.session_history = dot / "session_history"
        self.sessions = self.session_history / "sessions.jsonl"

        self.state = home / "state.json"
        self.plan = home / "implementation_plan.json"
        self.budget = home / "context_budget.json"
        self.breaker = home / "circuit_breaker.json"
        self.steps = home / "steps.json"
        self.followed = home / "followed_exports.json"
        self.injections = home / "injections.json"
        self.questions = home / "questions.json"
        self.validation_report = home / "validation_report.json"
        self.kept_plans = home / "session_history"
        self.active_memory = home / "MEMORY.md"
        self.memory_iterations = home / "memory" / "iterations"
        self.memory_phases = home / "memory" / "phases"
        self.memory_sessions = home / "memory" / "sessions"
        self.memory_archive = home / "memory" / "archive"

        self.memory = home / "HANDOFF.md" if feature else root / "MEMORY.md"
        self.progress = (home if feature else root) / "progress.txt"
        self.agents_md = root / "AGENTS.md"
        self.directories = (
            self.logs,
            self.session_history,
            *((home, self.kept_plans) if feature else ()),
            self.memory_iterations,
            self.memory_phases,
            self.memory_sessions,
            self.memory_archive,
        )

    def document(self, name: str) -> Path:
        path: Path = getattr(self, name)
        return path

    @cached_property
    def every_spec(self) -> Path:
        return self.root / specs_folder(self.config)

    @cached_property
    def specs(self) -> Path:
        return self.every_spec / self.feature if self.feature else self.every_spec

    def prompt(self, phase: Phase) -> Path:
        name = f"PROMPT_{PROMPT_NAMES[phase]}.md"
        own = self.home / name
        return own if self.feature and own.is_file() else self.root / name
