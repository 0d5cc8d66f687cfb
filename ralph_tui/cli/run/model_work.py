"""Work for the model outside the loop: `init --from`, `add --plan` and `memory --compact`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ralph_tui.cli.console import agreed, out, out_facts
from ralph_tui.cli.run.inputs import read_addition

if TYPE_CHECKING:
    from ralph_tui.config.settings import Settings
    from ralph_tui.engine.control.request import Addition, RunRequest


PERSON = "the person"
"""The source, in the prompt, of words from the command line."""


def read_material(words: Sequence[str], root: Path) -> "Addition":
    """Read a text to plan: the words, standard input (`-`), a file (`@path`) or a GitHub issue."""
    from ralph_tui.engine.control.github_issue import fetch_issue, is_issue
    from ralph_tui.engine.control.request import Addition

    if len(words) == 1 and is_issue(words[0].strip()):
        issue = fetch_issue(root, words[0].strip())
        return Addition(read_addition([issue.text], issue.name), issue.name)
    text = " ".join(words).strip()
    is_file = len(words) == 1 and text.startswith("@")
    source = "standard input" if text == "-" else text[1:] if is_file else PERSON
    return Addition(read_addition(words), source)


def require_consent(
    settings: "Settings", spent: float, what: Mapping[str, str], *, yes: bool
) -> None:
    out_facts({**what, "model": settings.models.planning, "cost": most_it_costs(settings, spent)})
    if yes:
        return
    agreed("Send this to the model?", nothing="Nothing was sent", kept="Nothing was changed.")
    out()


def most_it_costs(settings: "Settings", spent: float) -> str:
    from ralph_tui.domain.costs import CostMeter
    from ralph_tui.present.text.figures import money

    limits = settings.safety.cost_limits
    run = CostMeter(total=spent).remaining(limits.model_copy(update={"per_iteration": 0.0}))
    most = "no limit" if run == float("inf") else f"at most {money(run)} in this run"
    session = limits.per_iteration
    return f"{most}, {money(session)} in each session" if 0 < session < run else most


def run_in_lines(root: Path, overrides: Mapping[str, object], request: "RunRequest") -> int:
    from dataclasses import replace

    from ralph_tui.cli.composition import launch_project
    from ralph_tui.cli.run.headless import run_lines
    from ralph_tui.cli.run.mode import may_prompt

    prompts = may_prompt(as_json=False, may_ask=True)
    asked = replace(request, interactive=prompts)
    return run_lines(
        lambda: launch_project(root, overrides, asked), as_json=False, interactive=prompts
    )


def planning_overrides(model: str | None, max_cost: float | None) -> Mapping[str, object]:
    return {"models.planning": model, "safety.cost_limits.per_session": max_cost}


def compact_learnings(root: Path, overrides: Mapping[str, object], *, yes: bool) -> int:
    from ralph_tui.config.load import load_settings
    from ralph_tui.domain.formatting import plural
    from ralph_tui.domain.project_state import Phase
    from ralph_tui.engine.control.request import RunRequest
    from ralph_tui.engine.phases.compaction import learnings_to_shorten, require_learnings
    from ralph_tui.store.lock import LoopLock
    from ralph_tui.store.project import Project

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
    from ralph_tui.cli.project_lookup import read_project
    from ralph_tui.config.load import load_settings
    from ralph_tui.domain.formatting import plural
    from ralph_tui.domain.project_state import Phase
    from ralph_tui.engine.control.request import RunRequest
    from ralph_tui.engine.phases.planning import require_extensible
    from ralph_tui.store.lock import LoopLock
    from ralph_tui.store.project import Project

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
