"""Finds what a shell command's exit status says: statuses that are lost, and pipes whose reader ends early."""

import re
from collections.abc import Iterator
from itertools import pairwise

from ralph_tui.domain.base import Model
from ralph_tui.guard.shell.nodes import Command, Compound, Pipeline, Script, Simple, UnreadableError
from ralph_tui.guard.shell.parser import read_shell

_SAYS_NOTHING = frozenset({
    "echo", "printf", "true", ":", "cat", "tail", "head", "date", "sleep", "wait", "ls", "pwd", "set",
})  # fmt: skip
_PREPARES = frozenset({"cd", "export", "mkdir", "rm", "source", ".", "unset", "trap", "umask"})
_SHELL = re.compile(r"(?:.*/)?(?:ba|da|z|k)?sh")
_PIPEFAIL = "set -o pipefail;"
_UNLESS_READER_ENDED = " || (exit $(($? == 141 ? 0 : $?))); }"
"""141 is the status of a program that SIGPIPE ended, because nobody reads its output any more."""


class LostStatus(Model):
    """A command whose failure does not show in the exit status of the whole."""

    part: str
    instead: str
    """How to write the whole so that the failure shows."""

    @property
    def sentence(self) -> str:
        return f"the status of `{self.part}` is lost; write it as `{self.instead}`"


def lost_status(text: str) -> LostStatus | None:
    """Return the command whose failure `text` hides, as in `npm test || true` or `npm test; echo done`."""
    try:
        script = read_shell(text)
    except (UnreadableError, RecursionError):
        return None
    if not _always_succeeds(script):
        return None
    first = next((one for one in _checks(script)), None)
    return (
        LostStatus(part=first.raw, instead=_without_mask(script, text) or first.raw)
        if first
        else None
    )


def with_pipe_failures(text: str) -> str:
    """Return a command that fails with any stage of a pipe, unless the stage ended because its reader did.

    A reader such as `head` may end before its writer, which SIGPIPE then ends. That is no failure.
    """
    try:
        spans = tuple(_written_stages(read_shell(text)))
    except (UnreadableError, RecursionError):
        return f"{_PIPEFAIL} {text}"
    inserts = [(start, "{ ") for start, _ in spans]
    inserts += [(end, _UNLESS_READER_ENDED) for _, end in spans]
    for place, words in sorted(inserts, reverse=True):
        text = f"{text[:place]}{words}{text[place:]}"
    return f"{_PIPEFAIL} {text}"


def _written_stages(script: Script) -> Iterator[tuple[int, int]]:
    for pipeline in script.pipelines:
        yield from pipeline.spans[:-1]
        for stage in pipeline.stages:
            for body in stage.bodies if isinstance(stage, Compound) else ():
                yield from _written_stages(body)


def _lists(script: Script) -> Iterator[tuple[Pipeline, ...]]:
    found: list[Pipeline] = []
    for pipeline in script.pipelines:
        found.append(pipeline)
        if pipeline.operator not in ("&&", "||"):
            yield tuple(found)
            found = []
    if found:
        yield tuple(found)


def _always_succeeds(script: Script) -> bool:
    lists = list(_lists(script))
    if not lists:
        return True
    ends_on_error = any(_sets_errexit(stage) for one in lists for stage in one[0].stages)
    decisive = lists if ends_on_error else lists[-1:]
    return all(_list_succeeds(one) for one in decisive) and not _may_exit(script)


def _may_exit(script: Script) -> bool:
    operators = ("", *(pipeline.operator for pipeline in script.pipelines))
    return any(
        _exits(pipeline.stages[0], after_failure=before == "||")
        for before, pipeline in zip(operators, script.pipelines, strict=False)
        if len(pipeline.stages) == 1 and pipeline.operator != "&"
    )


def _exits(command: Command, *, after_failure: bool) -> bool:
    if isinstance(command, Simple):
        shown = command.values[:2] != ("exit", "0") and (len(command.values) > 1 or after_failure)
        return command.values[:1] == ("exit",) and shown
    return command.kind != "subshell" and any(map(_may_exit, command.bodies))


def _sets_errexit(command: Command) -> bool:
    values = command.values if isinstance(command, Simple) else ()
    return values[:1] == ("set",) and any(
        re.fullmatch(r"-\w*e\w*|errexit", value) for value in values[1:]
    )


def _list_succeeds(pipelines: tuple[Pipeline, ...]) -> bool:
    if pipelines[-1].operator == "&":
        return True
    succeeds = all(map(_succeeds, pipelines[0].stages))
    for before, pipeline in pairwise(pipelines):
        one = all(map(_succeeds, pipeline.stages))
        succeeds = succeeds or one if before.operator == "||" else succeeds and one
    return succeeds


def _succeeds(command: Command) -> bool:
    if isinstance(command, Simple):
        values = command.values
        if not values or values[0] in _SAYS_NOTHING or values[:2] == ("exit", "0"):
            return True
        inner = _shell_text(command)
        return inner is not None and _always_succeeds(inner)
    if command.kind in ("group", "subshell", "loop"):
        return _always_succeeds(command.bodies[-1])
    if command.kind == "if":
        branches = command.bodies[1::2]
        last = command.bodies[-1:] if len(command.bodies) % 2 else ()
        return all(map(_always_succeeds, (*branches, *last)))
    return command.kind == "function"


def _shell_text(command: Simple) -> Script | None:
    values = command.values
    if len(values) < 3 or not _SHELL.fullmatch(values[0]) or not re.fullmatch(r"-\w*c", values[1]):
        return None
    try:
        return read_shell(values[2], -1)
    except (UnreadableError, RecursionError):
        return None


def _checks(script: Script) -> Iterator[Simple]:
    for command in script.commands():
        if isinstance(command, Compound):
            if command.kind != "function":
                for body in command.bodies:
                    yield from _checks(body)
        elif (inner := _shell_text(command)) is not None:
            yield from _checks(inner)
        elif command.values and command.values[0] not in _SAYS_NOTHING | _PREPARES | {"exit"}:
            yield command


def _without_mask(script: Script, text: str) -> str:
    kept: list[str] = []
    for pipelines in _lists(script):
        decisive = [p for p in pipelines if not all(map(_succeeds, p.stages))]
        if not decisive or not pipelines[0].spans:
            continue
        start, end = pipelines[0].spans[0][0], decisive[-1].spans[-1][1]
        kept.append(text[start:end].strip())
    return " && ".join(kept)
