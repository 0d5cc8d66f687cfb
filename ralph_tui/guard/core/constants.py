"""Finds what a variable certainly holds: a plain text of the same command that nothing else can change."""

import itertools
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType

from ralph_tui.guard.core.arguments import names
from ralph_tui.guard.shell.nodes import UNKNOWN, Compound, Script, Simple, Word
from ralph_tui.guard.shell.parser import read_shell, read_word

Values = Mapping[str, tuple[str, ...]]
"""Variables and what each may hold."""

_ASSIGNERS = names(
    "eval source read mapfile readarray getopts export readonly declare typeset local unset"
)
_QUOTING = re.compile(r"['\"\\]")
_BETWEEN = "\x01"
_SHOWS = re.compile(
    rf"eval[ {_BETWEEN}]+(?:echo|ls|cat|wc|head|tail|grep)(?:[ {_BETWEEN}]+[\w./@+*?:,{UNKNOWN}-]*)*"
)
"""What is not known in it is refused, or plain as well."""
_DOT = re.compile(rf"(?:^|[;&|({{\n]|^(?:command|builtin){_BETWEEN})\s*\.[\s{_BETWEEN}]")
"""The builtin that reads a script, not the directory."""
_PLAIN = re.compile(r"(?!.*(?:^|/)\.[^/]*[*?])[\w./@+*?][\w./@+*?-]*", re.ASCII)
"""Neither split nor changed by the shell, but for file names in the place of a pattern."""
_EXPANSION = re.compile(r"\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})", re.ASCII)
_NOT_PLAIN = re.compile(r"['\\`]|\$[({\[$](?![A-Za-z_]\w*\})", re.ASCII)
_MOST = 32
_HERE = re.compile(r"\$\(\s*pwd(?:\s+-[LP])?\s*\)|`\s*pwd(?:\s+-[LP])?\s*`")
_LONGEST = 4096
"""Characters of a source that is searched once for each variable in it."""


def plain_values(words: Sequence[Word]) -> tuple[str, ...]:
    """Return the texts of words, none if one of them is not plain."""
    texts = tuple(word.text for word in words)
    plain = all(
        _PLAIN.fullmatch(text) and not word.home for text, word in zip(texts, words, strict=True)
    )
    return texts if plain and len(texts) <= _MOST else ()


@lru_cache(maxsize=64)
def only_given(name: str, source: str, definition: str) -> bool:
    """Tell whether a variable's only value is the one from the only text that matches `definition`.

    Its name must occur nowhere else in the source but as a plain expansion, and nothing may put it
    together from parts.
    """
    if len(source) > _LONGEST:
        return False
    rest, found = re.subn(definition, "", source)
    rest = re.sub(rf"\$(?:{name}\b|\{{{name}\}})", "", rest)
    if found > 1 or re.search(rf"(?<![\w./-]){name}\b|\$'|\$\{{!", rest):
        return False
    return not _assigns_unseen(source)


@lru_cache(maxsize=8)
def _assigns_unseen(source: str) -> bool:
    """Tell whether a command in the source may give any variable a value."""
    return any(_may_assign(words) for words in _words(read_shell(source)))


@lru_cache(maxsize=8)
def keeps_parameters(source: str) -> bool:
    """Tell whether `"$@"` in a function is what it was called with, or the end of it."""
    if len(source) > _LONGEST or "command_not_found_handle" in source:
        return False
    return not any(_may_set(words) for words in _words(read_shell(source)))


@lru_cache(maxsize=8)
def shifts_parameters(source: str) -> bool:
    """Tell whether a function may take away some of its parameters."""
    return any("shift" in word.text for words in _words(read_shell(source)) for word in words)


_OPTIONS_ONLY = re.compile(rf"set(?:{_BETWEEN}[-+][a-zA-Z]+(?:{_BETWEEN}pipefail)?)*")


def _may_set(words: Sequence[Word]) -> bool:
    """Tell whether a command, or a text among its words, gives a function other parameters."""
    text = _BETWEEN.join(_QUOTING.sub("", word.text) for word in words)
    found = set(re.findall(r"(?<![\w./])[\w-]+", text))
    if found & {"eval", "source"} or _DOT.search(text):
        return True
    return "set" in found and not _OPTIONS_ONLY.fullmatch(text)


@lru_cache(maxsize=8)
def asks_where(source: str) -> bool:
    """Tell whether `$(pwd)` in a text is certainly the shell's own directory."""
    if len(source) > _LONGEST or not _HERE.search(source):
        return False
    redefined = re.search(r"\bpwd\s*\(|\bfunction\s+pwd\b|\balias\b|\bPWD=", source)
    return redefined is None and not _assigns_unseen(source)


