"""Parses the grammar of bash: lists, pipelines, compound and simple commands."""

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

from ralph_tui.guard.shell.lexer import LOOKAHEAD, Lexer, as_assignment
from ralph_tui.guard.shell.nodes import (
    Assignment,
    Command,
    Compound,
    Pipeline,
    Redirect,
    Script,
    Simple,
    UnreadableError,
    Word,
    anything,
)

_MAX_ALTERNATIVES = 512
_MAX_BRACES = 64
_RANGE = re.compile(r"(-?\d+|[A-Za-z])\.\.(-?\d+|[A-Za-z])(?:\.\.-?\d+)?")

_Text = tuple[str, str]


def _expand_braces(word: Word) -> Iterator[Word]:
    if "{" not in word.text:
        yield word
        return
    if word.text.count("{") > _MAX_BRACES:
        raise UnreadableError("too many braces")
    for count, (text, kinds) in enumerate(_expand((word.text, word.kinds))):
        if count >= _MAX_ALTERNATIVES:
            raise UnreadableError("too many brace alternatives")
        if (text, kinds) == (word.text, word.kinds):
            yield word
        elif text:
            yield Word(text, kinds, word.raw, -1, word.scripts, word.feeds)


def _expand(source: _Text) -> Iterator[_Text]:
    text, kinds = source
    for start, (char, kind) in enumerate(zip(text, kinds, strict=True)):
        if char != "{" or kind != "u":
            continue
        end, commas = _group(text, kinds, start)
        if end < 0:
            continue
        parts = _parts(source, start, end, commas)
        if not parts:
            continue
        for part in parts:
            for inner, inner_kinds in _expand(part):
                for rest, rest_kinds in _expand((text[end + 1 :], kinds[end + 1 :])):
                    yield text[:start] + inner + rest, kinds[:start] + inner_kinds + rest_kinds
        return
    yield source


def _group(text: str, kinds: str, start: int) -> tuple[int, list[int]]:
    depth = 0
    commas: list[int] = []
    for at in range(start, len(text)):
        if kinds[at] != "u":
            continue
        if text[at] == "{":
            depth += 1
        elif text[at] == "}":
            depth -= 1
            if depth == 0:
                return at, commas
        elif text[at] == "," and depth == 1:
            commas.append(at)
    return -1, []


def _parts(source: _Text, start: int, end: int, commas: list[int]) -> list[_Text]:
    text, kinds = source
    if commas:
        bounds = [start, *commas, end]
        return [(text[a + 1 : b], kinds[a + 1 : b]) for a, b in pairwise(bounds)]
    match = _RANGE.fullmatch(text, start + 1, end)
    if match is None:
        return []
    numbers = match[1].lstrip("-").isdigit() and match[2].lstrip("-").isdigit()
    first, last = (
        (int(match[1]), int(match[2])) if numbers else (ord(match[1][0]), ord(match[2][0]))
    )
    if abs(last - first) > _MAX_ALTERNATIVES:
        raise UnreadableError("too many brace alternatives")
    step = 1 if last >= first else -1
    values = range(first, last + step, step)
    made = [str(v) if numbers else chr(v) for v in values]
    return [(value, "q" * len(value)) for value in made]


_ENDS = frozenset({"then", "elif", "else", "fi", "do", "done", "esac", "}"})
_NOT_COMMANDS = frozenset({"in", "]]"})


def read_shell(text: str, base: int = 0, depth: int = 0) -> Script:
    """Parse `text` as bash would; what is invalid, or is not supported, raises `UnreadableError`."""
    return Parser(text, base, depth).everything()


def read_word(text: str) -> Word:
    """Parse one word found by other means; return an unknown word if it is not exactly one word."""
    parser = Parser(text, -1, 1)
    try:
        word = parser.word()
    except UnreadableError:
        return anything(text)
    return anything(text) if parser.peek(1) else word


