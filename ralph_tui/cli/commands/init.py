"""`ralph init`: sets up ralph in a project, and creates a Python project in an empty directory."""

import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ralph_tui.cli.console import is_at_terminal, note, out
from ralph_tui.cli.doctor.preflight import KIND_WORDS, asked, plan_of_another, uv_version
from ralph_tui.cli.options import FromOptions, argument, examples, flag, option, whole
from ralph_tui.cli.project_lookup import chosen_project, named_project
from ralph_tui.domain.documents.agents_md import MAX_LINES, lines_of
from ralph_tui.domain.errors import RalphError, SetupError, StoreError
from ralph_tui.domain.formatting import plural
from ralph_tui.domain.sanitize import one_line

if TYPE_CHECKING:
    from ralph_tui.cli.run.model_work import Beginning
    from ralph_tui.domain.verification.check_commands import ProjectChecks
    from ralph_tui.store.layout import Layout


_HEAD = """\
# Project operations guide

Notes for the agents that work here. Keep this file to 60 lines: it goes into every prompt.

## Build system
"""
_TAIL = """
## Architecture

## Testing conventions

## Gotchas

## Learned patterns
"""
_UV_ONLY = "This project uses `uv` for all Python operations.\n"
_NOTHING = "No commands were found in this project yet. Write them here once there are some.\n"

_COMMENTS = {
    "tests": "run the tests",
    "typecheck": "check the types",
    "lint": "lint",
    "format_check": "check the format",
}
_UV_LINES = (
    ("uv sync", "install all dependencies"),
    ("uv run <command>", "run anything"),
    ("uv add <package>", "add a dependency"),
    ("uv add --dev <package>", "add a development dependency"),
)
_MANAGER_LINES = {
    "npm": (("npm install", "install all dependencies"), ("npm install <package>", "add one")),
    "pnpm": (("pnpm install", "install all dependencies"), ("pnpm add <package>", "add one")),
    "yarn": (("yarn install", "install all dependencies"), ("yarn add <package>", "add one")),
    "bun": (("bun install", "install all dependencies"), ("bun add <package>", "add one")),
    "cargo": (("cargo build", "build"), ("cargo add <crate>", "add a dependency")),
    "go": (("go build ./...", "build"), ("go get <module>", "add a dependency")),
}


def agents_template(checks: "ProjectChecks", language: str = "") -> str:
    """Return an AGENTS.md for a project with these checks, well below the limit of 60 lines."""
    lines = list(dict.fromkeys(_lines(checks)))
    planned = f"The language of this project is {one_line(language, 60)}. " if language else ""
    opening = planned + (_UV_ONLY if checks.uses_uv else "" if lines else _NOTHING)
    width = max((len(command) for command, _ in lines if len(command) <= _WIDE), default=0)
    block = "".join(f"{command.ljust(width)}  # {comment}\n" for command, comment in lines)
    fenced = f"```bash\n{block}```\n" if block else ""
    between = "\n" if opening and fenced else ""
    return f"{_HEAD}\n{opening}{between}{fenced}{_TAIL}"


_WIDE = 48
"""The longest command, in characters, whose width the comments are aligned to."""


def _lines(checks: "ProjectChecks") -> Iterator[tuple[str, str]]:
    from ralph_tui.domain.verification.check_commands import CheckKind

    if checks.uses_uv:
        yield _UV_LINES[0]
    for kind, comment in _COMMENTS.items():
        for command in checks.of(CheckKind(kind)):
            yield command.command, comment
    if checks.uses_uv:
        yield from _UV_LINES[1:]
    for runner in dict.fromkeys(command.runner for command in checks.commands):
        yield from _MANAGER_LINES.get(runner, ())


_NEXT = """
Next:
  ralph doctor --try                check that everything is in place, and run the checks once
  ralph "Build a habit tracker"     describe what to build; ralph asks, plans, builds and verifies

Or write the plan yourself into {plan}, a JSON object whose "tasks" is a list,
and run `ralph build`. A task needs an "id" and a "description"; "priority" (lower is sooner),
"dependencies" (ids) and "verification_criteria" (commands such as "{example}", or prose)
are optional.
"""

_NEXT_OF_FEATURE = """
Next:
  write what {name} must do into specs/{name}/, or describe it: ralph discover "..."
  ralph plan                        plan it
  ralph add "A first task"          or add its tasks yourself
  ralph feature                     see all features and which one is chosen
"""

_PYTHON = "language Python, in a new project  (for another one: ralph init --no-python)"
_OF_RALPH = frozenset({"AGENTS.md", "CLAUDE.md", "MEMORY.md", "progress.txt", "specs"})
_PYTHON_MANIFESTS = ("pyproject.toml", "setup.py", "setup.cfg")


