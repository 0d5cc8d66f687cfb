"""Walks a parsed script and asks the rules about every program that would start."""

import re
from collections.abc import Sequence
from dataclasses import replace

from ralph_tui.guard.analysis.dispatch import (
    judge_blocked,
    judge_unknown,
    judged_by_own_rule,
    judged_by_rules,
    matching_ask_entries,
    refuse_endless,
)
from ralph_tui.guard.core.constants import may_hide_command, names_known_program, sets_up_shell
from ralph_tui.guard.core.paths import names_guarded
from ralph_tui.guard.core.policy import Policy
from ralph_tui.guard.core.rule_context import (
    Invocation,
    in_named_directory,
    refuse_unreadable,
    source_index,
)
from ralph_tui.guard.core.working_dirs import WorkingDirs
from ralph_tui.guard.rules.assignments import judge_assignment, judge_subscript
from ralph_tui.guard.rules.find import found_paths
from ralph_tui.guard.rules.package_managers import ThroughUv, is_tool, through_uv
from ralph_tui.guard.rules.read_only import check_unless_reader
from ralph_tui.guard.rules.refusals import refuse_listed
from ralph_tui.guard.rules.secrets import judge_secret_paths, judge_secret_words, mentions_secrets
from ralph_tui.guard.shell.nodes import (
    UNKNOWN,
    Command,
    Compound,
    Pipeline,
    Redirect,
    Script,
    Simple,
    UnreadableError,
    Word,
    anything,
    expanded,
    literal,
)
from ralph_tui.guard.shell.parser import read_shell

_MAX_COMMANDS = 4000
_MAX_NESTED_TEXT = 256 * 1024
"""The most characters of nested texts, because each level is read again for every level above it."""
_CONNECTION = re.compile(r"/dev/(?:tcp|udp)/(?:localhost|127[\d.]*|\[?::1\]?|[\w-]+|\0)/[\w\0]+")
"""Bash's pseudo-files for ports of this machine or of a named container."""
_SHIFT = re.compile(r"\bshift\b")

_WRITING_REDIRECTS = frozenset({">", ">>", ">|", "<>", "&>", "&>>", ">&"})


