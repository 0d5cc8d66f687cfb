"""`ralph memory`: shows the memory of the next session, and archives what is old."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ralph_tui.cli.console import out, out_facts, out_json
from ralph_tui.cli.options import CENT, AsJson, app, examples, flag, option
from ralph_tui.cli.project_lookup import find_project, read_project
from ralph_tui.domain.errors import RalphError

if TYPE_CHECKING:
    from ralph_tui.domain.documents.memory import ActiveMemory
    from ralph_tui.store.project import Project


KEPT_DAYS = 30


@app.command(
    epilog=examples("ralph memory --show", "ralph memory --stats", "ralph memory --compact")
)
def memory(  # noqa: PLR0913 - an option of the command for each
    *,
    show: Annotated[bool, flag("Print the text that the model gets.")] = False,
    stats: Annotated[bool, flag("Show how much is stored.")] = False,
    cleanup: Annotated[
        bool, flag(f"Archive older memories, and delete those archived over {KEPT_DAYS} days ago.")
    ] = False,
    compact: Annotated[
        bool, flag("Let the planning model shorten the learnings. This costs money.")
    ] = False,
    model: Annotated[str | None, option("NAME", "With --compact: the model to use.")] = None,
    max_cost: Annotated[
        float | None, option("USD", "With --compact: the maximum cost.", min=CENT)
    ] = None,
    yes: Annotated[bool, flag("With --compact: do not ask about the cost.", "-y")] = False,
    as_json: AsJson = False,
) -> None:
    """Show the memory that goes into the next prompt."""
    if show + stats + cleanup + compact > 1:
        raise RalphError(
            "--show, --stats, --cleanup and --compact exclude each other.", "Give one of them."
        )
    if not compact and (yes or model is not None or max_cost is not None):
        raise RalphError(
            "--model, --max-cost and --yes belong to --compact; without it no model is asked.",
            "Leave them out.",
        )
    project = find_project()
    if compact:
        from ralph_tui.cli.run.model_work import compact_learnings, planning_overrides

        overrides = planning_overrides(model, max_cost)
        raise typer.Exit(compact_learnings(project.root, overrides, yes=yes))
    if cleanup:
        _clean_up(project, as_json=as_json)
    elif stats:
        facts = _stats(project)
        if as_json:
            out_json(facts)
        else:
            handoff = project.layout.memory.name
            titles = {name: _TITLES.get(name, name).format(handoff=handoff) for name in facts}
            out_facts({titles[name]: f"{count:,}" for name, count in facts.items()})
    else:
        _show(project, as_json=as_json)


def _active(project: "Project") -> "ActiveMemory":
    from ralph_tui.engine.session.prompt_memory import next_memory

    return next_memory(project, read_project(project))


def _show(project: "Project", *, as_json: bool) -> None:
    text = _active(project).whole
    if as_json:
        out_json({"memory": text})
    elif not text:
        out("There is no memory yet. The first session creates it.")
    for line in [] if as_json else text.splitlines():
        out(line)


_TITLES = {
    "active_memory_characters": "active memory, characters",
    "active_memory_limit": "active memory, at most",
    "handoff_characters": "hand-off ({handoff}), characters",
    "archived_too_long": f"archived over {KEPT_DAYS} days ago",
    "learnings_lines": "learnings (progress.txt), lines",
}
"""Labels of the counts; JSON output has the names."""


def _stats(project: "Project") -> dict[str, int]:
    from ralph_tui.domain.documents.memory import ACTIVE_MEMORY_LIMIT

    layout = project.layout
    return {
        "active_memory_characters": len(_active(project).whole),
        "active_memory_limit": ACTIVE_MEMORY_LIMIT,
        "handoff_characters": len(project.read_memory()),
        "phases": len(_files(layout.memory_phases)),
        "iterations": len(_files(layout.memory_iterations)),
        "sessions": len(_files(layout.memory_sessions)),
        "archived": len(_files(layout.memory_archive)),
        "archived_too_long": len(project.old_memories()),
        "learnings_lines": len(project.read_learnings(1_000_000)),
    }


def _files(directory: Path) -> list[Path]:
    return sorted(path for path in directory.glob("*.md") if path.is_file())


def _clean_up(project: "Project", *, as_json: bool) -> None:
    archived = [str(path.relative_to(project.root)) for path in project.rotate_memories()]
    removed = [str(path.relative_to(project.root)) for path in project.clean_archive()]
    if as_json:
        out_json({"archived": archived, "removed": removed})
        return
    for name in archived:
        out(f"archived  {name}")
    for name in removed:
        out(f"removed  {name}")
    if not archived and not removed:
        out("Nothing was archived or removed.")
