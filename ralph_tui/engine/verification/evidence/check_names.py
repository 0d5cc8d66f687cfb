"""Tell by its name what a file is to the tools that check a project."""

import re

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
    r"\.?pytest\.(ini|toml)|pyproject\.toml|tox\.ini|setup\.cfg|conftest\.py|(site|user)customize\.py"
    r"|.*\.pth|noxfile\.py|\.?mypy\.ini|\.?(ruff|ty|pyrefly|clippy|rustfmt|typos|taplo)\.toml|pyrightconfig\.json"
    r"|\.flake8|\.bandit|\.isort\.cfg|\.sqlfluff|\.pre-commit-config\.yaml|nextest\.toml|\.clang-(tidy|format)"
    r"|hatch\.toml|uv\.toml|package\.json|pnpm-workspace\.yaml|\.pnpmfile\.c?js|(nx|turbo|lerna)\.json"
    r"|(jest|vitest|vite|babel|ava|playwright|cypress|eslint|prettier|stylelint|xo|mocha|wtr|web-test-runner|tap)\."
    r"(config|workspace)\.\w+|karma\.conf\.\w+|biome\.jsonc?|dprint\.jsonc?|tsconfig.*\.json"
    r"|(jest|vitest|mocha|tests?)[._-]?setup\.\w+|setup[._-]?(tests?|jest|vitest|mocha)\.\w+"
    r"|global[._-]?(setup|teardown)\.\w+|bunfig\.toml|deno\.jsonc?|\.(?!(?:nvm|bash|zsh|vim)rc)[\w-]+rc(\.\w+)?"
    r"|\.(?!(?:git|docker|npm|helm)ignore)\w+ignore|\.[\w-]*lint|\.?[\w-]*lint(ci)?\.(ya?ml|jsonc?|toml)|\.?golangci\.(ya?ml|json|toml)|\.rubocop.*\.yml"
    r"|\.env\.(test|testing|ci)|Cargo\.toml|rust-toolchain(\.toml)?|go\.mod|go\.work|phpunit\.xml(\.dist)?|junit-platform\.properties"
    r"|phpstan\.neon(\.dist)?|phpcs\.xml(\.dist)?|psalm\.xml|\.credo\.exs|\.scalafmt\.conf|\.rspec",
    re.IGNORECASE,
)
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


def is_runner_settings(path: str) -> bool:
    """Return whether a file at this path configures a test runner or a linter."""
    name = path.rsplit("/", 1)[-1]
    return bool(_SETTINGS_NAME.fullmatch(name)) or "/.cargo/" in f"/{path}"


def names_check(path: str) -> bool:
    return _CHECK_NAME.search(path) is not None


def lints(program: tuple[str, ...]) -> bool:
    left = program[2:] if program[1:2] == ("-m",) else program
    names = (left[0].rpartition("/")[2], " ".join(left[:2])) if left else ()
    return any(map(_LINTERS.fullmatch, names))


def is_recipe(name: str) -> bool:
    return _RECIPE_NAME.fullmatch(name) is not None
