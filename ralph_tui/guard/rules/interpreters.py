"""Judges code given to an interpreter on the command line or its standard input."""

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from ralph_tui.guard.core.arguments import Spec, names, parse
from ralph_tui.guard.core.rule_context import Invocation, Rule, Rules, unreadable_part
from ralph_tui.guard.rules.assignments import is_prose, judge_make_shell
from ralph_tui.guard.rules.copy_move import looked_up
from ralph_tui.guard.rules.inline_code import (
    STDIN,
    judge_any_code,
    judge_code,
    judge_possible_command,
)
from ralph_tui.guard.rules.package_managers import PYTHON, is_manager, judge_module, refuse_manager
from ralph_tui.guard.rules.python_code import judge_python_code
from ralph_tui.guard.shell.nodes import UNKNOWN, Word, literal


def _judge_make(given: Invocation) -> None:
    """Judge `make`.

    Raises:
        DeniedError: What it is given would do harm.
    """
    spec = Spec("fCIjloW", attached="", long=names("--file --makefile --directory --eval"))
    read = parse(given.arguments, spec)
    for option in read.options:
        value = option.value
        if value is None:
            continue
        if len(option.name) > 2 and "--eval".startswith(option.name):
            for part in re.split(r"[;\n\t]", value.text):
                judge_possible_command(part.lstrip(" @-+"), given)
        elif option.name in ("-f", "--file", "--makefile"):
            if value.feeds:
                unreadable_part(given.shown, "make would run the output of another command")
            if STDIN.fullmatch(value.text) and given.feed is not None:
                _make_text(given.feed, given)
    _make_variables(read.operands, given)


def _make_variables(words: Sequence[Word], given: Invocation) -> None:
    for word in words:
        name, equals, value_text = word.text.partition("=")
        if equals:
            judge_make_shell(name.rstrip(":+?!"), value_text, given)
        if equals and UNKNOWN not in name and not is_prose(name, value_text):
            judge_possible_command(value_text.replace(UNKNOWN, ""), given)


def _make_text(text: Word, given: Invocation) -> None:
    if UNKNOWN in text.text:
        unreadable_part(given.shown, "make would run a text that cannot be read here")
    for line in text.text.splitlines():
        if line.startswith("\t") or ";" in line:
            judge_possible_command(line.rpartition(";")[2].lstrip("\t@-+"), given)


_CODE_OPTIONS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "perl": ("-e", "-E"),
        "ruby": ("-e",),
        "node": ("-e", "--eval", "-p", "--print"),
        "nodejs": ("-e", "--eval", "-p", "--print"),
        "bun": ("-e", "--eval", "-p", "--print"),
        "php": ("-r",),
        "lua": ("-e",),
        "tclsh": ("-c",),
        "expect": ("-c",),
        "rscript": ("-e",),
        "osascript": ("-e",),
        "julia": ("-e", "-E", "--eval"),
        "groovy": ("-e",),
        "scala": ("-e",),
        "luajit": ("-e",),
        "octave": ("--eval",),
        "r": ("-e",),
        "gnuplot": ("-e",),
        "elixir": ("-e", "--eval"),
        "deno": (),
        "crystal": (),
        "emacs": ("--eval", "--execute"),
        "zx": ("-e", "--eval"),
    }
)
_SPECS: Mapping[str, Spec] = MappingProxyType(
    {
        "perl": Spec("eEIMm", attached="iFCDdVx", digits="0l"),
        "ruby": Spec("eIrEC", attached="iFKx", digits="0TW"),
        "php": Spec("rdfBREF"),
        "node": Spec("eprC", long=names("--eval --print --require --import --input-type")),
        "nodejs": Spec("epr", long=names("--eval --print --require")),
    }
)

_INSTALLERS = names("get-pip.py get-poetry.py install-poetry.py ez_setup.py virtualenv.pyz")
_SETUP_VERBS = names("install develop easy_install bdist_egg")


def interpreter(program: str) -> Rule | None:
    """Return the rule for a program that runs code and may bear a version in its name, or None."""
    if PYTHON.fullmatch(program):
        return _python
    if _language(program) in _CODE_OPTIONS:
        return _generic
    return None


def _language(program: str) -> str:
    """Return the interpreter without its version: `lua5.3`, `perl5.36.0`, `node20`."""
    return program if program in _CODE_OPTIONS else program.rstrip("0123456789.-")


