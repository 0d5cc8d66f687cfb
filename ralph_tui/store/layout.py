"""The paths of a project: the one place that knows file names (DESIGN section 4)."""

from pathlib import Path
from typing import NamedTuple

from ralph_tui.domain.project_state import Phase
from ralph_tui.store.project_root import DOT

PROMPT_NAMES = {
    Phase.DISCOVERY: "discovery",
    Phase.PLANNING: "plan",
    Phase.BUILDING: "build",
    Phase.VALIDATION: "validate",
}
"""The names of the prompt files, as the seeds define them."""

SPECS = "specs"

FEATURES = "features"
"""The directory in `.ralph` with a folder for each named feature."""


class Layout(NamedTuple):
    """The paths of one project, as one feature of it sees them.

    What belongs to the plan lies in `home`: in `.ralph` itself for the plan without a name, otherwise in the
    feature's folder, which is a small `.ralph`. Settings, locks, journal, logs and sessions are the project's.
    """

    root: Path
    feature: str = ""
    """The feature's name; empty for the plan without a name."""

    @property
    def dot(self) -> Path:
        """Ralph's own directory."""
        return self.root / DOT

    @property
    def features(self) -> Path:
        """The directory of the named features."""
        return self.dot / FEATURES

    @property
    def home(self) -> Path:
        """The directory of the feature's own files."""
        return self.features / self.feature if self.feature else self.dot

    @property
    def project(self) -> Path:
        """The list of features; a project with one plan has none."""
        return self.dot / "project.json"

    @property
    def state(self) -> Path:
        """The master state."""
        return self.home / "state.json"

    @property
    def plan(self) -> Path:
        """The task list."""
        return self.home / "implementation_plan.json"

    @property
    def budget(self) -> Path:
        """The context budget."""
        return self.home / "context_budget.json"

    @property
    def breaker(self) -> Path:
        """The circuit breaker."""
        return self.home / "circuit_breaker.json"

    @property
    def steps(self) -> Path:
        """What happened to the steps around the work."""
        return self.home / "steps.json"

    @property
    def config(self) -> Path:
        """The project's settings."""
        return self.dot / "config.yaml"

    @property
    def followed(self) -> Path:
        """Files of other tools that are kept current, with what ralph wrote into them last."""
        return self.home / "followed_exports.json"

    @property
    def injections(self) -> Path:
        """Guidance that waits for an iteration, one JSON object per line."""
        return self.home / "injections.json"

    @property
    def questions(self) -> Path:
        """Questions to the person and their answers."""
        return self.home / "questions.json"

    @property
    def validation_report(self) -> Path:
        """What the validation phase found."""
        return self.home / "validation_report.json"

    @property
    def validation_pictures(self) -> Path:
        """What the validation phase saw with extra tools, named in the report."""
        return self.home / "validation"

    @property
    def events(self) -> Path:
        """The journal."""
        return self.dot / "events.jsonl"

    @property
    def lock(self) -> Path:
        """The lock held by the owner of the loop, for a whole run."""
        return self.dot / "lock"

    @property
    def write_lock(self) -> Path:
        """The lock of one transaction, held for milliseconds."""
        return self.dot / "write.lock"

    @property
    def commit(self) -> Path:
        """The list of renames of a transaction that changes several files."""
        return self.dot / "commit.json"

    @property
    def gitignore(self) -> Path:
        """Keeps Ralph's own files out of the project's history."""
        return self.dot / ".gitignore"

    @property
    def typed(self) -> Path:
        """What people typed in the text boxes."""
        return self.dot / "typed.jsonl"

    @property
    def logs(self) -> Path:
        """Logs of ralph and of the CLI."""
        return self.dot / "logs"

    @property
    def given(self) -> Path:
        """The last session's first prompt."""
        return self.logs / "last-prompt.md"

    @property
    def session_history(self) -> Path:
        """The directory of ended sessions."""
        return self.dot / "session_history"

    @property
    def sessions(self) -> Path:
        """Ended sessions, one JSON object per line."""
        return self.session_history / "sessions.jsonl"

    @property
    def memory_iterations(self) -> Path:
        """One file per iteration, the last few."""
        return self.home / "memory" / "iterations"

    @property
    def memory_phases(self) -> Path:
        """One file per finished phase."""
        return self.home / "memory" / "phases"

    @property
    def memory_sessions(self) -> Path:
        """One file per hand-off, the last few."""
        return self.home / "memory" / "sessions"

    @property
    def memory_archive(self) -> Path:
        """Where older memory files are moved."""
        return self.home / "memory" / "archive"

    @property
    def active_memory(self) -> Path:
        """The memory that goes into prompts."""
        return self.home / "MEMORY.md"

    @property
    def memory(self) -> Path:
        """The hand-off to the next session."""
        return self.home / "HANDOFF.md" if self.feature else self.root / "MEMORY.md"

    @property
    def progress(self) -> Path:
        """The append-only log of learnings."""
        return (self.home if self.feature else self.root) / "progress.txt"

    @property
    def agents_md(self) -> Path:
        """Operational notes for agents."""
        return self.root / "AGENTS.md"

    @property
    def specs(self) -> Path:
        """The directory of the feature's requirements."""
        specs = self.root / SPECS
        return specs / self.feature if self.feature else specs

    @property
    def kept_plans(self) -> Path:
        """Where a plan is copied before it is replaced."""
        return self.home / "session_history"

    def prompt(self, phase: Phase) -> Path:
        """Return the person's own instructions for a phase: the feature's, where it has some, or the project's."""
        name = f"PROMPT_{PROMPT_NAMES[phase]}.md"
        own = self.home / name
        return own if self.feature and own.is_file() else self.root / name

    @property
    def archive(self) -> Path:
        """Finished plans with what belongs to them, one folder each."""
        return self.dot / "archive"

    @property
    def directories(self) -> tuple[Path, ...]:
        """Every directory inside `dot` that ralph writes to for this feature."""
        return (
            self.logs,
            self.session_history,
            *((self.home, self.kept_plans) if self.feature else ()),
            self.memory_iterations,
            self.memory_phases,
            self.memory_sessions,
            self.memory_archive,
        )
