"""What little of awk's and sed's languages is needed to see which programs and files they touch."""

import re
from collections.abc import Iterator

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


def awk_starts_programs(code: str) -> bool:
    """Whether an awk program may run another: `system()`, a pipe to or from a command."""
    without = _AWK_REGEX.sub("//", code).replace("||", "")
    return bool(_AWK_STARTS.search(without))


def awk_starts_input(code: str) -> bool:
    """Whether an awk program may run what it reads: a field, or a variable that was given one."""
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


def awk_strings(code: str) -> Iterator[str]:
    """The string constants of an awk program."""
    for text in (code, _AWK_JOIN.sub("", code)):
        for match in _AWK_STRING.finditer(text):
            yield match[1].replace('\\"', '"')


def awk_writes(code: str) -> Iterator[str]:
    """The files an awk program prints into by name."""
    for match in _AWK_WRITE.finditer(code):
        yield match[1]


def awk_writes_by_name(code: str) -> bool:
    """Whether an awk program prints into a file that a variable names."""
    return bool(_AWK_WRITE_BY_NAME.search(code))


def sed_commands(script: str) -> Iterator[str]:
    """The shell commands of a sed script; an empty one is whatever sed has read.

    `s///e` runs the whole line, of which the replacement may be but a part.
    """
    for letter, rest in _sed(script):
        if letter == "e":
            yield rest
        elif letter == "s" and "e" in rest.partition("w")[0]:
            yield ""


def sed_writes(script: str) -> Iterator[str]:
    """The files a sed script writes: `w FILE` and `s///w FILE`."""
    for letter, rest in _sed(script):
        if letter in "wW" and rest:
            yield rest
        elif letter == "s" and "w" in rest:
            yield rest.partition("w")[2].strip()


def _sed(script: str) -> Iterator[tuple[str, str]]:
    """The commands of a sed script with what matters of their arguments.

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
    """Where the next unescaped delimiter stands, outside brackets."""
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
