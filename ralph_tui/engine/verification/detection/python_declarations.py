"""Find where a Python project declares its tools, and the command that runs a tool from there."""

import os
import re
import shlex
import stat
import tomllib
from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from ralph_tui.domain.verification.check_commands import PythonManager

READ_BYTES = 1_000_000
"""The most bytes read of one file; a manifest is far smaller."""

LISTED_NAMES = 2_000
_MOST_INNER = 400
_DEEPEST = 3
_NEVER_PROJECTS = frozenset({
    "node_modules", "venv", "env", "vendor", "target", "dist", "build", "docs", "examples", "example",
    "tests", "test", "fixtures", "templates",
})  # fmt: skip


def read_start(path: Path | str) -> str:
    """Return the beginning of a regular file, or an empty text if it cannot be read."""
    try:
        # Without O_NONBLOCK, opening a named pipe waits for a writer.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return ""
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return ""
        return os.pread(descriptor, READ_BYTES, 0).decode("utf-8", "replace")
    except OSError:
        return ""
    finally:
        os.close(descriptor)


def entries_of(directory: Path | str, most: int | None = None) -> "list[os.DirEntry[str]]":
    try:
        with os.scandir(directory) as entries:
            return [*islice(entries, most)]
    except (OSError, ValueError):
        return []


class DirectoryFiles:
    """The files of a directory on disk, read again each time; paths are relative to it, with `/`."""

    def __init__(self, root: Path) -> None:
        self._root = os.fspath(root)

    def read(self, path: str) -> str:
        return read_start(f"{self._root}/{path}")

    def names(self, directory: str = ".") -> tuple[str, ...]:
        """Return the sorted names in a directory, or none without such a directory."""
        found = entries_of(f"{self._root}/{directory}", LISTED_NAMES)
        return tuple(sorted(entry.name for entry in found))

    def inner(self) -> Iterator[str]:
        """Yield the directories that can be projects of their own, those nearer to the root first."""
        places = ["."]
        for place in places:
            entries = entries_of(f"{self._root}/{place}", LISTED_NAMES)
            for entry in sorted(entries, key=lambda one: one.name):
                named = entry.name not in _NEVER_PROJECTS and not entry.name.startswith(".")
                if named and entry.is_dir(follow_symlinks=False) and len(places) < _MOST_INNER:
                    path = entry.name if place == "." else f"{place}/{entry.name}"
                    yield path
                    places += [path] * (path.count("/") < _DEEPEST - 1)

    def below(self, directory: str) -> "DirectoryFiles":
        return DirectoryFiles(Path(self._root, directory))


PYPROJECT = "pyproject.toml"
ISOLATED = "uv run --isolated"
"""Leaves no uv.lock and no .venv in a project whose tool is not uv."""
WORKSPACE_LEVELS = 3
"""The number of parent directories in which the root of a uv workspace is searched."""

_DECLARED = (
    ("project.dependencies", "[project] dependencies", ""),
    ("dependency-groups.*", "[dependency-groups] {}", " --group {}"),
    ("tool.uv.dev-dependencies", "[tool.uv] dev-dependencies", ""),
    ("project.optional-dependencies.*", "[project.optional-dependencies] {}", " --extra {}"),
    ("tool.poetry.dependencies", "[tool.poetry.dependencies]", ""),
    ("tool.poetry.dev-dependencies", "[tool.poetry.dev-dependencies]", ""),
    ("tool.poetry.group.*.dependencies", "[tool.poetry.group.{}.dependencies]", ""),
)
"""Where pyproject.toml declares tools, the name of the place in messages, and the option of `uv run`."""

_MANAGED: tuple[tuple[PythonManager, frozenset[str]], ...] = (
    ("uv", frozenset({"uv.lock", "tool.uv", "uv_build"})),
    ("poetry", frozenset({"poetry.lock", "tool.poetry"})),
    ("pipenv", frozenset({"Pipfile"})),
    ("pdm", frozenset({"pdm.lock", "tool.pdm.dev-dependencies", "tool.pdm.scripts"})),
    ("hatch", frozenset({"tool.hatch.envs"})),
)
"""The files, tables and build backend that name the tool of a project."""

