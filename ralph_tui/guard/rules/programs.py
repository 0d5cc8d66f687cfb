"""Judges programs by what programs.toml says of their options and operands."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from ralph_tui.guard.core.arguments import Spec, names, parse
from ralph_tui.guard.core.rule_context import Invocation, Rules, check_writes


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
    removes: re.Pattern[str] | None


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
            removes=re.compile(said["removes"]) if "removes" in said else None,
        )
        yield from dict.fromkeys(listed.split(), program).items()


PROGRAMS: Mapping[str, Program] = MappingProxyType(dict(_read()))


def _judge(call: Invocation) -> None:
    program = PROGRAMS[call.program]
    args = parse(call.arguments, program.spec)
    for text in args.values(*program.shell):
        call.walker.shell(text, call)
    named = args.values(*program.writes)
    check_writes([word for word in named if word.text != "-"], call, into=program.into)
    if args.has(*program.unless) or (program.only and not args.has(*program.only)):
        return
    operands = args.operands[program.skip : program.most] if program.operands else ()
    if program.operands == "remove":
        for word in operands:
            call.dirs.check_removal(word, call.shown)
    else:
        check_writes(operands, call, into=program.into)
    if program.here and not (named or operands):
        call.dirs.check_current_directory(call.shown, certain=False)


RULES: Rules = MappingProxyType(
    {
        name: _judge
        for name, program in PROGRAMS.items()
        if program.operands in ("write", "remove")
        or (program.operands != "run" and (program.writes or program.shell or program.here))
    }
)
