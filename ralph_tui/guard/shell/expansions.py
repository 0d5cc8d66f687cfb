"""Reads quotes and expansions as bash does, with the scripts they contain."""

import re
from abc import ABC, abstractmethod

from ralph_tui.guard.shell.nodes import Script, UnreadableError, WordBuilder

MAX_DEPTH = 30
_MAX_STEPS = 40_000


class Cursor:
    """A cursor over one shell text.

    Args:
        text: The text, without NUL.
        base: The index of this text in the agent's text; -1 unless it occurs there verbatim.
        depth: How deeply this text is nested in others.
    """

    def __init__(self, text: str, base: int = 0, depth: int = 0) -> None:
        if depth > MAX_DEPTH:
            raise UnreadableError("nested too deeply")
        self.text = text
        self.base = base
        self.depth = depth
        self._position = 0
        self._continued = "\\\n" in text
        self._steps = 0
        self._nesting = depth

    def peek(self, count: int) -> str:
        if not self._continued:
            return self.text[self._position : self._position + count]
        found: list[str] = []
        at = self._position
        while len(found) < count:
            while self.text.startswith("\\\n", at):
                at += 2
            if at >= len(self.text):
                break
            found.append(self.text[at])
            at += 1
        return "".join(found)

    def advance(self, count: int) -> None:
        if not self._continued:
            self._position += count
            return
        for _ in range(count):
            self._drop_continuations()
            self._position += 1
        self._drop_continuations()

    def _drop_continuations(self) -> None:
        while self.text.startswith("\\\n", self._position):
            self._position += 2

    def step(self) -> None:
        self._steps += 1
        if self._steps > _MAX_STEPS:
            raise UnreadableError("too long to read")


_ANSI = re.compile(
    r"\\(?:x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|([0-7]{1,3})|c(.)|(.))",
    re.DOTALL,
)
_ANSI_LETTERS = {
    "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t",
    "v": "\v", "\\": "\\", "'": "'", '"': '"', "?": "?",
}  # fmt: skip


def unescape_ansi(text: str) -> str:

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


_PLAIN_QUOTED = re.compile(r"[^\"\\$`]+")
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_NO_QUOTES = re.compile(r"'(?:[^'$`\\}\"\n]|\\[\w\\])*'", re.ASCII)
"""Single quotes whose content means the same whether or not they quote."""