def _python(given: Invocation) -> None:
    words = list(given.arguments)
    while words and words[0].text.startswith("-") and words[0].text not in ("-", "--"):
        word = words.pop(0)
        if UNKNOWN in word.text.partition("c")[0]:
            unreadable_part(given.shown, "An expansion is where python's options are")
        letter, value = _python_option(word, words)
        if letter == "c":
            return _python_text(value, given)
        if letter == "m":
            return _python_module(value, words, given)
    if words and words[0].text == "--":
        words.pop(0)
    return _python_file(words, given)


def _python_module(module: Word, words: list[Word], given: Invocation) -> None:
    judge_module(module, words, given)
    if module.text == "timeit":
        read = parse(words, _TIMEIT)
        for code in (*read.values("-s", "--setup"), *read.operands):
            _python_text(code, given)


_TIMEIT = Spec("nrsu", long=names("--number --repeat --setup --unit"))


def _python_option(word: Word, following: list[Word]) -> tuple[str, Word]:
    """Return the first letter that takes a value, and the value, taken from `following` if need be."""
    if word.text.startswith("--"):
        return "", literal("")
    for at, letter in enumerate(word.text[1:], start=1):
        if letter in "cmWX":
            if at + 1 < len(word.text):
                return letter, word.cut(at + 1)
            return letter, following.pop(0) if following else literal("")
    return "", literal("")


def _python_file(words: list[Word], given: Invocation) -> None:
    if not words or STDIN.fullmatch(words[0].text):
        if given.feed is not None:
            _python_text(given.feed, given)
    elif (name := words[0].text.rpartition("/")[2]) in _INSTALLERS:
        refuse_manager(name, (), given.shown)
    elif (manager := _manager_file(words[0])) is not None:
        refuse_manager(manager, words[1:], given.shown)
    elif name == "setup.py" and {w.text for w in words[1:]} & _SETUP_VERBS:
        refuse_manager(name, [literal("install")], given.shown)
    elif words[0].feeds or (words[0].text == UNKNOWN and words[0].may_split):
        unreadable_part(given.shown, "Python would run code that cannot be read here")


def _manager_file(file: Word) -> str | None:
    """Return the package manager whose own code this file is: `x.whl/pip`, `bin/pip`, `poetry.pyz`."""
    if looked_up(file):
        return "pip"
    *above, last = file.text.split("/")
    if last == "__main__.py" and above:
        last = above[-1]
    name = re.sub(r"\.(?:pyz|zip|whl)$", "", last).casefold()
    return name if is_manager(name) else None


def _python_text(code: Word, given: Invocation) -> None:
    if code.text.strip(UNKNOWN + " \n") == "" and UNKNOWN in code.text:
        unreadable_part(given.shown, "Python would run code that cannot be read here")
    judge_python_code(code.text.replace(UNKNOWN, "_unknown_"), given)
    judge_any_code(code.text, given)


def _generic(given: Invocation) -> None:
    """Judge perl, ruby, node and others: every text in the code as what it might run."""
    language = _language(given.program)
    options = _CODE_OPTIONS[language]
    short = "".join(o[1] for o in options if len(o) == 2)
    long = frozenset(o for o in options if len(o) > 2)
    spec = _SPECS.get(language, Spec(short, long=long))
    # Node knows `-pe` as one option, not as `-p` with the value `e`.
    words = [literal("-e") if word.text == "-pe" else word for word in given.arguments]
    read = parse(words if "-p" in options else given.arguments, spec)
    codes = read.values(*options)
    if language in ("deno", "crystal") and [w.text for w in read.operands[:1]] == ["eval"]:
        codes = list(read.operands[1:2])
    if not codes and not read.operands and given.feed is not None:
        codes = [given.feed]
    if any(word.feeds for word in read.operands[:1]):
        unreadable_part(given.shown, "The interpreter would run the output of another command")
    for code in codes:
        judge_code(code.text, given)
    if language == "emacs":
        for word in read.operands:
            given.places.check_guarded(word, given.shown)
    in_place = language in ("perl", "ruby") and read.has("-i")
    if in_place:
        for word in read.operands:
            given.places.check_write(word, given.shown)


RULES: Rules = MappingProxyType(
    {
        **dict.fromkeys(names("make gmake"), _judge_make),
        **dict.fromkeys(names("micropython jython"), _python),
    }
)
