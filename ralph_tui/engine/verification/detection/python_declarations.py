"""Find where a Python project declares its tools, and the command that runs a tool from there."""

import ast
import configparser
import re
import shlex
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from posixpath import dirname, join, normpath

from ralph_tui.domain.verification.check_commands import PythonManager
from ralph_tui.engine.verification.detection.directory_files import ProjectFiles

PYPROJECT = "pyproject.toml"
PIPFILE = "Pipfile"
CONDA = "environment.yml"
ISOLATED = "uv run --isolated"
"""Leaves no uv.lock and no .venv in a project whose tool is not uv."""
VENVS = (".venv", "venv", "env")
INCLUDE_DEPTH = 3
"""The maximum depth of includes in requirements files."""
WORKSPACE_LEVELS = 3
"""The number of parent directories in which the root of a uv workspace is searched."""

_PREFERRED_GROUPS = ("test", "tests", "testing", "dev", "develop", "development", "ci", "all")
_REQUIREMENTS = re.compile(r"(?:.*[-_.])?requirements(?:[-_.].*)?\.txt", re.IGNORECASE)
_NAME = re.compile(r"\s*([A-Za-z0-9][\w.-]*)")
_PLAIN_NAME = re.compile(r"[A-Za-z0-9][\w.-]*")
_INCLUDE = re.compile(r"(?:-r|--requirement)[ =]*(\S+)")


@dataclass(frozen=True)
class ToolPlace:
    """A place that declares tools, with `run` as the beginning of a command that needs them."""

    tools: frozenset[str]
    run: str
    file: str
    part: str = ""


def table(data: Mapping[str, object], *path: str) -> dict[str, object]:
    """Return the table at a path in parsed TOML or JSON, or an empty one."""
    for name in path:
        inner = data.get(name)
        if not isinstance(inner, dict):
            return {}
        data = inner
    return dict(data)


def read_toml(text: str | None) -> dict[str, object] | None:
    """Return parsed TOML, or None if it is invalid."""
    try:
        return tomllib.loads(text or "")
    except (tomllib.TOMLDecodeError, RecursionError):
        return None


def read_ini(text: str | None) -> configparser.RawConfigParser:
    """Return a parsed ini file, empty if it is invalid."""
    parser = configparser.RawConfigParser(strict=False, allow_no_value=True)
    try:
        parser.read_string(text or "")
    except configparser.Error:
        return configparser.RawConfigParser()
    return parser


