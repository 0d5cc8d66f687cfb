"""Allows git to read only: an allow-list of subcommands, their options and their forms."""

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
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
)
from ralph_tui.guard.core.policy import Policy
from ralph_tui.guard.core.programs import read_data
from ralph_tui.guard.core.verdicts import deny
from ralph_tui.guard.shell.nodes import UNKNOWN, Word, literal

_DATA = tomllib.loads(read_data("git.toml"))

MUTATING = names(_DATA["names"]["mutating"])

_HARMLESS_VARIABLES = names(_DATA["names"]["variables"])

GIT_COMMANDS = MUTATING | frozenset(GIT_READ_ONLY)


@dataclass(frozen=True, slots=True)
class Family:
    """The options with which a subcommand only reads; `long` is None if no long option writes."""

    long: frozenset[str] | None = None
    spec: Spec = NO_VALUES
    refused_short: str = ""
    writes: tuple[str, ...] = ()
    """Options whose value is a file to write, which the path rules judge."""


def _long(text: str) -> frozenset[str]:
    return frozenset(f"--{name}" for name in text.split())


def _families() -> Iterator[tuple[str, Family]]:
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
            yield command, Family(long or None, spec, entry.get("refused", ""), writes)


_OPTIONS = {group: _long(text) for group, text in _DATA["options"].items()}
_FAMILIES = dict(_families())


Form = Callable[[Arguments, Sequence[Word]], str]


@dataclass(frozen=True, slots=True)
class ListedForm:
    """What a subcommand may be followed by; git.toml explains the attributes."""

    reason: str
    verbs: frozenset[str]
    needs: frozenset[str]
    only: frozenset[str]
    never: frozenset[str]
    bare: bool
    splits: bool

    def __call__(self, args: Arguments, words: Sequence[Word]) -> str:
        named = {option.name for option in args.options}
        if not self.splits and any(word.may_split for word in words):
            return "An expansion may add words to this command"
        if named & self.never or (self.only and not named <= self.only):
            return self.reason
        reads = args.operands[0].text in self.verbs if args.operands else self.bare
        return "" if reads or named & self.needs else self.reason


def _forms() -> Iterator[tuple[str, Form]]:
    for listed, said in _DATA["forms"].items():
        words = {key: names(said.get(key, "")) for key in ("verbs", "needs", "only", "never")}
        bare, splits = said.get("bare", False), said.get("splits", False)
        form = ListedForm(said["reason"], **words, bare=bare, splits=splits)
        yield from dict.fromkeys(listed.split(), form).items()


def _config(args: Arguments, words: Sequence[Word]) -> str:
    if any(word.may_split for word in words):
        return "An expansion may add options to this command"
    if args.has("--list", "-l") or any(o.name.startswith("--get") for o in args.options):
        return ""
    operands = [word.text for word in args.operands]
    if operands[:1] in (["get"], ["list"]):
        return ""
    return "" if len(operands) == 1 and operands[0] not in _CONFIG_VERBS else "This writes settings"


_CONFIG_VERBS = ("set", "unset", "rename-section", "remove-section", "edit")


def _stash(args: Arguments, words: Sequence[Word]) -> str:
    verb = words[0].text if words else ""
    if verb not in ("list", "show"):
        return "This hides or drops uncommitted work"
    # The rest are options of log and diff, of which only `--output` writes.
    writing = any("--output".startswith(o.name) and len(o.name) > 3 for o in args.options)
    return (
        "This option writes a file or starts a program" if writing or args.has("--ext-diff") else ""
    )


def _reflog(_: Arguments, words: Sequence[Word]) -> str:
    verbs = {"expire", "delete", "drop", "write"}
    if any(word.text in verbs for word in words) or (words and words[0].may_split):
        return "This removes entries"
    return ""


def _symbolic_ref(args: Arguments, words: Sequence[Word]) -> str:
    flags = {"-q", "--quiet", "--short", "--no-recurse", "--recurse"}
    if any(option.name not in flags for option in args.options):
        return "This option changes the reference"
    changed = len(args.operands) != 1 or any(word.may_split for word in words)
    return "With a second name, this moves the reference" if changed else ""


def _apply(args: Arguments, _: Sequence[Word]) -> str:
    # Applying a named patch to the files is an edit; options that touch the index are refused by their names.
    looks = args.has("--stat", "--numstat", "--summary", "--check")
    return "" if looks or args.operands else "This applies a patch that the guard cannot name"


def _trailers(args: Arguments, _: Sequence[Word]) -> str:
    in_place = any(len(o.name) > 3 and "--in-place".startswith(o.name) for o in args.options)
    return "This writes the file" if in_place else ""


def _merge_tree(args: Arguments, _: Sequence[Word]) -> str:
    if any(option.name != "--trivial-merge" for option in args.options):
        return "This writes objects"
    return "" if len(args.operands) == 3 else "This writes objects"


def _fetch(args: Arguments, words: Sequence[Word]) -> str:
    dry = args.has("--dry-run")
    return _ls_remote(args, words) if dry else "Without --dry-run, this moves remote branches"


