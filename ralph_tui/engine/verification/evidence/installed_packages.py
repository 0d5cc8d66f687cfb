"""Tell which installed packages are no longer as their installer left them, and which settings outside the project changed."""

import base64
import contextlib
import csv
import hashlib
import os
import re
import shutil
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from ralph_tui.engine.core.project_tree import EXCLUDED_DIRECTORIES
from ralph_tui.engine.verification.detection.python_declarations import (
    DirectoryFiles,
    entries_of,
    read_start,
)
from ralph_tui.engine.verification.evidence.classify import is_settings, lints

_QUOTED_PATH = re.compile(r"""['"](/[^'"\n]+)['"]""")
_HOLDERS = frozenset({".bin", ".pnpm"})
"""Directories of node_modules whose entries are programs and packages."""
_IN_VENV = re.compile(r"(.*)/(?:bin|lib/python[^/]*/site-packages)/[^/]+")
_CACHES = EXCLUDED_DIRECTORIES - {"node_modules"}
_UNRECORDED = ("/RECORD", "/direct_url.json", ".pyc")
_PERSONAL = (
    ".cargo/config", ".cargo/config.toml", ".m2/settings.xml", ".gradle/gradle.properties", ".gradle/init.gradle",
    ".bundle/config", ".config/go/env", ".local/lib/python*/site-packages/usercustomize.py",
)  # fmt: skip
"""Settings of tools that hold for every project below a directory."""


def editable_paths(root: Path) -> Iterator[Path]:
    """Yield the directories of editable installs in the project's own environments."""
    for site in site_packages(root):
        for pth in site.glob("*.pth"):
            for line in read_start(pth).splitlines():
                if line.startswith("/"):
                    yield Path(line.strip())
        for finder in site.glob("__editable__*_finder.py"):
            yield from (Path(path).parent for path in _QUOTED_PATH.findall(read_start(finder)))


def site_packages(root: Path) -> Iterator[Path]:
    for directory in (".", *DirectoryFiles(root).inner()):
        for name in (".venv", "venv"):
            yield from sorted(root.glob(f"{directory}/{name}/lib/python*/site-packages"))


def installed(root: Path, ignored: Iterable[str]) -> dict[str, str]:
    """Return what identifies each installed package or program, by its path. Blocks.

    Args:
        ignored: The directories and files that git ignores, among them those of packages.
    """
    tops = (root / path.rstrip("/") for path in ignored)
    return {
        os.path.relpath(unit, root): _identity(Path(unit)) for top in tops for unit in _units(top)
    }


def settings_around(root: Path) -> dict[str, str]:
    """Return what identifies each settings file of tools above the project and in the person's home. Blocks."""
    home = Path.home()
    config = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
    above = {*root.parents, home}
    found = [
        one
        for top in (*above, config)
        for one in entries_of(top)
        if (is_settings(one.name) and not one.is_dir()) or (top == config and lints((one.name,)))
    ]
    paths = [one.path for e in found for one in (e, *entries_of(e.path))]
    paths += [str(path) for top in above for name in _PERSONAL for path in top.glob(name)]
    named = {os.path.relpath(path, root): _digest(path) for path in paths}
    return {name: digest for name, digest in named.items() if digest and name.startswith("../")}


def _units(top: Path) -> Iterator[str]:
    if top.name == "node_modules":
        for entry in entries_of(top):
            if entry.name in _HOLDERS or entry.name.startswith("@"):
                yield from (one.path for one in entries_of(entry.path))
            elif not entry.name.startswith("."):
                yield entry.path
    elif top.name in {".venv", "venv"} or os.path.isfile(top / "pyvenv.cfg"):  # noqa: PTH113 - pathlib raises
        for place in (top / "bin", *top.glob("lib/python*/site-packages")):
            yield from (one.path for one in entries_of(place) if one.name != "__pycache__")


def _files(unit: Path) -> Iterator[tuple[str, os.stat_result]]:
    left = [str(unit)]
    while left:
        path = left.pop()
        with contextlib.suppress(OSError):
            info = os.lstat(path)
            if stat.S_ISDIR(info.st_mode):
                left += [one.path for one in entries_of(path) if one.name not in _CACHES]
            else:
                yield path, info


