"""Which commands check a project, from its files alone; what settings name wins."""

import json
import os
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from ralph_tui.config.load import load_settings
from ralph_tui.config.settings import Settings
from ralph_tui.domain.verification.check_commands import CheckKind, ProjectChecks
from ralph_tui.engine.verification.detection.directory_files import READ_BYTES, DirectoryFiles
from ralph_tui.engine.verification.detection.project_checks import (
    ChecksOfRun,
    checks_of,
    detect_checks,
    gate_commands,
)


def found(root: Path, texts: Mapping[str, str]) -> ProjectChecks:
    """Detect in a directory deep enough for the rows with a file above it."""
    here = root / "above" / "here"
    for name, text in {"../../top": "", **texts}.items():
        file = Path(os.path.normpath(here / name))
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return detect_checks(DirectoryFiles(here))


def package(scripts: Mapping[str, str], **more: object) -> str:
    return json.dumps({"name": "x", "scripts": scripts, **more})


PROJECT = '[project]\nname = "x"\nversion = "1"\n'
UNITTEST = "import unittest\n\nclass T(unittest.TestCase):\n    pass\n"
PYTEST = "def test_a():\n    pass\n"
NODE_TEST = 'import test from "node:test";\n'


@pytest.mark.parametrize(
    ("texts", "command", "where"),
    [
        # uv, wherever pytest is declared
        ({"pyproject.toml": PROJECT + 'dependencies = ["Py-Test>1", "PyTest [x]>=8"]\n'},
         "uv run --isolated pytest", "pyproject.toml [project] dependencies"),
        ({"pyproject.toml": PROJECT + '[dependency-groups]\ndev = ["pytest>=8"]\n'},
         "uv run --isolated pytest", "pyproject.toml [dependency-groups] dev"),
        ({"pyproject.toml": PROJECT + '[dependency-groups]\ntest = ["pytest>=8"]\n'},
         "uv run --isolated --group test pytest", "pyproject.toml [dependency-groups] test"),
        ({"pyproject.toml": PROJECT + '[dependency-groups]\nt = ["pytest"]\ndev = [{include-group = "t"}]\n'},
         "uv run --isolated pytest", "pyproject.toml [dependency-groups] dev"),
        ({"pyproject.toml": PROJECT + '[dependency-groups]\na = [{include-group = "b"}]\nb = [{include-group = "a"}]\n'},
         "", ""),
        ({"pyproject.toml": PROJECT + '[tool.uv]\ndefault-groups = ["qa"]\n[dependency-groups]\nqa = ["pytest"]\n'},
         "uv run pytest", "pyproject.toml [dependency-groups] qa"),
        ({"pyproject.toml": PROJECT + '[tool.uv]\ndefault-groups = []\n[dependency-groups]\ndev = ["pytest"]\n'},
         "uv run --group dev pytest", "pyproject.toml [dependency-groups] dev"),
        ({"pyproject.toml": PROJECT + '[tool.uv]\ndev-dependencies = ["pytest"]\n'},
         "uv run pytest", "pyproject.toml [tool.uv] dev-dependencies"),
        ({"pyproject.toml": PROJECT + '[project.optional-dependencies]\ndocs = ["sphinx"]\ntest = ["pytest"]\n'},
         "uv run --isolated --extra test pytest", "pyproject.toml [project.optional-dependencies] test"),
        ({"pyproject.toml": PROJECT + '[project.optional-dependencies]\nx = ["pytest"]\n[dependency-groups]\ny = ["pytest"]\n'},
         "uv run --isolated --group y pytest", "pyproject.toml [dependency-groups] y"),
        ({"pyproject.toml": PROJECT, "requirements-dev.txt": "-r other.txt\n", "other.txt": "pytest==8 # x\n"},
         "uv run --isolated --with-requirements requirements-dev.txt pytest", "requirements-dev.txt"),
        ({"pyproject.toml": PROJECT, ".venv/bin/pytest": ""}, ".venv/bin/python -m pytest", ".venv/bin"),
        ({"pyproject.toml": PROJECT + "[tool.pytest.ini_options]\n"},
         "uv run --isolated --with pytest pytest", "pyproject.toml [tool.pytest.ini_options]"),
        ({"pyproject.toml": PROJECT}, "", ""),  # `uv run pytest` would take whatever is on the PATH
        ({"pyproject.toml": "not toml ["}, "uv run pytest", "pyproject.toml (cannot be read)"),
        ({"pyproject.toml": PROJECT,
          "../../pyproject.toml": '[tool.uv.workspace]\nmembers = ["p/*"]\n[dependency-groups]\ndev = ["pytest"]\n'},
         "uv run --project ../.. --all-packages pytest", "../../pyproject.toml [dependency-groups] dev"),
        # plain pip
        ({"setup.py": "import setuptools\nsetuptools.setup()", "dev.requirements.txt": "pytest\n"},
         "uv run --no-project --with-editable . --with-requirements dev.requirements.txt pytest",
         "dev.requirements.txt"),
        ({"setup.py": "E = {'dev': ['x'], 'tests': ['pytest']}\nsetup(extras_require=E)"},
         "uv run --no-project --with-editable '.[tests]' pytest", "setup.py extras_require tests"),
        ({"setup.cfg": "[metadata]\nname=x\n[options.extras_require]\ntest =\n  pytest\n", "setup.py": "setup()"},
         "uv run --no-project --with-editable '.[test]' pytest", "setup.cfg [options.extras_require] test"),
        ({"requirements.txt": "flask\npytest\n"},
         "uv run --no-project --with-requirements requirements.txt pytest", "requirements.txt"),
        ({"requirements.txt": "flask", "requirements/test.txt": "-r base.txt\npytest", "requirements/base.txt": "x"},
         "uv run --no-project --with-requirements requirements.txt --with-requirements requirements/test.txt pytest",
         "requirements/test.txt"),
        ({"app.py": "", "venv/bin/pytest": ""}, "venv/bin/python -m pytest", "venv/bin"),
        ({"setup.py": "setup()", "tox.ini": "[testenv]\ndeps =\n  pytest>=8 # x\n  {[a]deps}\n  py27: y\n  freezegun\n"},
         "uv run --no-project --with-editable . --with 'pytest>=8' --with freezegun pytest", "tox.ini [testenv] deps"),
        ({"pyproject.toml": PROJECT + "[project.optional-dependencies]\nx = ['y']\n", "tox.ini": "[testenv]\ndeps=pytest\nextras=x, z\n"},
         "uv run --isolated --extra x --with pytest pytest", "tox.ini [testenv] deps"),
        ({"pyproject.toml": PROJECT, "requirements-tests36.txt": "pytest==6", "requirements-tests310.txt": "pytest", "requirements-tests39.txt": "pytest"},
         "uv run --isolated --with-requirements requirements-tests310.txt pytest", "requirements-tests310.txt"),
        ({"setup.py": "setup()", "tox.ini": "[tox]\nenvlist=py39\n[testenv]\ncommands=make\n"},
         "uvx tox run -e py", "tox.ini [testenv]"),
        ({"pyproject.toml": PROJECT + "[tool.tox]\nenv_list = ['py']\n"}, "uvx tox run -e py", "pyproject.toml tool.tox"),
        ({"setup.py": "setup()", "tox.ini": "[testenv]\ncommands=pytest\n", "test_a.py": UNITTEST, ".venv/bin/python": ""},
         ".venv/bin/python -m unittest", "test_a.py"),
        ({"pyproject.toml": PROJECT + "[project.optional-dependencies]\ntests = ['pytest']\n", ".venv/bin/pytest": ""},
         ".venv/bin/python -m pytest", ".venv/bin"),
        ({"setup.py": "setup()", "noxfile.py": "import nox\n@nox.session(python=['3.12'])\ndef tests(s): ...\n"},
         "uvx nox -s tests", "noxfile.py tests"),
        ({"setup.py": "setup()", "noxfile.py": "@session\ndef tests(s): ...\n", "tests/test_a.py": PYTEST},
         "uv run --no-project --with-editable . --with pytest pytest", "tests/test_a.py"),
        ({"setup.py": "setup()", "noxfile.py": "@session(name='test')\ndef run(s): ...\n", "dev-requirements.txt": "nox"},
         "uv run --no-project --with-editable . --with-requirements dev-requirements.txt nox -s test",
         "noxfile.py test"),
        ({"manage.py": "os.environ['DJANGO'] = 'django'", "requirements.txt": "django"},
         "uv run --no-project --with-requirements requirements.txt python manage.py test", "manage.py"),
        # unittest only
        ({"pyproject.toml": PROJECT, "tests/test_a.py": UNITTEST},
         "python3 -m unittest discover -s tests", "tests/test_a.py"),
        ({"pyproject.toml": PROJECT, "tests/test_a.py": UNITTEST, "tests/__init__.py": ""},
         "python3 -m unittest", "tests/test_a.py"),
        ({"pyproject.toml": PROJECT + 'dependencies = ["x"]\n', "test_a.py": UNITTEST},
         "uv run --isolated python -m unittest", "test_a.py"),
        ({"setup.py": "setup(install_requires=['x'])", "test_a.py": UNITTEST},
         "uv run --no-project --with-editable . python -m unittest", "test_a.py"),
        ({"pyproject.toml": PROJECT, "src/a.py": "", "test_a.py": UNITTEST}, "uv run --isolated python -m unittest", "test_a.py"),
        ({"setup.py": "setup()", "test_a.py": UNITTEST}, "python3 -m unittest", "test_a.py"),
        ({"test_a.py": UNITTEST}, "python3 -m unittest", "test_a.py"),
        # pytest's tests, although nothing declares pytest
        ({"tests/test_a.py": PYTEST}, "uv run --no-project --with pytest pytest", "tests/test_a.py"),
        ({"requirements.txt": "flask\n", "tests/unit/test_a.py": PYTEST},
         "uv run --no-project --with-requirements requirements.txt --with pytest pytest", "tests/unit/test_a.py"),
        ({"pyproject.toml": PROJECT, "test_a.py": PYTEST}, "uv run --isolated --with pytest pytest", "test_a.py"),
        ({"environment.yml": "name: x\n", "tests/test_a.py": PYTEST}, "python -m pytest", "tests/test_a.py"),
        ({"Pipfile": "", "test_a.py": PYTEST}, "pipenv run pytest", "test_a.py"),
        ({"Pipfile": '[dev-packages]\npytest = "*"\n', "test_a.py": UNITTEST}, "pipenv run pytest", "Pipfile [dev-packages]"),
        ({"test_a.py": "import pytest"}, "", ""),
        # poetry, pdm, hatch
        ({"pyproject.toml": '[tool.poetry.group.dev.dependencies]\npytest = "^8"\n', "poetry.lock": ""},
         "poetry run pytest", "pyproject.toml [tool.poetry.group.dev.dependencies]"),
        ({"pyproject.toml": '[tool.poetry.group.dev.dependencies]\npytest = "^8"\n', ".venv/bin/pytest": ""},
         ".venv/bin/python -m pytest", ".venv/bin"),
        ({"pyproject.toml": PROJECT + '[tool.pdm.scripts]\ntest = "pytest -q"\n', ".venv/bin/pytest": ""},
         "pdm run test", "pyproject.toml [tool.pdm.scripts] test"),
        ({"pyproject.toml": PROJECT + '[dependency-groups]\nqa = ["pytest"]\n', "pdm.lock": ""},
         "pdm run pytest", "pyproject.toml [dependency-groups] qa"),
        ({"pyproject.toml": PROJECT + '[tool.pdm.scripts]\ntest = "pytest -q"\n'},
         "pdm run test", "pyproject.toml [tool.pdm.scripts] test"),
        ({"pyproject.toml": PROJECT + '[tool.hatch.envs.default.scripts]\ntest = "pytest"\n'},
         "hatch run default:test", "pyproject.toml [tool.hatch.envs.default.scripts] test"),
        ({"pyproject.toml": PROJECT + '[tool.hatch.envs.qa]\ndependencies = ["pytest"]\n'},
         "hatch -e qa run pytest", "pyproject.toml [tool.hatch.envs.qa]"),
        ({"pyproject.toml": PROJECT + '[tool.hatch.envs.default.scripts]\ntest = "pytest"\n', ".venv/bin/pytest": ""},
         ".venv/bin/python -m pytest", ".venv/bin"),
        ({"pyproject.toml": PROJECT + '[tool.hatch.envs.default.scripts]\ntest = "pytest"\n', ".venv/bin/python": ""},
         "hatch run default:test", "pyproject.toml [tool.hatch.envs.default.scripts] test"),
        # JavaScript
        ({"package.json": package({"test": "vitest"})}, "npm test", "package.json scripts.test"),
        ({"package.json": package({"test": "jest"}), "pnpm-lock.yaml": ""}, "pnpm test", "package.json scripts.test"),
        ({"package.json": package({"test": "jest"}), "yarn.lock": ""}, "yarn test", "package.json scripts.test"),
        ({"package.json": package({"test": "jest"}), "bun.lockb": ""}, "bun run test", "package.json scripts.test"),
        ({"package.json": package({"test": "jest"}, packageManager="pnpm@9.1.0")},
         "pnpm test", "package.json scripts.test"),
        ({"package.json": package({"test": "react-scripts test"})}, "CI=true npm test", "package.json scripts.test"),
        ({"package.json": package({"test": 'echo "Error: no test specified" && exit 1'})}, "", ""),
        ({"package.json": package({"test": 'echo "See the CI"'})}, "", ""),
        ({"examples/package.json": package({"test": "jest"})}, "", ""),
        ({"package.json": package({}), "test/a.test.mjs": NODE_TEST}, "node --test", "test/a.test.mjs"),
        ({"a.test.js": NODE_TEST}, "node --test", "a.test.js"),
        ({"package.json": "{"}, "npm test", "package.json (cannot be read)"),
        # others
        ({"Cargo.toml": ""}, "cargo test", "Cargo.toml"),
        ({"go.mod": "module x"}, "go test ./...", "go.mod"),
        ({"Rakefile": "", "test/a.rb": ""}, "rake test", "test"),
        ({"Rakefile": "", "Gemfile": "", ".rspec": ""}, "bundle exec rspec", ".rspec"),
        ({"composer.json": "{}", "phpunit.xml.dist": ""}, "vendor/bin/phpunit", "phpunit.xml.dist"),
        ({"CMakeLists.txt": "", "tests/a.c": ""},
         "cmake -B build && cmake --build build && ctest --test-dir build", "tests"),
        ({"CMakeLists.txt": ""}, "", ""),
        ({"Makefile": "CC := x\nbuild test: a\n\tpytest\n"}, "make test", "Makefile test"),
        ({"Makefile": "test := x\n"}, "", ""),
        ({"justfile": "set shell := ['sh']\n@test *args: build\n  x\n"}, "just test", "justfile test"),
        ({"pyproject.toml": PROJECT, "Makefile": "check:\n\tx\n"}, "make check", "Makefile check"),
        # several at once
        ({"pyproject.toml": PROJECT + '[dependency-groups]\ndev = ["pytest"]\n', "package.json": package({"test": "x"})},
         "uv run --isolated pytest && npm test", "pyproject.toml [dependency-groups] dev"),
        ({"README.md": "", "my api/go.mod": "", "web/package.json": package({"test": "x"}),
          "packages/a/Cargo.toml": "", "node_modules/x/package.json": package({"test": "x"})},
         "(cd 'my api' && go test ./...) && (cd web && npm test) && (cd packages/a && cargo test)",
         "my api/go.mod"),
        ({}, "", ""),
    ],
)  # fmt: skip
def test_how_a_project_runs_its_tests(
    tmp_path: Path, texts: dict[str, str], command: str, where: str
) -> None:
    checks = found(tmp_path, texts)
    assert checks.line(CheckKind.TESTS) == command
    assert [one.found for one in checks.of(CheckKind.TESTS)][:1] == ([where] if where else [])


