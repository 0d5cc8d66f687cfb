"""Which commands check a project, from its files alone; what settings name wins.

`project_checks.txt` has the files of projects, and below them how each is checked and started.
"""

import json
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import yaml

from ralph_tui.config.load import load_settings
from ralph_tui.config.settings import Settings
from ralph_tui.domain.verification.check_commands import CheckKind, ProjectChecks
from ralph_tui.engine.verification.detection.project_checks import (
    ChecksOfRun,
    checks_of,
    detect_checks,
    gate_commands,
)
from ralph_tui.engine.verification.detection.python_declarations import READ_BYTES, DirectoryFiles
from tests.harness.tables import Case, Line, Verb, each_case


def package(scripts: Mapping[str, str], **more: object) -> str:
    return json.dumps({"name": "x", "scripts": scripts, **more})


PROJECT = '[project]\nname = "x"\nversion = "1"\n'


@each_case(__file__)
def test_a_project(case: Case, tmp_path: Path, pytestconfig: pytest.Config) -> None:
    verbs: dict[str, Verb] = {
        "checks": lambda _, root: told(detect_checks(DirectoryFiles(root))),
        "gate": gates,
    }
    case.play(verbs, tmp_path, pytestconfig)


def gates(line: Line, root: Path) -> Iterator[str]:
    settings = Settings.model_validate(yaml.safe_load(line.rest))
    checks = checks_of(root, settings)
    yield " && ".join(gate_commands(checks, settings)) or "no check"
    yield from told(checks)


def told(checks: ProjectChecks) -> Iterator[str]:
    for kind in CheckKind:
        if line := checks.line(kind):
            yield f"{kind}: {line}  ({', '.join(one.found for one in checks.of(kind))})"
    if checks.python:
        yield f"Python by {checks.python}"


def test_names_stand_for_what_was_found(tmp_path: Path) -> None:
    assert detect_checks(DirectoryFiles(tmp_path)).named == {}
    project(tmp_path, "", {"go.mod": "", "package.json": package({"test": "x"})})
    checks = detect_checks(DirectoryFiles(tmp_path))
    assert checks.named == {
        "tests": "npm test && go test ./...",
        "typecheck": "go vet ./...",
        "lint": "go vet ./...",
        "all": "npm test && go test ./... && go vet ./...",
    }


def project(root: Path, config: str, files: Mapping[str, str]) -> Settings:
    for name, text in {".ralph/config.yaml": config, **files}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return load_settings(root, environ={}, home=root / "nobody")


NPM = {"package.json": package({"test": "x", "lint": "y"})}


@pytest.mark.serial
def test_files_of_any_kind_are_looked_at_in_no_time(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pyproject.toml")  # opening it would wait for a writer
    (tmp_path / "package.json").write_text("[" * READ_BYTES)
    (tmp_path / "setup.py").write_text("(" * 100_000)
    (tmp_path / "Makefile").symlink_to("Makefile")
    (tmp_path / "tox.ini").mkdir()
    began = time.monotonic()
    assert detect_checks(DirectoryFiles(tmp_path)).line(CheckKind.TESTS) == "npm test"
    assert time.monotonic() - began < 5
    assert DirectoryFiles(tmp_path).names("no") == ()


def test_during_a_run_checks_are_added_and_never_lost(tmp_path: Path) -> None:
    settings = project(tmp_path, "", NPM)
    checks = ChecksOfRun(tmp_path, settings)
    checks.begin()
    assert checks.rules().commands == ("npm test", "npm run lint")
    pytest_in_a_group = PROJECT + '[dependency-groups]\nqa = ["pytest"]\n'
    (tmp_path / "package.json").write_text(package({"lint": "eslint"}))
    (tmp_path / "pyproject.toml").write_text(pytest_in_a_group)
    assert checks.rules().commands == (
        "uv run --isolated --group qa pytest",
        "npm test",
        "npm run lint",
    )
    (tmp_path / "package.json").unlink()
    (tmp_path / "pyproject.toml").unlink()
    assert checks.rules().commands == ("npm test", "npm run lint")
    assert checks.rules().checks.named["tests"] == "npm test"
    later = ChecksOfRun(tmp_path, settings)
    assert later.rules().commands == ("npm test", "npm run lint"), "although the run was killed"


def test_another_runner_does_not_take_the_place_of_the_tests(tmp_path: Path) -> None:
    """An agent could leave a test of its own to unittest, or to a project at the top."""
    text = PROJECT + '[dependency-groups]\ndev = ["pytest"]\n'
    settings = project(tmp_path, "", {"pyproject.toml": text, "uv.lock": ""})
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_a.py").write_text("def test_a(): ...\n")
    run = ChecksOfRun(tmp_path, settings)
    run.begin()
    assert run.rules().commands == ("uv run pytest",)
    (tmp_path / "pyproject.toml").write_text(text.replace("dev", "qa"))
    assert run.rules().commands == ("uv run --group qa pytest",), "the same runner"
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    (tmp_path / "tests" / "test_a.py").write_text("import unittest\n")
    both = ("uv run python -m unittest discover -s tests", "uv run pytest")
    assert run.rules().commands == both
    run.end()
    assert ChecksOfRun(tmp_path, settings).rules().commands == both
    chosen = Settings.model_validate({"build": {"test_command": "./test"}})
    assert ChecksOfRun(tmp_path, chosen).rules().commands == ("./test",), "the person's decision"


def test_tests_at_the_top_do_not_take_the_place_of_those_below(tmp_path: Path) -> None:
    below = {"app/package.json": package({"test": "jest"})}
    (tmp_path / "app").mkdir()
    run = ChecksOfRun(tmp_path, project(tmp_path, "", below))
    assert run.rules().commands == ("(cd app && npm test)",)
    (tmp_path / "package.json").write_text(package({"test": "jest easy"}))
    assert run.rules().commands == ("npm test", "(cd app && npm test)")


def test_what_an_agent_removed_stays_required_in_later_runs(tmp_path: Path) -> None:
    settings = project(tmp_path, "", NPM)
    run = ChecksOfRun(tmp_path, settings)
    run.begin()
    (tmp_path / "package.json").write_text(package({"lint": "eslint"}))
    run.end()
    for _ in range(2):  # also when the next run did not look again
        later = ChecksOfRun(tmp_path, settings)
        assert later.rules().commands == ("npm test", "npm run lint")
        assert ["package.json" in told for told in later.lost] == [True]
        later.begin()
        later.end()
    (tmp_path / "package.json").write_text(NPM["package.json"])
    restored = ChecksOfRun(tmp_path, settings)
    assert not restored.lost
    restored.begin()
    restored.end()
    (tmp_path / "package.json").write_text(package({"lint": "eslint"}))
    assert ChecksOfRun(tmp_path, settings).rules().commands == ("npm run lint",), (
        "the person did it"
    )