@dataclass(frozen=True)
class Adoption:
    """What `ralph init` is going to do.

    Attributes:
        checks: The checks found in the project's files.
        uv_init: The options of `uv init`; None if no Python project is created.
        new: Files to write, with their texts.
    """

    root: Path
    checks: "ProjectChecks"
    uv_init: tuple[str, ...] | None
    new: tuple[tuple[Path, str], ...]
    kept: tuple[Path, ...]


@dataclass(frozen=True)
class WantedFiles:
    """What a person wants of the new files. `python` of None: a Python project in an empty directory only."""

    prompts: bool = False
    template: str = ""
    python: bool | None = None
    language: str = ""


@whole.command(
    epilog=examples(
        "ralph init",
        "ralph init --dry-run",
        "ralph init login",
        "ralph init --from idea.md",
        "ralph init login --from 12 --max-cost 2",
    )
)
def init(
    name: Annotated[
        str | None, argument("NAME", "Also create a feature of this name and choose it.")
    ] = None,
    *,
    prompts: Annotated[
        bool, flag("Also write the prompts of the phases, for you to edit.")
    ] = False,
    python: Annotated[
        bool | None,
        flag(
            "Create a Python project even beside other files, or not even in an empty directory.",
            "--python/--no-python",
        ),
    ] = None,
    template: Annotated[
        Literal["hybrid", "go"] | None,
        flag("Start with the limits of Ralph Hybrid or of Wiggum (go)."),
    ] = None,
    source: Annotated[
        str | None,
        option(
            "FILE|ISSUE",
            "Start from a plan, a text or a GitHub issue. The model plans texts and issues.",
            "--from",
        ),
    ] = None,
    start: FromOptions,
    dry_run: Annotated[bool, flag("Only show what would be written.")] = False,
) -> None:
    """Set up ralph in a project.

    Existing files stay as they are. In an empty directory, `ralph init` asks for the language; where nobody can
    answer, it creates a Python project. With `--from`, a plan in
    a known format is imported without a model. Any other text is saved as `specs/requirements.md` and planned.
    """
    root = _directory()
    if named_project() is None:
        _refuse_home(root)
    if name is not None:
        from ralph_tui.store.feature_folders import Features

        Features(root).require_new(name)
    beginning = None
    if source is not None:
        from ralph_tui.cli.run.model_work import read_beginning

        beginning = read_beginning(root, name, source, start)
    elif replace(start, yes=False) != FromOptions():
        raise RalphError(
            "--no-plan, --ask, --model and --max-cost belong to --from.",
            "Name what to start from: ralph init --from idea.md.",
        )
    wanted = WantedFiles(prompts=prompts, template=template or "", python=python)
    wanted = _with_language(root, wanted, may_ask=not (start.yes or dry_run))
    adoption = _plan_adoption(root, wanted)
    if dry_run:
        _preview(adoption)
        _preview_extras(name, beginning)
        return
    if beginning is not None:
        beginning.require_consent()
    if not start.yes:
        _confirm(adoption)
    _carry_out(adoption, wanted, name, shows_next=beginning is None)
    if beginning is not None:
        raise typer.Exit(beginning.begin())
    offers = adoption.new and adoption.checks.commands and is_at_terminal() and not start.yes
    if offers and typer.confirm("\nRun the checks once now, in the sandbox?", default=True):
        from ralph_tui.cli.doctor.checks import print_findings, try_checks_of

        print_findings(tuple(try_checks_of(root)))


def begin_here(directory: Path) -> int:
    """Show what `ralph init` would do and ask; if the person agrees, do it and open the screen, which asks what to build."""
    from ralph_tui.cli.run.mode import open_project

    _refuse_home(directory)
    wanted = _with_language(directory, WantedFiles(), may_ask=True)
    adoption = _plan_adoption(directory, wanted)
    _preview(adoption)
    if not typer.confirm("\nSet up ralph here?", default=True):
        note("nothing was changed; `ralph demo` shows how ralph works.")
        return 0
    _carry_out(adoption, wanted, None, shows_next=False)
    with chosen_project(directory):
        return open_project()


def _preview_extras(name: str | None, beginning: "Beginning | None") -> None:
    if name is not None:
        out(f"create   .ralph/features/{name}, specs/{name}")
    if beginning is not None:
        out(beginning.preview)


def _with_language(root: Path, wanted: WantedFiles, *, may_ask: bool) -> WantedFiles:
    is_open = wanted.python is None and _uv_init_options(root, asked=None) is not None
    if is_open and may_ask and is_at_terminal():
        language = typer.prompt("The directory is empty. Language of the project", "Python").strip()
        if language.lower() != "python":
            return replace(wanted, python=False, language=language)
    return wanted