@pytest.mark.parametrize(
    ("texts", "kind", "command"),
    [
        ({"pyproject.toml": PROJECT + '[dependency-groups]\nlint = ["ruff"]\n'}, "lint", "uv run --isolated --group lint ruff check ."),
        ({"pyproject.toml": PROJECT + '[dependency-groups]\nlint = ["ruff"]\n'},
         "format_check", "uv run --isolated --group lint ruff format --check ."),
        ({"pyproject.toml": PROJECT + '[dependency-groups]\ndev = ["mypy"]\n'}, "typecheck", "uv run --isolated mypy ."),
        ({"pyproject.toml": PROJECT + '[dependency-groups]\ndev = ["mypy"]\n[tool.mypy]\nfiles = ["src"]\n'},
         "typecheck", "uv run --isolated mypy"),
        ({"pyproject.toml": PROJECT + '[dependency-groups]\ndev = ["mypy"]\n', "mypy.ini": "[mypy]\nfiles=src\n"},
         "typecheck", "uv run --isolated mypy"),
        ({"pyproject.toml": PROJECT + '[dependency-groups]\ndev = ["ty"]\n'}, "typecheck", "uv run --isolated ty check"),
        ({"pyproject.toml": PROJECT + '[dependency-groups]\ndev = ["black"]\n'}, "format_check", "uv run --isolated black --check ."),
        ({"pyproject.toml": PROJECT + "[tool.ruff]\n"}, "lint", ""),
        ({"tox.ini": "[testenv:lint]\ncommands=flake8\n", "setup.py": ""}, "lint", ""),  # it builds an environment
        ({"pyproject.toml": PROJECT, "requirements-dev.txt": "ruff\n", ".venv/bin/python": ""}, "lint", ""),
        ({"pyproject.toml": PROJECT, "requirements-dev.txt": "ruff\n", ".venv/bin/ruff": ""},
         "lint", ".venv/bin/python -m ruff check ."),
        ({"Makefile": "lint:\n\tpre-commit run --all-files\n"}, "lint", ""),
        ({"package.json": package({"lint": "eslint .", "typecheck": "tsc"})}, "lint", "npm run lint"),
        ({"package.json": package({"lint": "eslint --fix .", "lint:ci": "eslint ."})}, "lint", "npm run lint:ci"),
        ({"package.json": package({"type-check": "tsc"}), "yarn.lock": ""}, "typecheck", "yarn run type-check"),
        ({"package.json": package({}, devDependencies={"typescript": "5"}), "tsconfig.json": "{}"},
         "typecheck", "npx --no-install tsc --noEmit"),
        ({"package.json": package({"format:check": "prettier -c ."})}, "format_check", "npm run format:check"),
        ({"Cargo.toml": ""}, "typecheck", "cargo check"),
        ({"Cargo.toml": "", "clippy.toml": ""}, "lint", "cargo clippy"),
        ({"go.mod": ""}, "lint", "go vet ./..."),
        ({"go.mod": "", ".golangci.yml": ""}, "lint", "golangci-lint run"),
        ({"go.mod": "", "Makefile": "lint:\n\tx\n"}, "lint", "go vet ./..."),
        ({"pyproject.toml": PROJECT, "Makefile": "lint:\n\tx\n"}, "lint", "make lint"),
    ],
)  # fmt: skip
def test_how_a_project_runs_its_other_checks(
    tmp_path: Path, texts: dict[str, str], kind: str, command: str
) -> None:
    assert found(tmp_path, texts).line(CheckKind(kind)) == command


