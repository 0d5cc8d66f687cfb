"""Judges sed and awk scripts, which may write files, start programs, and edit files in place."""

import re
from collections.abc import Iterator, Sequence
from types import MappingProxyType

from ralph_tui.guard.core.arguments import Spec, names, parse
from ralph_tui.guard.core.rule_context import Invocation, Rules, unreadable_part
from ralph_tui.guard.rules.inline_code import STDIN, judge_possible_command
from ralph_tui.guard.rules.signals import judge_signals_in_code
from ralph_tui.guard.shell.nodes import UNKNOWN, Word, literal

_AWK_JOIN = re.compile(r'(?<!\\)"\s*"')
"""Between two texts that awk puts together."""
_AWK_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
_AWK_STARTS = re.compile(r'system\s*\(|"\s*\|&?\s*getline|\|&?\s*["a-zA-Z_$(]')
_AWK_STARTED = re.compile(
    r'system\s*\((?:\s|"\s*")*(\$|[A-Za-z_]\w*)|(\$|\b[A-Za-z_]\w*)[\w\])]*\s*\|&?\s*getline'
    r"|\|&?\s*(?!getline)(\$|[A-Za-z_]\w*)"
)
"""Programs that are started by no text of the code."""
_MOST = 20
_AWK_REGEX = re.compile(r"(?<=[~(,!{};&|\s])/(?:[^/\\\n]|\\.)*/|^/(?:[^/\\\n]|\\.)*/")
_AWK_WRITE = re.compile(r'print[^;}\n]*>>?\s*"((?:[^"\\]|\\.)*)"')
_AWK_WRITE_BY_NAME = re.compile(r"print[^;}\n]*>>?\s*[A-Za-z_(]")

_ADDRESS = re.compile(r"\s*(?:\d+(?:~\d+)?|\$|\+\d+|~\d+)?[\s,!;{}]*")


def _awk_starts_programs(code: str) -> bool:
    """Tell whether an awk program may run another: `system()`, a pipe to or from a command."""
    without = _AWK_REGEX.sub("//", code).replace("||", "")
    return bool(_AWK_STARTS.search(without))


def _awk_starts_input(code: str) -> bool:
    """Tell whether an awk program may run what it reads: a field, or a variable that was given one."""
    plain = _AWK_REGEX.sub("//", code).replace("||", "")
    started = {match[1] or match[2] or match[3] for match in _AWK_STARTED.finditer(plain)}
    if len(started) > _MOST:
        return True
    for name in started:
        if name.startswith("$") or re.search(
            rf"\b{name}\s*=[^=;}}\n]*\$|getline\s+{name}\b", plain
        ):
            return True
    return False


def _awk_strings(code: str) -> Iterator[str]:
    """List the string constants of an awk program."""
    for text in (code, _AWK_JOIN.sub("", code)):
        for match in _AWK_STRING.finditer(text):
            yield match[1].replace('\\"', '"')


def _awk_writes(code: str) -> Iterator[str]:
    """List the files an awk program prints into by name."""
    for match in _AWK_WRITE.finditer(code):
        yield match[1]


def _awk_writes_by_name(code: str) -> bool:
    """Tell whether an awk program prints into a file that a variable names."""
    return bool(_AWK_WRITE_BY_NAME.search(code))


def _sed_commands(script: str) -> Iterator[str]:
    """List the shell commands of a sed script; an empty one is whatever sed has read.

    `s///e` runs the whole line, of which the replacement may be but a part.
    """
    for letter, rest in _sed_script(script):
        if letter == "e":
            yield rest
        elif letter == "s" and "e" in rest.partition("w")[0]:
            yield ""


def _sed_writes(script: str) -> Iterator[str]:
    """List the files a sed script writes: `w FILE` and `s///w FILE`."""
    for letter, rest in _sed_script(script):
        if letter in "wW" and rest:
            yield rest
        elif letter == "s" and "w" in rest:
            yield rest.partition("w")[2].strip()


def _sed_script(script: str) -> Iterator[tuple[str, str]]:
    """Yield the commands of a sed script with what matters of their arguments.

    For `s` that is the flags.
    """
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
    """Return the index of the next unescaped delimiter, outside brackets."""
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


def _program_files(files: Sequence[Word], given: Invocation) -> list[Word]:
    """List the programs behind `-f` that are given in the same text."""
    if any(word.feeds for word in files):
        unreadable_part(given.shown, "The program is the output of another command")
    named = any(STDIN.fullmatch(word.text) for word in files)
    return [given.feed] if named and given.feed is not None else []


def _not_substituted(code: Word, given: Invocation) -> None:
    if code.scripts and not code.text.strip(UNKNOWN):
        unreadable_part(given.shown, "The program is the output of another command")


def _sed(given: Invocation) -> None:
    spec = Spec("efl", attached="i", long=names("--expression --file --line-length"))
    read = parse(given.arguments, spec)
    scripts = read.values("-e", "--expression")
    operands = list(read.operands)
    if not scripts and not read.values("-f", "--file") and operands:
        scripts = [operands.pop(0)]
    scripts = [*scripts, *_program_files(read.values("-f", "--file"), given)]
    for script in scripts:
        _not_substituted(script, given)
        for command in _sed_commands(script.text):
            if UNKNOWN in command or not command:
                unreadable_part(given.shown, "sed would run a command that is not known")
            given.walker.shell(literal(command), given)
        for path in _sed_writes(script.text):
            given.places.check_write(literal(path), given.shown)
    if read.has("-i", "--in-place"):
        for word in operands:
            if word.text:  # BSD's `sed -i ''` names no backup
                given.places.check_write(word, given.shown)


def _awk_starts(code: str, values: Sequence[str], given: Invocation) -> None:
    if _awk_starts_input(code):
        unreadable_part(given.shown, "awk would run what it reads")
    for text in (*_awk_strings(code), *values):
        judge_possible_command(text, given)


def _awk(given: Invocation) -> None:
    read = parse(given.arguments, Spec("Fvfiel", long=names("--assign --file --source --include")))
    operands = list(read.operands)
    codes = read.values("-e", "--source")
    if not codes and not read.values("-f", "--file") and operands:
        codes = [operands.pop(0)]
    codes = [*codes, *_program_files(read.values("-f", "--file"), given)]
    values = [w.text.partition("=")[2] for w in (*read.values("-v", "--assign"), *operands)]
    for code in codes:
        _not_substituted(code, given)
        judge_signals_in_code(code.text, given)
        if _awk_writes_by_name(code.text):
            for text in values:
                given.places.check_guarded(literal(text), given.shown)
        if _awk_starts_programs(code.text):
            _awk_starts(code.text, values, given)
        for path in _awk_writes(code.text):
            given.places.check_write(literal(path), given.shown)
    if any(v.text == "inplace" for v in read.values("-i", "--include")):
        for word in operands:
            given.places.check_write(word, given.shown)


RULES: Rules = MappingProxyType(
    {
        **dict.fromkeys(names("sed gsed"), _sed),
        **dict.fromkeys(names("awk gawk mawk nawk original-awk"), _awk),
    }
)
