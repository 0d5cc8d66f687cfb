"""Judges sed and awk scripts, which may write files, start programs and edit files in place."""

import re
from collections.abc import Iterator, Sequence
from types import MappingProxyType

from ralph_tui.guard.core.arguments import Spec, names, parse
from ralph_tui.guard.core.rule_context import Invocation, Rules, refuse_unreadable
from ralph_tui.guard.rules.inline_code import STDIN, judge_possible_command
from ralph_tui.guard.rules.signals import judge_signals_in_code
from ralph_tui.guard.shell.nodes import UNKNOWN, Word, literal

_AWK_JOIN = re.compile(r'(?<!\\)"\s*"')
"""The gap between two strings that awk joins."""
_AWK_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
_AWK_STARTS = re.compile(r'system\s*\(|"\s*\|&?\s*getline|\|&?\s*["a-zA-Z_$(]')
_AWK_STARTED = re.compile(
    r'system\s*\((?:\s|"\s*")*(\$|[A-Za-z_]\w*)|(\$|\b[A-Za-z_]\w*)[\w\])]*\s*\|&?\s*getline'
    r"|\|&?\s*(?!getline)(\$|[A-Za-z_]\w*)"
)
"""Starts a program that a field or variable names, not a string in the code."""
_MAX_STARTED = 20
_AWK_REGEX = re.compile(r"(?<=[~(,!{};&|\s])/(?:[^/\\\n]|\\.)*/|^/(?:[^/\\\n]|\\.)*/")
_AWK_WRITE = re.compile(r'print[^;}\n]*>>?\s*"((?:[^"\\]|\\.)*)"')
_AWK_WRITE_BY_NAME = re.compile(r"print[^;}\n]*>>?\s*[A-Za-z_(]")

_ADDRESS = re.compile(r"\s*(?:\d+(?:~\d+)?|\$|\+\d+|~\d+)?[\s,!;{}]*")


def _awk_starts_programs(code: str) -> bool:
    without = _AWK_REGEX.sub("//", code).replace("||", "")
    return bool(_AWK_STARTS.search(without))


def _awk_starts_input(code: str) -> bool:
    plain = _AWK_REGEX.sub("//", code).replace("||", "")
    started = {match[1] or match[2] or match[3] for match in _AWK_STARTED.finditer(plain)}
    if len(started) > _MAX_STARTED:
        return True
    for name in started:
        if name.startswith("$") or re.search(
            rf"\b{name}\s*=[^=;}}\n]*\$|getline\s+{name}\b", plain
        ):
            return True
    return False


def _awk_strings(code: str) -> Iterator[str]:
    for text in (code, _AWK_JOIN.sub("", code)):
        for match in _AWK_STRING.finditer(text):
            yield match[1].replace('\\"', '"')


def _awk_writes(code: str) -> Iterator[str]:
    for match in _AWK_WRITE.finditer(code):
        yield match[1]


def _awk_writes_by_name(code: str) -> bool:
    return bool(_AWK_WRITE_BY_NAME.search(code))


def _sed_commands(script: str) -> Iterator[str]:
    """Yield the shell commands of a sed script; an empty one represents text that sed has read.

    `s///e` runs the whole line, of which the replacement may be only a part.
    """
    for letter, rest in _parse_sed(script):
        if letter == "e":
            yield rest
        elif letter == "s" and "e" in rest.partition("w")[0]:
            yield ""


def _sed_writes(script: str) -> Iterator[str]:
    for letter, rest in _parse_sed(script):
        if letter in "wW" and rest:
            yield rest
        elif letter == "s" and "w" in rest:
            yield rest.partition("w")[2].strip()


def _parse_sed(script: str) -> Iterator[tuple[str, str]]:
    at = 0
    while at < len(script):
        at = _skip_address(script, at)
        if at >= len(script):
            return
        letter = script[at]
        at += 1
        if letter in "sy":
            first = _delimited(script, at + 1, script[at : at + 1])
            second = _delimited(script, first + 1, script[at : at + 1])
            end = _line(script, second + 1) if letter == "s" else second + 1
            flags = re.match(r"[gpiImMe0-9]*(?:w[^\n]*)?", script[second + 1 : end])
            shown = flags[0] if flags else ""
            yield letter, shown
            at = second + 1 + len(shown)
        elif letter in "eaicrRwWbtT:":
            end = _line(script, at)
            yield letter, script[at:end].strip()
            if letter in "btT:" and ";" in script[at:end]:
                end = script.index(";", at)
            at = end
        else:
            yield letter, ""