_EVIDENCE = frozenset({
    PYPROJECT, "setup.py", "setup.cfg", "environment.yml", "tox.ini", "noxfile.py",
})  # fmt: skip
_VENVS = (".venv", "venv", "env")
_PREFERRED_GROUPS = ("test", "tests", "testing", "dev", "develop", "development", "ci", "all")
_REQUIREMENTS = re.compile(r"(?:.*[-_.])?requirements(?:[-_.].*)?\.txt", re.IGNORECASE)
_NAME = re.compile(r"\s*([A-Za-z0-9][\w.-]*)")
_PLAIN_NAME = re.compile(r"[A-Za-z0-9][\w.-]*")
_TOX_LIST = re.compile(r"^(deps|extras)[ \t]*=(.*(?:\n[ \t]+.*)*)", re.MULTILINE)
_NEEDED = re.compile(r"install_requires|ext_modules|setup_requires|package_dir")


class ToolPlace(NamedTuple):
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


def read_toml(text: str) -> dict[str, object] | None:
    """Return parsed TOML, or None if it is invalid."""
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError):
        return None


class PythonProject:
    """A project's Python configuration, from its files. Each file is read once."""

    def __init__(self, files: DirectoryFiles) -> None:
        self.files = files
        self.names = frozenset(files.names())

    @cached_property
    def pyproject(self) -> dict[str, object]:
        return read_toml(self.files.read(PYPROJECT)) or {}

    @cached_property
    def broken(self) -> bool:
        return PYPROJECT in self.names and read_toml(self.files.read(PYPROJECT)) is None

    @cached_property
    def manager(self) -> PythonManager:
        if evident := self.declared_manager():
            return evident
        sources = (name for top in (".", "tests", "test") for name in self.files.names(top))
        is_python = (
            bool(_EVIDENCE & self.names)
            or any(_REQUIREMENTS.fullmatch(name) for name in self.names)
            or any(name.endswith(".py") for name in sources)
        )
        return "uv" if self.broken else "pip" if is_python else ""

    def declared_manager(self) -> PythonManager:
        if PYPROJECT in self.names and workspace_above(self.files):
            return "uv"
        evident = {*self.names, str(table(self.pyproject, "build-system").get("build-backend"))}
        for dotted in (one for _, signs in _MANAGED for one in signs if one.startswith("tool.")):
            *above, last = dotted.split(".")
            evident |= {dotted} if last in table(self.pyproject, *above) else set()
        return next((manager for manager, signs in _MANAGED if signs & evident), "")

    @cached_property
    def venv(self) -> str:
        """The environment in the project, which uv keeps as it needs it and the others leave as it is."""
        made = (name for name in _VENVS if self.files.names(f"{name}/bin"))
        return next(made, "") if self.manager != "uv" else ""

    @cached_property
    def run(self) -> str:
        """The beginning of a command that needs only the project."""
        if self.manager in ("uv", "poetry", "pdm", "pipenv"):
            return f"{self.manager} run"
        if {"project", "dependency-groups"} & self.pyproject.keys():
            return ISOLATED
        installable = (
            "setup.py" in self.names
            or "[metadata]" in self.files.read("setup.cfg")
            or "build-system" in self.pyproject
        )
        if installable:
            return "uv run --no-project --with-editable ."
        required = " --with-requirements requirements.txt"
        return f"uv run --no-project{required if 'requirements.txt' in self.names else ''}"

    @cached_property
    def python(self) -> str:
        """The beginning of a command that runs Python with only the project."""
        if self.venv:
            return f"{self.venv}/bin/python"
        return "python3" if self._needs_nothing else f"{self.run} python"

    @property
    def _needs_nothing(self) -> bool:
        """Whether nothing is declared that has to be installed or built first."""
        project = table(self.pyproject, "project")
        files = {"src"} if project else {"src", "requirements", "environment.yml"}
        declared = (
            project.get("dependencies"),
            "dependencies" in str(project.get("dynamic")),
            _NEEDED.search(self.files.read("setup.py") + self.files.read("setup.cfg")),
            not project and any(_REQUIREMENTS.fullmatch(name) for name in self.names),
            self.names & files,
        )
        return self.manager == "pip" and not any(declared)

    @cached_property
    def places(self) -> tuple[ToolPlace, ...]:
        venvs = [
            ToolPlace(frozenset(self.files.names(f"{v}/bin")), f"{v}/bin/python -m", f"{v}/bin")
            for v in _VENVS
        ]
        if self.manager == "uv":
            venvs[0] = venvs[0]._replace(run="uv run")
        declared = [*declared_places(self.pyproject, self.run), *self._requirement_places()]
        declared += self._tox_places()
        found = [*venvs, *declared] if self.venv else [*declared, *venvs]
        return tuple(found)

    def place_of(self, tool: str) -> ToolPlace | None:
        return next((place for place in self.places if tool in place.tools), None)

    def _requirement_places(self) -> Iterator[ToolPlace]:
        inside = (f"requirements/{name}" for name in self.files.names("requirements"))
        found = [name for name in sorted(self.names) if _REQUIREMENTS.fullmatch(name)]
        found += [path for path in inside if path.endswith(".txt")]
        for path in sorted(found, key=_rank_of_requirements):
            option = f"--with-requirements {shlex.quote(path)}"
            run = self._uv_run if option in self._uv_run else f"{self._uv_run} {option}"
            yield ToolPlace(_tools(self.files.read(path).splitlines()), run, path)

    @property
    def _uv_run(self) -> str:
        return self.run if self.run.startswith("uv run") else ISOLATED

    def _tox_places(self) -> Iterator[ToolPlace]:
        lists = dict(
            _TOX_LIST.findall(
                self.files.read("tox.ini").partition("[testenv]\n")[2].partition("\n[")[0]
            )
        )
        found = (one.partition("#")[0].strip() for one in lists.get("deps", "").splitlines())
        plain = [one for one in found if _NAME.match(one) and not set(one).intersection("{:")]
        extras = lists.get("extras", "").replace(",", " ").split()
        known = table(self.pyproject, "project", "optional-dependencies").keys()
        needs = "".join(f" --extra {one}" for one in extras if one in known)
        needs += "".join(f" --with {shlex.quote(one)}" for one in plain)
        yield ToolPlace(_tools(plain), self._uv_run + needs, "tox.ini", "[testenv] deps")


