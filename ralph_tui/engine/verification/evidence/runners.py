"""Recognize the test runner that a check starts, and make it write a report for ralph."""

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

from ralph_tui.domain.base import Model
from ralph_tui.domain.verification.test_counts import RunnerKind

REPORTERS = Path(__file__).parent / "reporters"
"""The directory of reporters that the project's runner loads; no agent may write to it."""

DIRECTORY = "RALPH_TEST_REPORT"
NODE_REPORT = "node.jsonl"
JEST_REPORT = "jest.json"

_SEPARATORS = frozenset({"&&", "||", ";", "|", "&", "(", ")", "|&", ";;"})
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=.*", re.DOTALL)
_PYTHON = re.compile(r"(?:python|pypy)[\d.]*")
_PYTHON_SCRIPT = re.compile(
    r"(?P<python>(?<![\w@%+.-])(?:python|pypy)[\d.]*(?:\s+(?:-[BbdEIOPqRsSuv]+|-[WX]\s*[^\s-]\S*))*)"
    r"\s+(?P<script>[\w@%+./-]+\.py)(?=\s|$)"
)
_NODE_SCRIPT = re.compile(r"[\w@%+./-]+\.[cm]?js")
_OTHERWISE = re.compile(r"[|;<>`!\n]|\$\(|(?<!&)&(?!&)")
SCRIPT_WRAPPER = "ralph_script_end.py"
_CARRIERS = {
    "uv": ("run",), "poetry": ("run",), "pdm": ("run",), "hatch": ("run",), "pipenv": ("run",),
    "rye": ("run",), "npm": ("exec",), "pnpm": ("exec", "dlx"), "yarn": ("run", "exec"), "bun": ("x",),
}  # fmt: skip
"""Programs that run another program after these words, or directly without any."""
_PLAIN_CARRIERS = frozenset(
    {"npx", "bunx", "time", "env", "nice", "command", "exec", "pnpm", "yarn"}
)
_TAKING_A_VALUE = frozenset({
    "--group", "--extra", "--with", "--only-group", "--package", "--project", "--directory", "--python",
    "-p", "--env-file", "--with-requirements", "--index", "--no-group", "-C", "-n", "-u", "-m", "--source",
    "--rcfile", "--no-extra", "--with-editable", "--config-file", "--cache-dir", "--omit", "--include",
})  # fmt: skip
_SCRIPT_NAMES = frozenset({"test", "t", "tst"})


class Reporting(Model):
    """A check changed so that its runners report."""

    command: str
    environment: dict[str, str]
    runners: tuple[RunnerKind, ...]
    """The runners that the command itself starts; each must write a report."""
    scripts: tuple[str, ...] = ()
    """The scripts that interpreters run in it, each of which owes a word about its end."""


def report_from(command: str, root: Path, directory: Path) -> Reporting:
    """Make the runners of `command` report to `directory`.

    Python and node are configured by the environment, so that runners inside scripts report as well.
    """
    runners = recognized(command, root)
    changed = _with_options(command, runners, directory)
    environment = _environment(directory)
    changed, scripts = _with_wrapper(changed)
    if node := _node_script(command, root):
        environment["NODE_OPTIONS"] = f'--require="{REPORTERS / "ralph_node_script.cjs"}"'
        environment["RALPH_TEST_SCRIPT"] = node
        scripts += (node,)
    elif RunnerKind.NODE not in runners:  # an older node refuses unknown options
        environment.pop("NODE_OPTIONS")
    return Reporting(command=changed, environment=environment, runners=runners, scripts=scripts)


def join_environments(base: Mapping[str, str], added: Mapping[str, str]) -> dict[str, str]:
    """Add variables to an environment; paths and options that both have are joined, the added ones first."""
    joined = {**base, **added}
    for name, between in (("PYTHONPATH", ":"), ("PYTEST_ADDOPTS", " "), ("NODE_OPTIONS", " ")):
        if base.get(name) and added.get(name):
            joined[name] = f"{added[name]}{between}{base[name]}"
    return joined


