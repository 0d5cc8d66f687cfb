"""Reads `guard/data/`: what programs do with their options and operands, and lists of words."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

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
_LISTS = names("chdir writes shell only unless target links manages sets-up code")
_VERSION = re.compile(r"[\d.-]+(?:t?w?)$")
_UNLISTED = Program()


@cache
def listed_words(key: str) -> frozenset[str]:
    return names(_words()[key])


@cache
def _words() -> Mapping[str, str]:
    return tomllib.loads(read_data("words.toml"))


@cache  # read when first needed, because the git shim does not
def _programs() -> Mapping[str, Program]:
    found: dict[str, Program] = {}
    for listed, said in tomllib.loads(read_data("programs.toml")).items():
        values, attached, long, digits = (said.pop(key, "") for key in _OPTIONS)
        said |= {key.replace("-", "_"): names(said.pop(key)) for key in _LISTS if key in said}
        said["rules"] = tuple(said.get("rules", "").split())
        program = Program(Spec(values, attached, names(long), digits), **said)
        found |= dict.fromkeys(listed.split(), program)
    return found


def program_named(name: str) -> Program:
    return _programs().get(name) or _programs().get(_VERSION.sub("", name), _UNLISTED)
