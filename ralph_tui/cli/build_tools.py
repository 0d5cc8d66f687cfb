"""Thin wrappers around uv and the build commands of the settings; the exit status is theirs."""

import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ralph_tui.cli.here import project_directory
from ralph_tui.cli.options import ProjectRoot, examples
from ralph_tui.domain.errors import SetupError

if TYPE_CHECKING:
    from ralph_tui.config.settings import BuildSettings

_PASS_ON = {"allow_extra_args": True, "ignore_unknown_options": True}

Packages = Annotated[list[str], typer.Argument(metavar="PACKAGE")]
Dev = Annotated[bool, typer.Option("--dev", help="As a development dependency.")]

deps = typer.Typer(help="Add, remove or sync dependencies with uv.", rich_markup_mode=None)


def run_tests(context: typer.Context, project_root: ProjectRoot = None) -> None:
    """Run the tests.

    The command is `build.test_command`; further arguments are passed on.
    """
    root = project_directory(project_root)
    _leave(_shell(_settings(root).test_command, context.args, root))


def lint(context: typer.Context, project_root: ProjectRoot = None) -> None:
    """Run the linter.

    The command is `build.lint_command`; further arguments are passed on.
    """
    root = project_directory(project_root)
    _leave(_shell(_settings(root).lint_command, context.args, root))


def typecheck(context: typer.Context, project_root: ProjectRoot = None) -> None:
    """Run the type checker.

    The command is `build.typecheck_command`; further arguments are passed on.
    """
    root = project_directory(project_root)
    _leave(_shell(_settings(root).typecheck_command, context.args, root))


@deps.command(epilog=examples("ralph deps add --dev hypothesis"))
def add(packages: Packages, *, dev: Dev = False, project_root: ProjectRoot = None) -> None:
    """Add packages."""
    _leave(_run(["uv", "add", *(["--dev"] if dev else []), "--", *packages], project_root))


@deps.command(epilog=examples("ralph deps remove hypothesis"))
def remove(packages: Packages, *, dev: Dev = False, project_root: ProjectRoot = None) -> None:
    """Remove packages."""
    _leave(_run(["uv", "remove", *(["--dev"] if dev else []), "--", *packages], project_root))


@deps.command(epilog=examples("ralph deps sync"))
def sync(project_root: ProjectRoot = None) -> None:
    """Install what the lock file says."""
    _leave(_run(["uv", "sync"], project_root))


def _settings(root: Path) -> "BuildSettings":
    from ralph_tui.config.load import load_settings

    return load_settings(root).build


def _run(command: list[str], project_root: Path | None) -> int:
    return _call(command, project_directory(project_root))


def _shell(command: str, more: list[str], root: Path) -> int:
    """Run a command line of the settings as a shell would, with `more` arguments at its end."""
    from ralph_tui.engine.optional_tools import missing_tool

    if command.split()[:1] == ["uv"] and shutil.which("uv") is None:
        raise _no_uv()
    tool = missing_tool(command, root)
    if tool is not None and _really_missing(tool, root):
        raise SetupError(
            f"The project does not have {tool}, so `{command}` cannot run.",
            f"Add it: ralph deps add --dev {tool}",
        )
    return _call(["sh", "-c", f'{command} "$@"', "ralph", *more], root)


_NOT_FOUND = 127
"""What a shell says of a command that is not there; uv's own failures are others."""


def _really_missing(tool: str, root: Path) -> bool:
    """Ask uv: a workspace, or the PATH, may have what the project's own files do not name."""
    look = f"command -v {tool} >/dev/null || exit {_NOT_FOUND}"
    return _call(["uv", "run", "sh", "-c", look], root) == _NOT_FOUND


def _no_uv() -> SetupError:
    return SetupError("uv is not installed.", "Install it: pip install uv")


def _call(command: list[str], root: Path) -> int:
    try:
        status = subprocess.run(command, cwd=root, check=False).returncode
    except FileNotFoundError as error:
        raise _no_uv() from error
    return status if status >= 0 else 128 - status  # ended by a signal, said as a shell says it


def _leave(status: int) -> None:
    raise typer.Exit(status)


def register(app: typer.Typer) -> None:
    """Add these commands."""
    app.command("test", context_settings=_PASS_ON, epilog=examples("ralph test -- -k parser"))(
        run_tests
    )
    app.command(context_settings=_PASS_ON, epilog=examples("ralph lint"))(lint)
    app.command(context_settings=_PASS_ON, epilog=examples("ralph typecheck"))(typecheck)
    app.add_typer(deps, name="deps")
