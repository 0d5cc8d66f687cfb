"""Walks through what was read and asks the rule for every program that would start."""

import re
from collections.abc import Sequence
from dataclasses import replace

from ralph_tui.guard.committers import refuse_committer
from ralph_tui.guard.flow import fed_by, output_of
from ralph_tui.guard.options import parse
from ralph_tui.guard.packages import PYTHON
from ralph_tui.guard.places import Places
from ralph_tui.guard.policy import Policy
from ralph_tui.guard.programs import judged_alone, judged_by_rules
from ralph_tui.guard.redirects import as_assignment
from ralph_tui.guard.shell import read_command
from ralph_tui.guard.suspects import asked_first, judge_blocked, judge_unknown, refuse_endless
from ralph_tui.guard.syntax import (
    UNKNOWN,
    Command,
    Compound,
    Pipeline,
    Redirect,
    Script,
    Simple,
    Word,
    anything,
    literal,
)
from ralph_tui.guard.variables import judge_assignment, judge_subscript
from ralph_tui.guard.verdicts import UnreadableError, deny
from ralph_tui.guard.walk import Invocation, base_of, unreadable_part

_MAX_COMMANDS = 4000
_MAX_DEPTH = 25
_MAX_NESTED_TEXT = 256 * 1024
"""Characters of texts within texts: each level reads all that is below it once more."""
_DECLARATIONS = frozenset({"export", "declare", "typeset", "local", "readonly"})
_HIDING = re.compile(
    r"git|pip|conda|poetry|venv|\brm\b|docker|eval|\.ralph|base64|\brev\b|xxd|printf|\btr\b|\\x"
)
_WRITING_REDIRECTS = frozenset({">", ">>", ">|", "<>", "&>", "&>>", ">&"})


