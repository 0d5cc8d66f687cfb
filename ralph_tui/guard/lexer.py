"""Words as bash reads them: pieces up to a blank or an operator, arrays, extended patterns."""

import re

from ralph_tui.guard.expansions import ExpansionReader
from ralph_tui.guard.syntax import UnreadableError, Word, WordBuilder

_METACHARACTERS = frozenset(" \t\n;&|<>()")
_PLAIN = re.compile(r"[^\s;&|<>()'\"\\$`*?\[{}~]+")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*(?:\[[^\]]*\])?\+?=", re.ASCII)
_ZSH_QUALIFIER = re.compile(r"[\w^.-]*e[^\w\s|).*?-]|\+\w")


class Lexer(ExpansionReader):
    """Reads words."""

    def word(self) -> Word:
        """The word at the cursor; empty when a metacharacter stands there."""
        self.step()
        if self._continued:
            self._drop_continuations()
        start = self._position
        out = WordBuilder()
        while self._word_piece(out):
            pass
        where = self.base + start if self.base >= 0 else -1
        return out.word(self.text[start : self._position], where)

    def _word_piece(self, out: WordBuilder) -> bool:
        """Read one piece of a word; False at its end."""
        char = self.look(1)
        if not char:
            return False
        if char in _METACHARACTERS:
            return self._metacharacter(char, out)
        if char == "'":
            self._single_quoted(out)
        elif char == '"':
            self.skip(1)
            out.quoted = True
            self.double_quoted(out, '"')
        elif char == "\\":
            self._escape(out)
        elif char in "$`":
            self.expansion(out, quoted=False)
        else:
            self._plain(char, out)
        return True

    def _plain(self, char: str, out: WordBuilder) -> None:
        match = None if self._continued else _PLAIN.match(self.text, self._position)
        plain = match[0] if match else char
        self.skip(len(plain))
        out.add(plain, "u")

    def _escape(self, out: WordBuilder) -> None:
        self._position += 1
        out.add(self.text[self._position : self._position + 1] or "\\", "q")
        self._position += 1
        self._drop_continuations()

    def _metacharacter(self, char: str, out: WordBuilder) -> bool:
        """Process substitutions, arrays and extended patterns begin with one; else the word ends."""
        if char in "<>" and self.look(2)[1:] == "(":
            self._process_substitution(char, out)
            return True
        if char != "(" or out.quoted:
            return False
        text = "".join(out.text)
        if _ASSIGNMENT.fullmatch(text):
            self._array(out)
            return True
        if text and text[-1] in "?*+@!" and text != "!":
            self._pattern(out)
            return True
        return False

    def _array(self, out: WordBuilder) -> None:
        self.skip(1)
        while True:
            char = self.look(1)
            if char == ")":
                break
            if char and char in " \t\n":
                self.skip(1)
                continue
            if char == "#":
                self.skip_comment()
                continue
            element = self.word()
            if not element.raw:
                raise UnreadableError("an array is not closed")
            out.scripts.extend(element.scripts)
        self.skip(1)
        out.unknown(split=True)

    def _pattern(self, out: WordBuilder) -> None:
        """`@(a|b)`: alternatives, any of which may hold substitutions."""
        self.skip(1)
        if _ZSH_QUALIFIER.match(self.look(20)):
            raise UnreadableError("zsh would run what stands in this pattern")
        while (char := self.look(1)) != ")":
            if char and char in "| \t":
                self.skip(1)
            elif not char or not self._word_piece(out):
                raise UnreadableError("a pattern is not closed")
        self.skip(1)
        out.unknown(split=True)

    def skip_comment(self) -> None:
        """Go to the end of the line; a backslash does not continue a comment."""
        end = self.text.find("\n", self._position)
        self._position = len(self.text) if end < 0 else end

    def arithmetic_command(self) -> Word | None:
        """`((…))` where a command may stand, or None if it is a subshell in a subshell."""
        out = WordBuilder()
        return out.word("", -1) if self._try_arithmetic(2, out) else None
