"""`ralph test`, `lint`, `typecheck` and `deps`: run the project's checks, or uv, and exit with their status."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from ralph_tui.cli.options import argument, examples, flag, whole
from ralph_tui.cli.project_lookup import project_directory
from ralph_tui.domain.errors import SetupError

_PASS_ON = {"allow_extra_args": True, "ignore_unknown_options": True}

Packages = Annotated[list[str], argument("PACKAGE", "Package names, as for `uv add`.")]
Dev = Annotated[bool, flag("Change the development dependencies.", "--dev")]

deps = typer.Typer(
    name="deps", help="Add, remove or sync dependencies with uv.", rich_markup_mode=None
)
whole.add_typer(deps)


def _runs(kind: str, what: str) -> Callable[[typer.Context], None]:
    def run(context: typer.Context) -> None:
        _check(kind, context.args)

    run.__doc__ = f"""Run the project's {what}.

    The command is `build.{kind.removesuffix("s")}_command`, or the one that `ralph doctor` shows. Further arguments are passed on.
    """
    return run


for _name, _kind, _what, _example in (
    ("test", "tests", "tests", "ralph test -- -k parser"),
    ("lint", "lint", "linter", "ralph lint"),
    ("typecheck", "typecheck", "type checker", "ralph typecheck"),
):
    whole.command(_name, context_settings=_PASS_ON, epilog=examples(_example))(_runs(_kind, _what))


@deps.command(epilog=examples("ralph deps add --dev hypothesis"))
def add(packages: Packages, *, dev: Dev = False) -> None:
    """Add packages to the dependencies."""
    _uv("add", *(["--dev"] if dev else []), "--", *packages)


@deps.command(epilog=examples("ralph deps remove hypothesis"))
def remove(packages: Packages, *, dev: Dev = False) -> None:
    """Remove packages from the dependencies."""
    _uv("remove", *(["--dev"] if dev else []), "--", *packages)


@deps.command(epilog=examples("ralph deps sync"))
def sync() -> None:
    """Install the locked dependencies."""
    _uv("sync")


_MISSING = {
    "tests": ("no tests", "pytest"),
    "lint": ("no linter", "ruff"),
    "typecheck": ("no type checker", "mypy"),
}


def _check(name: str, more: list[str]) -> None:
    from ralph_tui.config.load import load_settings
    from ralph_tui.domain.verification.check_commands import CheckKind
    from ralph_tui.engine.verification.detection.project_checks import checks_of

    root = project_directory()
    checks = checks_of(root, load_settings(root))
    kind = CheckKind(name)
    found = tuple(one for one in checks.of(kind) if not (more and one.spare))
    if not found:
        what, tool = _MISSING[kind]
        add = f"Run `ralph deps add --dev {tool}`" if checks.uses_uv else "Add one to the project"
        hint = f"{add}, or name the command: ralph config set {kind.setting} COMMAND"
        raise SetupError(f"This project has {what} that ralph knows how to run.", hint)
    if more and len(found) > 1:
        lines = ", ".join(f"`{one.command}`" for one in found)
        raise SetupError(
            f"This project has several commands for this, and they take different arguments: {lines}.",
            "Run the one you mean yourself, or leave the arguments out.",
        )
    for one in found:
        if one.command.split()[:1] == ["uv"] and shutil.which("uv") is None:
            raise _no_uv()
        command = f'{one.command} "$@"' if more else one.command
        if status := _call(["sh", "-c", command, "ralph", *more], root):
            raise typer.Exit(status)
    raise typer.Exit(0)


def _uv(*words: str) -> NoReturn:
    try:
        raise typer.Exit(_call(["uv", *words], project_directory()))
    except FileNotFoundError as error:
        raise _no_uv() from error


def _no_uv() -> SetupError:
    return SetupError("uv is not installed.", "Install it: pip install uv")


def _call(command: list[str], root: Path) -> int:
    status = subprocess.run(command, cwd=root, check=False).returncode
    return status if status >= 0 else 128 - status  # a shell's status for "killed by a signal"