def _environment(directory: Path) -> dict[str, str]:
    node, watch = REPORTERS / "ralph_node_report.mjs", REPORTERS / "ralph_node_watch.mjs"
    return {
        DIRECTORY: str(directory),
        "PYTHONPATH": str(REPORTERS),
        "PYTEST_ADDOPTS": "-p ralph_pytest_report",
        "NODE_OPTIONS": (
            f'--import="{watch}" --test-reporter="{node}" --test-reporter-destination="{directory / NODE_REPORT}" '
            "--test-reporter=spec --test-reporter-destination=stdout"
        ),
    }


def _with_options(command: str, runners: tuple[RunnerKind, ...], directory: Path) -> str:
    """Return the command with the options of runners that are configured by arguments only."""
    target = shlex.quote(str(directory / JEST_REPORT))
    if RunnerKind.UNITTEST in runners:
        command = re.sub(r"(?<=\s)-m\s+unittest(?=\s|$)", "-m ralph_unittest_report", command)
    if RunnerKind.GO in runners and " -json" not in command:
        command = re.sub(r"\bgo\s+test\b", "go test -json", command)
    single = len(list(_commands(command))) == 1
    if single and RunnerKind.JEST in runners:
        command += f"{_dashes(command)} --json --outputFile={target}"
    elif single and RunnerKind.VITEST in runners:
        command += (
            f"{_dashes(command)} --reporter=default --reporter=json --outputFile.json={target}"
        )
    return command


def _with_wrapper(command: str) -> tuple[str, tuple[str, ...]]:
    """Return the command with Python scripts run by ralph's wrapper, and these scripts.

    Only where each part must succeed: whether the script of `python a.py || true` failed is not asked.
    """
    if not _must_succeed(command):
        return command, ()
    known = {
        word
        for words in programs(command)
        if words and _PYTHON.fullmatch(PurePosixPath(words[0]).name)
        for word in words[1:]
    }
    scripts: list[str] = []

    def wrapped(match: re.Match[str]) -> str:
        if match["script"] not in known:
            return match[0]
        scripts.append(match["script"])
        return f"{match['python']} {shlex.quote(str(REPORTERS / SCRIPT_WRAPPER))} {match['script']}"

    return _PYTHON_SCRIPT.sub(wrapped, command), tuple(scripts)


def _node_script(command: str, root: Path) -> str:
    """Return the script that node runs as the only program of a command, or of the package script it names."""
    found = list(_commands(command)) if _must_succeed(command) else []
    if len(found) != 1:
        return ""
    words = _carried(found[0])
    if words[:1] and words[0] in {"npm", "pnpm", "yarn"}:
        script = _package_script(found[0], root)
        inner = list(_commands(script)) if _must_succeed(script) else []
        words = _carried(inner[0]) if len(inner) == 1 else []
    plain = len(words) > 1 and PurePosixPath(words[0]).name == "node"
    return words[1].removeprefix("./") if plain and _NODE_SCRIPT.fullmatch(words[1]) else ""


def _must_succeed(command: str) -> bool:
    """Return whether a command ends with status 0 only when each program in it does."""
    return not _OTHERWISE.search(command) and not re.search(r"\benv\s+-", command)


def _dashes(command: str) -> str:
    """Return the separator that npm needs before a script's arguments."""
    words = command.split()
    through_npm = words[:1] == ["npm"] and words[1:2] != ["exec"]
    return " --" if through_npm and "--" not in words else ""


def recognized(command: str, root: Path) -> tuple[RunnerKind, ...]:
    """Return the runners that a command starts directly or through a package script."""
    found: dict[RunnerKind, None] = {}
    for words in _commands(command):
        runner = _runner(words) or _script_runner(words, root)
        if runner is not None:
            found[runner] = None
    return tuple(found)


def programs(command: str) -> tuple[tuple[str, ...], ...]:
    """Return the words of each program that a command starts, without wrappers such as `uv run`."""
    return tuple(tuple(_carried(words)) for words in _commands(command))


