"""Tell by its name what a file is to the tools that check a project."""

import re

from ralph_tui.engine.core.project_tree import is_source

TEST_DIRECTORIES = frozenset({
    "tests", "test", "__tests__", "__snapshots__", "__mocks__", "testdata", "spec", "e2e", "t",
})  # fmt: skip
"""Directories of tests, test helpers and expected results."""

_TEST_SUFFIXES = (
    r"py|[cm]?[jt]sx?|go|rs|rb|exs?|dart|cc|cpp|cxx|c|h|hpp|java|kt|cs|scala|php|swift|lua|pl|sh|bash|r|jl"
    r"|zig|cljc?|hs|ml|erl|nim|groovy|fs"
)
_TEST_NAME = re.compile(
    rf"tests?\.(?:{_TEST_SUFFIXES})|test[_.-].*\.(?:{_TEST_SUFFIXES})|.+[_.-]tests?\.(?:{_TEST_SUFFIXES})"
    r"|.+\.spec\.[cm]?[jt]sx?|.+_spec\.(?:rb|lua|py|ex|exs)|.*\.(?:bats|feature)"
    r"|.*(?:Tests?|Spec)\.(?:java|kt|cs|scala|php|swift|groovy|hs|fs)"
)
_SETTINGS_NAME = re.compile(
    r".*\.(ini|cfg|toml|properties|props|pth|cmake|cabal|gemspec|(cs|fs)proj|sln|env)|\.env(\..*)?|[\w-]{4,}rc"
    r"|\.(?!(?:nvm|bash|zsh|vim)rc)[\w-]*(rc|ignore)(\.\w+)?|\.gitmodules|[\w.-]+[._-](config|conf|setup|preload|plugin|hooks?)\.\w+"
    r"|conftest\.py|(site|user)customize\.py|noxfile\.py|manage\.py|pyrightconfig\.json|\.(flake8|bandit|sqlfluff|rspec)"
    r"|\.pre-commit-config\.yaml|\.clang-(tidy|format)|package\.json|\.pnpmfile\.c?js|pnpm-workspace\.yaml|(nx|turbo|lerna)\.json|tsconfig.*\.json"
    r"|(biome|dprint|deno)\.jsonc?|(vitest|vite)\.workspace\.\w+|(jest|vitest|mocha|tests?)setup\.\w+"
    r"|setup[._-]?(tests?|jest|vitest|mocha)\.\w+|global[._-]?(setup|teardown)\.\w+|\.[\w-]*lint|\.?[\w-]*lint(ci)?\.(ya?ml|jsonc?|toml)"
    r"|\.?golangci\.(ya?ml|json)|\.rubocop.*\.yml|rust-toolchain|go\.(mod|work)|(pom|build)\.xml|(config|runtime|setup|build)\.(rs|zig|sbt|exs)"
    r"|(build|settings)\.gradle(\.kts)?|gradlew|mvnw|CMake(Lists\.txt|Presets\.json)|meson(\.build|_options\.txt)|(BUILD|WORKSPACE|MODULE)(\.bazel)?"
    r"|configure(\.ac)?|Directory\.\w+\.targets|Gemfile|mix\.exs|rebar\.config|dune(-project)?|stack\.yaml|(phpunit|phpcs|psalm)\.xml(\.dist)?"
    r"|phpstan\.neon(\.dist)?|\.credo\.exs|\.scalafmt\.conf",
    re.IGNORECASE,
)
"""Names of files that a tool reads without being told: settings, build recipes, environment files, plugins."""
_RECIPE_NAME = re.compile(
    r"(GNUm|M|m)akefile|.*\.mk|\.?justfile|.*\.just|taskfile.*\.ya?ml|rakefile.*|.*\.rake",
    re.IGNORECASE,
)
_CHECK_NAME = re.compile(
    r"(^|[/_.-])(tests?|checks?|verify|verif\w*|lint|ci|spec|accept\w*|smoke|expect\w*|golden|validate|asserts?|baseline|fixtures?)([/_.-]|$)",
    re.IGNORECASE,
)
_LINTERS = re.compile(
    r"ruff|mypy|flake8|pylint|black|isort|pyright|basedpyright|ty|pyrefly|bandit|eslint|prettier|biome|tsc|stylelint|standard"
    r"|xo|oxlint|gofmt|goimports|golangci-lint|staticcheck|rustfmt|clang-format|clang-tidy|cppcheck|shellcheck|shfmt|rubocop"
    r"|ktlint|detekt|checkstyle|scalafmt|yamllint|markdownlint|hadolint|sqlfluff|codespell|typos|taplo|pre-commit"
    r"|go vet|cargo (?:clippy|fmt|check)|deno (?:lint|fmt)"
)
RUNNER_MODULES = frozenset({
    "pytest", "_pytest", "py", "pluggy", "iniconfig", "unittest", "nose", "coverage", "xdist", "hypothesis",
    "ralph_pytest_report", "ralph_unittest_report", "ralph_report_file",
})  # fmt: skip


def is_test_file(path: str) -> bool:
    return _TEST_NAME.fullmatch(path.rpartition("/")[2]) is not None


def is_settings(path: str) -> bool:
    """Return whether tools read a file for their settings; resources of a JVM project are its own, but for those of JUnit."""
    name = path.rpartition("/")[2]
    own = "main/resources" in path and name != "junit-platform.properties" and not is_source(name)
    return _SETTINGS_NAME.fullmatch(name) is not None and not own


def names_check(path: str) -> bool:
    return _CHECK_NAME.search(path) is not None


def lints(program: tuple[str, ...]) -> bool:
    left = program[2:] if program[1:2] == ("-m",) else program
    names = (left[0].rpartition("/")[2], " ".join(left[:2])) if left else ()
    return any(map(_LINTERS.fullmatch, names))


def is_recipe(name: str) -> bool:
    return _RECIPE_NAME.fullmatch(name) is not None
