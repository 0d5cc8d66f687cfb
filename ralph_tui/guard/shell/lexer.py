"""Splits shell text into words, reserved words and redirections, as bash does."""

import re

from ralph_tui.guard.shell.expansions import ExpansionReader
from ralph_tui.guard.shell.nodes import Assignment, Redirect, UnreadableError, Word, WordBuilder

_METACHARACTERS = frozenset(" \t\n;&|<>()")
_PLAIN = re.compile(r"[^\s;&|<>()'\"\\$`*?\[{}~]+")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*(?:\[[^\]]*\])?\+?=", re.ASCII)
_ZSH_QUALIFIER = re.compile(r"[\w^.-]*e[^\w\s|).*?-]|\+\w")


_ASSIGNED_WORD = re.compile(r"([A-Za-z_]\w*)((?:\[[^\]]*\])?)\+?=", re.ASCII)
_REDIRECT = re.compile(
    r"(\d{1,5}|\{[A-Za-z_]\w*\})?(<<<|<<-|<<|<&|<>|>>|>&|>\||<(?!\()|>(?!\())|(&>>|&>)", re.ASCII
)
_RESERVED = re.compile(
    r"(?:if|then|elif|else|fi|for|select|while|until|do|done|case|esac|in|function|time|coproc"
    r"|\{|\}|!|\[\[|\]\])(?=[\s;&|<>()]|$)"
)
LOOKAHEAD = 10


class Lexer(ExpansionReader):
    """Reads words, reserved words and redirections; here-documents are read at the end of their line."""

    def __init__(self, text: str, base: int = 0, depth: int = 0) -> None:
        super().__init__(text, base, depth)
        self._pending: list[tuple[Redirect, bool]] = []

    # --- words ----------------------------------------------------------------------------------

    def word(self) -> Word:
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
        char = self.peek(1)
        if not char:
            return False
        if char in _METACHARACTERS:
            return self._metacharacter(char, out)
        if char == "'":
            self._single_quoted(out)
        elif char == '"':
            self.advance(1)
            out.quoted = True
            self.double_quoted(out, '"')
        elif char == "\\":
            self._position += 1
            out.add(self.text[self._position : self._position + 1] or "\\", "q")
            self._position += 1
            self._drop_continuations()
        elif char in "$`":
            self.expansion(out, quoted=False)
        else:
            self._plain(char, out)
        return True

    def _plain(self, char: str, out: WordBuilder) -> None:
        match = None if self._continued else _PLAIN.match(self.text, self._position)
        plain = match[0] if match else char
        self.advance(len(plain))
        out.add(plain, "u")

    def _metacharacter(self, char: str, out: WordBuilder) -> bool:
        if char in "<>" and self.peek(2)[1:] == "(":
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
        self.advance(1)
        while True:
            char = self.peek(1)
            if char == ")":
                break
            if char and char in " \t\n":
                self.advance(1)
                continue
            if char == "#":
                self.skip_comment()
                continue
            element = self.word()
            if not element.raw:
                raise UnreadableError("an array is not closed")
            out.scripts.extend(element.scripts)
        self.advance(1)
        out.unknown(split=True)

    def _pattern(self, out: WordBuilder) -> None:
        self.advance(1)
        if _ZSH_QUALIFIER.match(self.peek(20)):
            raise UnreadableError("zsh would run what is in this pattern")
        while (char := self.peek(1)) != ")":
            if char and char in "| \t":
                self.advance(1)
            elif not char or not self._word_piece(out):
                raise UnreadableError("a pattern is not closed")
        self.advance(1)
        out.unknown(split=True)

    def skip_comment(self) -> None:
        end = self.text.find("\n", self._position)
        self._position = len(self.text) if end < 0 else end

    def arithmetic_command(self) -> Word | None:
        out = WordBuilder()
        return out.word("", -1) if self._try_arithmetic(2, out) else None

    # --- blanks, reserved words, operators ------------------------------------------------------

    def _skip_blanks(self) -> None:
        while (char := self.peek(1)) and char in " \t":
            self.advance(1)
        if char == "#":
            self.skip_comment()

    def _skip_lines(self) -> None:
        self._skip_blanks()
        while self.peek(1) == "\n":
            self._position += 1
            pending, self._pending = self._pending, []
            for redirect, quoted in pending:
                redirect.body = self._here_document(redirect, quoted=quoted)
            if self._continued:
                self._drop_continuations()
            self._skip_blanks()

    def _peek_reserved(self) -> str:
        match = _RESERVED.match(self.peek(LOOKAHEAD))
        return match[0] if match else ""

    def _accept(self, *words: str) -> str:
        self._skip_lines()
        found = self._peek_reserved()
        if found not in words:
            return ""
        self.advance(len(found))
        return found

    def _expect(self, *words: str) -> str:
        if words == (")",):
            self._skip_lines()
            if self.peek(1) != ")":
                raise UnreadableError("a parenthesis is not closed")
            self.advance(1)
            return ")"
        found = self._accept(*words)
        if not found:
            raise UnreadableError(f"`{words[0]}` is missing")
        return found

    # --- redirections and here-documents ---------------------------------------------------------

    def _redirect(self) -> Redirect | None:
        self._skip_blanks()
        match = _REDIRECT.match(self.peek(40))
        if match is None:
            return None
        self.advance(len(match[0]))
        self._skip_blanks()
        target = self.word()
        if not target.raw:
            raise UnreadableError("a redirection has no target")
        redirect = Redirect(match[2] or match[3], target, match[1] or "")
        if redirect.operator in ("<<", "<<-"):
            if not target.known or not target.text:
                raise UnreadableError("a here-document's delimiter is not plain")
            self._pending.append((redirect, "q" in target.kinds or '"' in target.raw))
        return redirect

    def _here_document(self, redirect: Redirect, *, quoted: bool) -> Word:
        lines: list[str] = []
        start = self._position
        strip = redirect.operator == "<<-"
        while True:
            line, ended = self._body_line(joined=not quoted)
            plain = line.lstrip("\t") if strip else line
            if plain == redirect.target.text:
                break
            if ended:
                raise UnreadableError("a here-document is not closed")
            lines.append(plain + "\n")
        text = "".join(lines)
        same = self.text.startswith(text, start) and self.base >= 0
        base = self.base + start if same else -1
        out = WordBuilder()
        if quoted:
            out.add(text, "q")
        else:
            type(self)(text, base, self._nesting + 1).double_quoted(out, "")
        return out.word(text, base)

    def _body_line(self, *, joined: bool) -> tuple[str, bool]:
        line = ""
        while True:
            end = self.text.find("\n", self._position)
            if end < 0:
                line += self.text[self._position :]
                self._position = len(self.text)
                return line, True
            piece = self.text[self._position : end]
            self._position = end + 1
            if not joined or (len(piece) - len(piece.rstrip("\\"))) % 2 == 0:
                return line + piece, False
            line += piece[:-1]


def as_assignment(word: Word) -> Assignment | None:
    match = _ASSIGNED_WORD.match(word.text)
    if match is None:
        return None
    around = word.kinds[: match.start(2)] + word.kinds[match.end(2) : match.end()]
    if set(around) - {"u"}:
        return None
    value = Word(
        word.text[match.end() :], word.kinds[match.end() :], word.raw, -1, word.scripts, word.feeds
    )
    return Assignment(match[1], value)