def _commands(command: str) -> Iterator[list[str]]:
    """Yield the simple commands of a line, and none of what bash would reject."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.commenters = ""
    words: list[str] = []
    try:
        for token in lexer:
            if token in _SEPARATORS:
                if words:
                    yield words
                words = []
            else:
                words.append(token)
    except ValueError:
        return
    if words:
        yield words


def _carried(words: list[str]) -> list[str]:
    """Return the words from the program on that really runs."""
    left = list(words)
    for _ in range(8):
        while left and _ASSIGNMENT.fullmatch(left[0]):
            left = left[1:]
        shorter = _without_carrier(left)
        if shorter is None:
            return left
        left = shorter
    return left


def _without_carrier(words: list[str]) -> list[str] | None:
    """Return the words behind a wrapper program, or None for any other program."""
    if not words:
        return None
    name = PurePosixPath(words[0]).name
    if name in {"timeout", "gtimeout"}:
        return _without_options(words[1:])[1:]
    if name == "coverage" and words[1:2] == ["run"]:
        rest = words[2:]
        module = rest.index("-m") if "-m" in rest else -1
        return ["python", *rest[module:]] if module >= 0 else ["python", *_without_options(rest)]
    verbs = _CARRIERS.get(name, ())
    if words[1:2] and words[1] in verbs:
        return _without_options(words[2:])
    if name in _PLAIN_CARRIERS and name not in _CARRIERS:
        return _without_options(words[1:])
    if name in {"pnpm", "yarn"} and words[1:2] and words[1] in {"jest", "vitest"}:
        return words[1:]
    return None


def _without_options(words: list[str]) -> list[str]:
    left = list(words)
    while left and left[0].startswith("-"):
        taken = 2 if left[0] in _TAKING_A_VALUE else 1
        if left[0] == "-m":
            return ["python", *left]
        left = left[taken:]
    return left


def _runner(words: list[str]) -> RunnerKind | None:
    left = _carried(words)
    if not left:
        return None
    name = PurePosixPath(left[0]).name
    if _PYTHON.fullmatch(name):
        return _module_runner(left)
    if name == "node":
        return RunnerKind.NODE if "--test" in left else None
    if name == "vitest":
        return RunnerKind.VITEST if left[1:2] != ["watch"] else None
    plain = {"pytest": RunnerKind.PYTEST, "py.test": RunnerKind.PYTEST, "jest": RunnerKind.JEST}
    if name in plain:
        return plain[name]
    if name in {"cargo", "go"}:
        verbs = [word for word in left[1:] if not word.startswith(("-", "+"))]
        found = RunnerKind.CARGO if name == "cargo" else RunnerKind.GO
        return found if verbs[:1] in (["test"], ["t"]) else None
    return None


def _module_runner(words: list[str]) -> RunnerKind | None:
    """Return the runner of `python … -m NAME`."""
    left = words[1:]
    while left and left[0].startswith("-") and left[0] != "-m":
        left = left[2 if left[0] in {"-W", "-X"} else 1 :]
    modules = {"pytest": RunnerKind.PYTEST, "unittest": RunnerKind.UNITTEST}
    return modules.get(left[1]) if left[:1] == ["-m"] and len(left) > 1 else None


def _script_runner(words: list[str], root: Path) -> RunnerKind | None:
    """Return the runner of a package script that is one command, such as `npm test`."""
    commands = list(_commands(_package_script(words, root)))
    return _runner(commands[0]) if len(commands) == 1 else None


def _package_script(words: list[str], root: Path) -> str:
    """Return the text of the package script that `npm test` and its like run; empty for anything else."""
    left = [word for word in words if not _ASSIGNMENT.fullmatch(word)]
    if not left or left[0] not in {"npm", "pnpm", "yarn"}:
        return ""
    names = [word for word in left[1:] if not word.startswith("-") and word != "run"]
    if not names:
        return ""
    return _script(root, "test" if names[0] in _SCRIPT_NAMES else names[0])


def _script(root: Path, name: str) -> str:
    try:
        scripts = json.loads((root / "package.json").read_bytes()).get("scripts", {})
        return str(scripts.get(name, ""))
    except (OSError, ValueError, AttributeError):
        return ""
