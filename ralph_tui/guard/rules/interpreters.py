"""Judges code passed to an interpreter on the command line or standard input."""

import re

from ralph_tui.guard.core.arguments import parse
from ralph_tui.guard.core.programs import listed_words
from ralph_tui.guard.core.rule_context import Invocation, check_writes, refuse_unreadable
from ralph_tui.guard.rules.inline_code import STDIN, judge_code
from ralph_tui.guard.rules.package_managers import is_manager, judge_module, refuse_manager
from ralph_tui.guard.shell.nodes import UNKNOWN, Word, literal


def judge_python(call: Invocation) -> None:
    args = call.args
    if any(UNKNOWN in option.name for option in args.options):
        refuse_unreadable(call.shown, "An expansion takes the place of python's options")
    for option in args.options:
        if option.name == "-c":
            return judge_code(option.value.text if option.value else "", call)
        if option.name == "-m":
            module = option.value or literal("")
            at = call.arguments.index(option.word) + (2 if module in call.arguments else 1)
            return judge_module(module, call.arguments[at:], call)
    return _python_file(list(args.operands), call)


def _python_file(words: list[Word], call: Invocation) -> None:
    if not words or STDIN.fullmatch(words[0].text):
        if call.feed is not None:
            judge_code(call.feed.text, call)
    elif (name := words[0].text.rpartition("/")[2]) in listed_words("installers"):
        refuse_manager(name, (), call)
    elif (manager := _manager_file(words[0])) is not None:
        refuse_manager(manager, words[1:], call)
    elif name == "setup.py" and {w.text for w in words[1:]} & listed_words("setup-verbs"):
        refuse_manager(name, [literal("install")], call)
    elif words[0].feeds or (words[0].text == UNKNOWN and words[0].may_split):
        refuse_unreadable(call.shown, "Python would run code that the guard cannot read")


def _manager_file(file: Word) -> str | None:
    *above, last = file.text.split("/")
    if last == "__main__.py" and above:
        last = above[-1]
    name = re.sub(r"\.(?:pyz|zip|whl)$", "", last).casefold()
    return name if is_manager(name) else None


def judge_interpreter(call: Invocation) -> None:
    spec, options = call.listed.spec, call.listed.code or frozenset()
    # In node, `-pe` does not mean `-p` with the value `e`.
    words = [literal("-e") if word.text == "-pe" else word for word in call.arguments]
    args = parse(words if "-p" in options else call.arguments, spec)
    codes = args.values(*options)
    if not options and [w.text for w in args.operands[:1]] == ["eval"]:
        codes = list(args.operands[1:2])
    if not codes and not args.operands and call.feed is not None:
        codes = [call.feed]
    if any(word.feeds for word in args.operands[:1]):
        refuse_unreadable(call.shown, "The interpreter would run the output of another command")
    for code in codes:
        judge_code(code.text, call)


_AWK_WRITES = re.compile(r'>>?\s*"([^"]*)"')


def judge_sed(call: Invocation) -> None:
    _, files = _scripts_and_files(call)
    if call.args.has("-i", "--in-place"):
        check_writes(files, call)


def judge_awk(call: Invocation) -> None:
    scripts, files = _scripts_and_files(call)
    for script in scripts:
        judge_code(script.text, call)
        check_writes([literal(match[1]) for match in _AWK_WRITES.finditer(script.text)], call)
    if any(v.text == "inplace" for v in call.args.values("-i", "--include")):
        check_writes(files, call)


def _scripts_and_files(call: Invocation) -> tuple[list[Word], list[Word]]:
    operands, sources = list(call.args.operands), call.args.values("-f", "--file")
    scripts = call.args.values("-e", "--expression", "--source")
    if not scripts and not sources and operands:
        scripts = [operands.pop(0)]
    if any(w.feeds for w in sources) or any(
        w.scripts and not w.text.strip(UNKNOWN) for w in scripts
    ):
        refuse_unreadable(call.shown, "The script is the output of another command")
    if call.feed is not None and any(STDIN.fullmatch(word.text) for word in sources):
        scripts.append(call.feed)
    return scripts, operands