class CommandAnalyzer:
    """Judges one text and collects findings about it.

    The context of a single command is an `Invocation`, which is passed down and never changed.

    Attributes:
        outermost: The context of that text, in the project's root.
        tools: The tools that must run through uv, by their index in `source`.
        asks: The matched entries of the person's ask list, each with its command.
    """

    def __init__(self, source: str, policy: Policy) -> None:
        self.source = source
        self.outermost = Invocation((), WorkingDirs.at_root(policy, source), self)
        self.tools: dict[int, ThroughUv] = {}
        self.asks: dict[str, str] = {}
        self._secrets = mentions_secrets(source)
        self._commands = 0
        self._nested_text = 0
        self._stdin: Word | None = None
        self._functions: dict[str, Compound] = {}
        self._forwards_arguments = False

    # --- the script -----------------------------------------------------------------------------

    def judge_script(self, script: Script, within: Invocation) -> None:
        dirs = within.dirs
        before, chained, alternative = dirs.values, False, False
        for pipeline in script.pipelines:
            self._judge_pipeline(pipeline, within)
            if self._stdin is not None:
                within = replace(within, feed=self._stdin)
            chained = chained or pipeline.operator in ("&&", "||")
            alternative = alternative or pipeline.operator == "||"
            ends = pipeline.operator not in ("&&", "||")
            if alternative or (ends and chained):  # the assignment may not have run
                dirs.values = before
            if ends:
                before, chained, alternative = dirs.values, False, False

    def judge_simple(self, command: Simple, within: Invocation, *, certain: bool = False) -> None:
        self._count_command()
        dirs = within.dirs
        printed = output_of(command, within.feed)
        for word in command.words:
            self._judge_substitutions(word, within, printed)
        settings_moved = dirs.settings_moved
        self._judge_assignments(command, within)
        feed = self._judge_redirects(command.redirects, within, printed)
        if self._secrets:
            judge_secret_words(command, dirs)
        if command.words:
            call = replace(within, words=command.words, feed=feed, certain=certain)
            self._judge_invocation(call)
            if command.assignments:  # they apply to this command only
                dirs.settings_moved = settings_moved
        if command.values == ("exec",):  # its redirections last
            self._stdin = feed

    def _count_command(self) -> None:
        self._commands += 1
        if self._commands > _MAX_COMMANDS:
            raise UnreadableError("too many commands")

    def _judge_assignments(self, command: Simple, within: Invocation) -> None:
        dirs = within.dirs
        for assignment in command.assignments:
            name, value = assignment.name, assignment.value
            self._judge_substitutions(value, within)
            judge_assignment(name, value, command.raw)
            dirs.track_settings_home(name, value)
            if not command.words:
                dirs.record_value(name, [value], self.source, rf"(?<![\w$/-]){name}=")

    def _judge_pipeline(self, pipeline: Pipeline, within: Invocation) -> None:
        alone = len(pipeline.stages) == 1 and pipeline.operator != "&"
        for stage in pipeline.stages:
            inner = within if alone else within.fork()
            self._judge_command(stage, inner, certain=pipeline.operator == "&&")
            within = replace(within, feed=output_of(stage, within.feed))

    def _judge_command(self, command: Command, within: Invocation, *, certain: bool) -> None:
        if isinstance(command, Simple):
            self.judge_simple(command, within, certain=certain)
            return
        self._count_command()
        for word in command.words:
            self._judge_substitutions(word, within)
            if command.kind in ("test", "arithmetic"):
                judge_subscript(word, word.raw)
        within = replace(within, feed=self._judge_redirects(command.redirects, within))
        values = within.dirs.values
        if command.kind == "function":
            refuse_endless(command)
            self._functions[command.name] = command
            known = "command_not_found_handle" not in self.source
            within = replace(within.fork(), parameters=None, defining=known)
        elif command.kind == "subshell":
            within = within.fork()
        for body in command.bodies:
            if command.kind == "loop" and command.name:
                name = command.name
                within.dirs.record_value(name, command.words, self.source, rf"\bfor\s+{name}\b")
            self.judge_script(body, within)
            within.dirs.values = values

    def _judge_substitutions(
        self, word: Word, within: Invocation, printed: Word | None = None
    ) -> None:
        feed = (printed or anything()) if ">(" in word.raw else None
        for script in word.scripts:
            self._count_command()
            self.judge_script(script, replace(within.fork(), feed=feed))

    def _judge_redirects(
        self,
        redirects: Sequence[Redirect],
        within: Invocation,
        printed: Word | None = None,
    ) -> Word | None:
        for redirect in redirects:
            target = redirect.target
            self._judge_substitutions(target, within, printed)
            if self._secrets and redirect.operator == "<":
                judge_secret_paths([target], within.dirs, target.raw)
            if redirect.body is not None:
                self._judge_substitutions(redirect.body, within)
            if redirect.operator in _WRITING_REDIRECTS:
                number = target.text.rstrip("-").isdigit() or target.text == "-"
                descriptor = redirect.operator == ">&" and number
                if not descriptor and not _CONNECTION.fullmatch(target.text):
                    within.dirs.check_write(target, f"{redirect.operator} {target.raw}")
        return stdin_after(redirects, within.feed)

    # --- programs -------------------------------------------------------------------------------

    def run(self, words: Sequence[Word], call: Invocation, *, under_uv: bool = False) -> None:
        self._count_command()
        under_uv = under_uv or call.under_uv
        self._judge_start(replace(call.deeper(), words=tuple(words), under_uv=under_uv))

    def assign(self, word: Word, call: Invocation) -> None:
        name, _, _ = word.text.partition("=")
        value = word.cut(len(name) + 1)
        judge_assignment(name, value, call.shown)
        call.dirs.track_settings_home(name, value)

    def shell(self, text: Word, call: Invocation, feed: Word | None = None) -> None:
        """Judge a text that a shell runs; by default it reads the shell's standard input."""
        if feed is None and text is not call.feed:
            feed = call.feed
        if may_hide_command(text, self.source):
            known = call.dirs.possible_words(text)
            if call.program == "eval" and sets_up_shell(text, self._functions):
                return
            if not known:
                refuse_unreadable(call.shown, "A shell would run text that is not known")
            for form in known:
                self.shell(form, call, feed)
            return
        inner = call.deeper()
        self._nested_text += len(text.text)
        if self._nested_text > _MAX_NESTED_TEXT:
            raise UnreadableError("too much nested text")
        script = read_shell(text.text, source_index(text), inner.depth)
        dirs = replace(call.dirs, values={})
        inner = replace(inner, dirs=dirs, feed=feed, parameters=None, defining=False)
        self.judge_script(script, inner)

    def _judge_invocation(self, call: Invocation) -> None:
        if call.words[0].raw == '"$@"' and call.defining:
            self._forwards_arguments = True  # judged at each call
            return
        if call.words[0].raw == '"$@"' and call.parameters is not None:
            if call.parameters:
                words = (*call.parameters, *call.words[1:])
                self._judge_invocation(replace(call.deeper(), words=words))
            return
        called = self._judge_function_call(call)
        if not (called and is_tool(call)):  # a function that shadows a tool
            self._judge_start(call, called=called)

    def _judge_start(self, call: Invocation, *, called: bool = False) -> None:
        head = call.words[0]
        if not names_known_program(head, self.source):
            refuse_unreadable(head.raw or call.shown, "An expansion takes the place of a command")
        judge_blocked(call)
        self.asks.update(dict.fromkeys(matching_ask_entries(call), call.shown))
        refuse_listed(call)
        call = in_named_directory(call)
        if not judged_by_own_rule(call):
            self._judge_program(call, called=called)

    def _judge_program(self, call: Invocation, *, called: bool) -> None:
        if (found := through_uv(call)) is not None:
            self.tools[call.words[0].start] = found
        if is_tool(call):
            check_unless_reader(call)
            return
        known = judged_by_rules(call)
        if not known and not called:
            judge_unknown(call)

    def _judge_function_call(self, call: Invocation) -> bool:
        name = call.words[0].text
        function = self._functions.get(name)
        if function is not None and (call.feed is not None or self._forwards_arguments):
            self._count_command()
            if not self._forwards_arguments:  # otherwise a recursive call may pass another command
                self._functions[name] = replace(function, bodies=())
            most = len(call.arguments) if _SHIFT.search(self.source) else 0
            for begin in range(most + 1):
                rest = call.arguments[begin:]
                within = replace(call.deeper(), parameters=rest, defining=False)
                for body in function.bodies:
                    self.judge_script(body, within)
            self._functions[name] = function
        return function is not None


