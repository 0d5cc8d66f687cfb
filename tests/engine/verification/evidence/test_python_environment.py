"""An environment that was tampered with is noticed."""

import base64
import hashlib
import time
from pathlib import Path

import pytest

from ralph_tui.engine.verification.evidence.python_environment import (
    environment_faults,
    environment_state,
)
from tests.engine.verification.evidence.projects import write

SITE = ".venv/lib/python3.11/site-packages"


def installed(root: Path) -> Path:
    files = {"_pytest/runner.py": "def run(): ...\n", "hook.pth": "import hook\n"}
    rows = [
        f"{name},sha256={base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b'=').decode()},1"
        for name, text in files.items()
    ]
    record = {"pytest-9.0.0.dist-info/RECORD": "\n".join(rows) + "\n"}
    write(root / SITE, files | record)
    write(root / SITE, {"_virtualenv.pth": "import _virtualenv", "project.pth": f"{root}/src\n"})
    return root


def test_an_environment_as_it_was_installed_has_no_faults(tmp_path: Path) -> None:
    assert environment_faults(installed(tmp_path), {}) == ()
    assert environment_faults(tmp_path / "nothing", {}) == ()


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("_pytest/runner.py", "def run(): pass\n", "is not as it was installed"),
        ("evil.pth", "import os; os._exit(0)\n", "belongs to no installed package"),
        ("sitecustomize.py", "", "belongs to no installed package"),
        ("_virtualenv.pth", "import _virtualenv, os\n", "belongs to no installed package"),
    ],
)
def test_an_environment_that_was_changed_is_no_evidence(
    tmp_path: Path, name: str, text: str, said: str
) -> None:
    write(installed(tmp_path) / SITE, {name: text})
    (fault,) = environment_faults(tmp_path, {})
    assert f"{SITE}/{name}" in fault
    assert said in fault


def test_what_was_there_before_the_task_has_no_faults_until_it_changes(tmp_path: Path) -> None:
    write(installed(tmp_path) / SITE, {"mine.pth": "import os\n"})
    known = environment_state(tmp_path)
    assert environment_faults(tmp_path, known) == ()
    write(tmp_path / SITE, {"mine.pth": "import os; os._exit(0)\n"})
    record = tmp_path / SITE / "pytest-9.0.0.dist-info" / "RECORD"
    record.write_text(record.read_text() + "more.py,,\n")
    faults = environment_faults(tmp_path, known)
    assert [fault.partition(" ")[2] for fault in faults] == [
        "is not as it was before this task",
        "runs with every Python, but belongs to no installed package",
    ]


def test_a_library_changed_since_the_first_session_is_no_evidence(tmp_path: Path) -> None:
    text = "def same(a, b): ...\n"
    digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
    row = f"same.py,sha256={digest},1\n"
    write(tmp_path / SITE, {"same.py": text, "same-1.dist-info/RECORD": row})
    began = time.time_ns()
    assert environment_faults(tmp_path, {}, began) == ()
    write(tmp_path / SITE, {"same.py": "def same(a, b): pass\n"})
    assert environment_faults(tmp_path, {}) == (), "not known when the agent began"
    (fault,) = environment_faults(tmp_path, {}, began - 10**9)
    assert fault == f"{SITE}/same.py is not as it was installed"
    other = row.replace(digest, "x")
    write(tmp_path / SITE, {"same.py": text, "other-1.dist-info/RECORD": other})
    assert environment_faults(tmp_path, {}, began - 10**9) == (), "two packages bring the file"
    write(tmp_path / SITE, {"own.py": "", "own-1.dist-info/RECORD": "own.py,sha256=x,1\n"})
    write(tmp_path / SITE, {"own-1.dist-info/direct_url.json": "{}"})
    assert environment_faults(tmp_path, {}, began - 10**9) == (), "the project's own"
