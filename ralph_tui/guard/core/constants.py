"""Determines the certain values of variables: plain text from the same command that nothing else can change."""

import itertools
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from functools import lru_cache

from ralph_tui.guard.core.programs import listed_words, program_named
from ralph_tui.guard.shell.nodes import UNKNOWN, Compound, Script, Simple, Word
from ralph_tui.guard.shell.parser import read_shell, read_word

Values = Mapping[str, tuple[str, ...]]

_QUOTING = re.compile(r"['\"\\]")
_SEPARATOR = "\x01"
_HARMLESS_EVAL = re.compile(
    rf"eval[ {_SEPARATOR}]+(?:echo|ls|cat|wc|head|tail|grep)(?:[ {_SEPARATOR}]+[\w./@+*?:,{UNKNOWN}-]*)*"
)
"""An `eval` of a command that only prints; its unknown parts are refused elsewhere or are plain text."""
_DOT_BUILTIN = re.compile(
    rf"(?:^|[;&|({{\n]|^(?:command|builtin){_SEPARATOR})\s*\.[\s{_SEPARATOR}]"
)
"""The builtin `.` that runs a script, not the directory."""
_PLAIN = re.compile(r"(?!.*(?:^|/)\.[^/]*[*?])[\w./@+*?][\w./@+*?-]*", re.ASCII)
"""Text that the shell neither splits nor changes, except to expand a pattern to file names."""
_EXPANSION = re.compile(r"\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})", re.ASCII)
_NOT_PLAIN = re.compile(r"['\\`]|\$[({\[$](?![A-Za-z_]\w*\})", re.ASCII)
_MAX_VALUES = 32
_PWD_SUBSTITUTION = re.compile(r"\$\(\s*pwd(?:\s+-[LP])?\s*\)|`\s*pwd(?:\s+-[LP])?\s*`")
_MAX_SOURCE = 4096
"""The most characters of a source, which is searched once for each of its variables."""


def plain_values(words: Sequence[Word]) -> tuple[str, ...]:
    texts = tuple(word.text for word in words)
    plain = all(
        _PLAIN.fullmatch(text) and not word.home for text, word in zip(texts, words, strict=True)
    )
    return texts if plain and len(texts) <= _MAX_VALUES else ()


@lru_cache(maxsize=64)
def only_defined_by(name: str, source: str, definition: str) -> bool:
    """Return whether only the text that matches `definition` can give the variable a value.

    It may match once at most. Otherwise the name must occur in the source only as a plain expansion, and
    nothing may assemble the name from parts.
    """
    if len(source) > _MAX_SOURCE:
        return False
    rest, found = re.subn(definition, "", source)
    rest = re.sub(rf"\$(?:{name}\b|\{{{name}\}})", "", rest)
    if found > 1 or re.search(rf"(?<![\w./-]){name}\b|\$'|\$\{{!", rest):
        return False
    return not _assigns_any_variable(source)


@lru_cache(maxsize=8)
def _assigns_any_variable(source: str) -> bool:
    return any(_may_assign(words) for words in _all_words(read_shell(source)))


@lru_cache(maxsize=8)
def pwd_is_reliable(source: str) -> bool:
    if len(source) > _MAX_SOURCE or not _PWD_SUBSTITUTION.search(source):
        return False
    redefined = re.search(r"\bpwd\s*\(|\bfunction\s+pwd\b|\balias\b|\bPWD=", source)
    return redefined is None and not _assigns_any_variable(source)


def possible_words(word: Word, values: Values) -> tuple[Word, ...]:
    raw = _PWD_SUBSTITUTION.sub("${PWD}", word.raw) if "PWD" in values else word.raw
    if word.start < 0 or UNKNOWN not in word.text or _NOT_PLAIN.search(raw):
        return ()
    used = dict.fromkeys(match[1] or match[2] for match in _EXPANSION.finditer(raw))
    held = [values.get(name, ()) for name in used]
    if not all(_PLAIN.fullmatch(text) for texts in held for text in texts):
        return ()
    found = [
        read_word(_substitute(dict(zip(used, texts, strict=True)), raw))
        for texts in itertools.islice(itertools.product(*held), _MAX_VALUES + 1)
    ]  # empty if a variable is unknown
    certain = len(found) <= _MAX_VALUES and not any(UNKNOWN in form.text for form in found)
    return tuple(found) if certain else ()


