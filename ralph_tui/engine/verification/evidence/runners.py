"""Recognize the test runners that a check starts, and make them write reports for ralph."""

import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path, PurePosixPath

from ralph_tui.domain.base import Model
from ralph_tui.domain.verification.verification import RunnerKind
from ralph_tui.engine.verification.detection.project_checks import read_package
from ralph_tui.engine.verification.detection.python_declarations import DirectoryFiles, table
from ralph_tui.guard.shell.nodes import Compound, Script, Simple, UnreadableError
from ralph_tui.guard.shell.parser import read_shell

REPORTERS = Path(__file__).parent / "reporters"
"""The directory of the reporters that test runners load; no agent may write to it."""

DIRECTORY = "RALPH_TEST_REPORT"
ONLY = "RALPH_TEST_ONLY"
"""The variable that names the tests to run, one a line; pytest's reporter leaves the others out."""
JEST_REPORT = "jest.json"

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=.*", re.DOTALL)
_PYTHON = re.compile(r"(?:python|pypy)[\d.]*")
_WRAPPERS = {
    "uv": ("run",), "poetry": ("run",), "pdm": ("run",), "hatch": ("run",), "pipenv": ("run",),
    "rye": ("run",), "npm": ("exec",), "pnpm": ("exec", "dlx"), "yarn": ("run", "exec"), "bun": ("x",),
    "npx": (), "bunx": (), "time": (), "env": (), "nice": (), "command": (), "exec": (), "timeout": (),
    "gtimeout": (), "coverage": ("run",), "c8": (), "nyc": (), "cross-env": (),
}  # fmt: skip
"""Programs that run another program, with the words that may be between them."""
_OPTIONS_WITH_VALUE = frozenset({
    "--group", "--extra", "--with", "--only-group", "--package", "--project", "--directory", "--python",
    "-p", "--env-file", "--with-requirements", "--index", "--no-group", "-C", "-n", "-u", "-m", "--source",
    "--rcfile", "--no-extra", "--with-editable", "--config-file", "--cache-dir", "--omit", "--include",
})  # fmt: skip
_SCRIPT_NAMES = frozenset({"test", "t", "tst"})
_ALL_PACKAGES = frozenset({"--workspaces", "-ws", "--recursive", "-r"})
_MOST_SCRIPTS = 3
_ASKED = frozenset({RunnerKind.JEST, RunnerKind.VITEST})
_SHELL = re.compile(r"(?:ba|da|z|k|fi)?sh")
_SHELL_TEXT = re.compile(r"-[a-z]*c[a-z]*")


class Reporting(Model):
    """A check that was changed so that its runners report."""

    command: str
    environment: dict[str, str]
    runners: tuple[RunnerKind, ...]
    """The runners that the command itself starts; each must report."""


def with_reporting(command: str, root: Path, directory: Path) -> Reporting:
    """Return `command` changed so that its runners report to `directory`.

    Environment variables configure Python and node, so that runners inside scripts report as well.
    """
    runners = recognized_runners(command, root)
    changed = _with_options(command, runners, directory)
    if changed == command:  # jest and vitest report only when asked by an argument
        runners = tuple(one for one in runners if one not in _ASKED)
    return Reporting(command=changed, environment=_environment(directory, runners), runners=runners)


def join_environments(base: Mapping[str, str], added: Mapping[str, str]) -> dict[str, str]:
    """Return an environment with added variables; paths and options in both are joined, the added ones first."""
    joined = {**base, **added}
    for name, between in (("PYTHONPATH", ":"), ("PYTEST_ADDOPTS", " "), ("NODE_OPTIONS", " ")):
        if base.get(name) and added.get(name):
            joined[name] = f"{added[name]}{between}{base[name]}"
    return joined


def _environment(directory: Path, runners: tuple[RunnerKind, ...]) -> dict[str, str]:
    node, watch = REPORTERS / "ralph_node_report.mjs", REPORTERS / "ralph_node_watch.mjs"
    of_node = (
        f'--import="{watch}" --test-reporter="{node}" --test-reporter-destination=stdout '
        "--test-reporter=spec --test-reporter-destination=stdout"
    )
    of_pytest = {"PYTHONPATH": str(REPORTERS), "PYTEST_ADDOPTS": "-p ralph_pytest_report"}
    return (
        {DIRECTORY: str(directory)}
        | (of_pytest if RunnerKind.PYTEST in (runners or RunnerKind) else {})
        | ({"NODE_OPTIONS": of_node} if runners == (RunnerKind.NODE,) else {})
    )


def _with_options(command: str, runners: tuple[RunnerKind, ...], directory: Path) -> str:
    target = shlex.quote(str(directory / JEST_REPORT))
    if RunnerKind.UNITTEST in runners:
        command = re.sub(r"(?<=\s)(?:-q|--quiet)(?=\s|$)", "-v", command)
        command = re.sub(r"(?<=\s)-m\s+unittest(\s+discover)?(?=\s|$)", r"\g<0> -v", command)
    if RunnerKind.GO in runners:
        command = re.sub(r"\bgo\s+test\b", "go test -v", command)
    if RunnerKind.JEST in runners:
        return _with_arguments(command, f"--json --outputFile={target}")
    if RunnerKind.VITEST in runners:
        return _with_arguments(
            command, f"--reporter=default --reporter=json --outputFile.json={target}"
        )
    return command