class CommandWalker:
    """Judges one text; holds what was found on the way.

    Attributes:
        source: The text the agent sent.
        tools: Where in it tools stand that must run through uv, with their names.
        seen: The words of every simple command judged.
        asks: What the person wants to be asked about, with the command that is it.

    Args:
        rewrites: Whether to look for such tools; a second reading leaves that to the first.
    """

    def __init__(self, source: str, policy: Policy, *, rewrites: bool = True) -> None:
        self.source = source
        self.seen: set[tuple[str, ...]] = set()
        self._rewrites = rewrites
        self.tools: dict[int, str] = {}
        self.asks: dict[str, str] = {}
        self._functions: dict[str, Compound] = {}
        self._under_uv = False
        self._policy = policy
        self._places = Places.at_root(policy)
        self._commands = 0
        self._depth = 0
        self._nested_text = 0

    # --- what was read --------------------------------------------------------------------------

    def script(self, script: Script, feed: Word | None = None) -> None:
        """Judge a list of commands, in its order."""
        for pipeline in script.pipelines:
            self._pipeline(pipeline, feed)

    def simple(self, command: Simple, feed: Word | None = None, *, certain: bool = False) -> None:
        """Judge a simple command."""
        self._count()
        printed = output_of(command, feed)
        for word in command.words:
            self._substitutions(word, printed)
        for assignment in command.assignments:
            self._substitutions(assignment.value)
            judge_assignment(assignment.name, assignment.value, command.raw)
            self._places.note(assignment.value)
        feed = self._redirects(command.redirects, feed, printed)
        if command.words:
            self.seen.add(command.values)
            self._start(self._invocation(command.words, feed), certain=certain)

    def _count(self) -> None:
        self._commands += 1
        if self._commands > _MAX_COMMANDS:
            raise UnreadableError("too many commands")

    def _pipeline(self, pipeline: Pipeline, feed: Word | None) -> None:
        alone = len(pipeline.stages) == 1 and pipeline.operator != "&"
        before = self._places
        for stage in pipeline.stages:
            if not alone:
                self._places = before.fork()
            self._command(stage, feed, certain=pipeline.operator == "&&")
            if not alone and isinstance(stage, Simple):
                for word in stage.words:  # what it prints may be what the next one changes
                    before.note(word)
            feed = output_of(stage, feed)
        if not alone:
            self._places = before

    def _command(self, command: Command, feed: Word | None, *, certain: bool) -> None:
        if isinstance(command, Simple):
            self.simple(command, feed, certain=certain)
            return
        self._count()
        for word in command.words:
            self._substitutions(word)
            if command.kind == "loop":
                self._places.note(word)
            if command.kind in ("test", "arithmetic"):
                judge_subscript(word, word.raw)
        feed = self._redirects(command.redirects, feed)
        if command.kind == "function":
            refuse_endless(command)
            self._functions[command.name] = command
        before = self._places
        if command.kind in ("subshell", "function"):
            self._places = before.fork()
        for body in command.bodies:
            self.script(body, feed)
        if command.kind in ("subshell", "function"):
            self._places = before

    def _substitutions(self, word: Word, printed: Word | None = None) -> None:
        """Judge what is substituted; `>(…)` reads what the command has `printed`."""
        for script in word.scripts:
            before = self._places
            self._places = before.fork()
            self.script(script, (printed or anything()) if ">(" in word.raw else None)
            self._places = before

    def _redirects(
        self, redirects: Sequence[Redirect], feed: Word | None, printed: Word | None = None
    ) -> Word | None:
        """Judge redirections; returns what is then read from standard input."""
        for redirect in redirects:
            self._substitutions(redirect.target, printed)
            if redirect.body is not None:
                self._substitutions(redirect.body)
            if redirect.operator in _WRITING_REDIRECTS:
                number = redirect.target.text.rstrip("-").isdigit() or redirect.target.text == "-"
                if not (redirect.operator == ">&" and number):
                    self._places.check_write(
                        redirect.target, f"{redirect.operator} {redirect.target.raw}"
                    )
        return fed_by(redirects, feed)

    # --- what is started ------------------------------------------------------------------------

    def run(self, words: Sequence[Word], given: Invocation, *, under_uv: bool = False) -> None:
        """Judge words that are executed as a command."""
        self._count()
        self._enter()
        started = replace(given, words=tuple(words), under_uv=under_uv or given.under_uv)
        self._start(started)
        self._depth -= 1

    def assign(self, word: Word, given: Invocation) -> None:
        """Judge `NAME=value` put into a command's environment."""
        name, _, _ = word.text.partition("=")
        judge_assignment(name, word.cut(len(name) + 1), given.shown)

    def shell(self, text: Word, given: Invocation, feed: Word | None = None) -> None:
        """Judge a text that a shell executes."""
        unknown = any(
            c == UNKNOWN and k in "xs" for c, k in zip(text.text, text.kinds, strict=True)
        )
        if unknown and (text.text.strip() == UNKNOWN or _HIDING.search(self.source)):
            unreadable_part(given.shown, "A shell would run a text that is not known")
        self._enter()
        self._nested_text += len(text.text)
        if self._nested_text > _MAX_NESTED_TEXT:
            raise UnreadableError("too much text within texts")
        script = read_command(text.text, base_of(text), self._depth)
        before, under_uv = self._places, self._under_uv
        self._places = before.fork()
        self._under_uv = under_uv or given.under_uv
        self.script(script, feed)
        self._places, self._under_uv = before, under_uv
        self._depth -= 1

    def _enter(self) -> None:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise UnreadableError("nested too deeply")

    def _invocation(self, words: Sequence[Word], feed: Word | None) -> Invocation:
        return Invocation(
            tuple(words), self._places, self._policy, self, feed, under_uv=self._under_uv
        )

    def _start(self, given: Invocation, *, certain: bool = False) -> None:
        """Judge a program with its arguments by the rule that knows it."""
        head = given.words[0]
        zsh = head.text.startswith("=") and head.kinds.startswith("u")  # a program's path, to zsh
        if zsh or not head.known or "{" in head.raw.partition("/")[0]:
            unreadable_part(
                head.raw or given.shown, "An expansion stands where a command should be"
            )
        program = given.program
        judge_blocked(given)
        self.asks.update(dict.fromkeys(asked_first(given), given.shown))
        refuse_committer(given)
        if program in ("cd", "pushd", "popd", "chdir"):
            self._change_directory(given, certain=certain)
        elif program in _DECLARATIONS:
            self._declare(given)
        elif not judged_alone(given):
            self._judge_program(program, given)

    def _judge_program(self, program: str, given: Invocation) -> None:
        if program in self._policy.python_tools and "/" not in given.words[0].text:
            self._through_uv(program, given)
            return
        self._python_module(program, given)
        if not judged_by_rules(given) and not self._called(given):
            judge_unknown(given)

    def _called(self, given: Invocation) -> bool:
        """Whether this is a function of the text; its body is judged again with what it is given."""
        name = given.words[0].text
        function = self._functions.get(name)
        if function is not None and given.feed is not None:
            self._count()
            self._functions[name] = replace(function, bodies=())  # it may call itself
            for body in function.bodies:
                self.script(body, given.feed)
            self._functions[name] = function
        return function is not None

    def _through_uv(self, program: str, given: Invocation) -> None:
        if given.under_uv or not self._rewrites:
            return
        start = given.words[0].start
        if start < 0:
            deny(
                "uv-run",
                given.shown,
                "The project's tools run in uv's environment",
                f"Use uv run {program}.",
            )
        self.tools[start] = program

    def _python_module(self, program: str, given: Invocation) -> None:
        """`python -m pytest` needs uv's environment as `pytest` does."""
        words = given.arguments
        plain = len(words) > 1 and words[0].text == "-m" and "/" not in given.words[0].text
        if (
            plain
            and program != "py"
            and PYTHON.fullmatch(program)
            and words[1].text in self._policy.python_tools
        ):
            self._through_uv(f"{program} -m {words[1].text}", given)

    def _change_directory(self, given: Invocation, *, certain: bool) -> None:
        if given.program == "popd":
            self._places.move(literal("-"), certain=certain)
            return
        operands = parse(given.arguments).operands
        self._places.move(operands[0] if operands else None, certain=certain)

    def _declare(self, given: Invocation) -> None:
        for word in given.arguments:
            judge_subscript(word, given.shown)
            assignment = as_assignment(word)
            if assignment is not None:
                judge_assignment(assignment.name, assignment.value, given.shown)
                given.places.note(assignment.value)
            elif "=" in word.text or (word.text.startswith("-") and "n" in word.text):
                self.assign(word, given)
