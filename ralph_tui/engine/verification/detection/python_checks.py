"""Detect how a Python project runs its tests, lint, type check and format check."""

import ast
import re
from collections.abc import Iterator

from ralph_tui.domain.verification.check_commands import CheckCommand, CheckKind
from ralph_tui.engine.verification.detection.directory_files import ProjectFiles
from ralph_tui.engine.verification.detection.python_declarations import (
    CONDA,
    PYPROJECT,
    PythonProject,
    ToolPlace,
    read_ini,
    table,
)

_TOOLS: dict[CheckKind, tuple[tuple[str, str], ...]] = {
    CheckKind.TESTS: (("pytest", "pytest"),),
    CheckKind.TYPECHECK: (
        ("mypy", "mypy ."),
        ("pyright", "pyright"),
        ("basedpyright", "basedpyright"),
        ("ty", "ty check"),
        ("pyrefly", "pyrefly check"),
    ),
    CheckKind.LINT: (
        ("ruff", "ruff check ."),
        ("flake8", "flake8 --extend-exclude .venv,venv ."),
    ),
    CheckKind.FORMAT: (("ruff", "ruff format --check ."), ("black", "black --check .")),
}
"""Tools by kind, with their command lines; the first tool that the project has is used."""

_USUAL_NAMES: dict[CheckKind, tuple[str, ...]] = {
    CheckKind.TESTS: ("test", "tests", "pytest", "unit", "py"),
    CheckKind.TYPECHECK: ("typecheck", "type-check", "types", "typing", "type", "mypy", "pyright"),
    CheckKind.LINT: ("lint", "ruff", "flake8", "style"),
    CheckKind.FORMAT: ("format-check", "format_check"),
}
"""The usual names of scripts, tox environments and nox sessions for these checks."""

_TEST_FILE = re.compile(r"test.*\.py")
_UNITTEST = re.compile(r"^\s*(?:import|from) unittest\b", re.MULTILINE)
_PYTEST = re.compile(r"^(?:async )?def test_|^class Test\w*(?:\(\))?:", re.MULTILINE)
_TEST_DIRECTORIES = ("tests", "test")
MOST_READ = 40
"""The most test files that are read to find their framework."""


def python_checks(project: PythonProject) -> Iterator[CheckCommand]:
    """Yield the Python checks of a project, at most one of each kind."""
    if not project.manager:
        return
    if project.broken:  # the command reports what is wrong with the file
        yield CheckCommand(
            kind=CheckKind.TESTS,
            command="uv run pytest",
            runner="pytest",
            file=PYPROJECT,
            part="(cannot be read)",
        )
        return
    for kind in CheckKind:
        found = next(_candidates(kind, project), None)
        if found is not None:
            yield found


def _candidates(kind: CheckKind, project: PythonProject) -> Iterator[CheckCommand]:
    yield from _scripts(kind, project)
    for tool, line in _TOOLS[kind]:
        if place := project.place_of(tool):
            yield _command(kind, place, tool, _command_line(tool, line, project))
    yield from _tox(kind, project)
    yield from _nox(kind, project)
    if kind is CheckKind.TESTS:
        yield from _configured_pytest(project)
        yield from _django(project)
        yield from _plain_pytest(project)
        yield from _unittest(project)


def _command(kind: CheckKind, place: ToolPlace, runner: str, line: str) -> CheckCommand:
    command = f"{place.run} {line}"
    return CheckCommand(kind=kind, command=command, runner=runner, file=place.file, part=place.part)


def _command_line(tool: str, line: str, project: PythonProject) -> str:
    if tool == "mypy":
        own = table(project.pyproject, "tool", "mypy")
        ini = read_ini(project.files.read("mypy.ini") or project.files.read(".mypy.ini"))
        inside = {"files", "packages", "modules"}
        options = set(own)
        for parser in (ini, project.setup_cfg):
            options |= set(parser.options("mypy")) if parser.has_section("mypy") else set()
        return "mypy" if inside & options else line
    return line


# --- scripts of pdm and hatch ---


def _scripts(kind: CheckKind, project: PythonProject) -> Iterator[CheckCommand]:
    tool = table(project.pyproject, "tool")
    if project.manager == "pdm":
        scripts = table(tool, "pdm", "scripts")
        yield from _by_name(kind, scripts, "pdm run {}", "pdm", PYPROJECT, "[tool.pdm.scripts]")
    for name, env in table(tool, "hatch", "envs").items():
        if project.manager != "hatch" or not isinstance(env, dict):
            continue
        run = "hatch run {}" if name == "default" else f"hatch run {name}:{{}}"
        part = f"[tool.hatch.envs.{name}.scripts]"
        yield from _by_name(kind, table(env, "scripts"), run, "hatch", PYPROJECT, part)
        if name == "hatch-test" and kind is CheckKind.TESTS:
            yield CheckCommand(
                kind=kind,
                command="hatch test",
                runner="pytest",
                file=PYPROJECT,
                part=part[:-9] + "]",
            )


