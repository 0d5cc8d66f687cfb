"""Find the files that check commands run and read, also through scripts, recipes and settings."""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path, PurePosixPath

from ralph_tui.engine.core.project_tree import EXCLUDED_DIRECTORIES, is_source
from ralph_tui.engine.verification.detection.project_checks import RECIPE_FILES, recipes
from ralph_tui.engine.verification.detection.python_declarations import read_start
from ralph_tui.engine.verification.evidence.classify import is_named, lints, names_check
from ralph_tui.engine.verification.evidence.runners import (
    package_scripts,
    placed_programs,
    recognized_runners,
)

INTERPRETERS = re.compile(
    r"(python|pypy)[\d.]*|node|deno|bun|ruby|perl|php|(ba|da|z|k|fi)?sh|source|\.|\0"
)
_STEERING = re.compile(
    r"-[cp]|--[\w-]*(?:conf|rc|rule|ignore|baseline|project|setting|plugin)[\w-]*"
)
"""Options of linters whose values are files that say what to find."""
_EXAMPLES = frozenset({"doctest", "pytest", "unittest"})
"""Runners, whose operands are tests unless they are sources."""

_WORD = re.compile(r"[\w@%+./-]+")
_TOOLING = re.compile(r"(^|/)(scripts?|tools?|hack|\.?ci|dev)/")
"""Directories of programs that serve the development of a project."""

_PHONY = re.compile(r"^\.PHONY[ \t]*:([^\n]*(?:\\\n[^\n]*)*)", re.MULTILINE)
_MOST_DEPTH = 3
_MOST_WORDS = 1_000
_COMMAND = re.compile(r"`([\w./-][^`\n]*)`")


class CheckInputs:
    """The paths of one project that are inputs of its checks."""

    def __init__(self, root: Path, commands: Iterable[str], task_text: str = "") -> None:
        """Collect the inputs of `commands`; a file that `task_text` names may be the work itself."""
        self._root, self._task_text = root, task_text
        self.named: dict[str, None] = {}
        for command in commands:
            read: dict[str, None] = {}
            for place, program, self._judged in placed_programs(command):
                self._add_program(place, program)
                words = _WORD.findall(" ".join(program[:_MOST_WORDS]))
                read |= dict.fromkeys(path for word in words if (path := self._path(place, word)))
            self._add_read([*read])

    def _add_program(
        self, place: str, program: tuple[str, ...], depth: int = 0, *, beside_runner: bool = False
    ) -> None:
        """Add the files that a program runs or compares."""
        if not program:
            return
        if lints(program):
            for word, value in pairwise((*program, "")):
                option, _, joined = word.partition("=")
                path = self._path(place, joined or value) if _STEERING.fullmatch(option) else ""
                if path and not is_named(path, self._task_text):
                    self.named[path] = None
            return
        self._add_words(place, program, inside=depth > 0 and not beside_runner)
        if depth < _MOST_DEPTH:
            lines = tuple(self._started_by(place, program))
            tests = any(recognized_runners(line, self._root / where) for where, line in lines)
            for where, line in lines:
                for here, words, self._judged in placed_programs(line, where):
                    self._add_program(here, words, depth + 1, beside_runner=tests)

    def _add_read(self, paths: Sequence[str]) -> None:
        """Add what a command reads besides the work: of several files that it names, the others than the task names."""
        if len(paths) < 2:
            return
        for path in paths:
            if not is_source(path) and not is_named(path, self._task_text):
                self.named[path] = None

    def _add_words(self, place: str, program: tuple[str, ...], *, inside: bool) -> None:
        judged = self._judged and not inside
        runs = INTERPRETERS.fullmatch(PurePosixPath(program[0]).name) is not None
        module = program.index("-m") if "-m" in program else len(program)  # it reads the rest
        name = "".join(program[module + 1 : module + 2]).replace(".", "/")
        modules = (f"{name}.py", f"{name}/__main__.py") if runs and name else ()
        for position, word in enumerate((*program, *modules)):
            path = self._path(place, word.partition("::")[0])
            starts = not judged and (position == 0 or (runs and 0 < position < module))
            sourced = program[0] in {".", "source"}
            tests = not is_source(path) and not _EXAMPLES.isdisjoint(program)
            if path and (sourced or self._is_check(path, runs=starts or tests, inside=inside)):
                self._add_file(path, depth=0)
            own = self._path(place, f"{word.capitalize()}file")  # such as rake's, a program itself
            if own and not _kind_of_recipes(word):
                self._add_file(own, depth=0)

    def _started_by(self, place: str, program: tuple[str, ...]) -> Iterator[tuple[str, str]]:
        where, text = _recipe_file(self._root, place, program)
        if text:
            for _, lines in _recipes_run(text, program, follow=True):
                yield from ((where, line) for line in lines)
            return
        for hook in ("", "pre", "post"):  # which a package manager runs before and after a script
            yield from package_scripts(program, self._root, place, hook)

    def _path(self, place: str, word: str) -> str:
        return _inside(self._root, f"{place}/{word}" if place else word)

    def _is_check(self, path: str, *, runs: bool, inside: bool = False) -> bool:
        """Return whether a file that a command names checks the work, rather than being the work."""
        if names_check(path):
            return True
        name = path.rsplit("/", 1)[-1]
        if not runs or (inside and not _TOOLING.search(path)):
            return False
        return not re.search(rf"(?<![\w]){re.escape(name)}(?![\w])", self._task_text)

    def _add_file(self, path: str, *, depth: int) -> None:
        if path in self.named:
            return
        self.named[path] = None
        if depth > _MOST_DEPTH:
            return
        text = read_start(self._root / path)
        beside = str(PurePosixPath(path).parent)
        words = set(_WORD.findall(text))
        if path.endswith(".py"):
            words |= {f"{word.replace('.', '/')}.py" for word in words if not word.endswith(".py")}
        for word in words:
            found = self._path("", word) or self._path(beside, word)
            if found and self._is_check(found, runs=True, inside=True):
                self._add_file(found, depth=depth + 1)


