"""Follows where a command's paths lead, by their text alone: the project, its guarded parts, outside."""

import os.path
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from ralph_tui.guard.core.arguments import names
from ralph_tui.guard.core.constants import Values, asks_where, forms, only_given, plain_values
from ralph_tui.guard.core.paths import (
    asks_for_git_directory,
    guarded_part,
    matched_guarded,
    names_guarded,
)
from ralph_tui.guard.core.policy import Policy
from ralph_tui.guard.core.verdicts import deny
from ralph_tui.guard.shell.nodes import UNKNOWN, Word, literal

# A scratch directory is named here to be written to, not used as a safe place.
_SCRATCH = (
    "/tmp/", "/var/tmp/", "/private/tmp/", "/dev/shm/", "/dev/fd/", "/proc/self/fd/",  # noqa: S108 - compared, never opened
)  # fmt: skip
_DEVICES = names("/dev/null /dev/stdin /dev/stdout /dev/stderr /dev/tty /dev/full /dev/zero")
_PROC_CWD = re.compile(r"/proc/(?:self|thread-self|\d+)/cwd(?=/|$)")
_SHOWS_HIDDEN = re.compile(r"dotglob|glob_?dots|globignore", re.IGNORECASE)
_TOLD = ("PWD", "HOME")
_SETTINGS_HOMES = names("HOME XDG_CONFIG_HOME")
_MAX_DIRECTORIES = 8
_MOST_VALUES = 20
_RALPHS_OWN = "ralph's own data"
"""What a path outside the work tree leads to that only ralph writes."""
_GUARDED: Mapping[str, tuple[str, str, str]] = MappingProxyType(
    {
        ".ralph": (
            "ralph-files", ".ralph/", "Change the plan and the state through the ralph_* tools.",
        ),
        ".git": (
            "git-files", ".git/", "Leave git's own files to the person; reading them is fine.",
        ),
        ".claude": ("cli-files", ".claude/", "Leave the CLI's own settings to the person."),
        _RALPHS_OWN: ("ralph-files", _RALPHS_OWN, "Leave ralph's data to ralph; reading it is fine."),
    }
)  # fmt: skip
NOWHERE = "/\0home"
"""Represents a home directory that is not known: outside whatever the project is."""