def _confirm(adoption: Adoption) -> None:
    """Show what would be written beside existing files, and ask; do nothing if nobody can answer."""
    root = adoption.root
    if is_at_terminal() and adoption.new and root.is_dir() and any(root.iterdir()):
        _preview(adoption)
        if not typer.confirm("\nWrite this?", default=True):
            raise RalphError("Nothing was written.", "Your project is as it was.")


def _create_feature(root: Path, name: str, *, shows_next: bool) -> None:
    from ralph_tui.domain.project_state import Phase
    from ralph_tui.engine.control.feature_control import make_feature
    from ralph_tui.engine.prompts.prompts import builtin_template
    from ralph_tui.store.layout import PROMPT_NAMES, Layout

    stem = PROMPT_NAMES[Phase.BUILDING]
    prompt = (f"PROMPT_{stem}.md", builtin_template(f"{stem}.md"))
    chosen = make_feature(root, name, (prompt,))
    layout = Layout(root, name)
    for path in (layout.plan, layout.home / prompt[0], layout.specs):
        out(f"created  {path.relative_to(root)}")
    for line in _NEXT_OF_FEATURE.format(name=name).splitlines() if shows_next else []:
        typer.echo(line)
    if not chosen:
        out(
            f"`-f {name}` works on it; it could not be chosen: `ralph feature use {name}` says why."
        )


def _carry_out(
    adoption: Adoption, wanted: WantedFiles, name: str | None, *, shows_next: bool
) -> None:
    from ralph_tui.store.project import Project
    from ralph_tui.store.project_root import nearest

    root = adoption.root
    _make_directory(root)
    if adoption.uv_init is not None:
        out(_PYTHON)
        _uv_init(root, adoption.uv_init)
        adoption = _plan_adoption(root, replace(wanted, python=False))  # uv has created more files
    _print_checks(adoption)
    project = Project(root, "")
    project.create()
    for path in adoption.kept:
        out(f"kept     {path.relative_to(root)}")
    if (above := nearest(root.parent)) is not None:
        note(f"{above} is a ralph project, too. Commands that you run here work on {root}.")
    if (found := project.read_specs()) and not project.look().state.specs:
        folder = project.layout.specs.relative_to(root)
        note(
            f"{folder}/ has {plural(len(found), 'file')} of yours. Ralph reads them and writes its specs beside "
            "them. To use another directory, run `ralph config set project.specs DIRECTORY`."
        )
    for path, text in adoption.new:
        _write_new(path, text, root)
    if (count := lines_of(project.read_text(project.layout.agents_md, 1_000_000))) > MAX_LINES:
        note(
            f"AGENTS.md has {count} lines; only the first {MAX_LINES} go into prompts, "
            "which say where the rest is."
        )
    if name is not None:
        _create_feature(root, name, shows_next=shows_next)
    elif not shows_next:
        return
    elif project.load().plan.tasks:
        out("The plan already has tasks. Run `ralph run` to work on them.")
    else:
        _print_next_steps(adoption, project.layout)


def _print_next_steps(adoption: Adoption, layout: "Layout") -> None:
    from ralph_tui.domain.verification.check_commands import CheckKind

    tests = adoption.checks.of(CheckKind.TESTS)
    example = tests[0].command if tests else "make test"
    plan = layout.plan.relative_to(adoption.root)
    for text in _NEXT.format(plan=plan, example=one_line(example, 60)).splitlines():
        typer.echo(text)
    if other := plan_of_another(adoption.root):
        typer.echo(f"\n{other}")


# --- what is going to be done ---


def _plan_adoption(root: Path, asked: WantedFiles) -> Adoption:
    from ralph_tui.config.edit import template_of
    from ralph_tui.config.load import load_settings
    from ralph_tui.config.template import template
    from ralph_tui.domain.project_state import Phase
    from ralph_tui.engine.prompts.prompts import builtin_template
    from ralph_tui.engine.verification.detection.project_checks import checks_of
    from ralph_tui.store.layout import Layout
    from ralph_tui.store.project_dir import require

    layout = Layout(root)
    if os.path.lexists(layout.dot):
        require(layout)
    uv_init = _uv_init_options(root, asked=asked.python)
    checks = checks_of(root, load_settings(root))
    if uv_init is not None and not checks.python:
        checks = checks.model_copy(update={"python": "uv"})
    config = template_of(asked.template) if asked.template else template()
    files = {layout.config: config, layout.agents_md: agents_template(checks, asked.language)}
    for phase in Phase if asked.prompts else ():
        own = layout.prompt(phase)
        files[own] = builtin_template(f"{own.stem.removeprefix('PROMPT_')}.md")
    existing = [path for path in files if os.path.lexists(path)]
    manifests = [root / name for name in _PYTHON_MANIFESTS if (root / name).exists()]
    return Adoption(
        root=root,
        checks=checks,
        uv_init=uv_init,
        new=tuple((path, text) for path, text in files.items() if path not in existing),
        kept=(*manifests[:1], *existing),
    )


