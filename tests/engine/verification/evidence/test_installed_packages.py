"""Installed packages that an agent changed are noticed, unless their installer explains it: `installed_packages.txt`."""

import base64
import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

import pytest

from ralph_tui.engine.verification.evidence.installed_packages import (
    changed_packages,
    installed,
    settings_around,
)
from tests.engine.verification.evidence.projects import write
from tests.harness.tables import Case, Line, Verb, each_case

SITE = ".venv/lib/python3.11/site-packages"
TOPS = (".venv/", "web/node_modules/")


def row(name: str, text: str) -> str:
    """A row of an installer's record."""
    found = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest())
    return f"{name},sha256={found.rstrip(b'=').decode()},1\n"


FILES = {
    f"{SITE}/same.py": "def same(a, b): ...\n",
    f"{SITE}/same-1.dist-info/RECORD": row("same.py", "def same(a, b): ...\n"),
    f"{SITE}/__editable__.own.pth": "/src\n",
    f"{SITE}/own-1.dist-info/RECORD": row("__editable__.own.pth", "/src\n"),
    ".venv/bin/tool": "#!/bin/sh\n",
    "web/node_modules/@x/y/index.js": "",
    "web/node_modules/@x/y/package.json": '{"version": "1.0.0"}',
    "web/node_modules/.bin/y": "",
    "web/node_modules/.cache/z": "",
}


def everything(root: Path) -> dict[str, str]:
    return installed(root, TOPS) | settings_around(root)


KNOWN: dict[Path, dict[str, str]] = {}


def install(_: Line, root: Path) -> str:
    own = {f"{SITE}/own-1.dist-info/direct_url.json": f'{{"url": "file://{root}"}}'}
    write(root, {**FILES, **own, "../.npmrc": ""})
    (root / "web/node_modules/own").symlink_to("../own")  # as a workspace has it
    KNOWN[root] = everything(root)
    return "as installed"


def removes(line: Line, root: Path) -> str:
    (root / line.name).unlink()
    return "gone"


def faults(line: Line, root: Path) -> Iterable[str]:
    """What is wrong, with the lock file of one version before and of another now."""
    before, _, now = line.rest.partition(" ")
    locks = [(line.text.replace("%s", before), line.text.replace("%s", now))]
    return changed_packages(root, KNOWN[root], everything(root), locks)


VERBS: dict[str, Verb] = {
    "installed": install,
    "remove": removes,
    "faults": faults,
    "locked": faults,
}


@each_case(__file__)
def test_changes(case: Case, tmp_path: Path, pytestconfig: pytest.Config) -> None:
    case.play(VERBS, tmp_path, pytestconfig)


def test_a_time_that_is_set_back_does_not_hide_a_change(tmp_path: Path) -> None:
    write(tmp_path, FILES)
    known, file = installed(tmp_path, TOPS), tmp_path / "web/node_modules/@x/y/index.js"
    before = file.stat()
    with file.open("r+") as opened:
        opened.write("")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert changed_packages(tmp_path, known, installed(tmp_path, TOPS))


def test_a_link_of_another_project_to_a_shared_file_is_no_change(tmp_path: Path) -> None:
    write(tmp_path, FILES)
    (tmp_path / "a").hardlink_to(file := tmp_path / "web/node_modules/@x/y/index.js")
    known = installed(tmp_path, TOPS)
    (tmp_path / "b").hardlink_to(file)
    assert changed_packages(tmp_path, known, installed(tmp_path, TOPS)) == ()


def test_the_programs_of_an_environment_that_is_new_as_a_whole_are_no_fault(tmp_path: Path) -> None:
    write(tmp_path, {".venv/pyvenv.cfg": "", "+x .venv/bin/python3": "", "+x .venv/bin/sh": ""})
    assert changed_packages(tmp_path, {}, installed(tmp_path, (".venv",))) == ()