class ExpansionReader(Cursor, ABC):
    """Reads quotes, and expansions that begin with a dollar sign or a backtick."""

    @abstractmethod
    def script_in_parentheses(self) -> Script:
        """Read a list up to and including the closing parenthesis."""

    @abstractmethod
    def nested(self, text: str, base: int) -> Script:
        """Parse a nested text that the shell would run."""

    # --- quotes ---------------------------------------------------------------------------------

    def _single_quoted(self, out: WordBuilder) -> None:
        end = self.text.find("'", self._position + 1)
        if end < 0:
            raise UnreadableError("a single quote is not closed")
        out.quoted = True
        out.add(self.text[self._position + 1 : end], "q")
        self._position = end + 1
        self._drop_continuations()

    def double_quoted(self, out: WordBuilder, close: str) -> None:
        """Read up to and including `close`; if empty, up to the end of the text."""
        while (char := self.peek(1)) != close or not char:
            if not char:
                if close:
                    raise UnreadableError("a double quote is not closed")
                return
            if char == "\\":
                after = self.text[self._position + 1 : self._position + 2]
                self._position += 2
                out.add(after if after and after in "$`\\" + close else "\\" + after, "q")
                self._drop_continuations()
            elif char in "$`":
                self.expansion(out, quoted=True)
            else:
                match = None if self._continued else _PLAIN_QUOTED.match(self.text, self._position)
                plain = match[0] if match else char
                self.advance(len(plain))
                out.add(plain, "q")
        self.advance(1)

    # --- substitutions --------------------------------------------------------------------------

    def expansion(self, out: WordBuilder, *, quoted: bool) -> None:
        self.step()
        ahead = self.peek(3)
        if ahead.startswith("`"):
            self._backticks(out, quoted=quoted)
        elif ahead.startswith("$("):
            if ahead != "$((" or not self._try_arithmetic(3, out):
                self.advance(2)
                out.scripts.append(self._script())
            out.unknown(split=not quoted)
        elif ahead.startswith("${"):
            self._parameter(out, quoted=quoted)
        elif ahead.startswith("$["):
            self.advance(2)
            self._read_until(out, "]")
            out.unknown(split=not quoted)
        elif ahead.startswith("$'") and not quoted:
            start = at = self._position + 2
            while self.text[at : at + 1] != "'":
                if at >= len(self.text):
                    raise UnreadableError("a quote is not closed")
                at += 2 if self.text[at] == "\\" else 1
            out.quoted = True
            out.add(unescape_ansi(self.text[start:at]), "q")
            self._position = at + 1
            self._drop_continuations()
        elif ahead.startswith('$"') and not quoted:
            self.advance(2)
            out.quoted = True
            self.double_quoted(out, '"')
        else:
            self._variable(out, quoted=quoted)

    def _variable(self, out: WordBuilder, *, quoted: bool) -> None:
        self.advance(1)
        char = self.peek(1)
        if char and char in "@*#?-$!0123456789":
            self.advance(1)
            out.unknown(split=not quoted or char == "@")
        elif match := _NAME.match(self.peek(200)):
            self.advance(len(match[0]))
            out.unknown(split=not quoted)
        else:
            out.add("$", "q" if quoted else "u")

    def _script(self) -> Script:
        self._nesting += 1
        if self._nesting > MAX_DEPTH:
            raise UnreadableError("nested too deeply")
        script = self.script_in_parentheses()
        self._nesting -= 1
        return script

    def _backticks(self, out: WordBuilder, *, quoted: bool) -> None:
        start = at = self._position + 1
        while self.text[at : at + 1] != "`":
            if at >= len(self.text):
                raise UnreadableError("a backtick is not closed")
            at += 2 if self.text[at] == "\\" else 1
        inner = self.text[start:at]
        plain = re.sub(r'\\([\\$`"])' if quoted else r"\\([\\$`])", r"\1", inner)
        base = self.base + start if self.base >= 0 and plain == inner else -1
        out.scripts.append(self.nested(plain, base))
        out.unknown(split=not quoted)
        self._position = at + 1
        self._drop_continuations()

    def _process_substitution(self, char: str, out: WordBuilder) -> None:
        self.advance(2)
        out.scripts.append(self._script())
        out.unknown(split=False)
        out.feeds = out.feeds or char == "<"

    # --- up to a closing delimiter --------------------------------------------------------------

    def _parameter(self, out: WordBuilder, *, quoted: bool) -> None:
        self.advance(2)
        inner = self._position
        first = self.peek(1)
        if not first or first in " \t\n|(":
            raise UnreadableError("a command inside braces")
        if first in "#!" and self.peek(2)[1:] != "}":
            self.advance(1)
        self._read_until(out, "}", in_word=not quoted)
        source = self.text[inner : self._position - 1]
        if source.replace("\\\n", "").endswith("@P"):  # bash would run substitutions in the value
            raise UnreadableError("a prompt expansion")
        out.unknown(split=not quoted or "@" in source)

    def _read_until(self, out: WordBuilder, close: str, *, in_word: bool = False) -> None:
        inner = WordBuilder()
        while (char := self.peek(1)) != close:
            if not char:
                raise UnreadableError(f"no closing {close}")
            if char == "'":
                if in_word:
                    self._single_quoted(inner)
                elif self._continued or not (plain := _NO_QUOTES.match(self.text, self._position)):
                    # Whether this quotes depends on the operator and the shell.
                    raise UnreadableError("a single quote inside a quoted expansion")
                else:
                    self.advance(len(plain[0]))
            elif char == "\\":
                self._position += 2
                self._drop_continuations()
            elif char == '"':
                self.advance(1)
                self.double_quoted(inner, '"')
            elif char in "$`":
                self.expansion(inner, quoted=not in_word)
            elif in_word and self.peek(2) in ("<(", ">("):
                self._process_substitution(char, inner)
            else:
                self.advance(1)
        self.advance(1)
        out.scripts.extend(inner.scripts)

    def _try_arithmetic(self, opening: int, out: WordBuilder) -> bool:
        before = self._position
        self.advance(opening)
        inner = WordBuilder()
        open_parentheses = 0
        while char := self.peek(1):
            if char == ")" and not open_parentheses:
                if self.peek(2) != "))":
                    break
                self.advance(2)
                out.scripts.extend(inner.scripts)
                return True
            if char == "'":  # only arithmetic would run substitutions in it
                raise UnreadableError("a single quote inside double parentheses")
            if char in "()":
                open_parentheses += 1 if char == "(" else -1
                self.advance(1)
            elif char == '"':
                self.advance(1)
                self.double_quoted(inner, '"')
            elif char in "$`":
                self.expansion(inner, quoted=True)
            elif char == "\\":
                self._position += 2
                self._drop_continuations()
            else:
                self.advance(1)
        self._position = before
        return False