def workspace_above(files: DirectoryFiles) -> str | None:
    """Return the path to the root of the uv workspace around these files, or None."""
    for level in range(1, WORKSPACE_LEVELS + 1):
        above = "/".join([".."] * level)
        root = read_toml(files.read(f"{above}/{PYPROJECT}"))
        if root is not None and "members" in table(root, "tool", "uv", "workspace"):
            return above
    return None


def declared_places(data: Mapping[str, object], run: str) -> Iterator[ToolPlace]:
    """Yield the places in a parsed pyproject.toml; `run` is the beginning of a plain command."""
    for dotted, part, needs in _DECLARED:
        above, many, below = dotted.partition(".*")
        *path, last = above.split(".")
        if not many:
            yield ToolPlace(_tools(table(data, *path).get(last)), run, PYPROJECT, part)
            continue
        groups = table(data, *path, last)
        own_default = "default-groups" in table(data, "tool", "uv")
        free = {"dev"} if last == "dependency-groups" and not own_default else set[str]()
        for name in sorted(groups, key=lambda name: (name not in free, _rank(name))):
            if _PLAIN_NAME.fullmatch(name):
                inner = table(groups, name).get(below.removeprefix("."))
                tools = _tools(inner if below else groups[name])
                own = needs.format(name)
                start = run + own if run.startswith("uv run") and name not in free else run
                yield ToolPlace(tools, start, PYPROJECT, part.format(name))


def _rank(name: str) -> tuple[int, str]:
    preferred = (*_PREFERRED_GROUPS, lowered := name.casefold())
    return preferred.index(lowered), name


def _rank_of_requirements(path: str) -> tuple[object, ...]:
    numbers = [-int(number) for number in re.findall(r"\d+", path)]
    return "test" not in path, "dev" not in path, re.sub(r"\d+", "", path), numbers


def _tools(requirements: object) -> frozenset[str]:
    one = [requirements] if isinstance(requirements, str) else ()
    listed = requirements if isinstance(requirements, list | tuple | dict) else one
    found = (_NAME.match(one) for one in listed if isinstance(one, str))
    return frozenset(re.sub(r"[-_.]+", "-", match[1]).lower() for match in found if match)