class Parser(Lexer):
    """Parses one text."""

    def everything(self) -> Script:
        script = self.script_until_end()
        if self.peek(1) or self._pending:
            raise UnreadableError("the text continues where a command should end")
        return script

    def script_in_parentheses(self) -> Script:
        outer, self._pending = self._pending, []
        script = self.script_until_end()
        if self._pending:
            raise UnreadableError("a here-document has no body")
        self._pending = outer
        self._expect(")")
        return script

    def nested(self, text: str, base: int) -> Script:
        return read_shell(text, base, self._nesting + 1)

    # --- lists and pipelines --------------------------------------------------------------------

    def script_until_end(self) -> Script:
        pipelines: list[Pipeline] = []
        while True:
            self._skip_lines()
            if self.peek(1) in ("", ")") or self.peek(2) in (";;", ";&"):
                break
            if self._peek_reserved() in _ENDS:
                break
            self.step()
            stages, spans = self._pipeline()
            pipelines.append(Pipeline(stages, self._list_operator(), spans))
        return Script(tuple(pipelines))

    def _list_operator(self) -> str:
        self._skip_blanks()
        ahead = self.peek(2)
        if ahead in ("&&", "||"):
            self.advance(2)
            return ahead
        if ahead[:1] in (";", "&") and ahead not in (";;", ";&"):
            self.advance(1)
            return ahead[0]
        if ahead[:1] in ("", ")", "\n") or ahead in (";;", ";&"):
            return "\n"
        if self._peek_reserved() in _ENDS:  # `{ (a) }`
            return "\n"
        raise UnreadableError(f"`{ahead}` does not belong here")

    def _pipeline(self) -> tuple[tuple[Command, ...], tuple[tuple[int, int], ...]]:
        stages: list[Command] = []
        spans: list[tuple[int, int]] = []
        while True:
            start, stage = self._prefixed()
            stages.append(stage)
            if self.base >= 0:
                spans.append((self.base + start, self.base + self._position))
            self._skip_blanks()
            ahead = self.peek(2)
            if ahead[:1] != "|" or ahead == "||":
                return tuple(stages), tuple(spans)
            self.advance(2 if ahead == "|&" else 1)
            self._skip_lines()

    def _prefixed(self) -> tuple[int, Command]:
        while True:
            self._skip_blanks()
            if self.peek(2) == "!(":
                self.advance(1)
            elif (word := self._peek_reserved()) in ("!", "time", "coproc"):
                self.advance(len(word))
                self._skip_blanks()
                if word == "time":
                    while match := re.match(r"(-p|--)(?=[\s;&|]|$)", self.peek(LOOKAHEAD)):
                        self.advance(len(match[0]))
                        self._skip_blanks()
                if word == "coproc":
                    return self._position, self._coprocess()
            else:
                return self._position, self.command()

    def _coprocess(self) -> Command:
        named = re.match(r"[A-Za-z_]\w*[ \t]+(?=[({]|\[\[)", self.peek(80), re.ASCII)
        if named and not self._peek_reserved():
            self.advance(len(named[0]))
        return self.command()

    # --- commands -------------------------------------------------------------------------------

    def command(self) -> Command:
        self._nesting += 1
        if self._nesting > 60:
            raise UnreadableError("nested too deeply")
        command = self._one_command()
        self._nesting -= 1
        return command

    def _one_command(self) -> Command:
        if self.peek(1) == "(":
            if self.peek(2) == "((" and (word := self.arithmetic_command()) is not None:
                return self.compound("arithmetic", (), (word,))
            self.advance(1)
            return self.compound("subshell", (self.script_in_parentheses(),))
        keyword = self._peek_reserved()
        if not keyword:
            return self._simple()
        if keyword in _ENDS or keyword in _NOT_COMMANDS:
            raise UnreadableError(f"`{keyword}` does not belong here")
        self.advance(len(keyword))
        return self.reserved_command(keyword)

    # --- compound commands ----------------------------------------------------------------------

    def reserved_command(self, word: str) -> Command:
        if word == "{":
            body = self.script_until_end()
            self._expect("}")
            return self.compound("group", (body,))
        if word == "if":
            return self._if()
        if word in ("while", "until"):
            condition = self.script_until_end()
            return self.compound("loop", (condition, self._loop_body()))
        if word == "select":  # an invalid answer leaves the variable empty
            return replace(self._for(), name="")
        if word == "for":
            return self._for()
        if word == "case":
            return self._case()
        if word == "[[":
            return self._test()
        if word == "function":
            self._skip_blanks()
            name = self.word()
            self._skip_blanks()
            if self.peek(1) == "(":
                self.advance(1)
                self._expect(")")
            return self.function(name)
        raise UnreadableError(f"`{word}` does not belong here")

    def compound(
        self, kind: str, bodies: tuple[Script, ...], words: tuple[Word, ...] = ()
    ) -> Compound:
        redirects: list[Redirect] = []
        while (redirect := self._redirect()) is not None:
            redirects.append(redirect)
        return Compound(kind, bodies, words, tuple(redirects))

    def _if(self) -> Compound:
        bodies = [self.script_until_end()]
        self._expect("then")
        bodies.append(self.script_until_end())
        while (word := self._expect("elif", "else", "fi")) != "fi":
            bodies.append(self.script_until_end())
            if word == "elif":
                self._expect("then")
                bodies.append(self.script_until_end())
        return self.compound("if", tuple(bodies))

    def _loop_body(self) -> Script:
        closing = {"do": "done", "{": "}"}[self._expect("do", "{")]
        body = self.script_until_end()
        self._expect(closing)
        return body

    def _for(self) -> Compound:
        self._skip_blanks()
        words: list[Word] = []
        name = ""
        if self.peek(2) == "((":
            word = self.arithmetic_command()
            if word is None:
                raise UnreadableError("a loop's header is not closed")
            words.append(word)
        else:
            name = self._name().text
            if self._accept("in"):
                words = self._words()
        self._skip_blanks()
        if self.peek(1) == ";":
            self.advance(1)
        return replace(self.compound("loop", (self._loop_body(),), tuple(words)), name=name)

    def _name(self) -> Word:
        name = self.word()
        if not name.text or not name.known:
            raise UnreadableError("a name is missing")
        return name

    def _words(self) -> list[Word]:
        words: list[Word] = []
        while True:
            self._skip_blanks()
            word = self.word()
            if not word.raw:
                return words
            words.append(word)

    def _case(self) -> Compound:
        self._skip_blanks()
        words = [self.word()]
        bodies: list[Script] = []
        self._expect("in")
        while not self._accept("esac"):
            if self.peek(1) == "(":
                self.advance(1)
            words.extend(self._alternatives())
            bodies.append(self.script_until_end())
            self._skip_lines()
            ahead = self.peek(3)
            if ahead[:2] in (";;", ";&"):
                self.advance(3 if ahead == ";;&" else 2)
            elif self._peek_reserved() != "esac":
                raise UnreadableError("a case is not closed")
        return self.compound("case", tuple(bodies), tuple(words))

    def _alternatives(self) -> list[Word]:
        words: list[Word] = []
        while True:
            self._skip_blanks()
            word = self.word()
            words.append(word)
            self._skip_blanks()
            char = self.peek(1)
            if not word.raw or char not in ("|", ")"):
                raise UnreadableError("a case pattern is not closed")
            self.advance(1)
            if char == ")":
                return words

    def _test(self) -> Compound:
        words: list[Word] = []
        while True:
            self._skip_lines()
            if self._peek_reserved() == "]]":
                self.advance(2)
                return self.compound("test", (), tuple(words))
            word = self.word()
            if word.raw:
                words.append(word)
            elif (char := self.peek(1)) and char in "()<>&|;":
                self.advance(1)
            else:
                raise UnreadableError("a test is not closed")

    def function(self, name: Word) -> Compound:
        if not name.known:
            raise UnreadableError("a function's name is not plain")
        self._skip_lines()
        body = self.command()
        return Compound("function", (Script((Pipeline((body,)),)),), name=name.text)

    # --- simple commands ------------------------------------------------------------------------

    def _simple(self) -> Command:
        start = self._position
        assignments: list[Assignment] = []
        words: list[Word] = []
        redirects: list[Redirect] = []
        while True:
            self._skip_blanks()
            if (redirect := self._redirect()) is not None:
                redirects.append(redirect)
                continue
            word = self.word()
            if not word.raw:
                break
            if not words and (assignment := as_assignment(word)) is not None:
                assignments.append(assignment)
            else:
                words.append(word)
        if self.peek(1) == "(" and len(words) == 1 and not assignments and not redirects:
            self.advance(1)
            self._expect(")")
            return self.function(words[0])
        if not (assignments or words or redirects):
            raise UnreadableError(f"`{self.peek(1)}` does not belong here")
        raw = self.text[start : self._position].strip()
        expanded = tuple(e for word in words for e in _expand_braces(word))
        return Simple(tuple(assignments), expanded, tuple(redirects), raw)