def forms(word: Word, values: Values) -> tuple[Word, ...]:
    """List what a word may be when its variables hold these values; none if that is not certain."""
    raw = _HERE.sub("${PWD}", word.raw) if "PWD" in values else word.raw
    if word.start < 0 or UNKNOWN not in word.text or _NOT_PLAIN.search(raw):
        return ()
    used = dict.fromkeys(match[1] or match[2] for match in _EXPANSION.finditer(raw))
    held = [values.get(name, ()) for name in used]
    if not all(_PLAIN.fullmatch(text) for texts in held for text in texts):
        return ()
    found = [
        read_word(_with(dict(zip(used, texts, strict=True)), raw))
        for texts in itertools.islice(itertools.product(*held), _MOST + 1)
    ]  # none, if one of the variables is not known
    certain = len(found) <= _MOST and not any(UNKNOWN in form.text for form in found)
    return tuple(found) if certain else ()


_SETTERS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "ssh-agent": names("-s"),
        "direnv": names("hook export"),
        "fnm": names("env"),
        "mise": names("activate env hook-env"),
        "opam": names("env"),
        "minikube": names("docker-env"),
        "dircolors": names("-b"),
        **dict.fromkeys(names("pyenv rbenv nodenv goenv"), names("init")),
        "brew": names("shellenv"),
        "kubectl": names("completion"),
    }
)
"""Programs that print what sets up a shell, and how they are called for it."""


def sets_up_shell(text: Word, functions: Container[str]) -> bool:
    """Tell whether a text that a shell runs is nothing but what such a program prints."""
    if text.text != UNKNOWN or len(text.scripts) != 1:
        return False
    commands = list(text.scripts[0].commands())
    if len(commands) != 1 or not isinstance(commands[0], Simple):
        return False
    program, *words = commands[0].values or ("",)
    plain = not commands[0].assignments and program not in functions
    return plain and bool(words) and words[0] in _SETTERS.get(program, ())


def _with(given: Mapping[str, str], raw: str) -> str:
    return _EXPANSION.sub(lambda match: given[match[1] or match[2]], raw)


def _may_assign(words: Sequence[Word]) -> bool:
    """Tell whether a command, or a text among its words that a shell may run, gives a variable a value."""
    text = _BETWEEN.join(_QUOTING.sub("", word.text) for word in words)
    found = set(re.findall(r"(?<![\w./])[\w-]+", text))
    if _SHOWS.fullmatch(text):
        return False
    sets = "printf" in found and any(name.startswith("-v") for name in found)
    return sets or bool(found & _ASSIGNERS) or bool(_DOT.search(text))


def _words(script: Script) -> Iterator[Sequence[Word]]:
    """Yield the words of every command, however deep, and what its redirections hold."""
    for command in script.commands():
        held = [word for r in command.redirects for word in (r.target, r.body) if word is not None]
        yield command.words
        yield from ((word,) for word in held)
        inner = [s for word in (*command.words, *held) for s in word.scripts]
        for nested in (*inner, *(command.bodies if isinstance(command, Compound) else ())):
            yield from _words(nested)


_BY_PATH = re.compile(r"\$\{?(HOME|PWD)\}?/", re.ASCII)
_HIDING = re.compile(
    r"git|pip|conda|poetry|venv|\brm\b|docker|eval|\.ralph|base64|\brev\b|xxd|printf|\btr\b|\\x"
)


def says_what_starts(head: Word, source: str) -> bool:
    """Tell whether the word is a program's name, or a path whose last part is, wherever it leads."""
    if head.text.startswith("=") and head.kinds.startswith("u"):  # a program's path, to zsh
        return False
    if head.known:
        return "{" not in head.raw.partition("/")[0]
    path, _, name = head.text.rpartition("/")
    if not name or UNKNOWN in name or head.has_glob or "{" in path + name:
        return False
    begins = _BY_PATH.match(head.raw)
    return "s" not in head.kinds or (
        begins is not None and head.kinds.count("s") == 1 and only_given(begins[1], source, r"(?!)")
    )


def may_hide(text: Word, source: str) -> bool:
    """Tell whether what is not known of a text for a shell may be what the guard refuses."""
    pairs = zip(text.text, text.kinds, strict=True)
    if not any(char == UNKNOWN and kind in "xs" for char, kind in pairs):
        return False
    return text.text.strip() == UNKNOWN or bool(_HIDING.search(source))


_MADE = re.compile(
    r"\s*(?:set -[a-zA-Z]+(?: pipefail)?\s*(?:;|&&|\n)\s*)*"
    r"(\w*(?:tmp|temp|scratch|work)\w*|d|dir)=\"?\$\(mktemp -d\)\"?[ \t]*(?:;(?!;)|&&|\n)",
    re.IGNORECASE | re.ASCII,
)
"""At the very beginning, so that nothing can keep it from being assigned or give `mktemp` a meaning."""


def just_made(word: Word, source: str) -> bool:
    """Tell whether `word` is the quoted variable that holds a directory fresh from `mktemp -d`.

    The name must occur nowhere else in the source but as a plain expansion, and nothing may put it
    together from parts.
    """
    made = _MADE.match(source)
    if made is None or word.raw not in (f'"${made[1]}"', f'"${{{made[1]}}}"'):
        return False
    return only_given(made[1], source, rf"^{re.escape(made[0])}")
