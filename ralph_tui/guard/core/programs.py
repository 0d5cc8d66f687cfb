"""Reads `guard/data/`: what programs do with their options and operands, and lists of words."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from ralph_tui.guard.core.arguments import NO_VALUES, Spec, names, read_data

_NONE: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Program:
    """A program; programs.toml explains the attributes."""

    spec: Spec = NO_VALUES
    rules: tuple[str, ...] = ()
    stop: bool = False
    chdir: frozenset[str] = _NONE
    writes: frozenset[str] = _NONE
    shell: frozenset[str] = _NONE
    only: frozenset[str] = _NONE
    unless: frozenset[str] = _NONE
    target: frozenset[str] = _NONE
    links: frozenset[str] = _NONE
    manages: frozenset[str] = _NONE
    sets_up: frozenset[str] = _NONE
    code: frozenset[str] | None = None
    operands: str = ""
    skip: int = 0
    most: int | None = None
    into: bool = False
    moves: bool = False
    here: bool = False
    assigns: bool = False
    feed: bool = False
    elsewhere: bool = False

    @property
    def acts(self) -> bool:
        return bool(self.operands or self.writes or self.shell or self.here or self.feed)


_OPTIONS = ("values", "attached", "long", "digits")
_LISTS = (
    "chdir",
    "writes",
    "shell",
    "only",
    "unless",
    "target",
    "links",
    "manages",
    "sets-up",
    "code",
)


WORDS: Mapping[str, frozenset[str]] = MappingProxyType(
    {key: names(words) for key, words in tomllib.loads(read_data("words.toml")).items()}
)


def _read() -> Iterator[tuple[str, Program]]:
    for listed, said in tomllib.loads(read_data("programs.toml")).items():
        values, attached, long, digits = (said.pop(key, "") for key in _OPTIONS)
        said |= {key.replace("-", "_"): names(said.pop(key)) for key in _LISTS if key in said}
        said["rules"] = tuple(said.get("rules", "").split())
        program = Program(Spec(values, attached, names(long), digits), **said)
        yield from dict.fromkeys(listed.split(), program).items()


_PROGRAMS: Mapping[str, Program] = MappingProxyType(dict(_read()))
_UNLISTED = Program()
_VERSION = re.compile(r"[\d.-]+(?:t?w?)$")


def program_named(name: str) -> Program:
    return _PROGRAMS.get(name) or _PROGRAMS.get(_VERSION.sub("", name), _UNLISTED)
