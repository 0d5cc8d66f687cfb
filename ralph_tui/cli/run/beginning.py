"""What `ralph init --from` begins a project with: a plan to import, or a text that is kept and planned."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ralph_tui.cli.console import note, out
from ralph_tui.cli.options import chosen_feature
from ralph_tui.cli.run.import_dialog import ask, finish, show
from ralph_tui.cli.run.inputs import read_addition
from ralph_tui.cli.run.model_work import planning_overrides, require_consent, run_in_lines
from ralph_tui.config.load import load_settings
from ralph_tui.domain.errors import RalphError
from ralph_tui.domain.plan.plan import TaskStatus
from ralph_tui.domain.project_state import Phase
from ralph_tui.engine.control.controls import Controls
from ralph_tui.engine.control.github_issue import fetch_issue, is_issue
from ralph_tui.engine.control.import_sources import STANDARD_INPUT, load_file, place_of
from ralph_tui.engine.control.request import RunRequest
from ralph_tui.engine.run.plan_import import PlanImport
from ralph_tui.interop.format_registry import formats
from ralph_tui.store.feature_choice import layout_of
from ralph_tui.store.layout import Layout
from ralph_tui.store.project import Project
from ralph_tui.store.text_files import keep_spec, require_room_for_spec

if TYPE_CHECKING:
    from ralph_tui.interop.formats import Source

REQUIREMENTS = "requirements.md"
"""The file of `specs/` that keeps a text."""

SURE = 40
"""How well a file must fit a format to count as a plan; a text with a few check boxes fits less."""


@dataclass(frozen=True)
class Wishes:
    """What the options of `ralph init` say about `--from`."""

    no_plan: bool
    ask: bool
    model: str | None
    max_cost: float | None
    yes: bool


@dataclass(frozen=True)
class Beginning:
    """What a project begins with, read and not written yet.

    Attributes:
        root: The project's directory.
        feature: The feature that is made; None without one.
        given: What the person named.
        name: What a person calls it.
        text: The text to plan; empty for a plan, which is imported.
        spec: The name of the spec that the text is in already; empty when it is to be kept.
        wishes: What the options say.
    """

    root: Path
    feature: str | None
    given: str
    name: str
    text: str
    spec: str
    wishes: Wishes

    @property
    def told(self) -> str:
        """What it comes to, as a line of a preview."""
        if not self.text:
            return f"import   {self.given}"
        if self.wishes.ask:
            return f"discover {self.name}, with {self._model}"
        kept = (
            ""
            if self.spec
            else f"create   {self.layout.specs.relative_to(self.root)}/{REQUIREMENTS}"
        )
        planned = "" if self.wishes.no_plan else f"plan     {self.name}, with {self._model}"
        return "; ".join(filter(None, (kept, planned)))

    @property
    def _model(self) -> str:
        return load_settings(self.root, overrides=self._overrides).models.planning

    @property
    def _overrides(self) -> "dict[str, object]":
        return dict(planning_overrides(self.wishes.model, self.wishes.max_cost))

    @property
    def layout(self) -> Layout:
        """The paths of what is begun, which may not be there yet."""
        return _layout_before(self.root, self.feature)

    def require_consent(self) -> None:
        """Ask about the costs before anything is written or sent, where a model is needed.

        Raises:
            Exit: Nobody is here to agree.
            RalphError: The person does not agree.
        """
        if not self.text or self.wishes.no_plan:
            return
        settings = load_settings(self.root, overrides=self._overrides)
        there = self.layout.dot.is_dir()
        spent = Project(self.root, "").load().project_cost if there else 0.0
        what = {"sends": f"{self.name} ({len(self.text):,} characters), AGENTS.md"}
        require_consent(settings, spent, what, yes=self.wishes.yes)

    def begin(self) -> int:
        """Import the plan, or keep the text and have it planned; return the exit status.

        Raises:
            RalphError: It cannot be written, imported or planned.
        """
        with chosen_feature(self.feature):
            if not self.text:
                self._import()
                return 0
            if self.wishes.ask:
                return self._discover() or self._plan()
            self._keep()
            if self.wishes.no_plan:
                out("Next: `ralph plan` plans it.")
                return 0
            return self._plan()

    def _import(self) -> None:
        controls = Controls(self.root, tell=note)
        importing = PlanImport(controls, load_settings(self.root))
        preview = importing.look(self.given)
        show(preview)
        if preview.changes_plan:
            if not self.wishes.yes:
                ask(preview, as_json=False)
            importing.write(preview)
        finish(preview, as_json=False, written=preview.changes_plan)

    def _keep(self) -> None:
        if self.spec:
            return
        path, new = keep_spec(layout_of(self.root), REQUIREMENTS, self.text)
        out(f"{'created' if new else 'kept'}  {path.relative_to(self.root)}")

    def _discover(self) -> int:
        request = RunRequest(text=self.text, only=Phase.DISCOVERY, assume_yes=self.wishes.yes)
        return run_in_lines(self.root, self._overrides, request)

    def _plan(self) -> int:
        request = RunRequest(only=Phase.PLANNING, assume_yes=self.wishes.yes)
        return run_in_lines(self.root, self._overrides, request)


def look_at(root: Path, feature: str | None, given: str, wishes: Wishes) -> Beginning:
    """Read what a project is to begin with; write nothing. Blocks.

    Args:
        root: The project's directory.
        feature: The feature that is made; None without one.
        given: A file, or an issue of GitHub.
        wishes: What the options say.

    Raises:
        RalphError: It cannot be read, or the project has no room for it.
    """
    if wishes.no_plan and wishes.ask:
        raise RalphError("--no-plan and --ask exclude each other.", "Give one of them.")
    given = given.strip().removeprefix("@")
    if given == STANDARD_INPUT:
        raise RalphError(
            "--from takes a file or an issue, not standard input.",
            "Save the text into a file and name that file.",
        )
    name, text, spec = _read(root, feature, given)
    if not text and (wishes.no_plan or wishes.ask):
        raise RalphError(
            f"{name} is a plan already, so there is nothing to ask the model.",
            "Leave --no-plan and --ask out; the plan is imported as it is.",
        )
    beginning = Beginning(root, feature, given, name, text, spec, wishes)
    if text:
        _require_room(beginning)
    return beginning


def _read(root: Path, feature: str | None, given: str) -> tuple[str, str, str]:
    """Return what a person calls it, its text, and the spec it is in already; without text it is a plan."""
    if is_issue(given) and not Path(given).exists():
        issue = fetch_issue(root, given)
        return issue.name, read_addition([f"{issue.text}\nFrom {issue.url}"], issue.name) + "\n", ""
    place = place_of(root, given)
    if place.is_dir():
        return given, "", ""
    source = load_file(root, given).source
    if _is_plan(source):
        return given, "", ""
    specs = _layout_before(root, feature).specs
    is_spec = place.parent == Path(specs).resolve() and place.suffix == ".md"
    return given, read_addition([source.text], given) + "\n", place.name if is_spec else ""


def _is_plan(source: "Source") -> bool:
    """Return whether a known tool wrote a file; JSON that none knows is refused rather than planned."""
    if source.name.casefold().endswith((".json", ".jsonl")):
        formats().detect(source)
        return True
    return max(importer.sniff(source) for importer in formats().importers) >= SURE


def _layout_before(root: Path, feature: str | None) -> Layout:
    """Return the paths of the feature, which may not be there yet."""
    if feature is not None:
        return Layout(root, feature)
    return layout_of(root) if Layout(root).dot.is_dir() else Layout(root)


def _require_room(beginning: Beginning) -> None:
    """Refuse a text where tasks are open already, or where the spec would be replaced.

    Raises:
        RalphError: There is no room for it.
    """
    root, layout, wishes = beginning.root, beginning.layout, beginning.wishes
    if not wishes.ask and not beginning.spec:
        require_room_for_spec(layout, REQUIREMENTS, beginning.text)
    there = beginning.feature is None and layout.dot.is_dir()
    if there and not wishes.no_plan and _has_open_tasks(root):
        raise RalphError(
            "The plan has open tasks already.",
            f"Add to it instead: ralph add --plan {_argument(beginning.given)}.",
        )


def _has_open_tasks(root: Path) -> bool:
    return any(t.status is not TaskStatus.COMPLETE for t in Project(root).load().plan.tasks)


def _argument(given: str) -> str:
    return given if is_issue(given) else f"@{given}"
