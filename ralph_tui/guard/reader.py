"""The grammar of bash: lists, pipelines and simple commands."""

import re

from ralph_tui.guard.braces import expand_braces
from ralph_tui.guard.compounds import CompoundReader
from ralph_tui.guard.redirects import LOOKAHEAD, as_assignment
from ralph_tui.guard.syntax import (
    Assignment,
    Command,
    Pipeline,
    Redirect,
    Script,
    Simple,
    UnreadableError,
    Word,
    anything,
)

_ENDS = frozenset({"then", "elif", "else", "fi", "do", "done", "esac", "}"})
_NOT_COMMANDS = frozenset({"in", "]]"})


def read_shell(text: str, base: int = 0, depth: int = 0) -> Script:
    """What bash would run if given `text`.

    Raises:
        UnreadableError: The text is no complete script, or uses what is not understood here.
    """
    return Reader(text, base, depth).everything()


def read_word(text: str) -> Word:
    """The value of one word that another reader has found; unknown if it is more than a word."""
    reader = Reader(text, -1, 1)
    try:
        word = reader.word()
    except UnreadableError:
        return anything(text)
    return anything(text) if reader.look(1) else word


class Reader(CompoundReader):
    """Reads one text from begin to end."""

    def everything(self) -> Script:
        """The whole text as a script."""
        script = self.script_until_end()
        if self.look(1) or self._pending:
            raise UnreadableError("the text goes on where a command should end")
        return script

    def script_in_parentheses(self) -> Script:
        """Read a list up to and including the closing parenthesis."""
        outer, self._pending = self._pending, []
        script = self.script_until_end()
        if self._pending:
            raise UnreadableError("a here-document has no body")
        self._pending = outer
        self._expect(")")
        return script

    def nested(self, text: str, base: int) -> Script:
        """Read another text that the shell would run."""
        return read_shell(text, base, self._nesting + 1)

    # --- lists and pipelines --------------------------------------------------------------------

    def script_until_end(self) -> Script:
        """Read a list up to what ends it."""
        pipelines: list[Pipeline] = []
        while True:
            self._lines()
            if self.look(1) in ("", ")") or self.look(2) in (";;", ";&"):
                break
            if self._reserved() in _ENDS:
                break
            self.step()
            stages = self._pipeline()
            pipelines.append(Pipeline(stages, self._list_operator()))
        return Script(tuple(pipelines))

    def _list_operator(self) -> str:
        self._blanks()
        ahead = self.look(2)
        if ahead in ("&&", "||"):
            self.skip(2)
            return ahead
        if ahead[:1] in (";", "&") and ahead not in (";;", ";&"):
            self.skip(1)
            return ahead[0]
        if ahead[:1] in ("", ")", "\n") or ahead in (";;", ";&"):
            return "\n"
        if self._reserved() in _ENDS:  # `{ (a) }`
            return "\n"
        raise UnreadableError(f"`{ahead}` does not belong here")

    def _pipeline(self) -> tuple[Command, ...]:
        stages = [self._prefixed()]
        while True:
            self._blanks()
            ahead = self.look(2)
            if ahead[:1] != "|" or ahead == "||":
                return tuple(stages)
            self.skip(2 if ahead == "|&" else 1)
            self._lines()
            stages.append(self._prefixed())

    def _prefixed(self) -> Command:
        """A command behind `!`, `time` and `coproc`."""
        while True:
            self._blanks()
            if self.look(2) == "!(":
                self.skip(1)
            elif (word := self._reserved()) in ("!", "time", "coproc"):
                self.skip(len(word))
                self._blanks()
                if word == "time":
                    self._time_options()
                if word == "coproc":
                    return self._coprocess()
            else:
                return self.command()

    def _time_options(self) -> None:
        while match := re.match(r"(-p|--)(?=[\s;&|]|$)", self.look(LOOKAHEAD)):
            self.skip(len(match[0]))
            self._blanks()

    def _coprocess(self) -> Command:
        named = re.match(r"[A-Za-z_]\w*[ \t]+(?=[({]|\[\[)", self.look(80), re.ASCII)
        if named and not self._reserved():
            self.skip(len(named[0]))
        return self.command()

    # --- commands -------------------------------------------------------------------------------

    def command(self) -> Command:
        """Read one command."""
        self._nesting += 1
        if self._nesting > 60:
            raise UnreadableError("nested too deeply")
        command = self._one_command()
        self._nesting -= 1
        return command

    def _one_command(self) -> Command:
        if self.look(1) == "(":
            if self.look(2) == "((" and (word := self.arithmetic_command()) is not None:
                return self.compound("arithmetic", (), (word,))
            self.skip(1)
            return self.compound("subshell", (self.script_in_parentheses(),))
        keyword = self._reserved()
        if not keyword:
            return self._simple()
        if keyword in _ENDS or keyword in _NOT_COMMANDS:
            raise UnreadableError(f"`{keyword}` does not belong here")
        self.skip(len(keyword))
        return self.reserved_command(keyword)

    # --- simple commands ------------------------------------------------------------------------

    def _simple(self) -> Command:
        start = self._position
        assignments: list[Assignment] = []
        words: list[Word] = []
        redirects: list[Redirect] = []
        while True:
            self._blanks()
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
        if self.look(1) == "(" and len(words) == 1 and not assignments and not redirects:
            self.skip(1)
            self._expect(")")
            return self.function(words[0])
        if not (assignments or words or redirects):
            raise UnreadableError(f"`{self.look(1)}` does not belong here")
        raw = self.text[start : self._position].strip()
        expanded = tuple(e for word in words for e in expand_braces(word))
        return Simple(tuple(assignments), expanded, tuple(redirects), raw)
