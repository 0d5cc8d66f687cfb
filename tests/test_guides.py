"""What the guides promise of a project's checks and settings is what ralph does."""

import json
import re
from pathlib import Path

import pytest

from ralph_tui.config.load import load_settings
from ralph_tui.config.setting_names import known_keys
from ralph_tui.config.settings import Settings
from ralph_tui.config.yaml_reader import GONE
from ralph_tui.domain.plan.plan import ImplementationPlan
from ralph_tui.domain.verification.check_commands import CheckKind
from ralph_tui.engine.verification.detection.project_checks import checks_of
from tests.tools.house import ROOT

LANGUAGES = (ROOT / "docs/languages.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (tests|types|lint|format): `([^`]+)` \|", LANGUAGES, re.MULTILINE)
KINDS = {
    "tests": CheckKind.TESTS,
    "types": CheckKind.TYPECHECK,
    "lint": CheckKind.LINT,
    "format": CheckKind.FORMAT,
}


def package(**scripts: str) -> str:
    return json.dumps({"scripts": scripts, "devDependencies": {"typescript": "5"}})


NODE_TEST = 'import { test } from "node:test";\n'
PYTEST = (
    '[project]\nname = "api"\nversion = "0"\n[dependency-groups]\ndev = ["pytest"]\n[tool.uv]\n'
)
MIXED = {"api/pyproject.toml": PYTEST, "web/package.json": package(test="vitest run")}

BY_FILES = (
    ("mvn -q test", "pom.xml"),
    ("./gradlew test", "gradlew", "settings.gradle.kts"),
    ("gradle test", "build.gradle"),
    ("dotnet test", "Shop.sln", "Shop.csproj"),
    ("deno test", "deno.jsonc"),
    ("dart test", "pubspec.yaml", "test/a_test.dart"),
    ("sbt test", "build.sbt"),
    ("lein test", "project.clj", "test/a_test.clj"),
    ("stack test", "stack.yaml"),
    ("cabal test", "shop.cabal"),
    ("dune test", "dune-project"),
    ("rebar3 eunit", "rebar.config"),
    ("gleam test", "gleam.toml"),
    ("zig build test", "build.zig"),
    ("crystal spec", "shard.yml", "spec/a_spec.cr"),
    ("prove -lr t", "cpanfile", "t/a.t"),
    ("perl Makefile.PL && make && prove -br t", "Makefile.PL", "Clone.xs", "t/a.t"),
    ("autoreconf -i && ./configure && make check", "Makefile.am"),
    ("meson setup build && meson test -C build", "meson.build"),
    ("mix test", "mix.exs"),
    ("swift test", "Package.swift"),
    ("rake test", "Rakefile", "test/a_test.rb"),
    ("bundle exec rspec", "Gemfile", "spec/a_spec.rb"),
    ("vendor/bin/phpunit", "composer.json", "phpunit.xml"),
    ("cmake -B build && cmake --build build && ctest --test-dir build", "CMakeLists.txt"),
)
"""Commands, and the files from which ralph finds each."""

PROJECTS: dict[tuple[str, str], dict[str, str]] = {
    ("tests", "npm test"): {"package.json": package(test="vitest run")},
    ("types", "npm run typecheck"): {"package.json": package(typecheck="tsc")},
    ("types", "npx --no-install tsc --noEmit"): {"package.json": package(), "tsconfig.json": "{}"},
    ("lint", "npm run lint"): {"package.json": package(lint="eslint .")},
    ("format", "npm run format:check"): {"package.json": package(**{"format:check": "prettier"})},
    ("tests", "node --test"): {"package.json": package(), "test/cart.test.js": NODE_TEST},
    ("tests", "go test ./..."): {"go.mod": "module shop\n"},
    ("types", "go vet ./..."): {"go.mod": "module shop\n"},
    ("lint", "go vet ./..."): {"go.mod": "module shop\n"},
    ("lint", "golangci-lint run"): {"go.mod": "module shop\n", ".golangci.yml": ""},
    ("tests", "cargo test"): {"Cargo.toml": ""},
    ("types", "cargo check"): {"Cargo.toml": ""},
    ("lint", "cargo clippy"): {"Cargo.toml": "", "clippy.toml": ""},
    ("format", "cargo fmt --check"): {"Cargo.toml": "", "rustfmt.toml": ""},
    ("tests", "make test"): {"Makefile": "test:\n\ttrue\n"},
    ("lint", "just lint"): {"justfile": "lint:\n    true\n"},
    **{("tests", command): dict.fromkeys(names, "enable_testing") for command, *names in BY_FILES},
    ("tests", "(cd api && uv run pytest)"): MIXED,
    ("tests", "(cd web && npm test)"): MIXED,
}


def test_every_promised_command_has_a_project_here() -> None:
    assert set(ROWS) == set(PROJECTS)


@pytest.mark.parametrize(("kind", "command"), ROWS)
def test_ralph_finds_what_the_guide_promises(tmp_path: Path, kind: str, command: str) -> None:
    for name, text in PROJECTS[kind, command].items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    found = checks_of(tmp_path, Settings()).of(KINDS[kind])
    assert command in [one.command for one in found]


def test_a_script_that_changes_files_is_no_check(tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text(package(lint="eslint --fix ."), encoding="utf-8")
    assert checks_of(tmp_path, Settings()).of(CheckKind.LINT) == ()


def blocks(language: str) -> list[tuple[str, str]]:
    pages = [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))]
    fence = re.compile(rf"```{language}\n(.*?)```", re.DOTALL)
    return [
        (f"{path.name}-{number}", text)
        for path in pages
        for number, text in enumerate(fence.findall(path.read_text(encoding="utf-8")), 1)
    ]


SETTINGS = [
    (name, text)
    for name, text in blocks("yaml")
    if not re.search(r"^(?:jobs|name):", text, re.MULTILINE)
]


@pytest.mark.parametrize("text", [t for _, t in SETTINGS], ids=[name for name, _ in SETTINGS])
def test_the_settings_on_a_page_can_be_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv("SITE_PASSWORD", "x")
    (tmp_path / ".ralph").mkdir()
    (tmp_path / ".ralph/config.yaml").write_text(text, encoding="utf-8")
    load_settings(tmp_path)


def test_pages_show_settings() -> None:
    assert len(SETTINGS) > 10


PLANS = [(name, text) for name, text in blocks("json") if '"tasks": [\n' in text]


@pytest.mark.parametrize("text", [t for _, t in PLANS], ids=[name for name, _ in PLANS])
def test_the_plan_on_a_page_can_be_built(text: str) -> None:
    plan = ImplementationPlan.model_validate_json(text)
    assert plan.problems() == ()
    assert plan.get_next_task() == plan.tasks[0]


NAMES = set(known_keys())
SECTIONS = {name.rsplit(".", n)[0] for name in NAMES for n in range(1, name.count(".") + 1)}
NAMED = re.compile(r"`([a-z_]+(?:\.[a-z_]+)+)(?:: [^`]*)?`")


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))], ids=lambda path: path.name
)
def test_every_setting_that_a_page_names_exists(page: Path) -> None:
    roots = {name.split(".")[0] for name in NAMES}
    named = {
        name
        for name in NAMED.findall(page.read_text(encoding="utf-8"))
        if name.split(".")[0] in roots
        and not name.endswith((".md", ".json", ".yaml", ".txt", ".zig", ".gradle", ".sbt", ".clj"))
    }
    gone = set(GONE) if page.name in ("settings.md", "differences.md") else set()
    assert named - NAMES - SECTIONS == gone