class PythonProject:
    """A project's Python configuration, from its files. Each file is read once."""

    def __init__(self, files: ProjectFiles) -> None:
        self.files = files
        self.names = frozenset(files.names())

    @cached_property
    def pyproject(self) -> dict[str, object]:
        return read_toml(self.files.read(PYPROJECT)) or {}

    @cached_property
    def broken(self) -> bool:
        return PYPROJECT in self.names and read_toml(self.files.read(PYPROJECT)) is None

    @cached_property
    def setup_cfg(self) -> configparser.RawConfigParser:
        return read_ini(self.files.read("setup.cfg"))

    @cached_property
    def manager(self) -> PythonManager:
        """The tool that runs this project's Python; empty without Python."""
        if evident := self.declared_manager():
            return evident
        return "uv" if self.broken else "pip" if self._is_python() else ""

    def declared_manager(self) -> PythonManager:
        """Return the tool that the project's files name."""
        tool = table(self.pyproject, "tool")
        backend = table(self.pyproject, "build-system").get("build-backend")
        if (
            "uv.lock" in self.names
            or "uv" in tool
            or backend == "uv_build"
            or self.workspace is not None
        ):
            return "uv"
        if "poetry.lock" in self.names or "poetry" in tool:
            return "poetry"
        if PIPFILE in self.names:
            return "pipenv"
        if "pdm.lock" in self.names or {"dev-dependencies", "scripts"} & table(tool, "pdm").keys():
            return "pdm"
        return "hatch" if table(tool, "hatch", "envs") else ""

    def _is_python(self) -> bool:
        known = {PYPROJECT, "setup.py", "setup.cfg", CONDA, "tox.ini", "noxfile.py"}
        return bool(
            known & self.names
            or any(_REQUIREMENTS.fullmatch(name) for name in self.names)
            or any(
                n.endswith(".py") for top in (".", "tests", "test") for n in self.files.names(top)
            )
        )

    @property
    def is_installable(self) -> bool:
        """Whether a project without uv can be installed from its directory."""
        return (
            "setup.py" in self.names
            or self.setup_cfg.has_section("metadata")
            or "build-system" in self.pyproject
        )

    @cached_property
    def run(self) -> str:
        """The beginning of a command that needs only the project."""
        if self.manager in ("uv", "poetry", "pdm", "pipenv"):
            return f"{self.manager} run"
        if "project" in self.pyproject or "dependency-groups" in self.pyproject:
            return ISOLATED
        if self.manager == "hatch":
            return "hatch run"
        return " ".join(["uv run --no-project", *self._requirement_options()])

    def _requirement_options(self) -> list[str]:
        if self.is_installable:
            return ["--with-editable ."]
        return ["--with-requirements requirements.txt"] if "requirements.txt" in self.names else []

    @cached_property
    def places(self) -> tuple[ToolPlace, ...]:
        """Every place that declares tools, in order of preference."""
        return (
            *self._own_places(),
            *self._requirement_places(),
            *self._setup_places(),
            *self._venv_places(),
            *self._workspace_places(),
        )

    def place_of(self, tool: str) -> ToolPlace | None:
        return next((place for place in self.places if tool in place.tools), None)

    # --- pyproject.toml ---

    def _own_places(self) -> Iterator[ToolPlace]:
        yield from declared_places(self.pyproject, self.run)
        if self.manager == "poetry":
            yield from self._poetry_places()
        if self.manager == "pdm":
            groups = table(self.pyproject, "tool", "pdm", "dev-dependencies")
            for name, group in groups.items():
                part = f"[tool.pdm.dev-dependencies] {name}"
                yield ToolPlace(_tools(group), "pdm run", PYPROJECT, part)
        if self.manager == "pipenv":
            pipfile = read_toml(self.files.read(PIPFILE)) or {}
            for part in ("packages", "dev-packages"):
                tools = frozenset(_normalized(one) for one in table(pipfile, part))
                yield ToolPlace(tools, self.run, PIPFILE, f"[{part}]")
        if self.manager == "hatch":
            yield from self._hatch_places()

    def _poetry_places(self) -> Iterator[ToolPlace]:
        poetry = table(self.pyproject, "tool", "poetry")
        plain = {name: table(poetry, name) for name in ("dependencies", "dev-dependencies")}
        for name, inner in table(poetry, "group").items():
            if isinstance(inner, dict):
                plain[f"group.{name}.dependencies"] = table(inner, "dependencies")
        for name, declared in plain.items():
            tools = frozenset(_normalized(one) for one in declared)
            yield ToolPlace(tools, "poetry run", PYPROJECT, f"[tool.poetry.{name}]")

    def _hatch_places(self) -> Iterator[ToolPlace]:
        for name, env in table(self.pyproject, "tool", "hatch", "envs").items():
            if isinstance(env, dict) and _PLAIN_NAME.fullmatch(name):
                listed = (_tools(env.get(key)) for key in ("dependencies", "extra-dependencies"))
                run = "hatch run" if name == "default" else f"hatch -e {name} run"
                part = f"[tool.hatch.envs.{name}]"
                yield ToolPlace(frozenset().union(*listed), run, PYPROJECT, part)

    # --- requirements files, setup.py and setup.cfg, environments ---

    def _requirement_places(self) -> Iterator[ToolPlace]:
        inside = (f"requirements/{name}" for name in self.files.names("requirements"))
        found = [name for name in sorted(self.names) if _REQUIREMENTS.fullmatch(name)]
        found += [path for path in inside if path.endswith(".txt")]
        for path in sorted(found, key=lambda path: ("test" not in path, "dev" not in path, path)):
            option = f"--with-requirements {shlex.quote(path)}"
            run = self.run if option in self.run else f"{self.run} {option}"
            if self.manager in ("poetry", "pdm", "pipenv") or run.startswith("hatch"):
                run = f"{ISOLATED} {option}"
            yield ToolPlace(self._required(path, INCLUDE_DEPTH), run, path)

    def _required(self, path: str, depth: int) -> frozenset[str]:
        found: set[str] = set()
        for line in (self.files.read(path) or "").splitlines():
            text = line.partition(" #")[0].strip()
            include = _INCLUDE.match(text)
            if include and depth:
                found |= self._required(normpath(join(dirname(path), include[1])), depth - 1)
            elif text and text[0] not in "#-":
                found |= _tools([text])
        return frozenset(found)

    def _setup_places(self) -> Iterator[ToolPlace]:
        if self.manager != "pip":
            return
        if self.setup_cfg.has_section("options.extras_require"):
            extras = dict(self.setup_cfg.items("options.extras_require"))
            lists = {name: (text or "").splitlines() for name, text in extras.items()}
            yield from _editable_places(lists, "setup.cfg", "[options.extras_require]")
        arguments = setup_arguments(self.files.read("setup.py"))
        yield from _editable_places(arguments.get("extras_require"), "setup.py", "extras_require")
        needed = arguments.get("tests_require")
        if tools := _tools([needed] if isinstance(needed, str) else needed):
            options = " ".join(f"--with {shlex.quote(tool)}" for tool in sorted(tools))
            yield ToolPlace(tools, f"{self.run} {options}", "setup.py", "tests_require")

    def _venv_places(self) -> Iterator[ToolPlace]:
        for venv in VENVS:
            tools = frozenset(self.files.names(f"{venv}/bin"))
            own = self.manager == "uv" and venv == ".venv"
            run = "uv run" if own else f"{venv}/bin/python -m"
            yield ToolPlace(tools, run, f"{venv}/bin")

    # --- uv workspaces ---

    @cached_property
    def workspace(self) -> str | None:
        if PYPROJECT not in self.names or table(self.pyproject, "tool", "uv", "workspace"):
            return None
        return workspace_above(self.files)

    def _workspace_places(self) -> Iterator[ToolPlace]:
        if self.workspace is None:
            return
        root = read_toml(self.files.read(f"{self.workspace}/{PYPROJECT}")) or {}
        # A member does not get the root's groups by default; --all-packages adds them.
        run = f"uv run --project {self.workspace} --all-packages"
        for place in declared_places(root, run):
            yield ToolPlace(place.tools, place.run, f"{self.workspace}/{PYPROJECT}", place.part)


