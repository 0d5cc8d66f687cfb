"""Inspect the project's own Python environment: its import paths, and files that no package installed."""

import base64
import csv
import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

_RUNNERS = ("pytest", "pluggy")
_INTERPRETER = re.compile(r"(?:python|pypy|graalpy)[\d.]*[a-z]*(?:\.exe)?")
_VIRTUALENV_PTH = ("_virtualenv.pth", "import _virtualenv")
_PROJECT_PARENTS = ("packages", "apps", "libs", "services", "modules")
_QUOTED_PATH = re.compile(r"""['"](/[^'"\n]+)['"]""")


def editable_paths(root: Path) -> Iterator[Path]:
    """Yield the directories of editable installs in the project's own environments."""
    for site in site_packages(root):
        for pth in site.glob("*.pth"):
            for line in _text(pth).splitlines():
                if line.startswith("/"):
                    yield Path(line.strip())
        for finder in site.glob("__editable__*_finder.py"):
            yield from (Path(path).parent for path in _QUOTED_PATH.findall(_text(finder)))


def site_packages(root: Path) -> Iterator[Path]:
    for name in (".venv", "venv"):
        for directory in ("", "*/", *(f"{parent}/*/" for parent in _PROJECT_PARENTS)):
            yield from sorted(root.glob(f"{directory}{name}/lib/python*/site-packages"))


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")[:1_000_000]
    except OSError:
        return ""


def environment_state(root: Path) -> dict[str, str]:
    """Return the digests of the lists of installed files, and of files that run with every Python, by path. Blocks."""
    return {
        _relative(path, root): _digest(str(path))
        for site in site_packages(root)
        for path in (*_records(site), *_start_files(site))
    }


def environment_faults(
    root: Path, known: Mapping[str, str], since: int | None = None
) -> tuple[str, ...]:
    """Return the faults of the project's own Python environment, such as altered packages. Blocks.

    Args:
        known: What `environment_state` returned before the agent worked.
        since: When the agent began to work, in nanoseconds; files of libraries that are older are not read.
    """
    return tuple(
        fault for site in site_packages(root) for fault in _faults(site, root, known, since)
    )


def _records(site: Path) -> list[Path]:
    records = site.glob("*.dist-info/RECORD")
    return [path for path in records if not path.with_name("direct_url.json").exists()]


def _start_files(site: Path) -> list[Path]:
    found = [path for path in site.glob("*.pth") if _runs_code(path)]
    names = ("sitecustomize.py", "usercustomize.py")
    return found + [path for name in names if (path := site / name).is_file()]


def _faults(site: Path, root: Path, known: Mapping[str, str], since: int | None) -> Iterator[str]:
    for record in _records(site):
        listed = _relative(record, root)
        if known.get(listed, digest := _digest(str(record))) != digest:
            yield f"{listed} is not as it was before this task"
        runner = record.parent.name.split("-")[0] in _RUNNERS
        for name in _altered(site, record, 0 if runner else since):
            if not runner and _is_anothers(site, name):
                continue
            yield f"{_relative(site / name, root)} is not as it was installed"
    interpreter = site.parents[2] / "bin" / "python"
    if _is_not_python(interpreter):
        yield f"{_relative(interpreter, root)} is not a Python interpreter"
    suspects = [
        path
        for path in _start_files(site)
        if known.get(_relative(path, root)) != _digest(str(path))
    ]
    if suspects:
        owned = {name for record in site.glob("*.dist-info/RECORD") for name in _recorded(record)}
        for path in suspects:
            if path.name not in owned:
                yield f"{_relative(path, root)} runs with every Python, but belongs to no installed package"


def _relative(path: Path, root: Path) -> str:
    return os.path.relpath(path, root)


def _is_not_python(program: Path) -> bool:
    try:
        real = program.resolve()
        with real.open("rb") as file:
            script = file.read(2) == b"#!"
    except OSError:
        return False
    if script:
        return real.parent.name != "shims"
    return not _INTERPRETER.fullmatch(real.name)


def _runs_code(path: Path) -> bool:
    text = path.read_text(encoding="utf-8", errors="replace")
    if path.name == _VIRTUALENV_PTH[0] and text.strip() == _VIRTUALENV_PTH[1]:
        return False
    return any(line.startswith(("import ", "import\t")) for line in text.splitlines())


def _recorded(record: Path) -> Iterator[str]:
    with record.open(encoding="utf-8", errors="replace", newline="") as file:
        yield from (row[0] for row in csv.reader(file) if row)


def _altered(site: Path, record: Path, since: int | None) -> Iterator[str]:
    if since is None:
        return
    with record.open(encoding="utf-8", errors="replace", newline="") as file:
        rows = [row for row in csv.reader(file) if len(row) > 2 and row[1].startswith("sha256=")]
    for name, digest, _ in (row[:3] for row in rows):
        if not name.endswith(".py") and "/bin/" not in name:
            continue
        if since and not _changed_since(os.path.join(site, name), since):  # noqa: PTH118 - for speed
            continue
        wanted = digest.removeprefix("sha256=")
        if _digest(os.path.join(site, name)) != wanted:  # noqa: PTH118 - for speed, called hundreds of times
            yield name


def _is_anothers(site: Path, name: str) -> bool:
    row = f"{name},sha256={_digest(str(site / name))},"
    return any(row in _text(record) for record in _records(site))


def _changed_since(path: str, since: int) -> bool:
    try:
        return os.stat(path).st_ctime_ns >= since  # noqa: PTH116 - called for every installed file
    except OSError:
        return True


def _digest(path: str) -> str:
    try:
        with Path(path).open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").digest()
    except OSError:
        return ""
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
