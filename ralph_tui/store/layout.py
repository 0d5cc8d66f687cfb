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


@dataclass(frozen=True)
class Layout:
    """The paths of one feature of a project.

    Files that belong to a plan are in `home`: in `.ralph` itself for the plan without a name, otherwise in the
    feature's folder. All features share the settings, locks, journal, logs and sessions. Paths are cached,
    because a transaction uses some of them sixty times.
    """

    root: Path
    feature: str = ""

    def document(self, name: str) -> Path:
        path: Path = getattr(self, name)
        return path

    @cached_property
    def dot(self) -> Path:
        return self.root / DOT

    @cached_property
    def features(self) -> Path:
        return self.dot / FEATURES

    @cached_property
    def home(self) -> Path:
        return self.features / self.feature if self.feature else self.dot

    @cached_property
    def project(self) -> Path:
        return self.dot / "project.json"

    @cached_property
    def state(self) -> Path:
        return self.home / "state.json"

    @cached_property
    def plan(self) -> Path:
        return self.home / "implementation_plan.json"

    @cached_property
    def budget(self) -> Path:
        return self.home / "context_budget.json"

    @cached_property
    def breaker(self) -> Path:
        return self.home / "circuit_breaker.json"

    @cached_property
    def steps(self) -> Path:
        return self.home / "steps.json"

    @cached_property
    def config(self) -> Path:
        return self.dot / "config.yaml"

    @cached_property
    def followed(self) -> Path:
        return self.home / "followed_exports.json"

    @cached_property
    def injections(self) -> Path:
        return self.home / "injections.json"

    @cached_property
    def questions(self) -> Path:
        return self.home / "questions.json"

    @cached_property
    def validation_report(self) -> Path:
        return self.home / "validation_report.json"

    @cached_property
    def validation_pictures(self) -> Path:
        return self.home / "validation"

    @cached_property
    def events(self) -> Path:
        return self.dot / "events.jsonl"

    @cached_property
    def lock(self) -> Path:
        return self.dot / "lock"

    @cached_property
    def write_lock(self) -> Path:
        """The lock of one transaction, held for milliseconds."""
        return self.dot / "write.lock"

    @cached_property
    def commit(self) -> Path:
        return self.dot / "commit.json"

    @cached_property
    def gitignore(self) -> Path:
        return self.dot / ".gitignore"

    @cached_property
    def typed(self) -> Path:
        return self.dot / "typed.jsonl"

    @cached_property
    def logs(self) -> Path:
        return self.dot / "logs"

    @cached_property
    def last_prompt(self) -> Path:
        return self.logs / "last-prompt.md"

    @cached_property
    def session_history(self) -> Path:
        return self.dot / "session_history"

    @cached_property
    def sessions(self) -> Path:
        return self.session_history / "sessions.jsonl"

    @cached_property
    def memory_iterations(self) -> Path:
        return self.home / "memory" / "iterations"

    @cached_property
    def memory_phases(self) -> Path:
        return self.home / "memory" / "phases"

    @cached_property
    def memory_sessions(self) -> Path:
        return self.home / "memory" / "sessions"

    @cached_property
    def memory_archive(self) -> Path:
        return self.home / "memory" / "archive"

    @cached_property
    def active_memory(self) -> Path:
        return self.home / "MEMORY.md"

    @cached_property
    def memory(self) -> Path:
        return self.home / "HANDOFF.md" if self.feature else self.root / "MEMORY.md"

    @cached_property
    def progress(self) -> Path:
        return (self.home if self.feature else self.root) / "progress.txt"

    @cached_property
    def agents_md(self) -> Path:
        return self.root / "AGENTS.md"

    @cached_property
    def specs(self) -> Path:
        return self.every_spec / self.feature if self.feature else self.every_spec

    @cached_property
    def every_spec(self) -> Path:
        return self.root / specs_folder(self.config)

    @cached_property
    def kept_plans(self) -> Path:
        return self.home / "session_history"

    def prompt(self, phase: Phase) -> Path:
        name = f"PROMPT_{PROMPT_NAMES[phase]}.md"
        own = self.home / name
        return own if self.feature and own.is_file() else self.root / name

    @cached_property
    def archive(self) -> Path:
        return self.dot / "archive"

    @cached_property
    def directories(self) -> tuple[Path, ...]:
        """Every directory in `.ralph` that ralph writes to for this feature."""
        return (
            self.logs,
            self.session_history,
            *((self.home, self.kept_plans) if self.feature else ()),
            self.memory_iterations,
            self.memory_phases,
            self.memory_sessions,
            self.memory_archive,
        )
