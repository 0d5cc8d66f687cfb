"""Sed and awk: their scripts may write files and start programs, and edit what they read in place."""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from ralph_tui.guard import awk_sed
from ralph_tui.guard.code_texts import STDIN, judge_possible_command
from ralph_tui.guard.names import names
from ralph_tui.guard.options import Spec, parse
from ralph_tui.guard.signals import judge_signals_in_code
from ralph_tui.guard.syntax import UNKNOWN, Word, literal
from ralph_tui.guard.walk import Invocation, unreadable_part


def _program_files(files: Sequence[Word], given: Invocation) -> list[Word]:
    """The programs behind `-f` that are given in the same text."""
    if any(word.feeds for word in files):
        unreadable_part(given.shown, "The program is the output of another command")
    named = any(STDIN.fullmatch(word.text) for word in files)
    return [given.feed] if named and given.feed is not None else []


def _not_substituted(code: Word, given: Invocation) -> None:
    if code.scripts and not code.text.strip(UNKNOWN):
        unreadable_part(given.shown, "The program is the output of another command")


def _sed(given: Invocation) -> None:
    spec = Spec("efl", attached="i", long=names("--expression --file --line-length"))
    read = parse(given.arguments, spec)
    scripts = read.values("-e", "--expression")
    operands = list(read.operands)
    if not scripts and not read.values("-f", "--file") and operands:
        scripts = [operands.pop(0)]
    scripts = [*scripts, *_program_files(read.values("-f", "--file"), given)]
    for script in scripts:
        _not_substituted(script, given)
        for command in awk_sed.sed_commands(script.text):
            if UNKNOWN in command or not command:
                unreadable_part(given.shown, "sed would run a command that is not known")
            given.walker.shell(literal(command), given)
        for path in awk_sed.sed_writes(script.text):
            given.places.check_write(literal(path), given.shown)
    if read.has("-i", "--in-place"):
        for word in operands:
            if word.text:  # BSD's `sed -i ''` names no backup
                given.places.check_write(word, given.shown)


def _awk_starts(code: str, values: Sequence[str], given: Invocation) -> None:
    if awk_sed.awk_starts_input(code):
        unreadable_part(given.shown, "awk would run what it reads")
    for text in (*awk_sed.awk_strings(code), *values):
        judge_possible_command(text, given)


def _awk(given: Invocation) -> None:
    read = parse(given.arguments, Spec("Fvfiel", long=names("--assign --file --source --include")))
    operands = list(read.operands)
    codes = read.values("-e", "--source")
    if not codes and not read.values("-f", "--file") and operands:
        codes = [operands.pop(0)]
    codes = [*codes, *_program_files(read.values("-f", "--file"), given)]
    values = [w.text.partition("=")[2] for w in (*read.values("-v", "--assign"), *operands)]
    for code in codes:
        _not_substituted(code, given)
        judge_signals_in_code(code.text, given)
        if awk_sed.awk_writes_by_name(code.text):
            for text in values:
                given.places.check_guarded(literal(text), given.shown)
        if awk_sed.awk_starts_programs(code.text):
            _awk_starts(code.text, values, given)
        for path in awk_sed.awk_writes(code.text):
            given.places.check_write(literal(path), given.shown)
    if any(v.text == "inplace" for v in read.values("-i", "--include")):
        for word in operands:
            given.places.check_write(word, given.shown)


FILTERS: Mapping[str, Callable[[Invocation], None]] = MappingProxyType(
    {
        **dict.fromkeys(names("sed gsed"), _sed),
        **dict.fromkeys(names("awk gawk mawk nawk original-awk"), _awk),
    }
)