def _recipes_run(
    text: str, program: Sequence[str], *, follow: bool = False
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the recipes that make or just runs, or its first one, each with its lines.

    The prerequisites of a recipe without lines are followed, because it only collects others; `follow` follows all.
    """
    found = recipes(text, _kind_of_recipes(program[0]))
    left = [word for word in program[1:] if word in found] or list(found)[:1]
    seen: set[str] = set()
    while left:
        if (name := left.pop(0)) not in seen:
            seen.add(name)
            needs, lines = found[name]
            yield name, lines
            left += [one for one in needs if one in found] if follow or not lines else []


def targets_exist(root: Path, command: str) -> bool:
    """Return whether a file has the name of a target that a command makes, so that make may do nothing. Blocks."""
    for place, program, _ in placed_programs(command):
        where, text = _recipe_file(root, place, program)
        phony = {one for names in _PHONY.findall(text) for one in names.split()}
        for target, _ in _recipes_run(text, program) if text else ():
            if target not in phony and (root / where / target).exists():
                return True
    return False


def builds(text: str, root: Path) -> tuple[str, ...]:
    """Return the commands that may build what a check reads: those the text has in backticks, and the script `build`."""
    named = [one for one in _COMMAND.findall(text) if " " in one]
    if any(package_scripts(("npm", "run", "build"), root)):
        named.append("npm run build")
    return tuple(dict.fromkeys(named))


def _kind_of_recipes(program: str) -> str:
    return {"make": "make", "gmake": "make", "just": "just"}.get(PurePosixPath(program).name, "")


def _recipe_file(root: Path, place: str, program: Sequence[str]) -> tuple[str, str]:
    where = place
    for option, value in pairwise(program):
        if option in {"-C", "--directory", "-d", "--working-directory"}:
            where = os.path.normpath(str(PurePosixPath(place, value)))
    files = RECIPE_FILES.get(_kind_of_recipes(program[0]), ()) if program else ()
    text = next((text for file in files if (text := read_start(root / where / file))), "")
    return where if files else place, text


def _inside(root: Path, word: str) -> str:
    if not word or word.startswith("-") or len(word) > 500:
        return ""
    try:
        found = Path(os.path.normpath(root / word))
        relative = found.relative_to(root).as_posix()
        return (
            relative
            if found.is_file() and not EXCLUDED_DIRECTORIES & set(relative.split("/"))
            else ""
        )
    except (ValueError, OSError):
        return ""