def _skip_address(script: str, at: int) -> int:
    while at < len(script):
        match = _ADDRESS.match(script, at)
        end = match.end() if match else at
        if script[end : end + 1] == "/":
            end = _delimited(script, end + 1, "/") + 1
            end += len(script[end:]) - len(script[end:].lstrip("IM"))
        elif script[end : end + 1] == "\\":
            end = _delimited(script, end + 2, script[end + 1 : end + 2]) + 1
        elif script[end : end + 1] == "#":
            end = _line(script, end)
        if end == at:
            return at
        at = end
    return at


def _delimited(script: str, at: int, delimiter: str) -> int:
    while at < len(script):
        if script[at] == "\\":
            at += 1
        elif script[at] == "[" and (closed := script.find("]", at + 2)) > 0:
            inner = script[at:closed]
            if delimiter not in inner or "\n" not in inner:
                at = closed
        elif script[at] == delimiter:
            return at
        at += 1
    return len(script)


def _line(script: str, at: int) -> int:
    end = script.find("\n", at)
    return len(script) if end < 0 else end


def _program_files(files: Sequence[Word], call: Invocation) -> list[Word]:
    if any(word.feeds for word in files):
        refuse_unreadable(call.shown, "The program is the output of another command")
    named = any(STDIN.fullmatch(word.text) for word in files)
    return [call.feed] if named and call.feed is not None else []


def _refuse_substituted(code: Word, call: Invocation) -> None:
    if code.scripts and not code.text.strip(UNKNOWN):
        refuse_unreadable(call.shown, "The program is the output of another command")


def _sed(call: Invocation) -> None:
    spec = Spec("efl", attached="i", long=names("--expression --file --line-length"))
    args = parse(call.arguments, spec)
    scripts = args.values("-e", "--expression")
    operands = list(args.operands)
    if not scripts and not args.values("-f", "--file") and operands:
        scripts = [operands.pop(0)]
    scripts = [*scripts, *_program_files(args.values("-f", "--file"), call)]
    for script in scripts:
        _refuse_substituted(script, call)
        for command in _sed_commands(script.text):
            if UNKNOWN in command or not command:
                refuse_unreadable(call.shown, "sed would run an unknown command")
            call.walker.shell(literal(command), call)
        for path in _sed_writes(script.text):
            call.dirs.check_write(literal(path), call.shown)
    if args.has("-i", "--in-place"):
        for word in operands:
            if word.text:  # BSD's `sed -i ''` names no backup
                call.dirs.check_write(word, call.shown)


def _awk_starts(code: str, values: Sequence[str], call: Invocation) -> None:
    if _awk_starts_input(code):
        refuse_unreadable(call.shown, "awk would run what it reads")
    for text in (*_awk_strings(code), *values):
        judge_possible_command(text, call)


def _awk(call: Invocation) -> None:
    args = parse(call.arguments, Spec("Fvfiel", long=names("--assign --file --source --include")))
    operands = list(args.operands)
    codes = args.values("-e", "--source")
    if not codes and not args.values("-f", "--file") and operands:
        codes = [operands.pop(0)]
    codes = [*codes, *_program_files(args.values("-f", "--file"), call)]
    values = [w.text.partition("=")[2] for w in (*args.values("-v", "--assign"), *operands)]
    for code in codes:
        _refuse_substituted(code, call)
        judge_signals_in_code(code.text, call)
        if _awk_writes_by_name(code.text):
            for text in values:
                call.dirs.check_guarded(literal(text), call.shown)
        if _awk_starts_programs(code.text):
            _awk_starts(code.text, values, call)
        for path in _awk_writes(code.text):
            call.dirs.check_write(literal(path), call.shown)
    if any(v.text == "inplace" for v in args.values("-i", "--include")):
        for word in operands:
            call.dirs.check_write(word, call.shown)


RULES: Rules = MappingProxyType(
    {
        **dict.fromkeys(names("sed gsed"), _sed),
        **dict.fromkeys(names("awk gawk mawk nawk original-awk"), _awk),
    }
)
