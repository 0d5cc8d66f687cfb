"""Tell whether the project's test runner is the one that was installed."""

import base64
import csv
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from ralph_tui.engine.verification.evidence.clean_copy import site_packages

_RUNNERS = ("pytest", "pluggy")
_VIRTUALENVS_OWN = ("_virtualenv.pth", "import _virtualenv")


def environment_faults(root: Path) -> tuple[str, ...]:
    """What is in the project's own Python environment that no package installed. Blocks."""
    found: list[str] = []
    for site in site_packages(root):
        found += _faults(site, root)
    return tuple(found)


def _faults(site: Path, root: Path) -> Iterator[str]:
    records = [
        p for p in site.glob("*.dist-info/RECORD") if p.parent.name.split("-")[0] in _RUNNERS
    ]
    for record in records:
        for name in _altered(site, record):
            yield f"{_shown(site / name, root)} is not as it was installed"
    suspects = [p for p in site.glob("*.pth") if _runs_code(p)]
    suspects += [p for n in ("sitecustomize.py", "usercustomize.py") if (p := site / n).is_file()]
    if suspects:
        owned = {name for record in site.glob("*.dist-info/RECORD") for name in _recorded(record)}
        for path in suspects:
            if path.name not in owned:
                yield f"{_shown(path, root)} runs with every Python, and no package installed it"


def _shown(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix()


def _runs_code(path: Path) -> bool:
    text = path.read_text(encoding="utf-8", errors="replace")
    if path.name == _VIRTUALENVS_OWN[0] and text.strip() == _VIRTUALENVS_OWN[1]:
        return False
    return any(line.startswith(("import ", "import\t")) for line in text.splitlines())


def _recorded(record: Path) -> Iterator[str]:
    with record.open(encoding="utf-8", errors="replace", newline="") as file:
        yield from (row[0] for row in csv.reader(file) if row)


def _altered(site: Path, record: Path) -> Iterator[str]:
    """Files of a package whose content is not what its record says."""
    with record.open(encoding="utf-8", errors="replace", newline="") as file:
        rows = [row for row in csv.reader(file) if len(row) > 2 and row[1].startswith("sha256=")]
    for name, digest, _ in (row[:3] for row in rows):
        if not name.endswith(".py"):
            continue
        wanted = digest.removeprefix("sha256=")
        if _digest(os.path.join(site, name)) != wanted:  # noqa: PTH118 - hundreds of times
            yield name


def _digest(path: str) -> str:
    try:
        with Path(path).open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").digest()
    except OSError:
        return ""
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
