"""Installed packages that an agent changed are noticed, unless their installer explains it."""

import base64
import hashlib
import os
from pathlib import Path

import pytest

from ralph_tui.engine.verification.evidence.installed_packages import (
    changed_packages,
    installed,
    settings_around,
)
from tests.engine.verification.evidence.projects import Changes, write

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
    "web/node_modules/.bin/y": "",
    "web/node_modules/.cache/z": "",
}


def everything(root: Path) -> dict[str, str]:
    return installed(root, TOPS) | settings_around(root)


def faults(root: Path, changes: Changes) -> tuple[str, ...]:
    own = {f"{SITE}/own-1.dist-info/direct_url.json": f'{{"url": "file://{root}"}}'}
    write(root, {**FILES, **own, "../.npmrc": ""})
    known = everything(root)
    write(root, changes)
    return changed_packages(root, known, everything(root))


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({}, ""),
        ({f"{SITE}/same.py": "def same(a, b): pass\n"}, f"{SITE}/same.py is not as it was installed"),
        ({".venv/bin/tool": "#!/bin/true\n"}, ".venv/bin/tool is not as it was installed"),
        ({"web/node_modules/@x/y/index.js": "1"}, "web/node_modules/@x/y is not as it was installed"),
        ({"web/node_modules/.bin/y": "1"}, "web/node_modules/.bin/y is not as it was installed"),
        # What tools write, and new packages.
        ({"web/node_modules/.cache/z": "1", f"{SITE}/__pycache__/a.pyc": "1"}, ""),
        ({"web/node_modules/new/index.js": "1", f"{SITE}/new.py": "", "web/node_modules/.bin/new": ""}, ""),
        # What is new and takes the place of something.
        ({"web/node_modules/.bin/sh": "1"}, "web/node_modules/.bin/sh hides the program sh"),
        ({f"{SITE}/same/__init__.py": ""}, f"{SITE}/same hides the module same"),
        (
            {f"{SITE}/evil.pth": "import os; os._exit(0)\n"},
            f"{SITE}/evil.pth runs with every Python, but belongs to no installed package",
        ),
        # Settings above the project.
        ({"../.npmrc": None}, "../.npmrc changed"),
        ({"../.cargo/config.toml": "", "../notes.md": ""}, "../.cargo/config.toml changed"),
        # An upgrade, which the record of the new version explains.
        (
            {
                f"{SITE}/same.py": "2\n",
                f"{SITE}/same-1.dist-info/RECORD": None,
                f"{SITE}/same-2.dist-info/RECORD": row("same.py", "2\n"),
            },
            "",
        ),
        # The project itself, installed again.
        ({f"{SITE}/own-1.dist-info/RECORD": "own,,\n" + FILES[f"{SITE}/own-1.dist-info/RECORD"]}, ""),
    ],
)  # fmt: skip
def test_which_changes_of_installed_packages_are_faults(
    tmp_path: Path, changes: Changes, fault: str
) -> None:
    assert faults(tmp_path / "code", changes) == ((fault,) if fault else ())


def test_a_time_that_is_set_back_does_not_hide_a_change(tmp_path: Path) -> None:
    write(tmp_path, FILES)
    known, file = installed(tmp_path, TOPS), tmp_path / "web/node_modules/@x/y/index.js"
    before = file.stat()
    with file.open("r+") as opened:
        opened.write("")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert changed_packages(tmp_path, known, installed(tmp_path, TOPS))


def test_a_link_of_another_project_to_the_same_file_is_no_change(tmp_path: Path) -> None:
    write(tmp_path, FILES)
    known, file = installed(tmp_path, TOPS), tmp_path / "web/node_modules/@x/y/index.js"
    (tmp_path / "elsewhere").hardlink_to(file)
    assert changed_packages(tmp_path, known, installed(tmp_path, TOPS)) == ()


def test_the_programs_of_an_environment_that_is_new_as_a_whole_are_no_fault(tmp_path: Path) -> None:
    write(tmp_path, {".venv/pyvenv.cfg": "", "+x .venv/bin/python3": "", "+x .venv/bin/sh": ""})
    assert changed_packages(tmp_path, {}, installed(tmp_path, (".venv",))) == ()


@pytest.mark.parametrize(
    "lock",
    [
        '{"packages": {\n  "node_modules/@x/y": {\n    "version": "%s",\n',
        '"@x/y@^1.0.0":\n  version "%s"\n',
        "packages:\n  '@x/y@%s':\n",
    ],
)
def test_a_new_version_of_a_node_package_counts_if_a_lock_file_names_it(
    tmp_path: Path, lock: str
) -> None:
    package = "web/node_modules/@x/y/package.json"
    write(tmp_path, {**FILES, package: '{"version": "1.0.0"}'})
    known = installed(tmp_path, TOPS)
    write(tmp_path, {package: '{"version": "2.0.0"}'})
    for before, now, number in (
        ("1.0.0", "2.0.0", 0),
        ("2.0.0", "2.0.0", 1),
        ("1.0.0", "2.0.1", 1),
    ):
        locks = [(lock % before, lock % now)]
        found = changed_packages(tmp_path, known, installed(tmp_path, TOPS), locks)
        assert len(found) == number
