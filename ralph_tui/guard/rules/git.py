"""Allows git to read only: an allow-list of subcommands, their options and their forms."""

import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NoReturn

from ralph_tui.domain.git_commands import GIT_READ_ONLY
from ralph_tui.guard.core.arguments import (
    NO_VALUES,
    Arguments,
    Option,
    Spec,
    abbreviates,
    names,
    parse,
    read_data,
)
from ralph_tui.guard.core.policy import Policy
from ralph_tui.guard.core.verdicts import deny
from ralph_tui.guard.shell.nodes import UNKNOWN, Word, literal

_DATA = tomllib.loads(read_data("git.toml"))

_NAMES = {key: names(words) for key, words in _DATA["names"].items()}

MUTATING = _NAMES["mutating"]

GIT_COMMANDS = MUTATING | frozenset(GIT_READ_ONLY)


@dataclass(frozen=True, slots=True)
class _Family:
    long: frozenset[str] | None = None
    spec: Spec = NO_VALUES
    refused_short: str = ""
    writes: tuple[str, ...] = ()
    """Options whose value is a file to write, which the path rules judge."""


def _long(text: str) -> frozenset[str]:
    return frozenset(f"--{name}" for name in text.split())


def _families() -> Iterator[tuple[str, _Family]]:
    for entry in _DATA["families"]:
        values = entry.get("values", {})
        if isinstance(values, str):
            values = _DATA["values"][values]
        groups = [_OPTIONS[group] for group in entry.get("options", "").split()]
        long = frozenset().union(*groups, _long(entry.get("more", "")))
        spec = Spec(
            values.get("short", ""), values.get("attached", ""), _long(values.get("long", ""))
        )
        writes = tuple(entry.get("write", "").split())
        for command in entry["commands"].split():
            yield command, _Family(long or None, spec, entry.get("refused", ""), writes)


_OPTIONS = {group: _long(text) for group, text in _DATA["options"].items()}
_FAMILIES = dict(_families())


@dataclass(frozen=True, slots=True)
class _Form:
    reads: re.Pattern[str]
    reason: str
    splits: bool

    def problem(self, args: Arguments, words: Sequence[Word]) -> str:
        if not self.splits and any(word.may_split for word in words):
            return "An expansion may add words to this command"
        return "" if self.reads.match(args.as_text()) else self.reason


_FORMS = {
    name: _Form(
        re.compile(rf"(?:{said['reads']})(?!\S)"), said["reason"], said.get("splits", False)
    )
    for listed, said in _DATA["forms"].items()
    for name in listed.split()
}


RULE = "git-read-only"
_HARMLESS_SETTINGS = re.compile("|".join(_DATA["settings"]["harmless"].split()))
_PAGERS = re.compile(r"core\.pager|pager\..*")
_NO_PAGER = frozenset({"", "cat", "false", "less", "more", "true"})


def judge_git(words: Sequence[Word], policy: Policy) -> tuple[Word, ...]:
    rest = _after_global_options(words)
    if rest is None:
        return ()
    subcommand = rest[0]
    if not subcommand.known:
        _refuse(subcommand.raw, "An expansion takes the place of git's subcommand")
    name = subcommand.text
    arguments = rest[1:]
    if name in GIT_COMMANDS and [word.text for word in arguments] == ["--help"]:
        return ()  # git reads this as `git help NAME`
    if name == "lfs" and arguments and arguments[0].text in _NAMES["lfs_reads"]:
        name = "ls-files"  # permission to list files covers those of lfs
        arguments = ()
    if name in GIT_READ_ONLY and name not in policy.git_allowed:
        deny(
            RULE,
            f"git {name}",
            f"`git {name}` is read-only but not among this project's git commands",
            f"Use one of: {', '.join(f'git {one}' for one in policy.git_allowed)}.",
        )
    if name not in policy.git_allowed:
        _refuse(f"git {name}", f"`git {name}` is not a read-only command", name)
    if len(arguments) == 1 and arguments[0].text in ("-h", "--help"):
        return ()
    return _judge_subcommand(name, arguments)


def _judge_subcommand(name: str, arguments: Sequence[Word]) -> tuple[Word, ...]:
    family = _FAMILIES.get(name, _Family())
    args = parse(arguments, family.spec)
    written: list[Word] = []
    for option in args.options:
        full = _full_name(name, option, family)
        if full in family.writes and option.value is not None:
            written.append(option.value)
    form = _FORMS.get(name)
    if form is not None and (problem := form.problem(args, arguments)):
        _refuse(_shown(name, arguments), problem, name)
    return tuple(written)


