"""Tracks working directories, and resolves paths by text: in the project, guarded, or outside."""

import os.path
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from ralph_tui.guard.core.arguments import names
from ralph_tui.guard.core.constants import (
    Values,
    only_defined_by,
    plain_values,
    possible_words,
    pwd_is_reliable,
)
from ralph_tui.guard.core.paths import GUARDED, asks_for_git, guarded_part, matched_guarded
from ralph_tui.guard.core.policy import Policy
from ralph_tui.guard.core.verdicts import deny
from ralph_tui.guard.shell.nodes import UNKNOWN, Word, literal

_SCRATCH = (
    "/tmp/", "/var/tmp/", "/private/tmp/", "/dev/shm/", "/dev/fd/", "/proc/self/fd/",  # noqa: S108 - compared, never opened
)  # fmt: skip
_DEVICES = names("/dev/null /dev/stdin /dev/stdout /dev/stderr /dev/tty /dev/full /dev/zero")
_PROC_CWD = re.compile(r"/proc/(?:self|thread-self|\d+)/cwd(?=/|$)")
_SHOWS_HIDDEN = re.compile(r"dotglob|glob_?dots|globignore", re.IGNORECASE)
_SHELL_VARIABLES = ("PWD", "HOME")
_SETTINGS_HOMES = names("HOME XDG_CONFIG_HOME")
_MAX_DIRECTORIES = 8
_MAX_VALUES = 20
_RALPH_DATA = "ralph's own data"
_OWN_DATA = ("ralph-files", "Do not change ralph's data. Reading it is fine.")
UNKNOWN_HOME = "/\0home"
"""Represents an unknown home directory; never inside the project."""