def _by_name(
    kind: CheckKind, names: object, run: str, runner: str, file: str, part: str
) -> Iterator[CheckCommand]:
    known = names if isinstance(names, dict | set | frozenset) else ()
    for name in _USUAL_NAMES[kind]:
        if name in known:
            yield CheckCommand(
                kind=kind,
                command=run.format(name),
                runner=runner,
                file=file,
                part=f"{part} {name}".strip(),
            )


# --- tox and nox ---


def _tool_command(tool: str, project: PythonProject) -> str:
    place = project.place_of(tool)
    return f"{place.run} {tool}" if place else f"uvx {tool}"


def _tox(kind: CheckKind, project: PythonProject) -> Iterator[CheckCommand]:
    text = project.files.read("tox.ini")
    envs, base, file = _tox_environments(project, text)
    if not envs and not base:
        return
    run = _tool_command("tox", project) + " run -e {}"
    if kind is CheckKind.TESTS and base:
        # `py` is the base environment with the current Python, whatever versions are listed.
        yield CheckCommand(
            kind=kind, command=run.format("py"), runner="tox", file=file, part="[testenv]"
        )
        return
    yield from _by_name(kind, envs, run, "tox", file, "environment")


def _tox_environments(project: PythonProject, text: str | None) -> tuple[frozenset[str], bool, str]:
    tool = table(project.pyproject, "tool", "tox")
    legacy = tool.get("legacy_tox_ini")
    file = "tox.ini" if text is not None else PYPROJECT
    ini = read_ini(text if text is not None else str(legacy or ""))
    envs = {name.removeprefix("testenv:") for name in ini.sections() if name.startswith("testenv:")}
    base = ini.has_section("testenv") and ini.has_option("testenv", "commands")
    envs |= table(tool, "env").keys()
    base = base or "commands" in table(tool, "env_run_base")
    return frozenset(envs), base, file


def _nox(kind: CheckKind, project: PythonProject) -> Iterator[CheckCommand]:
    try:
        tree = ast.parse(project.files.read("noxfile.py") or "")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    functions = (node for node in tree.body if isinstance(node, ast.FunctionDef))
    sessions = {name for function in functions if (name := _session(function))}
    run = _tool_command("nox", project) + " -s {}"
    yield from _by_name(kind, sessions, run, "nox", "noxfile.py", "session")


def _session(function: ast.FunctionDef) -> str:
    for decorator in function.decorator_list:
        call = decorator if isinstance(decorator, ast.Call) else None
        named = call.func if call else decorator
        last = named.attr if isinstance(named, ast.Attribute) else getattr(named, "id", "")
        if last != "session":
            continue
        for keyword in call.keywords if call else []:
            if keyword.arg == "name" and isinstance(keyword.value, ast.Constant):
                return str(keyword.value.value)
        return function.name
    return ""


# --- tests without a declared tool ---


def _configured_pytest(project: PythonProject) -> Iterator[CheckCommand]:
    places = (
        (PYPROJECT, "[tool.pytest.ini_options]", bool(table(project.pyproject, "tool", "pytest"))),
        ("pytest.ini", "", "pytest.ini" in project.names),
        ("setup.cfg", "[tool:pytest]", project.setup_cfg.has_section("tool:pytest")),
    )
    for file, part, there in places:
        if there and project.run.startswith("uv run"):
            place = ToolPlace(frozenset(), f"{project.run} --with pytest", file, part)
            yield _command(CheckKind.TESTS, place, "pytest", "pytest")


def _django(project: PythonProject) -> Iterator[CheckCommand]:
    if "django" in (project.files.read("manage.py") or ""):
        place = ToolPlace(frozenset(), project.run, "manage.py")
        yield _command(CheckKind.TESTS, place, "django", "python manage.py test")


def _plain_pytest(project: PythonProject) -> Iterator[CheckCommand]:
    """Yield pytest for tests that only pytest finds: functions, and classes without a base."""
    inner = (f"{top}/{name}" for top in _TEST_DIRECTORIES for name in project.files.names(top))
    for directory in (*_TEST_DIRECTORIES, ".", *(name for name in inner if "." not in name)):
        if found := _file_with(_PYTEST, project.files, directory):
            run = project.run
            if CONDA in project.names:
                run = "python -m"
            elif run.startswith("uv run"):
                run = f"{run} --with pytest"
            place = ToolPlace(frozenset(), run, found)
            yield _command(CheckKind.TESTS, place, "pytest", "pytest")


def _unittest(project: PythonProject) -> Iterator[CheckCommand]:
    for directory in (*_TEST_DIRECTORIES, "."):
        if found := _file_with(_UNITTEST, project.files, directory):
            place = ToolPlace(frozenset(), project.run, found)
            line = _unittest_command(project.files, directory)
            yield _command(CheckKind.TESTS, place, "unittest", line)


def _file_with(pattern: re.Pattern[str], files: ProjectFiles, directory: str) -> str:
    found = [name for name in files.names(directory) if _TEST_FILE.fullmatch(name)]
    paths = (name if directory == "." else f"{directory}/{name}" for name in found[:MOST_READ])
    return next((path for path in paths if pattern.search(files.read(path) or "")), "")


def _unittest_command(files: ProjectFiles, directory: str) -> str:
    if directory == "." or "__init__.py" in files.names(directory):
        return "python -m unittest"
    return f"python -m unittest discover -s {directory}"
