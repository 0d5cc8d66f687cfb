"""Refuses what refusals.toml lists: programs by what they are called with, for the reason of a table."""

import fnmatch
import re
import tomllib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ralph_tui.guard.core.arguments import Spec, names, parse, read_data
from ralph_tui.guard.core.rule_context import Invocation
from ralph_tui.guard.core.verdicts import deny


@dataclass(frozen=True, slots=True)
class _Refusal:
    when: re.Pattern[str]
    unless: re.Pattern[str]
    spec: Spec | None
    rule: str
    reason: str
    instead: str


def _read() -> Mapping[str, Sequence[_Refusal]]:
    found: dict[str, list[_Refusal]] = defaultdict(list)
    for said in tomllib.loads(read_data("refusals.toml")).values():
        spec = Spec(said["values"], long=names(said.get("long", ""))) if "values" in said else None
        unless = _expression(said.get("unless", r"(?!)"))
        for listed, when in said["programs"].items():
            called = _expression(rf"(?:{when})(?!\S)")
            for name in listed.split():
                found[name].append(
                    _Refusal(called, unless, spec, said["rule"], said["reason"], said["instead"])
                )
    return dict(found)


def _expression(text: str) -> re.Pattern[str]:
    return re.compile(text.replace("\n", ""))


_REFUSALS = _read()


@lru_cache(maxsize=256)
def _refusals(program: str) -> Sequence[_Refusal]:
    like = [n for n in _REFUSALS if "*" in n and fnmatch.fnmatchcase(program, n)]
    return _REFUSALS.get(program) or [refusal for name in like for refusal in _REFUSALS[name]]


def refuse_listed(call: Invocation) -> None:
    for refusal in _refusals(call.program):
        text = parse(call.arguments, refusal.spec or call.listed.spec).as_text()
        if refusal.when.match(text) and not refusal.unless.search(text):
            reason = refusal.reason.format(program=call.program)
            deny(refusal.rule, call.shown, reason, refusal.instead)