def _ls_remote(args: Arguments, _: Sequence[Word]) -> str:
    helper = any("::" in word.text or word.text.startswith("-") for word in args.operands)
    return "This address starts a program" if helper else ""


FORMS: Mapping[str, Form] = MappingProxyType(
    {
        **dict(_forms()),
        "apply": _apply,
        "config": _config,
        "fetch": _fetch,
        "interpret-trailers": _trailers,
        "ls-remote": _ls_remote,
        "merge-tree": _merge_tree,
        "reflog": _reflog,
        "stash": _stash,
        "symbolic-ref": _symbolic_ref,
    }
)


RULE = "git-read-only"
_INSTEAD = "Leave commits, branches and the index to the person. To read, use git status, git diff or git log."
_ALTERNATIVES = MappingProxyType(
    {
        "checkout": "To undo an edit, edit the file again (git show HEAD:FILE shows the old text).",
        "restore": "To undo an edit, edit the file again (git show HEAD:FILE shows the old text).",
        "reset": "To undo an edit, edit the file again (git show HEAD:FILE shows the old text).",
        "stash": "Use git stash list or git stash show. Leave the changes where they are.",
        "branch": "Use git branch --list or git branch -a to look at branches.",
        "tag": "Use git tag --list to look at tags.",
        "config": "Use git config --get NAME to read a setting.",
        "remote": "Use git remote -v to look at remotes.",
        "clean": "Remove the project's own files by name with rm.",
        "mv": "Use mv. The person stages the change.",
        "rm": "Use rm. The person stages the change.",
    }
)

_GLOBAL_VALUES = frozenset({"-C", "--git-dir", "--work-tree", "--namespace", "--attr-source"})
_GLOBAL_FLAGS = names(
    "-p --paginate -P --no-pager --no-replace-objects --no-lazy-fetch --bare --literal-pathspecs"
    " --glob-pathspecs --noglob-pathspecs --icase-pathspecs --no-optional-locks --no-advice"
)
_INFORMATION = names("--version -v --help -h --html-path --man-path --info-path --exec-path")
_HARMLESS_CONFIG = re.compile(
    r"color\..*|column\..*|advice\..*|core\.(quotepath|abbrev|preloadindex|autocrlf|ignorecase"
    r"|precomposeunicode|filemode|safecrlf|whitespace|commentchar|untrackedcache)"
    r"|diff\.(renames|renamelimit|algorithm|noprefix|mnemonicprefix|context|interhunkcontext"
    r"|colormoved|colormovedws|wordregex|submodule|relative|statgraphwidth|suppressblankempty"
    r"|ignoresubmodules|indentheuristic)"
    r"|log\.(date|decorate|abbrevcommit|follow|mailmap|showroot|showsignature|diffmerges)"
    r"|status\..*|blame\..*|grep\.(linenumber|column|patterntype|extendedregexp|threads|fullname)"
    r"|format\.pretty|i18n\..*|user\.(name|email)|safe\.directory|versionsort\..*|merge\.renames"
    r"|tag\.sort|branch\.sort|submodule\.recurse|pretty\..*|gc\.auto|maintenance\.auto"
)
_LFS_READS = names("ls-files status env version")
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
    if name == "lfs" and arguments and arguments[0].text in _LFS_READS:
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
    family = _FAMILIES.get(name, Family())
    args = parse(arguments, family.spec)
    written: list[Word] = []
    for option in args.options:
        full = _full_name(name, option, family)
        if full in family.writes and option.value is not None:
            written.append(option.value)
    form = FORMS.get(name)
    if form is not None and (problem := form(args, arguments)):
        _refuse(_shown(name, arguments), problem, name)
    return tuple(written)


def _full_name(name: str, option: Option, family: Family) -> str:
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
        if text in _INFORMATION:
            if text in ("--help", "-h"):
                return [literal("help"), *words[at + 1 :]]
            return None
        if name == "-c" or text.startswith("-c"):
            value = word.cut(2) if len(text) > 2 else _value_after(words, at)
            at += 1 if len(text) > 2 else 2
            _judge_setting(value)
        elif name in _GLOBAL_VALUES:
            value = word.cut(len(name) + 1) if equals else _value_after(words, at)
            at += 1 if equals else 2
            _judge_repository_option(name, value)
        elif text in _GLOBAL_FLAGS:
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
        if _HARMLESS_CONFIG.fullmatch(key):
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
    if name in _HARMLESS_VARIABLES or name.startswith(("GIT_AUTHOR_", "GIT_COMMITTER_", "GIT_PS1")):
        return
    _refuse(f"{name}={value.text.replace(UNKNOWN, '…')}", "The variable changes what git does")


def _shown(name: str, arguments: Sequence[Word]) -> str:
    return " ".join([f"git {name}", *(w.raw or w.text for w in arguments)])


def _refuse(part: str, reason: str, subcommand: str = "") -> NoReturn:
    deny(RULE, part, reason, _ALTERNATIVES.get(subcommand, _INSTEAD))
