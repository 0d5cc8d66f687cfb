"""Walks through what was read and asks the rule for every program that would start."""

import re
from collections.abc import Sequence
from dataclasses import replace

from ralph_tui.guard.destructive import destroyer, found_paths
from ralph_tui.guard.git import RULE as GIT_RULE
from ralph_tui.guard.git import judge_git
from ralph_tui.guard.git_commands import GIT_COMMANDS, MUTATING
from ralph_tui.guard.interpreters import interpreter
from ralph_tui.guard.launchers import SHELLS, launcher
from ralph_tui.guard.lexer import unescape_ansi
from ralph_tui.guard.names import names
from ralph_tui.guard.options import parse
from ralph_tui.guard.packages import (
    PYTHON,
    is_manager,
    judge_uv,
    judge_uvx,
    refuse_manager,
)
from ralph_tui.guard.places import Places
from ralph_tui.guard.policy import Policy
from ralph_tui.guard.reader import as_assignment
from ralph_tui.guard.shell import read_command
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
from ralph_tui.guard.writers import READERS, judge_other, writer

_MAX_COMMANDS = 4000
_MAX_DEPTH = 25
_MAX_NESTED_TEXT = 256 * 1024
"""Characters of texts within texts: each level reads all that is below it once more."""
_DECLARATIONS = frozenset({"export", "declare", "typeset", "local", "readonly"})
_ARITHMETIC = frozenset({"let", "test", "[", "unset", "read", "printf", "wait", "mapfile"})
_HIDING = re.compile(
    r"git|pip|conda|poetry|venv|\brm\b|docker|eval|\.ralph|base64|\brev\b|xxd|printf|\btr\b|\\x"
)
_COMMAND_TEXT = re.compile(
    r"(?:^\s*|[:;|&!({=]\s*|\bspawn\s+)(?:[\w./~-]*/)?(git|pip3?|poetry|conda|pipenv)\s+([\w-]+)"
)
_WRITING_REDIRECTS = frozenset({">", ">>", ">|", "<>", "&>", "&>>", ">&"})
_TEXT_PROGRAMS = READERS | names(
    "gh glab npm yarn pnpm brew apt apt-get cargo notify-send logger wall say figlet cowsay"
    " espeak xmessage zenity dialog whiptail cloc mail sendmail xdg-open open code"
)