def workspace_above(files: ProjectFiles) -> str | None:
    """Return the path to the root of the uv workspace around these files, or None."""
    for level in range(1, WORKSPACE_LEVELS + 1):
        above = "/".join([".."] * level)
        root = read_toml(files.read(f"{above}/{PYPROJECT}"))
        if root is not None and "members" in table(root, "tool", "uv", "workspace"):
            return above
    return None


def declared_places(data: Mapping[str, object], run: str) -> Iterator[ToolPlace]:
    """Yield the standard places in a pyproject.toml; `run` is the beginning of a plain command."""
    chooses = run.startswith("uv run")
    plain = _tools(table(data, "project").get("dependencies"))
    yield ToolPlace(plain, run, PYPROJECT, "[project] dependencies")
    groups = table(data, "dependency-groups")
    uv = table(data, "tool", "uv")
    default = uv.get("default-groups", ["dev"])
    names = sorted(groups, key=_rank)
    for name in sorted(names, key=lambda name: not _is_default(name, default)):
        if _PLAIN_NAME.fullmatch(name):
            extra = "" if _is_default(name, default) or not chooses else f" --group {name}"
            part = f"[dependency-groups] {name}"
            yield ToolPlace(_group(groups, name, frozenset()), run + extra, PYPROJECT, part)
    yield ToolPlace(
        _tools(uv.get("dev-dependencies")), run, PYPROJECT, "[tool.uv] dev-dependencies"
    )
    extras = table(data, "project", "optional-dependencies")
    for name in sorted(extras, key=_rank):
        if _PLAIN_NAME.fullmatch(name):
            extra = f" --extra {name}" if chooses else ""
            part = f"[project.optional-dependencies] {name}"
            yield ToolPlace(_tools(extras[name]), run + extra, PYPROJECT, part)


def _is_default(name: str, default: object) -> bool:
    return default == "all" or (isinstance(default, list) and name in default)


def _group(groups: Mapping[str, object], name: str, seen: frozenset[str]) -> frozenset[str]:
    listed = groups.get(name)
    if name in seen or not isinstance(listed, list):
        return frozenset()
    included = (one.get("include-group") for one in listed if isinstance(one, dict))
    inner = (_group(groups, str(other), seen | {name}) for other in included)
    return _tools(listed).union(*inner)


def _editable_places(extras: object, file: str, part: str) -> Iterator[ToolPlace]:
    if not isinstance(extras, dict):
        return
    for name in sorted((str(name) for name in extras), key=_rank):
        if _PLAIN_NAME.fullmatch(name):
            listed = extras[name]
            tools = _tools([listed] if isinstance(listed, str) else listed)
            yield ToolPlace(
                tools, f"uv run --no-project --with-editable '.[{name}]'", file, f"{part} {name}"
            )


def _rank(name: str) -> tuple[int, str]:
    lowered = name.casefold()
    return (
        _PREFERRED_GROUPS.index(lowered)
        if lowered in _PREFERRED_GROUPS
        else len(_PREFERRED_GROUPS),
        name,
    )


def _tools(requirements: object) -> frozenset[str]:
    listed = requirements if isinstance(requirements, list | tuple) else ()
    found = (_NAME.match(one) for one in listed if isinstance(one, str))
    return frozenset(_normalized(match[1]) for match in found if match)


def _normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def setup_arguments(text: str | None) -> dict[str, object]:
    """Return the literal arguments of `setup(…)` in a setup.py, without running it."""
    try:
        tree = ast.parse(text or "")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    names = {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    calls = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    setup = next((call for call in calls if _function_name(call.func) == "setup"), None)
    return {
        keyword.arg: _literal(keyword.value, names)
        for keyword in (setup.keywords if setup else [])
        if keyword.arg
    }


def _function_name(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _literal(value: ast.expr, names: Mapping[str, ast.expr]) -> object:
    try:
        found: object = ast.literal_eval(
            names.get(value.id, value) if isinstance(value, ast.Name) else value
        )
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return None
    return found
