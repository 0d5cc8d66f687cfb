"""Work for the model outside the loop: `init --from`, `add --plan` and `memory --compact`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ralph_tui.cli.console import agreed, note, out, out_facts
from ralph_tui.cli.options import FromOptions, chosen_feature
from ralph_tui.cli.project_lookup import read_project
from ralph_tui.cli.run.headless import run_lines
from ralph_tui.cli.run.import_dialog import ask, finish, show
from ralph_tui.cli.run.inputs import read_addition
from ralph_tui.cli.run.mode import may_prompt
from ralph_tui.config.load import load_settings
from ralph_tui.config.settings import Settings
from ralph_tui.domain.costs import CostMeter
from ralph_tui.domain.errors import RalphError
from ralph_tui.domain.formatting import plural
from ralph_tui.domain.plan.plan import TaskStatus
from ralph_tui.domain.project_state import Phase
from ralph_tui.engine.control.controls import Controls
from ralph_tui.engine.control.github_issue import fetch_issue, is_issue
from ralph_tui.engine.control.import_sources import STANDARD_INPUT, load_file, place_of
from ralph_tui.engine.control.request import Addition, RunRequest
from ralph_tui.engine.phases.compaction import learnings_to_shorten, require_learnings
from ralph_tui.engine.phases.planning import require_extensible
from ralph_tui.engine.run.plan_import import PlanImport
from ralph_tui.interop.format_registry import formats
from ralph_tui.interop.formats import Source
from ralph_tui.present.text.figures import money
from ralph_tui.store.feature_choice import layout_of
from ralph_tui.store.layout import Layout
from ralph_tui.store.lock import LoopLock
from ralph_tui.store.project import Project
from ralph_tui.store.text_files import keep_spec, require_room_for_spec

PERSON = "the person"
"""The source, in the prompt, of words from the command line."""


def read_material(words: Sequence[str], root: Path) -> Addition:
    """Read a text to plan: the words, standard input (`-`), a file (`@path`) or a GitHub issue."""
    if len(words) == 1 and is_issue(words[0].strip()):
        issue = fetch_issue(root, words[0].strip())
        return Addition(read_addition([issue.text], issue.name), issue.name)
    text = " ".join(words).strip()
    is_file = len(words) == 1 and text.startswith("@")
    source = "standard input" if text == "-" else text[1:] if is_file else PERSON
    return Addition(read_addition(words), source)


def require_consent(
    settings: Settings, spent: float, what: Mapping[str, str], *, yes: bool
) -> None:
    out_facts({**what, "model": settings.models.planning, "cost": most_it_costs(settings, spent)})
    if yes:
        return
    agreed("Send this to the model?", nothing="Nothing was sent", kept="Nothing was changed.")
    out()


def most_it_costs(settings: Settings, spent: float) -> str:
    limits = settings.safety.cost_limits
    run = CostMeter(total=spent).remaining(limits.model_copy(update={"per_iteration": 0.0}))
    most = "no limit" if run == float("inf") else f"at most {money(run)} in this run"
    session = limits.per_iteration
    return f"{most}, {money(session)} in each session" if 0 < session < run else most


def run_in_lines(root: Path, overrides: Mapping[str, object], request: RunRequest) -> int:
    from ralph_tui.cli.composition import launch_project

    prompts = may_prompt(as_json=False, may_ask=True)
    asked = replace(request, interactive=prompts)
    return run_lines(
        lambda: launch_project(root, overrides, asked), as_json=False, interactive=prompts
    )


def planning_overrides(model: str | None, max_cost: float | None) -> Mapping[str, object]:
    return {"models.planning": model, "safety.cost_limits.per_session": max_cost}


def compact_learnings(root: Path, overrides: Mapping[str, object], *, yes: bool) -> int:
    settings = load_settings(root, overrides=overrides)
    project = Project(root)
    LoopLock(project.layout).require_free()
    require_learnings(project)
    taken = learnings_to_shorten(project)
    size = sum(map(len, taken))
    what = {
        "sends": f"{plural(len(taken), 'learning')} of progress.txt ({plural(size, 'character')})"
    }
    require_consent(settings, project.load().project_cost, what, yes=yes)
    request = RunRequest(only=Phase.PLANNING, compacts=True)
    return run_in_lines(root, overrides, request)


def add_planned(
    root: Path, words: Sequence[str], overrides: Mapping[str, object], *, yes: bool
) -> int:
    settings = load_settings(root, overrides=overrides)
    project = Project(root)
    LoopLock(project.layout).require_free()
    docs = read_project(project)
    require_extensible(docs)  # before asking the person
    material = read_material(words, root)
    request = RunRequest(only=Phase.PLANNING, addition=material, assume_yes=yes)
    named = "your text" if material.source == PERSON else material.source
    tasks = len(docs.plan.tasks)
    what = {
        "sends": f"{named} ({plural(len(material.text), 'character')}), the plan ({plural(tasks, 'task')}), specs, AGENTS.md"
    }
    require_consent(settings, docs.project_cost, what, yes=yes)
    return run_in_lines(root, overrides, request)


REQUIREMENTS = "requirements.md"
"""The file in `specs/` that a text is saved to."""

SURE = 40
"""The score of a format from which a file counts as a plan; a text with a few check boxes scores less."""


@dataclass(frozen=True)
class Beginning:
    """What a project starts from, read but not yet written.

    Attributes:
        feature: The feature to create; None without one.
        given: The file or issue, as the person named it.
        name: Its name for display.
        text: The text to plan; empty for a plan, which is imported.
        spec: The spec that holds the text already; empty if the text must be saved.
    """

    root: Path
    feature: str | None
    given: str
    name: str
    text: str
    spec: str
    options: FromOptions

    @property
    def preview(self) -> str:
        if not self.text:
            return f"import   {self.given}"
        if self.options.ask:
            return f"discover {self.name}, with {self._model}"
        saved = (
            ""
            if self.spec
            else f"create   {self.layout.specs.relative_to(self.root)}/{REQUIREMENTS}"
        )
        planned = "" if self.options.no_plan else f"plan     {self.name}, with {self._model}"
        return "; ".join(filter(None, (saved, planned)))

    @property
    def _model(self) -> str:
        return load_settings(self.root, overrides=self._overrides).models.planning

    @property
    def _overrides(self) -> dict[str, object]:
        return dict(planning_overrides(self.options.model, self.options.max_cost))

    @property
    def layout(self) -> Layout:
        """The paths of the project or feature, which may not exist yet."""
        return _layout_before(self.root, self.feature)

    def require_consent(self) -> None:
        """Ask about the costs, if a model is needed, before anything is written or sent."""
        if not self.text or self.options.no_plan:
            return
        settings = load_settings(self.root, overrides=self._overrides)
        exists = self.layout.dot.is_dir()
        spent = Project(self.root, "").load().project_cost if exists else 0.0
        what = {"sends": f"{self.name} ({plural(len(self.text), 'character')}), AGENTS.md"}
        require_consent(settings, spent, what, yes=self.options.yes)

    def begin(self) -> int:
        with chosen_feature(self.feature):
            if not self.text:
                controls = Controls(self.root, tell=note)
                importing = PlanImport(controls, load_settings(self.root))
                preview = importing.look(self.given)
                show(preview)
                if preview.changes_plan:
                    if not self.options.yes:
                        ask(preview, as_json=False)
                    importing.write(preview)
                finish(preview, as_json=False, written=preview.changes_plan)
                return 0
            if self.options.ask:
                yes = self.options.yes
                request = RunRequest(text=self.text, only=Phase.DISCOVERY, assume_yes=yes)
                return run_in_lines(self.root, self._overrides, request) or self._plan()
            self._save_text()
            if self.options.no_plan:
                out("Next: `ralph plan` plans it.")
                return 0
            return self._plan()

    def _save_text(self) -> None:
        project = Project(self.root)
        if self.spec:
            name = Path(self.spec).name
            project.transact(lambda docs: docs.with_state(chosen_specs=(name,)))
            return
        path, new = keep_spec(project.layout, REQUIREMENTS, self.text)
        if new:
            project.transact(lambda docs: docs.with_state(specs=(*docs.state.specs, path.name)))
        out(f"{'created' if new else 'kept'}  {path.relative_to(self.root)}")

    def _plan(self) -> int:
        request = RunRequest(only=Phase.PLANNING, assume_yes=self.options.yes)
        return run_in_lines(self.root, self._overrides, request)


def read_beginning(root: Path, feature: str | None, given: str, options: FromOptions) -> Beginning:
    if options.no_plan and options.ask:
        raise RalphError("--no-plan and --ask exclude each other.", "Give one of them.")
    given = given.strip().removeprefix("@")
    if given == STANDARD_INPUT:
        raise RalphError(
            "--from takes a file or an issue, not standard input.",
            "Save the text to a file and pass the file name.",
        )
    name, text, spec = _read(root, feature, given)
    if not text and (options.no_plan or options.ask):
        raise RalphError(
            f"{name} is a plan already, so the model is not needed.",
            "Leave out --no-plan and --ask. The plan is imported as it is.",
        )
    beginning = Beginning(root, feature, given, name, text, spec, options)
    if text:
        _require_room(beginning)
    return beginning


def _read(root: Path, feature: str | None, given: str) -> tuple[str, str, str]:
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


def _is_plan(source: Source) -> bool:
    if source.name.casefold().endswith((".json", ".jsonl")):
        formats().detect(source)
        return True
    return max(importer.sniff(source) for importer in formats().importers) >= SURE


def _layout_before(root: Path, feature: str | None) -> Layout:
    if feature is not None:
        return Layout(root, feature)
    return layout_of(root) if Layout(root).dot.is_dir() else Layout(root)


def _require_room(beginning: Beginning) -> None:
    root, given = beginning.root, beginning.given
    layout, options = beginning.layout, beginning.options
    if not options.ask and not beginning.spec:
        require_room_for_spec(layout, REQUIREMENTS, beginning.text)
    exists = beginning.feature is None and layout.dot.is_dir()
    tasks = Project(root).load().plan.tasks if exists and not options.no_plan else ()
    if any(task.status is not TaskStatus.COMPLETE for task in tasks):
        raise RalphError(
            "The plan has open tasks already.",
            f"Add to it instead: ralph add --plan {given if is_issue(given) else f'@{given}'}.",
        )
