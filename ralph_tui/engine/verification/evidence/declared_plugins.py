"""Find the project's own modules that its settings load into pytest: they belong to the run."""

import re
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

from ralph_tui.engine.verification.evidence.check_paths import TEST_DIRECTORIES, text_of

_SETTINGS = frozenset(
    {"conftest.py", "pyproject.toml", "pytest.ini", ".pytest.ini", "tox.ini", "setup.cfg"}
)
_ASSIGNED = re.compile(
    r"^pytest_plugins\s*[:=][^\[(\"']*([\[(][^\])]*[\])]|[\"'][\w.]+[\"'])", re.MULTILINE
)
_QUOTED = re.compile(r"[\"']([\w.]+)[\"']")
_OPTION = re.compile(r"-p[\s\"',=]+([A-Za-z_][\w.]*)")
_ENTRY = re.compile(r"pytest11\s*=\s*\n?\s*[\w.-]+\s*=\s*([\w.]+)")


def declared_plugins(root: Path, trusted: Iterable[str]) -> frozenset[str]:
    """The files of plugins that `trusted` settings and conftest files name. Blocks."""
    found: set[str] = set()
    for path in trusted:
        name = path.rsplit("/", 1)[-1]
        if name in _SETTINGS:
            for module in _modules(name, text_of(root / path)):
                found.update(_files(root, module))
    return frozenset(found)


def _modules(name: str, text: str) -> Iterator[str]:
    if name == "conftest.py":
        for assigned in _ASSIGNED.findall(text):
            yield from _QUOTED.findall(assigned)
        return
    yield from _OPTION.findall(text)
    yield from _ENTRY.findall(text)
    if name == "pyproject.toml":
        yield from _entry_points(text)


def _entry_points(text: str) -> Iterator[str]:
    try:
        entries = tomllib.loads(text).get("project", {}).get("entry-points", {}).get("pytest11", {})
        yield from (str(value).partition(":")[0] for value in entries.values())
    except (tomllib.TOMLDecodeError, AttributeError):
        return


def _files(root: Path, module: str) -> Iterator[str]:
    relative = module.replace(".", "/")
    for base in ("", "src/", *(f"{name}/" for name in sorted(TEST_DIRECTORIES))):
        for path in (f"{base}{relative}.py", f"{base}{relative}/__init__.py"):
            if (root / path).is_file():
                yield path