def test_names_stand_for_what_was_found(tmp_path: Path) -> None:
    assert found(tmp_path / "empty", {}).named == {}
    checks = found(tmp_path, {"go.mod": "", "package.json": package({"test": "x"})})
    assert checks.named == {
        "tests": "npm test && go test ./...",
        "typecheck": "go vet ./...",
        "lint": "go vet ./...",
        "all": "npm test && go test ./... && go vet ./...",
    }


@pytest.mark.parametrize(
    ("texts", "manager"),
    [
        ({"pyproject.toml": PROJECT}, "pip"),
        ({"pyproject.toml": '[build-system]\nbuild-backend = "uv_build"\n'}, "uv"),
        ({"pyproject.toml": "", "uv.lock": ""}, "uv"),
        ({"pyproject.toml": PROJECT, "poetry.lock": ""}, "poetry"),
        ({"pyproject.toml": "[tool.ruff]\n", "setup.py": ""}, "pip"),
        ({"package.json": "{}"}, ""),
        ({"api/pyproject.toml": PROJECT, "api/uv.lock": "", "api/tests/test_a.py": UNITTEST}, "uv"),
    ],
)
def test_what_runs_the_projects_python(tmp_path: Path, texts: dict[str, str], manager: str) -> None:
    assert found(tmp_path, texts).python == manager


