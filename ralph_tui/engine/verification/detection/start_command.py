"""Find the command that starts a project's program, for a person who wants to try it. Runs nothing."""

import shlex
from collections.abc import Iterator

from ralph_tui.engine.verification.detection.directory_files import ProjectFiles
from ralph_tui.engine.verification.detection.node_checks import start_script
from ralph_tui.engine.verification.detection.project_checks import target_named
from ralph_tui.engine.verification.detection.python_declarations import PythonProject, table

_TARGETS = ("run", "start", "serve", "dev")
_NEVER_PACKAGES = frozenset({"tests", "test", "docs", "examples"})


def start_command(files: ProjectFiles) -> str:
    """Return the first of a make or just target, a script and the main program, or an empty string."""
    return next(_candidates(files), "")


def _candidates(files: ProjectFiles) -> Iterator[str]:
    yield from target_named(files, _TARGETS)
    yield from start_script(files)
    names = files.names()
    if "Cargo.toml" in names and "main.rs" in files.names("src"):
        yield "cargo run"
    if "go.mod" in names and "main.go" in names:
        yield "go run ."
    yield from _python(PythonProject(files))


def _python(project: PythonProject) -> Iterator[str]:
    scripts = table(project.pyproject, "project", "scripts")
    yield from (f"{project.run} {shlex.quote(name)}" for name in scripts)
    if "manage.py" in project.names:
        yield f"{project.run} python manage.py runserver"
    start = f"{project.run} python" if project.manager in ("uv", "poetry", "pdm") else "python3"
    for directory in (".", "src"):
        for name in project.files.names(directory):
            path = name if directory == "." else f"{directory}/{name}"
            if name not in _NEVER_PACKAGES and "__main__.py" in project.files.names(path):
                where = "" if directory == "." else "PYTHONPATH=src "
                yield f"{where}{start} -m {shlex.quote(name)}"
    yield from (f"{start} {name}" for name in ("main.py", "app.py") if name in project.names)
