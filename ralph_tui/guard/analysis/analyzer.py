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
from ralph_tui.guard.core.paths import printed_names
from ralph_tui.guard.core.policy import Policy
from ralph_tui.guard.core.rule_context import Invocation, Scope, base_of, directed, unreadable_part
from ralph_tui.guard.core.verdicts import DeniedError
from ralph_tui.guard.core.working_dirs import WorkingDirs
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
_MAX_NESTED_TEXT = 256 * 1024
"""Characters of texts within texts: each level reads all that is below it once more."""
_CONNECTION = re.compile(r"/dev/(?:tcp|udp)/(?:localhost|127[\d.]*|\[?::1\]?|[\w-]+|\0)/[\w\0]+")
"""Bash's own way to reach a port of this machine, or of a container by its name; no file."""
_WRITING_REDIRECTS = frozenset({">", ">>", ">|", "<>", "&>", "&>>", ">&"})


class CommandAnalyzer:
    """Judges one text; holds what was found on the way.

    What holds for a single command is in its `Scope`, which is handed down and never changed.

    Attributes:
        source: The text the agent sent.
        outermost: The scope of that text, in the project's root.
        tools: Where in it tools stand that must run through uv, with the words that run them.
        seen: The words of every simple command judged.
        asks: What the person wants to be asked about, with the command that is it.
        looked_for_ralph: Whether a command so far looked for ralph's processes.
    """

    def __init__(self, source: str, policy: Policy, *, rewrites: bool = True) -> None:
        """Judge `source` under a policy; a second reading leaves the `rewrites` to the first."""
        self.source = source
        self.outermost = Scope(WorkingDirs.at_root(policy, source), rewrites=rewrites)
        self.tools: dict[int, ThroughUv] = {}
        self.seen: set[tuple[str, ...]] = set()
        self.asks: dict[str, str] = {}
        self.looked_for_ralph = False
        self._signals = mentions_signals(source)
        self._secrets = mentions_secrets(source)
        self._memory = mentions_memory(source)
        self._commands = 0
        self._nested_text = 0
        self._stdin: Word | None = None
        self._functions: dict[str, Compound] = {}
        self._forwards = False
        self._written: dict[str, list[Content]] = {}

    # --- what was read --------------------------------------------------------------------------

    def script(self, script: Script, scope: Scope, feed: Word | None = None) -> None:
        """Judge a list of commands, in its order."""
        places = scope.places
        before, chained, alternative = places.values, False, False
        for pipeline in script.pipelines:
            self._pipeline(pipeline, scope, feed)
            feed = self._stdin or feed
            chained = chained or pipeline.operator in ("&&", "||")
            alternative = alternative or pipeline.operator == "||"
            ends = pipeline.operator not in ("&&", "||")
            if alternative or (ends and chained):  # perhaps it was not assigned
                places.values = before
            if ends:
                before, chained, alternative = places.values, False, False

    def simple(
        self, command: Simple, scope: Scope, feed: Word | None = None, *, certain: bool = False
    ) -> None:
        """Judge a simple command.

        Args:
            command: The command.
            scope: Where it is; its directories and variables change as the command changes them.
            feed: What it reads from standard input, None if nothing is given to it.
            certain: Whether what follows runs only if it succeeds.

        Raises:
            DeniedError: A rule refuses it.
            UnreadableError: The text holds too many commands.
        """
        self._count()
        places = scope.places
        printed = output_of(command, feed)
        for word in command.words:
            self._substitutions(word, scope, printed)
        configured = places.configured
        self._assignments(command, scope)
        feed = self._redirects(command.redirects, scope, feed, printed)
        if self._signals and looks_for_ralph(command, places.policy):
            self.looked_for_ralph = True
        if self._memory:
            judge_reading(command, places, self.source)
        if self._secrets:
            judge_secret_words(command, places)
        if command.words:
            self._words(command, Invocation(command.words, scope, self, feed), certain=certain)
            if command.assignments:  # which hold for this command only
                places.configured = configured
        for file, content in written_by(command, printed):
            for path in places.resolve(file) or ():
                self._written.setdefault(path, []).append(content)
        if command.values == ("exec",):  # what it redirects stays so
            self._stdin = feed

    def _words(self, command: Simple, given: Invocation, *, certain: bool) -> None:
        self.seen.add(command.values)
        for assignment in command.assignments:
            judge_setting(assignment.name, assignment.value, given)
        self._invoke(given, certain=certain)

    def _count(self) -> None:
        self._commands += 1
        if self._commands > _MAX_COMMANDS:
            raise UnreadableError("too many commands")

    def _assignments(self, command: Simple, scope: Scope) -> None:
        places = scope.places
        for assignment in command.assignments:
            name, value = assignment.name, assignment.value
            self._substitutions(value, scope)
            judge_assignment(name, value, command.raw)
            places.configure(name, value)
            places.note(value)
            if not command.words:
                held = literal(f"/usr/bin/{found}") if (found := looked_up(value)) else value
                places.hold(name, [held], self.source, rf"(?<![\w$/-]){name}=")

    def _pipeline(self, pipeline: Pipeline, scope: Scope, feed: Word | None) -> None:
        alone = len(pipeline.stages) == 1 and pipeline.operator != "&"
        for stage in pipeline.stages:
            within = scope if alone else scope.fork()
            self._command(stage, within, feed, certain=pipeline.operator == "&&")
            if not alone and isinstance(stage, Simple):
                for word in stage.words:  # what it prints may be what the next one changes
                    scope.places.note(word)
            feed = output_of(stage, feed)

    def _command(self, command: Command, scope: Scope, feed: Word | None, *, certain: bool) -> None:
        if isinstance(command, Simple):
            self.simple(command, scope, feed, certain=certain)
            return
        self._count()
        for word in command.words:
            self._substitutions(word, scope)
            if command.kind == "loop":
                scope.places.note(word)
                judge_paths([word], scope.places, self.source, word.raw)
            if command.kind in ("test", "arithmetic"):
                judge_subscript(word, word.raw)
        feed = self._redirects(command.redirects, scope, feed)
        values = scope.places.values
        if command.kind == "function":
            refuse_endless(command)
            self._functions[command.name] = command
            keeps = keeps_parameters(self.source)
            scope = replace(scope.fork(), parameters=None, defining=keeps)
        elif command.kind == "subshell":
            scope = scope.fork()
        for body in command.bodies:
            if command.kind == "loop" and command.name:
                name = command.name
                scope.places.hold(name, command.words, self.source, rf"\bfor\s+{name}\b")
            self.script(body, scope, feed)
            scope.places.values = values

    def _substitutions(self, word: Word, scope: Scope, printed: Word | None = None) -> None:
        """Judge what is substituted; `>(…)` reads what the command has `printed`."""
        for script in word.scripts:
            self._count()
            self.script(script, scope.fork(), (printed or anything()) if ">(" in word.raw else None)
            for command in script.commands():  # what it prints may be what is changed later
                for named in printed_names(command) if isinstance(command, Simple) else ():
                    scope.places.note(named)

    def _redirects(
        self,
        redirects: Sequence[Redirect],
        scope: Scope,
        feed: Word | None,
        printed: Word | None = None,
    ) -> Word | None:
        """Judge redirections; returns what is then read from standard input."""
        for redirect in redirects:
            target = redirect.target
            self._substitutions(target, scope, printed)
            if self._memory:
                judge_paths([target], scope.places, self.source, target.raw)
            if self._secrets and redirect.operator == "<":
                judge_secret_paths([target], scope.places, target.raw)
            if redirect.body is not None:
                self._substitutions(redirect.body, scope)
            if redirect.operator == "<" and names_program(target):
                refuse_copy(f"< {target.raw}")
            if redirect.operator in _WRITING_REDIRECTS:
                number = target.text.rstrip("-").isdigit() or target.text == "-"
                descriptor = redirect.operator == ">&" and number
                if not descriptor and not _CONNECTION.fullmatch(target.text):
                    scope.places.check_write(target, f"{redirect.operator} {target.raw}")
        return fed_by(redirects, feed)

    # --- what is started ------------------------------------------------------------------------

    def run(self, words: Sequence[Word], given: Invocation, *, under_uv: bool = False) -> None:
        """Judge words that are executed as a command."""
        self._count()
        scope = replace(given.scope.deeper(), under_uv=under_uv or given.under_uv)
        self._start(replace(given, words=tuple(words), scope=scope))

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
        inner = given.scope.deeper()
        self._nested_text += len(text.text)
        if self._nested_text > _MAX_NESTED_TEXT:
            raise UnreadableError("too much text within texts")
        script = read_command(text.text, base_of(text), inner.depth)
        places = replace(given.places, values={})
        self.script(script, replace(inner, places=places, parameters=None, defining=False), feed)

    def written(self, file: Word, given: Invocation) -> None:
        """Judge a script that the same command has just written, once, as far as it can be read."""
        for path in given.places.resolve(file) or ():
            for content in self._written.pop(path, ()):
                if content is None:
                    unreadable_part(given.shown, "This runs what was downloaded a moment ago")
                if (text := as_script(content)) is not None:
                    self._judge_written(text, given)

    def _judge_written(self, text: Word, given: Invocation) -> None:
        as_file = replace(given.scope, rewrites=False)  # in a file tools are what they are
        try:
            self.shell(text, replace(given, scope=as_file, feed=None))
        except DeniedError as error:
            if error.verdict.rule != "unreadable-command":
                raise

    def _invoke(self, given: Invocation, *, certain: bool = False) -> None:
        """Judge what the shell itself runs: a program, a function, or what a function is called with."""
        scope = given.scope
        if given.words[0].raw == '"$@"' and scope.defining:
            self._forwards = True  # judged whenever it is called
            return
        if given.words[0].raw == '"$@"' and scope.parameters is not None:
            words = (*scope.parameters, *given.words[1:])
            ends = len(scope.parameters) if shifts_parameters(self.source) else 1
            for at in range(min(ends, len(scope.parameters))):
                self._invoke(replace(given, words=words[at:], scope=scope.deeper()))
            return
        called = self._called(given)
        if not (called and is_tool(given)):  # not the tool, but what bears its name
            self._start(given, certain=certain, called=called)

    def _start(self, given: Invocation, *, certain: bool = False, called: bool = False) -> None:
        """Judge a program with its arguments by the rule that knows it."""
        head = given.words[0]
        if not says_what_starts(head, self.source):
            unreadable_part(head.raw or given.shown, "An expansion is where a command should be")
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
        if given.scope.rewrites and tool:
            self.tools[place_of(tool, given)] = through_uv(tool, given)
        elif given.scope.rewrites and (script := script_of(given)):
            self.tools[given.words[0].start] = ThroughUv("uv run", script)
        if is_tool(given):
            judge_other(given)
            return
        known = judged_by_rules(given)
        if not known and not called:
            judge_unknown(given)

    def _called(self, given: Invocation) -> bool:
        """Tell whether this is a function of the text, and judge its body again with what it is given."""
        name = given.words[0].text
        function = self._functions.get(name)
        if function is not None and (given.feed is not None or self._forwards):
            self._count()
            if not self._forwards:  # else what it calls itself with may be another command
                self._functions[name] = replace(function, bodies=())
            scope = replace(given.scope.deeper(), parameters=given.arguments, defining=False)
            for body in function.bodies:
                self.script(body, scope, given.feed)
            self._functions[name] = function
        return function is not None