def _uv_init_options(root: Path, *, asked: bool | None) -> tuple[str, ...] | None:
    """Return the options of `uv init` for a new project here; None if no Python project is to be created."""
    from ralph_tui.engine.verification.detection import python_declarations as python

    here = _file_names(root)
    # A new member would be written into the pyproject.toml of the workspace's root.
    alone = ("--no-workspace",)
    if "pyproject.toml" in here or asked is False:
        return None
    if asked and (old := here & {"setup.py", "setup.cfg"}):
        raise SetupError(
            f"{root} is a Python project already: it has {min(old)}.",
            "Run `ralph init` without --python; ralph uses the project as it is.",
        )
    if all(name.startswith((".", "PROMPT_")) or name in _OF_RALPH for name in here):
        inside = root.is_dir() and python.workspace_above(python.DirectoryFiles(root))
        return alone if asked or not inside else None
    return ("--bare", *alone) if asked else None


def _file_names(root: Path) -> set[str]:
    return {path.name for path in root.iterdir()} if root.is_dir() else set()


# --- what the person reads ---


def _preview(adoption: Adoption) -> None:
    _print_checks(adoption)
    if adoption.uv_init is not None:
        out(_PYTHON)
        made = "pyproject.toml" if "--bare" in adoption.uv_init else "a Python project"
        out(f"create   {made} (uv init)")
    for path, _ in adoption.new:
        out(f"create   {path.relative_to(adoption.root)}")
    for path in adoption.kept:
        out(f"keep     {path.relative_to(adoption.root)}")


def _print_checks(adoption: Adoption) -> None:
    from ralph_tui.domain.verification.check_commands import CheckKind

    for kind, word in KIND_WORDS.items():
        for command in adoption.checks.of(CheckKind(kind)):
            out(f"{word.ljust(8)} {command.command}  (from {command.found})")
    if not adoption.checks.of(CheckKind.TESTS):
        out("tests    none found  (set them: ralph config set build.test_command COMMAND)")
    out()


def _refuse_home(root: Path) -> None:
    is_home = root == Path(os.path.expanduser("~")).resolve()  # noqa: PTH111 - without a home it stays as it is
    if is_home and not (root / "pyproject.toml").exists():
        raise SetupError(
            f"{root} is your home directory. As a project, the agent could change everything in it.",
            "Run ralph in a directory of its own. If you do mean your home, name it with --project-root.",
        )


# --- what is done ---


def _directory() -> Path:
    root = Path(os.path.realpath(named_project() or Path.cwd()))
    if os.path.lexists(root) and not root.is_dir():
        raise SetupError(
            f"{root} cannot be made a project: it is not a directory.", "Choose another place."
        )
    return root


def _make_directory(root: Path) -> None:
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SetupError(
            f"{root} cannot be made a project: {error.strerror or error}.", "Choose another place."
        ) from error


def _uv_init(root: Path, options: tuple[str, ...]) -> None:
    from ralph_tui.config.load import load_settings

    uv_version()
    version = load_settings(root).project.python_version
    before = _file_names(root)
    done = _uv(root, "init", "--quiet", *options, *_python(root, version))
    if done.returncode != 0:
        raise SetupError(
            f"`uv init` failed in {root}: {' '.join(done.stderr.split())}",
            "Make a pyproject.toml yourself, then run `ralph init` again.",
        )
    _uv(root, "lock", "--quiet")  # by which everybody knows a project of uv
    for name in sorted(_file_names(root) - before):
        out(f"created  {name} (uv init)")


def _uv(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return asked(("uv", *words), root, seconds=None)


def _python(root: Path, version: str) -> list[str]:
    if not version:
        return []
    if _uv(root, "python", "find", version).returncode != 0:
        fetched = _uv(root, "python", "install", "--quiet", version)
        if fetched.returncode != 0:
            why = one_line(fetched.stderr) or "uv gives no reason"
            note(f"Python {version} cannot be installed, so uv uses another one: {why}")
            return []
    return ["--python", version]


def _write_new(path: Path, text: str, root: Path) -> None:
    from ralph_tui.store.io.files import write_new

    name = path.relative_to(root)
    try:
        write_new(path, text.encode())
    except FileExistsError:
        out(f"kept     {name}")
    except OSError as error:
        raise StoreError(
            f"{path} cannot be written: {error.strerror or error}.",
            "Make the directory writable and run `ralph init` again.",
        ) from error
    else:
        out(f"created  {name}")