def _with_arguments(command: str, arguments: str) -> str:
    words = [one for _, one, _ in _placed_commands(command) if one[0] != "cd"]
    if len(words) != 1:
        return command
    plain = command.rstrip()
    line = plain.rstrip(") ")
    through_npm = words[0][:1] == ["npm"] and words[0][1:2] != ["exec"]
    separator = " --" if through_npm and "--" not in words[0] else ""
    return f"{line}{separator} {arguments}{plain[len(line) :]}"


def recognized_runners(command: str, root: Path) -> tuple[RunnerKind, ...]:
    """Return the runners that a command starts directly or through a package script."""
    started = _placed_commands(command)
    found = (_runner(words) or _script_runner(words, root, place) for place, words, _ in started)
    return tuple(dict.fromkeys(filter(None, found)))


def placed_programs(
    command: str, place: str = "", *, judged: bool = False
) -> Iterator[tuple[str, tuple[str, ...], bool]]:
    """Yield each program that a command starts, also inside `sh -c`.

    Each comes with the directory it runs in, and with whether another program reads its output and so judges it.

    Args:
        place: The directory of the command, relative to the project.
    """
    for directory, words, read in _placed_commands(command, place, judged=judged):
        left = _unwrapped(words)
        yield directory, tuple(left), read
        shell = bool(left) and _SHELL.fullmatch(PurePosixPath(left[0]).name) is not None
        texts = (text for option, text in pairwise(left) if _SHELL_TEXT.fullmatch(option))
        if shell and (text := next(texts, "")):
            yield from placed_programs(text, directory, judged=read)


_Placed = Iterator[tuple[str, list[str], bool]]


def _placed_commands(command: str, place: str = "", *, judged: bool = False) -> _Placed:
    try:
        yield from _commands(read_shell(command), place, judged=judged)
    except (UnreadableError, RecursionError):  # such as a recipe for make
        yield place, command.split(), judged


def _commands(script: Script, place: str, *, judged: bool) -> _Placed:
    for pipeline in script.pipelines:
        for number, stage in enumerate(pipeline.stages, 1):
            read = judged or number < len(pipeline.stages)
            written = [*stage.words, *(one.target for one in stage.redirects)]
            inner = [script for word in written for script in word.scripts]
            if isinstance(stage, Compound):
                for body in stage.bodies:
                    yield from _commands(body, place, judged=read)
            else:
                inner += [script for one in stage.assignments for script in one.value.scripts]
            for script_inside in inner:
                yield from _commands(script_inside, place, judged=True)
            if isinstance(stage, Simple) and stage.words:
                yield place, [one.text for one in written], read
                if stage.values[:1] == ("cd",) and stage.words[1:]:
                    place = os.path.normpath(str(PurePosixPath(place, stage.values[-1])))


def _unwrapped(words: list[str]) -> list[str]:
    """Return a command without the programs that run it for another one, such as `uv run` and `timeout 60`."""
    left, inside = list(words), False
    while left:
        name = PurePosixPath(left[0]).name
        verbs = _WRAPPERS.get(name)
        if _ASSIGNMENT.fullmatch(left[0]):
            taken = 1
        elif verbs is not None and (not verbs or {*left[1:2]} & {*verbs}):
            taken, inside = 1 + bool(verbs), True
        elif name in {"pnpm", "yarn"} and left[1:2] and left[1] in {"jest", "vitest"}:
            taken = 1
        elif inside and left[0] == "-m":
            return ["python", *left]
        elif inside and (left[0].startswith("-") or left[0][0].isdecimal()):
            taken = 2 if left[0] in _OPTIONS_WITH_VALUE else 1
        else:
            break
        left = left[taken:]
    return left


def _runner(words: list[str]) -> RunnerKind | None:
    left = _unwrapped(words)
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
        return found if verbs[:1] in (["test"], ["t"]) and "-json" not in left else None
    return None


def _module_runner(words: list[str]) -> RunnerKind | None:
    left = words[1:]
    while left and left[0].startswith("-") and left[0] != "-m":
        left = left[2 if left[0] in {"-W", "-X"} else 1 :]
    modules = {"pytest": RunnerKind.PYTEST, "unittest": RunnerKind.UNITTEST}
    return modules.get(left[1]) if left[:1] == ["-m"] and len(left) > 1 else None


def _script_runner(words: list[str], root: Path, place: str, depth: int = 0) -> RunnerKind | None:
    scripts = [
        [*_placed_commands(text, where)] for where, text in package_scripts(words, root, place)
    ]
    lines = [line for script in scripts if len(script) == 1 for line in script]
    if len(scripts) == len(lines) == 1 and (found := _runner(lines[0][1])):
        return found
    inner = (
        _runner(line) or _script_runner(line, root, here, depth + 1) for here, line, _ in lines
    )
    return RunnerKind.NODE if depth < _MOST_SCRIPTS and RunnerKind.NODE in inner else None


def package_scripts(
    words: Sequence[str], root: Path, place: str = "", hook: str = ""
) -> Iterator[tuple[str, str]]:
    """Yield the package scripts that a command such as `npm test` runs, or their hooks, each with its directory."""
    left = [word for word in words if not _ASSIGNMENT.fullmatch(word)]
    names = [word for word in left[1:] if not word.startswith("-") and word != "run"]
    if not names or left[0] not in {"npm", "pnpm", "yarn"}:
        return
    name = hook + ("test" if names[0] in _SCRIPT_NAMES else names[0])
    files = DirectoryFiles(root / place)
    for one in (".",) if _ALL_PACKAGES.isdisjoint(left) else files.inner():
        scripts = table(read_package(files.below(one)) or {}, "scripts")
        if text := scripts.get(name):
            yield os.path.normpath(PurePosixPath(place, one)), str(text)