def sets_up_shell(text: Word, functions: Container[str]) -> bool:
    if text.text != UNKNOWN or len(text.scripts) != 1:
        return False
    commands = list(text.scripts[0].commands())
    if len(commands) != 1 or not isinstance(commands[0], Simple):
        return False
    program, *words = commands[0].values or ("",)
    plain = not commands[0].assignments and program not in functions
    return plain and bool(words) and words[0] in program_named(program).sets_up


def _substitute(expansions: Mapping[str, str], raw: str) -> str:
    return _EXPANSION.sub(lambda match: expansions[match[1] or match[2]], raw)


def _may_assign(words: Sequence[Word]) -> bool:
    text = _SEPARATOR.join(_QUOTING.sub("", word.text) for word in words)
    found = set(re.findall(r"(?<![\w./])[\w-]+", text))
    if _HARMLESS_EVAL.fullmatch(text):
        return False
    sets = "printf" in found and any(name.startswith("-v") for name in found)
    return sets or bool(found & listed_words("assigners")) or bool(_DOT_BUILTIN.search(text))


def _all_words(script: Script) -> Iterator[Sequence[Word]]:
    for command in script.commands():
        held = [word for r in command.redirects for word in (r.target, r.body) if word is not None]
        yield command.words
        yield from ((word,) for word in held)
        inner = [s for word in (*command.words, *held) for s in word.scripts]
        for nested in (*inner, *(command.bodies if isinstance(command, Compound) else ())):
            yield from _all_words(nested)


_FROM_HOME_OR_PWD = re.compile(r"\$\{?(HOME|PWD)\}?/", re.ASCII)
_SUSPICIOUS = re.compile(
    r"git|pip|conda|poetry|venv|\brm\b|docker|eval|\.ralph|base64|\brev\b|xxd|printf|\btr\b|\\x"
)


def names_known_program(head: Word, source: str) -> bool:
    # Zsh expands `=name` to a program's path.
    if head.text.startswith("=") and head.kinds.startswith("u"):
        return False
    if head.known:
        return "{" not in head.raw.partition("/")[0]
    path, _, name = head.text.rpartition("/")
    if not name or UNKNOWN in name or head.has_glob or "{" in path + name:
        return False
    begins = _FROM_HOME_OR_PWD.match(head.raw)
    return "s" not in head.kinds or (
        begins is not None
        and head.kinds.count("s") == 1
        and only_defined_by(begins[1], source, r"(?!)")
    )


def may_hide_command(text: Word, source: str) -> bool:
    pairs = zip(text.text, text.kinds, strict=True)
    if not any(char == UNKNOWN and kind in "xs" for char, kind in pairs):
        return False
    return text.text.strip() == UNKNOWN or bool(_SUSPICIOUS.search(source))


_MKTEMP = re.compile(
    r"\s*(?:(?:set -[a-zA-Z]+(?: pipefail)?|trap 'rm -[rf]+ \"\$\{?\w+\}?\"'(?: [A-Z]+)+)\s*(?:;|&&|\n)\s*)*"
    r"(\w*(?:tmp|temp|scratch|work)\w*|d|dir)=\"?\$\(mktemp -d\)\"?[ \t]*(?:;(?!;)|&&|\n)",
    re.IGNORECASE | re.ASCII,
)
"""Matches only at the very start, where the assignment cannot be skipped nor `mktemp` redefined."""


FRESH = "/var/tmp/fresh"  # noqa: S108 - compared, never opened
"""Represents a directory that `mktemp -d` has just made."""


def changes_to_fresh_directory(word: Word, source: str) -> bool:
    return word.raw.strip('"') == "$(mktemp -d)" or is_fresh_temp_directory(word, source)


def is_fresh_temp_directory(word: Word, source: str) -> bool:
    """Return whether `word` is a quoted variable that certainly holds a directory new from `mktemp -d`."""
    made = _MKTEMP.match(source)
    if made is None or word.raw not in (f'"${made[1]}"', f'"${{{made[1]}}}"'):
        return False
    return only_defined_by(made[1], source, rf"^{re.escape(made[0])}")
