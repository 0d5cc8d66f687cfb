"""`ralph init`: makes or adopts a uv project; what exists is never overwritten."""

import os
import subprocess
from pathlib import Path
from typing import Annotated

import typer

from ralph_tui.cli.options import ProjectRoot, examples
from ralph_tui.cli.others import plan_of_another
from ralph_tui.cli.preflight import uv_version
from ralph_tui.cli.say import note, out
from ralph_tui.domain.agents_md import MAX_LINES, lines_of
from ralph_tui.domain.errors import SetupError, StoreError
from ralph_tui.domain.text import one_line

AGENTS_TEMPLATE = """\
# Project operations guide

Notes for the agents that work here. Keep this file to 60 lines: it goes into every prompt.

## Build system

This project uses `uv` for all Python operations.

```bash
uv sync                    # install all dependencies
uv run pytest              # run the tests
uv run mypy .              # check the types
uv run ruff check .        # lint
uv run ruff format .       # format
uv add <package>           # add a dependency
uv add --dev <package>     # add a development dependency
```

## Architecture

## Testing conventions

## Gotchas

## Learned patterns
"""

_NEXT = """
Next:
  ralph doctor                      see whether everything is in place
  ralph "Build a habit tracker"     say what you want; it asks, plans, builds and checks

Or write the plan yourself into {plan}, a JSON object whose "tasks" is a list,
and run `ralph build`. A task needs an "id" and a "description"; "priority" (lower is sooner),
"dependencies" (ids) and "verification_criteria" (commands such as "uv run pytest", or prose)
are optional.
"""


def init(
    *,
    project_root: ProjectRoot = None,
    prompts: Annotated[
        bool, typer.Option("--prompts", help="Also write the phases' PROMPT_….md, to edit them.")
    ] = False,
) -> None:
    """Make a project ready for ralph.

    Run it again at any time: what exists is kept as it is.
    """
    root = _directory(project_root)
    if project_root is None:
        _refuse_home(root)
    if not (root / "pyproject.toml").exists():
        _uv_init(root)
    else:
        out("kept     pyproject.toml")
    from ralph_tui.config.document import template
    from ralph_tui.domain.state import Phase
    from ralph_tui.store.project import Project

    project = Project(root)
    project.create()
    layout = project.layout
    files = {layout.config: template(), layout.agents_md: AGENTS_TEMPLATE}
    if prompts:
        from ralph_tui.engine.prompting import builtin_template

        for phase in Phase:
            own = layout.prompt(phase)
            files[own] = builtin_template(f"{own.stem.removeprefix('PROMPT_')}.md")
    for path, text in files.items():
        _write_new(path, text, root)
    if (count := lines_of(project.read_text(layout.agents_md, 1_000_000))) > MAX_LINES:
        note(f"AGENTS.md has {count} lines; only the first {MAX_LINES} go into prompts.")
    if project.load().plan.tasks:
        out("The plan has tasks already; `ralph run` works them.")
    else:
        for text in _NEXT.format(plan=layout.plan.relative_to(root)).splitlines():
            typer.echo(text)
        if other := plan_of_another(root):
            typer.echo(f"\n{other}")


def _refuse_home(root: Path) -> None:
    """Somebody who opens a terminal stands in their home; as a project, all of it would be the agent's."""
    is_home = root == Path(os.path.expanduser("~")).resolve()  # noqa: PTH111 - without a home it stays as it is
    if is_home and not (root / "pyproject.toml").exists():
        raise SetupError(
            f"{root} is your home: as a project, everything in it would be the agent's to change.",
            "Make a directory and go there; if you mean it, name it with --project-root.",
        )


def _directory(project_root: Path | None) -> Path:
    root = Path(os.path.realpath(project_root or Path.cwd()))
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SetupError(
            f"{root} cannot be made a project: {error.strerror or error}.", "Choose another place."
        ) from error
    return root


def _uv_init(root: Path) -> None:
    """Have uv make the project, with the configured Python where that can be had."""
    from ralph_tui.config.load import load_settings

    uv_version()
    version = load_settings(root).project.python_version
    done = _uv(root, "init", "--quiet", *_python(root, version))
    if done.returncode != 0:
        raise SetupError(
            f"`uv init` failed in {root}: {' '.join(done.stderr.split())}",
            "Make a pyproject.toml yourself, then run `ralph init` again.",
        )
    out("created  pyproject.toml (uv init)")


def _python(root: Path, version: str) -> list[str]:
    """The option that asks for a Python; none when it is not there and cannot be fetched."""
    if not version:
        return []
    if _uv(root, "python", "find", version).returncode != 0:
        fetched = _uv(root, "python", "install", "--quiet", version)
        if fetched.returncode != 0:
            why = one_line(fetched.stderr) or "uv does not say why"
            note(f"Python {version} cannot be had, so uv takes one that is there: {why}")
            return []
    return ["--python", version]


def _uv(root: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        ["uv", *words], cwd=root, capture_output=True, text=True, errors="replace", check=False
    )


def _write_new(path: Path, text: str, root: Path) -> None:
    """Write a file unless something of that name exists, whatever it is."""
    name = path.relative_to(root)
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        out(f"kept     {name}")
    except OSError as error:
        raise StoreError(
            f"{path} cannot be written: {error.strerror or error}.",
            "Make the directory writable and run `ralph init` again.",
        ) from error
    else:
        out(f"created  {name}")


def register(app: typer.Typer) -> None:
    """Add these commands."""
    app.command(epilog=examples("ralph init"))(init)
