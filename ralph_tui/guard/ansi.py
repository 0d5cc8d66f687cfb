"""The escapes of `$'text'`, which `printf` and `echo -e` know too."""

import re

_ANSI = re.compile(
    r"\\(?:x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|([0-7]{1,3})|c(.)|(.))",
    re.DOTALL,
)
_ANSI_LETTERS = {
    "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t",
    "v": "\v", "\\": "\\", "'": "'", '"': '"', "?": "?",
}  # fmt: skip


def unescape_ansi(text: str) -> str:
    """The value of `$'text'`; also what `printf` and `echo -e` make of it."""

    def value(match: re.Match[str]) -> str:
        byte, short, long, octal, control, letter = match.groups()
        if control is not None:
            return chr(ord(control.upper()) & 0x1F)
        if letter is not None:
            return _ANSI_LETTERS.get(letter, match[0])
        digits, base = (octal, 8) if octal is not None else (byte or short or long, 16)
        code = int(digits, base)
        return chr(code & 0xFF if octal else code) if code <= 0x10FFFF else match[0]

    return _ANSI.sub(value, text).partition("\0")[0]