@dataclass
class WorkingDirs:
    """The directories a command may run in, and the variables of its shell.

    There is more than one directory if a `cd` may have failed.

    Attributes:
        directories: Absolute and normalized; None if it could be anywhere.
        hidden: Whether a wildcard may match names that begin with a dot.
        settings_moved: Whether programs read their settings from another home directory than the person's.
        reliable: The variables among `PWD` and `HOME` that certainly keep the values the shell set.
    """

    policy: Policy
    directories: frozenset[str] | None = field(default=None)
    values: Values = field(default_factory=dict)
    hidden: bool = False
    reliable: tuple[str, ...] = ()
    settings_moved: bool = False

    @classmethod
    def at_root(cls, policy: Policy, source: str = "") -> "WorkingDirs":
        return cls(
            policy,
            frozenset({os.path.normpath(policy.root)}),
            hidden=bool(_SHOWS_HIDDEN.search(source)),
            reliable=_reliable_variables(source),
        )

    @property
    def root(self) -> str:
        return os.path.normpath(self.policy.root)

    @property
    def _own_directories(self) -> tuple[str, ...]:
        return tuple(os.path.normpath(path) for path in self.policy.own_directories)

    def move(self, target: Word | None, *, certain: bool) -> None:
        """Follow a `cd`; unless it certainly succeeded, the old directory stays possible."""
        if target is not None and target.text == "-":
            self.directories = None
            return
        home = str(self.policy.home) if self.policy.home else UNKNOWN_HOME
        there = self.resolve(target) if target is not None else (home,)
        if (
            there is None
            and target is not None
            and (found := self.guarded_directory(target)) is not None
        ):
            there = (f"{self.root}/{found}",)
        if there is None or self.directories is None:
            self.directories = None
            return
        merged = frozenset(there) if certain else self.directories | frozenset(there)
        self.directories = merged if len(merged) <= _MAX_DIRECTORIES else None

    def resolve(self, word: Word) -> tuple[str, ...] | None:
        """Return every path that `word` may name, or None if that is unknown."""
        text = word.text
        if UNKNOWN in text:
            if known := self.possible_words(word):
                found = [self.resolve(form) for form in known]
                return tuple(p for paths in found for p in paths or ()) if all(found) else None
            begin = text.partition(UNKNOWN)[0]
            if "/" not in begin.strip("/.") and not begin.startswith("/proc/"):
                return None
            text = text.replace(UNKNOWN, "x")
        if text.startswith("~"):  # even if quoted, to be on the safe side
            user, _, rest = text[1:].partition("/")
            home = UNKNOWN_HOME if user or not self.policy.home else str(self.policy.home)
            text = f"{home}/{rest}"
        if text.startswith("/") and not _PROC_CWD.match(text):
            return (_normalized(text),)
        if self.directories is None:
            return None
        relative = _PROC_CWD.sub(".", text)
        return tuple(
            _normalized(f"{directory}/{relative}") for directory in sorted(self.directories)
        )

    def possible_words(self, word: Word) -> tuple[Word, ...]:
        known = {"PWD": tuple(sorted(self.directories or ())), "HOME": (self._home(),)}
        values = {**self.values, **{name: known[name] for name in self.reliable}}
        return possible_words(word, values)

    def record_value(self, name: str, words: Sequence[Word], source: str, definition: str) -> None:
        """Record the value of a variable, if it is certain.

        Args:
            words: Its possible values; more than one for a loop variable.
            definition: A pattern for the definition, which may occur in `source` once at most.
        """
        words = [literal(".git") if asks_for_git(word.raw) else word for word in words]
        known = [form for word in words for form in self.possible_words(word) or (word,)]
        texts = plain_values([self._at_home(word) for word in known])
        if self.hidden and any("*" in text or "?" in text for text in texts):
            return
        if texts and len(self.values) < _MAX_VALUES and only_defined_by(name, source, definition):
            self.values = {**self.values, name: texts}

    def _at_home(self, word: Word) -> Word:
        if not word.home:
            return word
        user, _, rest = word.text[1:].partition("/")
        return literal(f"{self._home(user)}/{rest}")

    def _home(self, user: str = "") -> str:
        return "/nobody" if user or not self.policy.home else str(self.policy.home)

    def in_project(self, path: str) -> bool:
        return path.startswith(self.root.rstrip("/") + "/")

    def guarded_directory(self, word: Word) -> str | None:
        if UNKNOWN in word.text and asks_for_git(word.raw):
            return ".git"
        paths = self.resolve(word) or (_normalized("/" + word.text.replace(UNKNOWN, "x")),)
        if word.text.startswith(UNKNOWN):  # probably a name in one of these directories
            paths = (*paths, *(self.directories or ()))
        for path in paths:
            if any(_within(path, own) for own in self._own_directories):
                return _RALPH_DATA
            inner = path[len(self.root) :] if self.in_project(path) else path
            parts = tuple(part for part in inner.split("/") if part)
            if (found := guarded_part(parts)) is not None:
                return found
            if word.has_glob and (found := matched_guarded(parts, hidden=self.hidden)) is not None:
                return found
        return None

    def check_write(self, word: Word, shown: str, *, into: bool = False) -> None:
        """Refuse a write to a guarded or outside file; `into` lets a directory such as the root be meant."""
        self.check_guarded(word, shown)
        for path in self.resolve(word) or ():
            if not self.may_write(path) and not (into and path == self.root):
                deny(
                    "outside-project",
                    shown,
                    "The file is outside the project",
                    f"Write below {self.root} or in /tmp.",
                )

    def may_write(self, path: str) -> bool:
        return self._is_scratch(path) or self.in_project(path)

    def check_removal(self, word: Word, shown: str) -> None:
        self.check_guarded(word, shown)
        paths = self.resolve(word)
        if paths is None:
            deny(
                "outside-project",
                shown,
                "The files that this removes are not known",
                "Give the path inside the project, without variables.",
            )
        for path in paths:
            inside = self.in_project(path)
            if any(path == own or (inside and _within(own, path)) for own in self._own_directories):
                reason = "This removes ralph's own data"
                deny("ralph-files", shown, reason, "Name the files to remove.")
            if inside and not path[len(self.root) :].strip("/*"):
                reason = "This removes the whole project, including uncommitted files"
                deny("destructive", shown, reason, "Name the files to remove.")
            if not inside:
                deny(
                    "outside-project",
                    shown,
                    "This removes files outside the project",
                    f"Remove only files below {self.root}.",
                )

    def check_current_directory(self, shown: str, *, certain: bool = True) -> None:
        """Refuse a program that writes to its current directory, if that is guarded.

        With `certain`, all possible directories must be guarded; otherwise one is enough.
        """
        here = [literal(directory) for directory in sorted(self.directories or ())]
        guarded = [word for word in here if self.guarded_directory(word) is not None]
        if guarded and (len(guarded) == len(here) or not certain):
            self.check_guarded(guarded[0], shown)

    def track_settings_home(self, name: str, value: Word) -> None:
        if name in _SETTINGS_HOMES and (self.resolve(value) or ("",)) != (self._home(),):
            self.settings_moved = True

    def mentions_own_data(self, text: str) -> bool:
        home = f"{self._home()}/"
        return any(own.removeprefix(home) in text for own in self._own_directories)

    def check_guarded(self, word: Word, shown: str) -> None:
        if (found := self.guarded_directory(word)) is None:
            return
        rule, instead = GUARDED.get(found, _OWN_DATA)
        what = f"{found}/" if found in GUARDED else found
        deny(rule, shown, f"This may change {what}", instead)

    def _is_scratch(self, path: str) -> bool:
        if path in _DEVICES:
            return True
        beside = self.root.rpartition("/")[0] + "/"
        if (
            beside not in _SCRATCH
            and beside.startswith(_SCRATCH)
            and (path + "/").startswith(beside)
        ):
            return False
        return path.startswith(_SCRATCH) and not self.root.startswith(path.rstrip("/") + "/")


def _within(path: str, directory: str) -> bool:
    return path == directory or path.startswith(directory.rstrip("/") + "/")


def _reliable_variables(source: str) -> tuple[str, ...]:
    plain = [n for n in _SHELL_VARIABLES if n in source and only_defined_by(n, source, r"(?!)")]
    return (*plain, "PWD") if "PWD" not in source and pwd_is_reliable(source) else tuple(plain)


def _normalized(path: str) -> str:
    return re.sub(r"^/+", "/", os.path.normpath(path))