def _identity(unit: Path) -> str:
    """Return a digest of what the files are. The time of the last change counts unless other projects may link to the same file."""
    found = hashlib.sha256()
    for path, info in sorted(_files(unit)):
        target = os.readlink(path) if stat.S_ISLNK(info.st_mode) else ""  # noqa: PTH115 - called for every file
        changed = info.st_ctime_ns if info.st_nlink == 1 else 0
        about = (path, info.st_mode, info.st_size, info.st_mtime_ns, info.st_ino, target, changed)
        found.update(repr(about).encode())
    return found.hexdigest()[:32]


def changed_packages(
    root: Path,
    known: Mapping[str, str],
    now: Mapping[str, str],
    locks: Iterable[tuple[str, str]] = (),
) -> tuple[str, ...]:
    """Return what is wrong with the installed packages and the settings outside the project, as sentences. Blocks.

    A package is explained by the record of its installer, if that is new or as it was, or by its new version in a lock
    file. New packages are fine, unless they hide a program or belong to no record.

    Args:
        locks: The lock files that changed, before and now.
    """
    records: dict[str, Mapping[str, set[str]]] = {}
    outside = sorted(u for u in {*known, *now} if u.startswith("../"))
    found = [f"{unit} changed" for unit in outside if known.get(unit) != now.get(unit)]
    for unit in sorted(now.keys() - {*outside}):
        before = known.get(unit)
        fault = "is not as it was installed" if before else _unexplained(unit, known)
        if not fault or before == now[unit]:
            continue
        match = _IN_VENV.fullmatch(unit)
        venv = match[1] if match else ""
        if venv and venv not in records:
            records[venv] = _records(root, venv, known, now)
        if any(_is_upgrade(root / unit, *lock) for lock in locks):
            continue
        files = (path for path, _ in _files(root / unit) if not path.endswith(_UNRECORDED))
        if not venv or any(_digest(path) not in records[venv].get(path, ()) for path in files):
            found.append(f"{unit} {fault}")
    return tuple(found)


def _is_upgrade(unit: Path, before: str, now: str) -> bool:
    """Return whether a lock file names the version of a node package only now."""
    name = str(unit).rpartition("/node_modules/")[2]
    found = re.search(r'"version":\s*"([\w.+-]+)"', read_start(unit / "package.json"))
    if not found or name.startswith("."):
        return False
    version = rf"(?:\W[^\n]*)?(?:\n\s+\"?version\"?)?\W+{re.escape(found[1])}(?![\w.])"
    entry = re.compile(rf"^\W*(?:node_modules/)?{re.escape(name)}{version}", re.MULTILINE)
    return entry.search(now) is not None and entry.search(before) is None


def _unexplained(unit: str, known: Mapping[str, str]) -> str:
    place, _, name = unit.rpartition("/")
    if not any(one.startswith(f"{place}/") for one in known):
        return ""  # new as a whole
    if place.endswith("/.bin"):
        return f"hides the program {name}" if shutil.which(name) else ""
    in_venv = _IN_VENV.fullmatch(unit) and not name.endswith(".dist-info")
    return "belongs to no installed package" if in_venv else ""


def _records(
    root: Path, venv: str, known: Mapping[str, str], now: Mapping[str, str]
) -> dict[str, set[str]]:
    """Return the digests of each file in the trusted records of installers, by path; the project's own may change."""
    found: dict[str, set[str]] = {}
    for record in (root / venv).glob("lib/python*/site-packages/*.dist-info/RECORD"):
        unit = os.path.relpath(record.parent, root)
        own = f'"file://{root}' in read_start(record.with_name("direct_url.json"))
        if own or known.get(unit, now.get(unit)) == now.get(unit):
            for row in csv.reader(read_start(record).splitlines()):
                path = os.path.normpath(record.parent.parent / (row or [""])[0])
                free = "/__editable__" in path or path.endswith(".pth") or "/bin/" in path
                if len(row) > 1 and (not own or free or record.parent.name in path):
                    found.setdefault(path, set()).add(row[1].removeprefix("sha256="))
    return found


def _digest(path: str) -> str:
    try:
        with Path(path).open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").digest()
    except OSError:
        return ""
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