class CommandWalker:
    """Judges one text; holds what was found on the way.

    Attributes:
        source: The text the agent sent.
        tools: Where in it tools stand that must run through uv, with their names.
        seen: The words of every simple command judged.

    Args:
        rewrites: Whether to look for such tools; a second reading leaves that to the first.
    """

    def __init__(self, source: str, policy: Policy, *, rewrites: bool = True) -> None:
        self.source = source
        self.seen: set[tuple[str, ...]] = set()
        self._rewrites = rewrites
        self.tools: dict[int, str] = {}
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
        for word in command.words:
            self._substitutions(word)
        for assignment in command.assignments:
            self._substitutions(assignment.value)
            judge_assignment(assignment.name, assignment.value, command.raw)
            self._places.note(assignment.value)
        feed = self._redirects(command.redirects, feed)
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
            feed = self._output(stage, feed)
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
            _refuse_endless(command)
        before = self._places
        if command.kind in ("subshell", "function"):
            self._places = before.fork()
        for body in command.bodies:
            self.script(body, feed)
        if command.kind in ("subshell", "function"):
            self._places = before

    def _substitutions(self, word: Word) -> None:
        for script in word.scripts:
            before = self._places
            self._places = before.fork()
            self.script(script)
            self._places = before

    def _redirects(self, redirects: Sequence[Redirect], feed: Word | None) -> Word | None:
        """Judge redirections; returns what is then read from standard input."""
        for redirect in redirects:
            self._substitutions(redirect.target)
            if redirect.body is not None:
                self._substitutions(redirect.body)
            if redirect.operator in _WRITING_REDIRECTS:
                number = redirect.target.text.rstrip("-").isdigit() or redirect.target.text == "-"
                if not (redirect.operator == ">&" and number):
                    self._places.check_write(
                        redirect.target, f"{redirect.operator} {redirect.target.raw}"
                    )
            if redirect.descriptor not in ("", "0"):
                continue
            if redirect.body is not None:
                feed = redirect.body
            elif redirect.operator == "<<<":
                target = redirect.target
                feed = Word(target.text + "\n", target.kinds + "q", target.raw, target.start)
            elif redirect.operator == "<":
                feed = anything(redirect.target.raw) if redirect.target.feeds else None
        return feed

    # --- what is started ------------------------------------------------------------------------

    def run(self, words: Sequence[Word], given: Invocation, *, under_uv: bool = False) -> None:
        """Judge words that are executed as a command."""
        self._count()
        self._enter()
        started = replace(given, words=tuple(words), under_uv=under_uv)
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
        before = self._places
        self._places = before.fork()
        self.script(script, feed)
        self._places = before
        self._depth -= 1

    def _enter(self) -> None:
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise UnreadableError("nested too deeply")

    def _invocation(self, words: Sequence[Word], feed: Word | None) -> Invocation:
        return Invocation(tuple(words), self._places, self._policy, self, feed)

    def _start(self, given: Invocation, *, certain: bool = False) -> None:
        """Judge a program with its arguments by the rule that knows it."""
        head = given.words[0]
        if not head.known or "{" in head.raw.partition("/")[0]:
            unreadable_part(
                head.raw or given.shown, "An expansion stands where a command should be"
            )
        program = given.program
        self._judge_blocked(given)
        if program in ("cd", "pushd", "popd", "chdir"):
            self._change_directory(given, certain=certain)
        elif program in _DECLARATIONS:
            self._declare(given)
        elif (git := _git_words(given)) is not None:
            for written in judge_git(git, self._policy):
                given.places.check_write(written, given.shown)
        elif is_manager(program):
            refuse_manager(program, given.arguments, given.shown)
        elif program == "uv":
            judge_uv(given)
        elif program == "uvx":
            judge_uvx(given)
        elif program in self._policy.python_tools and "/" not in head.text:
            self._through_uv(program, given)
        else:
            self._judge_program(program, given)

    def _judge_program(self, program: str, given: Invocation) -> None:
        if program in _ARITHMETIC:
            for word in given.arguments:
                judge_subscript(word, given.shown)
        self._python_module(program, given)
        rules = (launcher(program), interpreter(program), destroyer(program), writer(program))
        for rule in rules:
            if rule is not None:
                rule(given)
        if not any(rules):
            judge_other(given)
            self._judge_unknown(given)

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
        if plain and PYTHON.fullmatch(program) and words[1].text in self._policy.python_tools:
            self._through_uv(f"{program} -m {words[1].text}", given)

    def _judge_unknown(self, given: Invocation) -> None:
        """A program not known here may start what its arguments say; look whether they say git."""
        if given.program in _TEXT_PROGRAMS:
            return
        words = given.arguments
        for at, word in enumerate(words):
            name = word.text.rpartition("/")[2]
            after = words[at + 1].text if at + 1 < len(words) else ""
            if (
                (name == "git" and after in MUTATING)
                or (name in SHELLS and after.endswith("c"))
                or (is_manager(name) and after in ("install", "uninstall", "add", "remove"))
            ):
                self.run(words[at:], given)
            else:
                for text in _COMMAND_TEXT.finditer(word.text):
                    if text[1] != "git" or text[2] in MUTATING:
                        self.shell(literal(word.text[text.start(1) :]), given)

    def _change_directory(self, given: Invocation, *, certain: bool) -> None:
        if given.program == "popd":
            self._places.move(literal("-"), certain=certain)
            return
        operands = parse(given.arguments).operands
        self._places.move(operands[0] if operands else None, certain=certain)

    def _declare(self, given: Invocation) -> None:
        for word in given.arguments:
            assignment = as_assignment(word)
            if assignment is not None:
                judge_assignment(assignment.name, assignment.value, given.shown)
                given.places.note(assignment.value)
            elif "=" in word.text or (word.text.startswith("-") and "n" in word.text):
                self.assign(word, given)

    def _judge_blocked(self, given: Invocation) -> None:
        for blocked in self._policy.blocked_commands:
            wanted = blocked.split()
            if not wanted or given.program != wanted[0].casefold():
                continue
            if _holds(given.arguments, wanted[1:]):
                deny(
                    "blocked-command",
                    given.shown,
                    f"`{blocked}` is blocked in this project's settings",
                    "Ask the person, or do without it.",
                )

    # --- what flows through a pipe --------------------------------------------------------------

    def _output(self, command: Command, feed: Word | None) -> Word:
        """What a command writes, as far as its text says."""
        if isinstance(command, Compound) or not command.words or not command.words[0].known:
            return anything()
        program = command.words[0].text
        arguments = command.words[1:]
        if any(r.operator == "<<<" or r.body is not None for r in command.redirects):
            feed = self._redirects(command.redirects, feed)
        if program == "echo":
            return _echoed(arguments)
        if program == "printf" and arguments:
            return _printed(arguments)
        if program == "cat" and not [w for w in arguments if w.text != "-"]:
            return feed if feed is not None else literal("")
        if program == "tee" and feed is not None:
            return feed
        if program == "find":
            return _found(arguments)
        return anything()


