"""`ralph memory`: shows the memory of the next session, and archives what is old."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ralph_tui.cli.console import note, out, out_facts, out_json
from ralph_tui.cli.options import CENT, AsJson, ProjectRoot, examples
from ralph_tui.cli.project_lookup import find_project, read_project
from ralph_tui.domain.errors import RalphError

if TYPE_CHECKING:
    from ralph_tui.domain.documents.memory import ActiveMemory
    from ralph_tui.store.project import Project

app = typer.Typer()

KEPT_DAYS = 30
"""How long the archive is kept (seeds, "Memory System")."""


@app.command(
    epilog=examples("ralph memory --show", "ralph memory --stats", "ralph memory --compact")
)
def memory(  # noqa: PLR0913 - an option of the command for each
    *,
    show: Annotated[bool, typer.Option("--show", help="Print it, as the model gets it.")] = False,
    stats: Annotated[bool, typer.Option("--stats", help="Say how much is kept.")] = False,
    cleanup: Annotated[
        bool,
        typer.Option(
            "--cleanup",
            help=f"Archive older memories, and remove what was archived over {KEPT_DAYS} days ago.",
        ),
    ] = False,
    recurring: Annotated[
        bool,
        typer.Option("--recurring", help="List what was learned again and is not in AGENTS.md."),
    ] = False,
    to_agents: Annotated[
        bool, typer.Option("--to-agents", help="Add what --recurring lists to AGENTS.md.")
    ] = False,
    compact: Annotated[
        bool,
        typer.Option(
            "--compact", help="Let the planning model shorten the learnings. This costs money."
        ),
    ] = False,
    model: Annotated[
        str | None, typer.Option("--model", metavar="NAME", help="With --compact: the model.")
    ] = None,
    max_cost: Annotated[
        float | None,
        typer.Option(
            "--max-cost", metavar="USD", min=CENT, help="With --compact: the most it costs."
        ),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="With --compact: do not ask about costs.")
    ] = False,
    project_root: ProjectRoot = None,
    as_json: AsJson = False,
) -> None:
    """Show the memory that goes into the next prompt."""
    if show + stats + cleanup + recurring + to_agents + compact > 1:
        raise RalphError(
            "--show, --stats, --cleanup, --recurring, --to-agents and --compact exclude each other.",
            "Give one of them.",
        )
    if not compact and (yes or model is not None or max_cost is not None):
        raise RalphError(
            "--model, --max-cost and --yes belong to --compact; without it no model is asked.",
            "Leave them out.",
        )
    project = find_project(project_root)
    if compact:
        from ralph_tui.cli.run.model_work import compact_learnings, planning_overrides

        overrides = planning_overrides(model, max_cost)
        raise typer.Exit(compact_learnings(project.root, overrides, yes=yes))
    if recurring or to_agents:
        _recurring(project, as_json=as_json, add=to_agents)
    elif cleanup:
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
        out("There is no memory yet; the first session leaves some.")
    for line in [] if as_json else text.splitlines():
        out(line)


_TITLES = {
    "active_memory_characters": "active memory, characters",
    "active_memory_limit": "active memory, at most",
    "handoff_characters": "hand-off ({handoff}), characters",
    "archived_too_long": f"archived over {KEPT_DAYS} days ago",
    "learnings_lines": "learnings (progress.txt), lines",
}
"""What a person reads; a program gets the names."""


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
    """Return the memories in a directory; nothing when it does not exist."""
    return sorted(path for path in directory.glob("*.md") if path.is_file())


def _recurring(project: "Project", *, as_json: bool, add: bool) -> None:
    from ralph_tui.domain.documents.agents_md import MAX_LINES, with_learned
    from ralph_tui.domain.documents.learning_selection import recurring
    from ralph_tui.engine.session.learnings import LOOKED_AT
    from ralph_tui.store.text_files import PROJECT_MODE, TAIL_BYTES, write_text

    path = project.layout.agents_md
    text = project.read_text(path, TAIL_BYTES)
    found = recurring(project.read_learnings(LOOKED_AT), text)
    left: tuple[str, ...] = ()
    if add and found:
        text, left = with_learned(text, [one.text for one in found])
        write_text(path, text, mode=PROJECT_MODE)
    if as_json:
        listed = [one.model_dump() | {"added": add and one.text not in left} for one in found]
        out_json(listed)
        return
    for one in found:
        verb = "added  " if add and one.text not in left else ""
        out(f"{verb}{one.times} times  {one.text}")
    if left:
        note(
            f"AGENTS.md has at most {MAX_LINES} lines: {len(left)} did not fit. Shorten the file first."
        )
    if not found:
        out("Nothing was learned several times that AGENTS.md does not have.")
    elif not add:
        note("`ralph memory --to-agents` adds these to AGENTS.md.")


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
