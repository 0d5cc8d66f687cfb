"""Reads what programs.toml says of the options and operands of programs."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from ralph_tui.guard.core.arguments import Spec, names


@dataclass(frozen=True, slots=True)
class Program:
    """A program; programs.toml explains the attributes."""

    spec: Spec
    writes: frozenset[str]
    shell: frozenset[str]
    only: frozenset[str]
    commits: frozenset[str]
    unless: frozenset[str]
    operands: str
    skip: int
    most: int | None
    into: bool
    here: bool
    assigns: bool
    code: frozenset[str] | None
    feed: bool
    elsewhere: bool
    removes: re.Pattern[str] | None
    harms: re.Pattern[str] | None


_LISTS = ("writes", "shell", "only", "unless", "commits")


def _read() -> Iterator[tuple[str, Program]]:
    text = (Path(__file__).parent / "data" / "programs.toml").read_text(encoding="utf-8")
    for listed, said in tomllib.loads(text).items():
        options = {key: names(said.get(key, "")) for key in _LISTS}
        values, attached, digits = (said.get(key, "") for key in ("values", "attached", "digits"))
        spec = Spec(values, attached, names(said.get("long", "")), digits)
        program = Program(
            spec,
            **options,
            operands=said.get("operands", ""),
            skip=said.get("skip", 0),
            most=said.get("most"),
            into=said.get("into", False),
            here=said.get("here", False),
            assigns=said.get("assigns", False),
            code=names(said["code"]) if "code" in said else None,
            feed=said.get("feed", False),
            elsewhere=said.get("elsewhere", False),
            removes=re.compile(said["removes"]) if "removes" in said else None,
            harms=re.compile(said["harms"]) if "harms" in said else None,
        )
        yield from dict.fromkeys(listed.split(), program).items()


PROGRAMS: Mapping[str, Program] = MappingProxyType(dict(_read()))
