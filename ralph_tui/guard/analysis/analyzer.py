"""Walks through what was read and asks the rule for every program that would start."""

import re
from collections.abc import Sequence
from dataclasses import replace

from ralph_tui.guard.analysis.dispatch import (
    asked_first,
    judge_blocked,
    judge_unknown,
    judged_alone,
    judged_by_rules,
    refuse_endless,
)
from ralph_tui.guard.analysis.pipe_text import Content, as_script, fed_by, output_of, written_by
from ralph_tui.guard.core.constants import (
    keeps_parameters,
    may_hide,
    says_what_starts,
    sets_up_shell,
    shifts_parameters,
)
from ralph_tui.guard.core.context import Invocation, base_of, directed, unreadable_part
from ralph_tui.guard.core.paths import printed_names
from ralph_tui.guard.core.policy import Policy
from ralph_tui.guard.core.verdicts import DeniedError
from ralph_tui.guard.core.working_dirs import Places
from ralph_tui.guard.rules.assignments import (
    DECLARATIONS,
    MOVES,
    change_directory,
    declare,
    judge_assignment,
    judge_setting,
    judge_subscript,
)
from ralph_tui.guard.rules.copy_move import looked_up, names_program, refuse_copy
from ralph_tui.guard.rules.package_managers import (
    ThroughUv,
    is_tool,
    place_of,
    script_of,
    through_uv,
    tool_of,
)
from ralph_tui.guard.rules.read_only import judge_other
from ralph_tui.guard.rules.repository_tools import refuse_committer
from ralph_tui.guard.rules.secrets import (
    judge_paths,
    judge_reading,
    judge_secret_paths,
    judge_secret_words,
    mentions_memory,
    mentions_secrets,
)
from ralph_tui.guard.rules.signals import looks_for_ralph, mentions_signals
from ralph_tui.guard.shell.nodes import (
    Command,
    Compound,
    Pipeline,
    Redirect,
    Script,
    Simple,
    UnreadableError,
    Word,
    anything,
    literal,
)
from ralph_tui.guard.shell.readings import read_command

_MAX_COMMANDS = 4000
_MAX_DEPTH = 25
_MAX_NESTED_TEXT = 256 * 1024
"""Characters of texts within texts: each level reads all that is below it once more."""


class Bounds:
    """Counts the work on one text; every method raises `UnreadableError` when it is too much."""

    def __init__(self) -> None:
        self.depth = 0
        self._commands = 0
        self._nested_text = 0

    def count(self) -> None:
        """One more command."""
        self._commands += 1
        if self._commands > _MAX_COMMANDS:
            raise UnreadableError("too many commands")

    def enter(self, length: int = 0) -> None:
        """Go one level deeper, into a text of this length."""
        self.depth += 1
        self._nested_text += length
        if self.depth > _MAX_DEPTH:
            raise UnreadableError("nested too deeply")
        if self._nested_text > _MAX_NESTED_TEXT:
            raise UnreadableError("too much text within texts")

    def leave(self) -> None:
        """Come back up."""
        self.depth -= 1


_CONNECTION = re.compile(r"/dev/(?:tcp|udp)/(?:localhost|127[\d.]*|\[?::1\]?|[\w-]+|\0)/[\w\0]+")
"""Bash's own way to reach a port of this machine, or of a container by its name; no file."""
_WRITING_REDIRECTS = frozenset({">", ">>", ">|", "<>", "&>", "&>>", ">&"})


