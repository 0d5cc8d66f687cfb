"""Judges programs that put together or pass on the commands they start: `env`, `xargs`, `parallel`, `npx`, containers."""

import contextlib
import re
import shlex
from collections.abc import Sequence
from dataclasses import replace

from ralph_tui.guard.core.arguments import Spec, names, parse
from ralph_tui.guard.core.paths import names_guarded
from ralph_tui.guard.core.programs import listed_words
from ralph_tui.guard.core.rule_context import Invocation, in_directories
from ralph_tui.guard.core.verdicts import deny
from ralph_tui.guard.rules.assignments import judge_removal
from ralph_tui.guard.rules.listed_programs import refuse_unknown_start, run_words
from ralph_tui.guard.rules.package_managers import (
    is_manager,
    is_python,
    judge_module,
    refuse_manager,
)
from ralph_tui.guard.rules.shells import judge_joined
from ralph_tui.guard.shell.nodes import UNKNOWN, Word, anything, expanded, literal
from ralph_tui.guard.shell.parser import read_word


def judge_xargs(call: Invocation) -> None:
    args = call.args
    refuse_unknown_start(call, args.operands)
    if not args.operands:
        return
    added = _stdin_words(call)
    marks = [v.text for v in args.values("-I", "-J", "-i", "--replace")]
    if not marks and args.has("-i", "--replace", "-I"):
        marks = ["{}"]
    if not marks:
        call.walker.run((*args.operands, *added), call)
        call.walker.run(args.operands, call)  # as with empty input
        delimited = args.has("-d", "-0", "--delimiter", "--null")
        for item in _stdin_items(call, quotes=not delimited):
            call.walker.run((*args.operands, item), call)
        return
    # With a placeholder, an item is a whole line.
    for item in _stdin_items(call, quotes=True, lines=True):
        call.walker.run(tuple(_fill_in(word, marks[0], item) for word in args.operands), call)


def _stdin_words(call: Invocation) -> list[Word]:
    if call.feed is not None and UNKNOWN not in call.feed.text and len(call.feed.text) < 4096:
        return [literal(text) for text in call.feed.text.split()] or [anything()]
    return [anything()]


def _stdin_items(call: Invocation, *, quotes: bool, lines: bool = False) -> list[Word]:
    words = _stdin_words(call)
    if call.feed is None or not words[0].known:
        return words
    texts = call.feed.text.split("\n")
    if quotes and any(mark in call.feed.text for mark in "'\"\\"):
        with contextlib.suppress(ValueError):  # xargs would reject such quotes
            split = shlex.split(call.feed.text)
            texts = [" ".join(shlex.split(text)) for text in texts] if lines else split
    return [literal(text) for t in texts[:16] if (text := t.strip())] or words


def _fill_in(word: Word, mark: str, item: Word) -> Word:
    if not mark or mark not in word.text:
        return word
    return expanded(word.text.replace(mark, item.text), word.raw)  # one word, even with blanks


def judge_parallel(call: Invocation) -> None:
    words = call.args.operands
    end = next((i for i, w in enumerate(words) if w.text.startswith(":::")), len(words))
    if words[:end]:
        listed = words[end:][:1] and words[end].text == ":::"
        items = [word.text for word in words[end + 1 :]] if listed else []
        known = items and not any(i.startswith(":::") or UNKNOWN in i for i in items)
        for item in items[:16] if known else ():
            _judge_filled(call, words[:end], shlex.quote(item))
        if not known:
            _judge_filled(call, words[:end], '"$1"')
    elif words:  # without a command, each argument is one
        for word in words[1:]:
            if not word.text.startswith(":::"):
                call.walker.shell(word, call)
    elif call.feed is not None:
        call.walker.shell(call.feed, call)


def _judge_filled(call: Invocation, command: Sequence[Word], item: str) -> None:
    marked = any(_PLACEHOLDER.search(word.text) for word in command)
    pieces = [expanded(_PLACEHOLDER.sub(lambda _: item, word.text)) for word in command]
    judge_joined(call, [*pieces, *([] if marked else [literal(item)])])


_PLACEHOLDER = re.compile(r"\{(?:/|//|\.|/\.|#|%)?\}")


_ENV_BLANK = re.compile(r"\\[_tnrfv]")