def project(root: Path, config: str, files: Mapping[str, str]) -> Settings:
    for name, text in {".ralph/config.yaml": config, **files}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return load_settings(root, environ={}, home=root / "nobody")


NPM = {"package.json": package({"test": "x", "lint": "y"})}


def test_what_the_settings_name_wins(tmp_path: Path) -> None:
    settings = project(tmp_path, "build:\n  test_command: npm run e2e\n", NPM)
    checks = checks_of(tmp_path, settings)
    assert (checks.named["tests"], checks.named["lint"]) == ("npm run e2e", "npm run lint")
    assert checks.of(CheckKind.TESTS)[0].found == "build.test_command"
    assert gate_commands(checks, settings) == ("npm run e2e", "npm run lint")


@pytest.mark.parametrize(
    ("listed", "commands"),
    [
        ("detected", ("npm test", "npm run lint")),
        ("[detected, make e2e]", ("npm test", "npm run lint", "make e2e")),
        ("[lint, make e2e]", ("npm run lint", "make e2e")),
        ("[typecheck]", ("typecheck",)),  # there is none: that fails, and is not passed over
        ("[]", ()),
    ],
)
def test_the_gates_list_may_use_names(
    listed: str, commands: tuple[str, ...], tmp_path: Path
) -> None:
    settings = project(tmp_path, f"phases:\n  building:\n    backpressure: {listed}\n", NPM)
    assert gate_commands(checks_of(tmp_path, settings), settings) == commands


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