class CommandWalker:
    """Judges one text; holds what was found on the way.

    Attributes:
        source: The text the agent sent.
        tools: Where in it tools stand that must run through uv, with the words that run them.
        seen: The words of every simple command judged.
        asks: What the person wants to be asked about, with the command that is it.
        looked_for_ralph: Whether a command so far looked for ralph's processes.

    Args:
        rewrites: Whether to look for such tools; a second reading leaves that to the first.
    """

    def __init__(self, source: str, policy: Policy, *, rewrites: bool = True) -> None:
        self.source = source
        self.seen: set[tuple[str, ...]] = set()
        self.looked_for_ralph = False
        self._signals = mentions_signals(source)
        self._secrets = mentions_secrets(source)
        self._memory = mentions_memory(source)
        self._rewrites = rewrites
        self.tools: dict[int, ThroughUv] = {}
        self.asks: dict[str, str] = {}
        self._functions: dict[str, Compound] = {}
        self._under_uv = False
        self._policy = policy
        self._places = Places.at_root(policy, source)
        self._bounds = Bounds()
        self._stdin: Word | None = None
        self._parameters: Sequence[Word] | None = None
        self._defining = False
        self._forwards = False
        self._written: dict[str, list[Content]] = {}

    # --- what was read --------------------------------------------------------------------------

    def script(self, script: Script, feed: Word | None = None) -> None:
        """Judge a list of commands, in its order."""
        before, chained, alternative = self._places.values, False, False
        for pipeline in script.pipelines:
            self._pipeline(pipeline, feed)
            feed = self._stdin or feed
            chained = chained or pipeline.operator in ("&&", "||")
            alternative = alternative or pipeline.operator == "||"
            ends = pipeline.operator not in ("&&", "||")
            if alternative or (ends and chained):  # perhaps it was not assigned
                self._places.values = before
            if ends:
                before, chained, alternative = self._places.values, False, False

    def simple(self, command: Simple, feed: Word | None = None, *, certain: bool = False) -> None:
        """Judge a simple command."""
        self._bounds.count()
        printed = output_of(command, feed)
        for word in command.words:
            self._substitutions(word, printed)
        configured = self._places.configured
        self._assignments(command)
        feed = self._redirects(command.redirects, feed, printed)
        if self._signals and looks_for_ralph(command, self._policy):
            self.looked_for_ralph = True
        if self._memory:
            judge_reading(command, self._places, self.source)
        if self._secrets:
            judge_secret_words(command, self._places)
        if command.words:
            self._words(command, feed, certain=certain)
            if command.assignments:  # which hold for this command only
                self._places.configured = configured
        for file, content in written_by(command, printed):
            for path in self._places.resolve(file) or ():
                self._written.setdefault(path, []).append(content)
        if command.values == ("exec",):  # what it redirects stays so
            self._stdin = feed

    def _words(self, command: Simple, feed: Word | None, *, certain: bool) -> None:
        self.seen.add(command.values)
        given = self._invocation(command.words, feed)
        for assignment in command.assignments:
            judge_setting(assignment.name, assignment.value, given)
        self._invoke(given, certain=certain)

    def _assignments(self, command: Simple) -> None:
        for assignment in command.assignments:
            self._substitutions(assignment.value)
            judge_assignment(assignment.name, assignment.value, command.raw)
            self._places.configure(assignment.name, assignment.value)
            self._places.note(assignment.value)
            if not command.words:
                name, value = assignment.name, assignment.value
                held = literal(f"/usr/bin/{found}") if (found := looked_up(value)) else value
                self._places.hold(name, [held], self.source, rf"(?<![\w$/-]){name}=")

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
        self._bounds.count()
        for word in command.words:
            self._substitutions(word)
            if command.kind == "loop":
                self._places.note(word)
                judge_paths([word], self._places, self.source, word.raw)
            if command.kind in ("test", "arithmetic"):
                judge_subscript(word, word.raw)
        feed = self._redirects(command.redirects, feed)
        outer = self._parameters, self._defining
        if command.kind == "function":
            refuse_endless(command)
            self._functions[command.name] = command
            self._parameters, self._defining = None, keeps_parameters(self.source)
        before, values = self._places, self._places.values
        if command.kind in ("subshell", "function"):
            self._places = before.fork()
        for body in command.bodies:
            if command.kind == "loop" and command.name:
                name = command.name
                self._places.hold(name, command.words, self.source, rf"\bfor\s+{name}\b")
            self.script(body, feed)
            self._places.values = values
        self._parameters, self._defining = outer
        if command.kind in ("subshell", "function"):
            self._places = before

    def _substitutions(self, word: Word, printed: Word | None = None) -> None:
        """Judge what is substituted; `>(…)` reads what the command has `printed`."""
        for script in word.scripts:
            self._bounds.count()
            before = self._places
            self._places = before.fork()
            self.script(script, (printed or anything()) if ">(" in word.raw else None)
            self._places = before
            for command in script.commands():  # what it prints may be what is changed later
                for named in printed_names(command) if isinstance(command, Simple) else ():
                    before.note(named)

    def _redirects(
        self, redirects: Sequence[Redirect], feed: Word | None, printed: Word | None = None
    ) -> Word | None:
        """Judge redirections; returns what is then read from standard input."""
        for redirect in redirects:
            self._substitutions(redirect.target, printed)
            if self._memory:
                judge_paths([redirect.target], self._places, self.source, redirect.target.raw)
            if self._secrets and redirect.operator == "<":
                judge_secret_paths([redirect.target], self._places, redirect.target.raw)
            if redirect.body is not None:
                self._substitutions(redirect.body)
            if redirect.operator == "<" and names_program(redirect.target):
                refuse_copy(f"< {redirect.target.raw}")
            if redirect.operator in _WRITING_REDIRECTS:
                number = redirect.target.text.rstrip("-").isdigit() or redirect.target.text == "-"
                descriptor = redirect.operator == ">&" and number
                if not descriptor and not _CONNECTION.fullmatch(redirect.target.text):
                    self._places.check_write(
                        redirect.target, f"{redirect.operator} {redirect.target.raw}"
                    )
        return fed_by(redirects, feed)

    # --- what is started ------------------------------------------------------------------------

    def run(self, words: Sequence[Word], given: Invocation, *, under_uv: bool = False) -> None:
        """Judge words that are executed as a command."""
        self._bounds.count()
        self._bounds.enter()
        started = replace(given, words=tuple(words), under_uv=under_uv or given.under_uv)
        self._start(started)
        self._bounds.leave()

    def assign(self, word: Word, given: Invocation) -> None:
        """Judge `NAME=value` put into a command's environment."""
        name, _, _ = word.text.partition("=")
        value = word.cut(len(name) + 1)
        judge_assignment(name, value, given.shown)
        judge_setting(name, value, given)
        given.places.configure(name, value)

    def shell(self, text: Word, given: Invocation, feed: Word | None = None) -> None:
        """Judge a text that a shell executes; it reads what the shell is fed."""
        if feed is None and text is not given.feed:
            feed = given.feed
        if may_hide(text, self.source):
            known = given.places.forms(text)
            if given.program == "eval" and sets_up_shell(text, self._functions):
                return
            if not known:
                unreadable_part(given.shown, "A shell would run a text that is not known")
            for form in known:
                self.shell(form, given, feed)
            return
        self._bounds.enter(len(text.text))
        before, under_uv = self._places, self._under_uv
        outer = self._parameters, self._defining
        try:
            script = read_command(text.text, base_of(text), self._bounds.depth)
            self._parameters, self._defining = None, False
            self._places = replace(given.places, values={})
            self._under_uv = under_uv or given.under_uv
            self.script(script, feed)
        finally:  # who asks about a text that may be a command goes on when it is refused
            self._places, self._under_uv = before, under_uv
            self._parameters, self._defining = outer
            self._bounds.leave()

    def written(self, file: Word, given: Invocation) -> None:
        """Judge a script that the same command has just written, once, as far as it can be read."""
        for path in given.places.resolve(file) or ():
            for content in self._written.pop(path, ()):
                if content is None:
                    unreadable_part(given.shown, "This runs what was downloaded a moment ago")
                if (text := as_script(content)) is not None:
                    self._judge_written(text, given)

    def _judge_written(self, text: Word, given: Invocation) -> None:
        rewrites, self._rewrites = self._rewrites, False  # in a file tools are what they are
        try:
            self.shell(text, replace(given, feed=None))
        except DeniedError as error:
            if error.verdict.rule != "unreadable-command":
                raise
        finally:
            self._rewrites = rewrites

    def _invocation(self, words: Sequence[Word], feed: Word | None) -> Invocation:
        return Invocation(
            tuple(words), self._places, self._policy, self, feed, under_uv=self._under_uv
        )

    def _invoke(self, given: Invocation, *, certain: bool = False) -> None:
        """Judge what the shell itself runs: a program, a function, or what a function is called with."""
        if given.words[0].raw == '"$@"' and self._defining:
            self._forwards = True  # judged whenever it is called
            return
        if given.words[0].raw == '"$@"' and self._parameters is not None:
            words = (*self._parameters, *given.words[1:])
            ends = len(self._parameters) if shifts_parameters(self.source) else 1
            for at in range(min(ends, len(self._parameters))):
                self._bounds.enter()
                self._invoke(replace(given, words=words[at:]))
                self._bounds.leave()
            return
        called = self._called(given)
        if not (called and is_tool(given)):  # not the tool, but what bears its name
            self._start(given, certain=certain, called=called)

    def _start(self, given: Invocation, *, certain: bool = False, called: bool = False) -> None:
        """Judge a program with its arguments by the rule that knows it."""
        head = given.words[0]
        if not says_what_starts(head, self.source):
            unreadable_part(
                head.raw or given.shown, "An expansion stands where a command should be"
            )
        program = given.program
        if "/" in head.text:
            self.written(head, given)
        judge_blocked(given)
        self.asks.update(dict.fromkeys(asked_first(given), given.shown))
        refuse_committer(given)
        given = directed(given)
        if program in MOVES:
            change_directory(given, certain=certain)
        elif program in DECLARATIONS:
            declare(given)
        elif not judged_alone(given):
            self._judge_program(given, called=called)

    def _judge_program(self, given: Invocation, *, called: bool) -> None:
        tool = tool_of(given)
        if self._rewrites and tool:
            self.tools[place_of(tool, given)] = through_uv(tool, given)
        elif self._rewrites and (script := script_of(given)):
            self.tools[given.words[0].start] = ThroughUv("uv run", script)
        if is_tool(given):
            judge_other(given)
            return
        known = judged_by_rules(given)
        if not known and not called:
            judge_unknown(given)

    def _called(self, given: Invocation) -> bool:
        """Whether this is a function of the text; its body is judged again with what it is given."""
        name = given.words[0].text
        function = self._functions.get(name)
        if function is not None and (given.feed is not None or self._forwards):
            self._bounds.count()
            if not self._forwards:  # else what it calls itself with may be another command
                self._functions[name] = replace(function, bodies=())
            self._bounds.enter()
            before = self._parameters, self._defining
            self._parameters, self._defining = given.arguments, False
            for body in function.bodies:
                self.script(body, given.feed)
            self._parameters, self._defining = before
            self._functions[name] = function
            self._bounds.leave()
        return function is not None