def judge_env(call: Invocation) -> None:
    args = call.args
    refuse_unknown_start(call, args.operands)
    call = call.fork()  # its settings apply only to what it starts
    call = in_directories(call, args.values("-C", "--chdir"))
    for name in args.values("-u", "--unset"):
        judge_removal(name.text, call.shown)
    for option in args.options:
        if option.name not in ("-S", "--split-string") or (value := option.value) is None:
            continue
        at = call.arguments.index(option.word) + (2 if value in call.arguments else 1)
        rest = "".join(" " + word.raw for word in call.arguments[at:])
        for text in {value.text, _ENV_BLANK.sub(" ", value.text)}:
            call.walker.shell(expanded(text + rest), call)
        return
    run_words(call, args.operands, assigns=True)


def judge_npx(call: Invocation) -> None:
    spec = Spec("pc", long=names("--package --call"))
    for text in parse(call.arguments, spec).values("-c", "--call"):
        call.walker.shell(text, call)
    _judge_fetched(call, parse(call.arguments, spec, stop=True).operands)


def _judge_fetched(call: Invocation, words: Sequence[Word]) -> None:
    if words:
        call.walker.run(words, call, under_uv=True)


_EXECUTES = names("exec x dlx")


def judge_node_manager(call: Invocation) -> None:
    words = call.arguments
    verb = next((at for at in range(len(words)) if _is_verb(words, at)), len(words))
    named = [word.text for word in words[verb : verb + 2]]
    if named[:1] and named[0] in _EXECUTES:
        judge_npx(replace(call, words=words[verb:]))
    elif named[:1] == ["explore"] or named in (["run", "env"], ["run-script", "env"]):
        end = next((at for at, word in enumerate(words) if word.text == "--"), verb + 1)
        _judge_fetched(call, words[end + 1 :])
    elif call.program == "yarn" and named[:1] == ["run"]:  # a script, or any installed program
        _judge_fetched(call, words[verb + 1 :])


def _is_verb(words: Sequence[Word], at: int) -> bool:
    before = words[at - 1].text if at else ""
    if words[at].text.startswith("-"):
        return False
    return words[at].text in _EXECUTES or not before.startswith("-") or "=" in before


_BROAD_MOUNT = re.compile(
    r"[\"']?(?:/|/(?:home|root|etc|usr|var|bin|lib|opt|srv|boot|Users)/?|~/?|\$HOME/?|\$\{HOME\}/?|\.\./?)[\"']?:"
    r"(?![^:]*:(?:ro\b|[^:]*,ro\b))"
)


def judge_container(call: Invocation) -> None:
    words: Sequence[Word] = call.args.operands
    composes = call.program == "docker-compose"
    if composes or (words and words[0].text in ("container", "compose")):
        spec = Spec("fp", long=names("--file --project-name --profile --project-directory"))
        words = parse(call.arguments if composes else words[1:], spec, stop=True).operands
    if words and words[0].text in ("exec", "run"):
        _judge_in_container(words[1:], call)


def _judge_in_container(words: Sequence[Word], call: Invocation) -> None:
    call = replace(call, under_uv=True)
    for at, word in enumerate(words):
        mounts = word.text in ("-v", "--volume") and words[at + 1 : at + 2]
        if mounts:
            _check_mount(mounts[0], call)
        for source in _MOUNT_SOURCE.findall(word.text):
            call.dirs.check_guarded(literal(source), call.shown)
        if mounts and _BROAD_MOUNT.match(mounts[0].raw or mounts[0].text):
            reason = "This gives a container write access outside the project"
            instead = "If this is necessary, ask the person to do it."
            deny("destructive", call.shown, reason, instead)
    for at, word in enumerate(words):
        name = word.text.rpartition("/")[2]
        after = words[at + 1].text if at + 1 < len(words) else ""
        if name in ("git", "sh", "bash", "ash", "dash", "zsh"):
            call.walker.run(words[at:], call)
            return
        if is_manager(name) and after in listed_words("installs"):
            refuse_manager(name, words[at + 1 :], call)
        looks = any(word.text in listed_words("looks") for word in words[at + 3 : at + 4])
        if is_python(name) and after == "-m" and words[at + 2 :] and not looks:
            judge_module(words[at + 2], words[at + 3 :], call)


_MOUNT_SOURCE = re.compile(r"(?:^|,)(?:src|source)=([^,]+)(?!.*\breadonly\b|.*,ro\b)")


def _check_mount(mount: Word, call: Invocation) -> None:
    source, _, rest = mount.raw.strip("\"'").partition(":")
    if not rest.endswith((":ro", ",ro")) and names_guarded(source):
        call.dirs.check_guarded(read_word(source), call.shown)