def _git_words(given: Invocation) -> tuple[Word, ...] | None:
    """The words after `git`, also for `git-branch` and the programs in git's own directory."""
    program = given.program
    if program == "git":
        return given.arguments
    if program.startswith("git-") and program[4:] in GIT_COMMANDS:
        return (literal(program[4:]), *given.arguments)
    if program in ("git-shell", "gitk", "git-gui", "tig", "lazygit", "hub", "jj"):
        deny(
            GIT_RULE,
            given.shown,
            "This program changes the repository",
            "Use git status and git log.",
        )
    return None


def _holds(arguments: Sequence[Word], wanted: Sequence[str]) -> bool:
    """Whether the wanted words occur in this order; short options in any cluster and place."""
    letters = {c for w in arguments if re.match(r"-[^-]", w.text) for c in w.text[1:]}
    at = 0
    for want in wanted:
        if re.fullmatch(r"-[^-]+", want) and set(want[1:]) <= letters:
            continue
        at = next((i + 1 for i in range(at, len(arguments)) if arguments[i].text == want), 0)
        if not at:
            return False
    return True


def _refuse_endless(function: Compound) -> None:
    """A function that starts itself in a pipe or the background never ends."""
    stack = list(function.bodies)
    while stack:
        for pipeline in stack.pop().pipelines:
            spreads = len(pipeline.stages) > 1 or pipeline.operator == "&"
            for stage in pipeline.stages:
                if isinstance(stage, Compound):
                    stack.extend(stage.bodies)
                elif spreads and stage.words and stage.words[0].text == function.name:
                    deny(
                        "destructive",
                        function.name,
                        "This function starts itself without end",
                        "Leave it out.",
                    )


def _echoed(arguments: Sequence[Word]) -> Word:
    words = list(arguments)
    escapes = False
    while words and re.fullmatch(r"-[neE]+", words[0].text):
        escapes = escapes or "e" in words.pop(0).text
    text = " ".join(word.text for word in words)
    if any(word.has_glob for word in words):
        text += UNKNOWN
    plain = _unescaped(text) if escapes else text
    return _flow(plain + "\n")


def _printed(arguments: Sequence[Word]) -> Word:
    pattern, *values = arguments
    if pattern.text == "-v" or not pattern.known or not all(v.known for v in values):
        return anything()
    text = _unescaped(pattern.text)
    pieces = re.split(r"%[-0-9.]*[sbdq]", text)
    if len(pieces) == 1:
        return _flow(text)
    if len(values) != len(pieces) - 1:  # printf would go round again, or leave places empty
        return anything()
    filled = (piece + value.text for piece, value in zip(pieces, values, strict=False))
    return _flow("".join(filled) + pieces[-1])


def _unescaped(text: str) -> str:
    return UNKNOWN.join(unescape_ansi(part) for part in text.split(UNKNOWN))


def _flow(text: str) -> Word:
    return Word(text, "".join("x" if c == UNKNOWN else "q" for c in text), text)


def _found(arguments: Sequence[Word]) -> Word:
    """What `find` prints, as one path for each place it looks in."""
    tests = next(
        (i for i, w in enumerate(arguments) if w.text.startswith(("-", "(", "!"))), len(arguments)
    )
    paths = found_paths(arguments[:tests] or [literal(".")], arguments[tests:])
    return _flow("\n".join(path.text for path in paths))