def _full_name(name: str, option: Option, family: _Family) -> str:
    shown = f"git {name} {option.word.text.replace(UNKNOWN, '…')}"
    if not option.name.startswith("--"):
        if option.name[1:] in family.refused_short or option.name[1:] == UNKNOWN:
            if option.name in family.writes:
                return option.name
            _refuse(shown, f"The option {option.name} is not read-only", name)
        return option.name
    if UNKNOWN in option.name:
        _refuse(shown, "An expansion takes the place of an option's name", name)
    if family.long is None:
        return option.name
    meant = abbreviates(
        option.name, family.long | _OPTIONS["every_long"] | frozenset(family.writes)
    )
    if option.name in family.long:
        return option.name
    for full in family.writes:
        if meant == {full} and option.value is not None:
            return full
    if not meant or not meant <= family.long:
        _refuse(shown, f"The option {option.name} is not known to be read-only", name)
    return option.name


def _after_global_options(words: Sequence[Word]) -> Sequence[Word] | None:
    at = 0
    while at < len(words):
        word = words[at]
        text = word.text
        if not text.startswith("-"):
            return words[at:]
        name, equals, _ = text.partition("=")
        if text in _NAMES["information"]:
            if text in ("--help", "-h"):
                return [literal("help"), *words[at + 1 :]]
            return None
        if name == "-c" or text.startswith("-c"):
            value = word.cut(2) if len(text) > 2 else _value_after(words, at)
            at += 1 if len(text) > 2 else 2
            _judge_setting(value)
        elif name in _NAMES["global_values"]:
            value = word.cut(len(name) + 1) if equals else _value_after(words, at)
            at += 1 if equals else 2
            _judge_repository_option(name, value)
        elif text in _NAMES["global_flags"]:
            at += 1
        else:
            _refuse(f"git {text.replace(UNKNOWN, '…')}", "The option is not known to be read-only")
    return None


def _value_after(words: Sequence[Word], at: int) -> Word:
    if at + 1 >= len(words):
        _refuse(f"git {words[at].text}", "The option's value is missing")
    return words[at + 1]


def _judge_repository_option(name: str, value: Word) -> None:
    if value.may_split:
        _refuse(value.raw, "An unquoted expansion is before git's subcommand")
    if name == "--git-dir" and value.known:
        last = value.text.rstrip("/").rpartition("/")[2]
        if last != ".git" and not value.text.endswith(".git"):
            _refuse(value.text, "This is not the .git directory of a repository")


def _judge_setting(value: Word) -> None:
    name, _, setting = value.text.partition("=")
    if UNKNOWN not in name:
        key = name.casefold()
        if _HARMLESS_SETTINGS.fullmatch(key):
            return
        if _PAGERS.fullmatch(key) and setting.casefold() in _NO_PAGER:
            return
        if (key, setting.casefold()) in {("core.fsmonitor", "false"), ("diff.external", "")}:
            return
    _refuse(f"git -c {value.text.replace(UNKNOWN, '…')}", "This setting may start a program")


def judge_git_variable(name: str, value: Word) -> None:
    if value.known:
        plain = value.text.casefold()
        if name in ("GIT_PAGER", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR") and plain in (
            *_NO_PAGER,
            ":",
        ):
            return
        if name in ("GIT_DIR", "GIT_WORK_TREE") and plain in (".git", "./.git", ".", "./"):
            return
        if name.startswith("GIT_TRACE") and plain in ("0", "1", "2", "true", "false", ""):
            return
        if name == "GIT_CONFIG_NOSYSTEM" or (
            name.startswith("GIT_CONFIG_") and plain == "/dev/null"
        ):
            return
    if name in _NAMES["variables"] or name.startswith(("GIT_AUTHOR_", "GIT_COMMITTER_", "GIT_PS1")):
        return
    _refuse(f"{name}={value.text.replace(UNKNOWN, '…')}", "The variable changes what git does")


def _shown(name: str, arguments: Sequence[Word]) -> str:
    return " ".join([f"git {name}", *(w.raw or w.text for w in arguments)])


def _refuse(part: str, reason: str, subcommand: str = "") -> NoReturn:
    deny(RULE, part, reason, _DATA["instead"].get(subcommand, _DATA["instead"]["other"]))
