"""The grammar of bash's compound commands: conditions, loops, cases, tests, functions."""

from abc import ABC, abstractmethod
from dataclasses import replace

from ralph_tui.guard.redirects import RedirectReader
from ralph_tui.guard.syntax import (
    Command,
    Compound,
    Pipeline,
    Redirect,
    Script,
    UnreadableError,
    Word,
)


class CompoundReader(RedirectReader, ABC):
    """Reads what a reserved word begins."""

    @abstractmethod
    def script_until_end(self) -> Script:
        """Read a list up to what ends it."""

    @abstractmethod
    def command(self) -> Command:
        """Read one command."""

    def reserved_command(self, word: str) -> Command:
        """Read what stands behind a reserved word that begins a command."""
        if word == "{":
            body = self.script_until_end()
            self._expect("}")
            return self.compound("group", (body,))
        if word == "if":
            return self._if()
        if word in ("while", "until"):
            condition = self.script_until_end()
            return self.compound("loop", (condition, self._loop_body()))
        if word == "select":  # whose variable is empty when the answer is none of the words
            return replace(self._for(), name="")
        if word == "for":
            return self._for()
        if word == "case":
            return self._case()
        if word == "[[":
            return self._test()
        if word == "function":
            self._blanks()
            name = self.word()
            self._blanks()
            if self.look(1) == "(":
                self.skip(1)
                self._expect(")")
            return self.function(name)
        raise UnreadableError(f"`{word}` does not belong here")

    def compound(
        self, kind: str, bodies: tuple[Script, ...], words: tuple[Word, ...] = ()
    ) -> Compound:
        """A compound command of these parts, with the redirections that follow."""
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
        self._blanks()
        words: list[Word] = []
        name = ""
        if self.look(2) == "((":
            word = self.arithmetic_command()
            if word is None:
                raise UnreadableError("a loop's header is not closed")
            words.append(word)
        else:
            name = self._name().text
            if self._take("in"):
                words = self._words()
        self._blanks()
        if self.look(1) == ";":
            self.skip(1)
        return replace(self.compound("loop", (self._loop_body(),), tuple(words)), name=name)

    def _name(self) -> Word:
        name = self.word()
        if not name.text or not name.known:
            raise UnreadableError("a name is missing")
        return name

    def _words(self) -> list[Word]:
        words: list[Word] = []
        while True:
            self._blanks()
            word = self.word()
            if not word.raw:
                return words
            words.append(word)

    def _case(self) -> Compound:
        self._blanks()
        words = [self.word()]
        bodies: list[Script] = []
        self._expect("in")
        while not self._take("esac"):
            if self.look(1) == "(":
                self.skip(1)
            words.extend(self._alternatives())
            bodies.append(self.script_until_end())
            self._lines()
            ahead = self.look(3)
            if ahead[:2] in (";;", ";&"):
                self.skip(3 if ahead == ";;&" else 2)
            elif self._reserved() != "esac":
                raise UnreadableError("a case is not closed")
        return self.compound("case", tuple(bodies), tuple(words))

    def _alternatives(self) -> list[Word]:
        words: list[Word] = []
        while True:
            self._blanks()
            word = self.word()
            words.append(word)
            self._blanks()
            char = self.look(1)
            if not word.raw or char not in ("|", ")"):
                raise UnreadableError("a case pattern is not closed")
            self.skip(1)
            if char == ")":
                return words

    def _test(self) -> Compound:
        words: list[Word] = []
        while True:
            self._lines()
            if self._reserved() == "]]":
                self.skip(2)
                return self.compound("test", (), tuple(words))
            word = self.word()
            if word.raw:
                words.append(word)
            elif (char := self.look(1)) and char in "()<>&|;":
                self.skip(1)
            else:
                raise UnreadableError("a test is not closed")

    def function(self, name: Word) -> Compound:
        """Read a function's body."""
        if not name.known:
            raise UnreadableError("a function's name is not plain")
        self._lines()
        body = self.command()
        return Compound("function", (Script((Pipeline((body,)),)),), name=name.text)