@dataclass
class WorkingDirs:
    """The directories a command may be running in; more than one when a `cd` may have failed.

    Attributes:
        policy: Knows the project's root.
        directories: Absolute and normalised; None when it could be anywhere.
        suspect: Whether a variable or a list may hold a guarded path, so that an unknown target may
            be one.
        values: What variables certainly hold.
        hidden: Whether a wildcard may match names that begin with a dot.
        configured: Whether programs find their settings in another home directory than the person's.
        told: The variables among `PWD` and `HOME` that are certainly as the shell was given them.
    """

    policy: Policy
    directories: frozenset[str] | None = field(default=None)
    suspect: bool = False
    values: Values = field(default_factory=dict)
    hidden: bool = False
    told: tuple[str, ...] = ()
    configured: bool = False

    @classmethod
    def at_root(cls, policy: Policy, source: str = "") -> "WorkingDirs":
        """Start in the project's root, as the agent's commands do; `source` is all of them."""
        return cls(
            policy,
            frozenset({os.path.normpath(policy.root)}),
            hidden=bool(_SHOWS_HIDDEN.search(source)),
            told=_told(source),
        )

    @property
    def root(self) -> str:
        """The project's root, normalised."""
        return os.path.normpath(self.policy.root)

    @property
    def _own(self) -> tuple[str, ...]:
        return tuple(os.path.normpath(path) for path in self.policy.own_directories)

    def fork(self) -> "WorkingDirs":
        """Return a copy for a subshell, whose `cd` does not last."""
        return replace(self)

    def move(self, target: Word | None, *, certain: bool) -> None:
        """Follow a `cd`; unless it is `certain` to have worked, the old place stays possible."""
        if target is not None and target.text == "-":
            self.directories = None
            return
        home = str(self.policy.home) if self.policy.home else NOWHERE
        there = self.resolve(target) if target is not None else (home,)
        if there is None and target is not None and (found := self.guarded(target)) is not None:
            there = (f"{self.root}/{found}",)
        if there is None or self.directories is None:
            self.directories = None
            return
        merged = frozenset(there) if certain else self.directories | frozenset(there)
        self.directories = merged if len(merged) <= _MAX_DIRECTORIES else None

    def resolve(self, word: Word) -> tuple[str, ...] | None:
        """List every path that `word` may name, or None if that cannot be known."""
        text = word.text
        if UNKNOWN in text:
            if known := self.forms(word):
                found = [self.resolve(form) for form in known]
                return tuple(p for paths in found for p in paths or ()) if all(found) else None
            begin = text.partition(UNKNOWN)[0]
            if "/" not in begin.strip("/.") and not begin.startswith("/proc/"):
                return None
            text = text.replace(UNKNOWN, "x")
        if text.startswith("~"):  # even quoted: better too careful than someone's home
            user, _, rest = text[1:].partition("/")
            home = NOWHERE if user or not self.policy.home else str(self.policy.home)
            text = f"{home}/{rest}"
        if text.startswith("/") and not _PROC_CWD.match(text):
            return (_normal(text),)
        if self.directories is None:
            return None
        relative = _PROC_CWD.sub(".", text)
        return tuple(_normal(f"{directory}/{relative}") for directory in sorted(self.directories))

    def forms(self, word: Word) -> tuple[Word, ...]:
        """List what the word may be, going by what variables hold; none if that is not certain."""
        told = {"PWD": tuple(sorted(self.directories or ())), "HOME": (self._home(),)}
        return forms(word, {**self.values, **{name: told[name] for name in self.told}})

    def hold(self, name: str, words: Sequence[Word], source: str, definition: str) -> None:
        """Remember what a variable certainly holds from here on.

        Args:
            name: The variable.
            words: What it may hold; more than one for the variable of a loop.
            source: The whole text the agent sent.
            definition: A pattern for what defines the variable, which `source` must hold at most once.
        """
        known = [form for word in words for form in self.forms(word) or (word,)]
        texts = plain_values([self._at_home(word) for word in known])
        if self.hidden and any("*" in text or "?" in text for text in texts):
            return
        if texts and len(self.values) < _MOST_VALUES and only_given(name, source, definition):
            self.values = {**self.values, name: texts}

    def _at_home(self, word: Word) -> Word:
        """Return a word that begins with `~` as the path that a variable then holds."""
        if not word.home:
            return word
        user, _, rest = word.text[1:].partition("/")
        return literal(f"{self._home(user)}/{rest}")

    def _home(self, user: str = "") -> str:
        """Return a home directory; one that is not known is outside whatever the project is."""
        return "/nobody" if user or not self.policy.home else str(self.policy.home)

    def inside(self, path: str) -> bool:
        """Tell whether a path is below the project's root."""
        return path.startswith(self.root.rstrip("/") + "/")

    def guarded(self, word: Word) -> str | None:
        """Return the guarded directory that `word` leads into or may match."""
        if asks_for_git_directory(word):
            return ".git"
        paths = self.resolve(word) or (_normal("/" + word.text.replace(UNKNOWN, "x")),)
        if word.text.startswith(UNKNOWN):  # most likely a name in one of these
            paths = (*paths, *(self.directories or ()))
        for path in paths:
            if any(_within(path, own) for own in self._own):
                return _RALPHS_OWN
            inner = path[len(self.root) :] if self.inside(path) else path
            parts = tuple(part for part in inner.split("/") if part)
            if (found := guarded_part(parts)) is not None:
                return found
            if word.has_glob and (found := matched_guarded(parts, hidden=self.hidden)) is not None:
                return found
        return None

    def check_write(self, word: Word, shown: str, *, into: bool = False) -> None:
        """Refuse a write to guarded files or outside the project and the scratch directories.

        Args:
            word: What names the file.
            shown: The command, for a denial.
            into: Whether the word may be a directory that something is put into, as the root is.

        Raises:
            DeniedError: The path leads there.
        """
        self.check_guarded(word, shown)
        if self.suspect and self._may_be_anywhere(word):
            deny(
                "unreadable-command",
                shown,
                "What this writes is not known, and may be a guarded file",
                "Write the path out.",
            )
        for path in self.resolve(word) or ():
            if not self.may_write(path) and not (into and path == self.root):
                deny(
                    "outside-project",
                    shown,
                    "The file is outside the project",
                    f"Write below {self.root} or in /tmp.",
                )

    def _may_be_anywhere(self, word: Word) -> bool:
        """Tell whether a word may name any file of the project, because an expansion begins its name."""
        if UNKNOWN not in word.text:
            return False
        directory, slash, name = word.text.partition(UNKNOWN)[0].rpartition("/")
        if name and not name.startswith("."):
            return False
        below = self.resolve(literal(directory)) if directory else None
        return not slash or not below or not all(map(self._apart, below))

    def _apart(self, path: str) -> bool:
        """Tell whether a directory is neither the project's root nor around it."""
        return path != self.root and not self.root.startswith(path.rstrip("/") + "/")

    def may_write(self, path: str) -> bool:
        """Tell whether a path is inside the project or a scratch directory."""
        return self._scratch(path) or self.inside(path)

    def check_removal(self, word: Word, shown: str) -> None:
        """Refuse a recursive removal of anything that is not certainly the project's own.

        Raises:
            DeniedError: It may be something else.
        """
        self.check_guarded(word, shown)
        paths = self.resolve(word)
        if paths is None:
            deny(
                "outside-project",
                shown,
                "What this removes cannot be known from the text",
                "Name the path inside the project, without variables.",
            )
        for path in paths:
            if any(_within(own, path) for own in self._own):
                deny("ralph-files", shown, "This removes ralph's own data", "Name what to remove.")
            if self.inside(path) and not path[len(self.root) :].strip("/*"):
                reason = "This removes the whole project, also what was never committed"
                deny("destructive", shown, reason, "Name what to remove.")
            if not self.inside(path):
                deny(
                    "outside-project",
                    shown,
                    "This removes what is not inside the project",
                    f"Remove only what is below {self.root}.",
                )

    def check_here(self, shown: str, *, certain: bool = True) -> None:
        """Refuse a program that writes where it runs, if that is guarded, or only `certain`ly so.

        Raises:
            DeniedError: It is.
        """
        here = [literal(directory) for directory in sorted(self.directories or ())]
        guarded = [word for word in here if self.guarded(word) is not None]
        if guarded and (len(guarded) == len(here) or not certain):
            self.check_guarded(guarded[0], shown)

    def configure(self, name: str, value: Word) -> None:
        """Remember that a variable sends programs to settings that the agent may have written."""
        if name in _SETTINGS_HOMES and (self.resolve(value) or ("",)) != (self._home(),):
            self.configured = True

    def note(self, word: Word) -> None:
        """Remember that a value which later commands may use names a guarded path."""
        if word.text.startswith(("-", "!", "^")):  # an option or a pattern that leaves it out
            return
        if names_guarded(word.text) or asks_for_git_directory(word) or self._leads_there(word):
            self.suspect = True

    def _leads_there(self, word: Word) -> bool:
        """Tell whether a word that does not say so leads to a guarded path: by a pattern, or from outside."""
        outside = bool(self._own) and "/" in word.text and self.guarded(word) == _RALPHS_OWN
        return outside or (word.has_glob and self.guarded(word) is not None)

    def names_own(self, text: str) -> bool:
        """Tell whether a text names ralph's own data, in full or from the home directory."""
        home = f"{self._home()}/"
        return any(own.removeprefix(home) in text for own in self._own)

    def check_guarded(self, word: Word, shown: str) -> None:
        """Refuse a change to ralph's, git's or the CLI's own files.

        Raises:
            DeniedError: The path leads there.
        """
        if (found := self.guarded(word)) is None:
            return
        rule, what, instead = _GUARDED.get(found, _GUARDED[".claude"])
        deny(rule, shown, f"This may change {what}", instead)

    def _scratch(self, path: str) -> bool:
        """Tell whether anybody may write there; a directory inside one, made around the project, is none."""
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
    """Tell whether a path is a directory or below it."""
    return path == directory or path.startswith(directory.rstrip("/") + "/")


def _told(source: str) -> tuple[str, ...]:
    plain = [n for n in _TOLD if n in source and only_given(n, source, r"(?!)")]
    return (*plain, "PWD") if "PWD" not in source and asks_where(source) else tuple(plain)


def _normal(path: str) -> str:
    return re.sub(r"^/+", "/", os.path.normpath(path))