def stdin_after(redirects: Sequence[Redirect], feed: Word | None) -> Word | None:
    for redirect in redirects:
        target = redirect.target
        if redirect.descriptor not in ("", "0"):
            if feed is None and redirect.operator == "<<<":  # for /dev/fd/3 and the like
                feed = Word(target.text + "\n", target.kinds + "q", target.raw, target.start)
            elif feed is None and redirect.body is not None:
                feed = redirect.body
        elif redirect.body is not None:
            feed = redirect.body
        elif redirect.operator == "<<<":
            feed = Word(target.text + "\n", target.kinds + "q", target.raw, target.start)
        elif redirect.operator == "<":
            feed = anything(target.raw) if target.feeds else None
        elif redirect.operator == "<&" and target.text not in ("0", "-"):
            feed = anything(target.raw)
    return feed


def output_of(command: Command, feed: Word | None) -> Word:
    if isinstance(command, Compound) or not command.words or not command.words[0].known:
        return anything()
    program = command.words[0].text
    arguments = command.words[1:]
    if any(r.operator == "<<<" or r.body is not None for r in command.redirects):
        feed = stdin_after(command.redirects, feed)
    if program == "echo":
        return _echo_output(arguments)
    if program == "printf" and arguments:
        return _printf_output(arguments)
    if program == "cat" and not [w for w in arguments if w.text != "-"]:
        return feed if feed is not None else literal("")
    if program == "tee" and feed is not None:
        return feed
    if program == "ls" and any(names_guarded(word.text) for word in arguments):
        return expanded("\n".join(w.text for w in arguments if not w.text.startswith("-")))
    if program == "find":
        tests = next(
            (i for i, w in enumerate(arguments) if w.text.startswith(("-", "(", "!"))),
            len(arguments),
        )
        paths = found_paths(arguments[:tests] or [literal(".")], arguments[tests:])
        return expanded("\n".join(path.text for path in paths))
    return anything()


def _echo_output(arguments: Sequence[Word]) -> Word:
    words = list(arguments)
    escapes = False
    while words and re.fullmatch(r"-[neE]+", words[0].text):
        escapes = escapes or "e" in words.pop(0).text
    text = " ".join(word.text for word in words)
    if any(word.has_glob for word in words):
        text += UNKNOWN
    plain = text.replace("\\n", "\n") if escapes else text
    return anything(text) if escapes and "\\" in plain else expanded(plain + "\n")


def _printf_output(arguments: Sequence[Word]) -> Word:
    words = arguments[1:] if arguments[0].text == "--" else arguments
    if not words or not all(word.known for word in words):
        return anything()
    pieces = re.split(r"(%[s%])", words[0].text.replace("\\n", "\n"))
    if not _PLAIN_FORMAT.fullmatch(words[0].text) or pieces.count("%s") != len(words) - 1:
        return anything()
    values = iter(words[1:])
    return expanded(
        "".join(next(values).text if p == "%s" else p.replace("%%", "%") for p in pieces)
    )


_PLAIN_FORMAT = re.compile(r"(?!-)(?:[^%\\]|%s|%%|\\n)*")
"""A format that printf fills once, with nothing cut, padded or escaped."""
