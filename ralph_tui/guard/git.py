"""Git as a reader: an allow-list of subcommands and of their options."""

import re
from collections.abc import Sequence
from types import MappingProxyType
from typing import NoReturn

from ralph_tui.domain.git_commands import GIT_READ_ONLY
from ralph_tui.guard import git_options as known
from ralph_tui.guard.git_commands import GIT_COMMANDS
from ralph_tui.guard.git_families import FAMILIES, Family
from ralph_tui.guard.git_forms import FORMS
from ralph_tui.guard.names import names
from ralph_tui.guard.options import Option, abbreviates, parse
from ralph_tui.guard.policy import Policy
from ralph_tui.guard.syntax import UNKNOWN, Word, literal
from ralph_tui.guard.verdicts import deny

RULE = "git-read-only"
_INSTEAD = (
    "Leave commits, branches and the index to the person; read with git status, git diff, git log."
)
_ALTERNATIVES = MappingProxyType(
    {
        "checkout": "To undo an edit, edit the file again (git show HEAD:FILE shows the old text).",
        "restore": "To undo an edit, edit the file again (git show HEAD:FILE shows the old text).",
        "reset": "To undo an edit, edit the file again (git show HEAD:FILE shows the old text).",
        "stash": "Use git stash list or git stash show; leave the changes where they are.",
        "branch": "Use git branch --list or git branch -a to look at branches.",
        "tag": "Use git tag --list to look at tags.",
        "config": "Use git config --get NAME to read a setting.",
        "remote": "Use git remote -v to look at remotes.",
        "clean": "Remove the project's own files by name with rm.",
        "mv": "Use mv; the person stages it.",
        "rm": "Use rm; the person stages it.",
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
"""Of lfs; the others install its hooks, or move files."""
_PAGERS = re.compile(r"core\.pager|pager\..*")
_NO_PAGER = frozenset({"", "cat", "false", "less", "more", "true"})


def judge_git(words: Sequence[Word], policy: Policy) -> tuple[Word, ...]:
    """Judge the words after `git`; returns the files that a reading command would write.

    Raises:
        DeniedError: The command may change the repository, or start a program.
    """
    rest = _globals(words)
    if rest is None:
        return ()
    subcommand = rest[0]
    if not subcommand.known:
        _refuse(subcommand.raw, "An expansion stands where git's subcommand should be")
    name = subcommand.text
    arguments = rest[1:]
    if name in GIT_COMMANDS and [word.text for word in arguments] == ["--help"]:
        return ()  # git itself takes this for `git help NAME`
    if name == "lfs" and arguments and arguments[0].text in _LFS_READS:
        name = "ls-files"  # whoever may list files may list lfs's
        arguments = ()
    if name in GIT_READ_ONLY and name not in policy.git_allowed:
        deny(
            RULE,
            f"git {name}",
            f"`git {name}` only reads, but is not among this project's git commands",
            f"Use one of: {', '.join(f'git {one}' for one in policy.git_allowed)}.",
        )
    if name not in policy.git_allowed:
        _refuse(f"git {name}", f"`git {name}` is not one of the reading commands", name)
    if len(arguments) == 1 and arguments[0].text in ("-h", "--help"):
        return ()
    return _judge_subcommand(name, arguments)


def _judge_subcommand(name: str, arguments: Sequence[Word]) -> tuple[Word, ...]:
    family = FAMILIES.get(name, Family())
    read = parse(arguments, family.spec)
    written: list[Word] = []
    for option in read.options:
        full = _full_name(name, option, family)
        if full in family.writes and option.value is not None:
            written.append(option.value)
    form = FORMS.get(name)
    if form is not None and (problem := form(read, arguments)):
        _refuse(_shown(name, arguments), problem, name)
    return tuple(written)


def _full_name(name: str, option: Option, family: Family) -> str:
    """The option's whole name, if with it the subcommand still only reads."""
    shown = f"git {name} {option.word.text.replace(UNKNOWN, '…')}"
    if not option.name.startswith("--"):
        if option.name[1:] in family.no_short or option.name[1:] == UNKNOWN:
            if option.name in family.writes:
                return option.name
            _refuse(shown, f"The option {option.name} does not only read", name)
        return option.name
    if UNKNOWN in option.name:
        _refuse(shown, "An expansion stands where an option's name should be", name)
    if family.long is None:
        return option.name
    meant = abbreviates(option.name, family.long | known.EVERY_LONG | frozenset(family.writes))
    if option.name in family.long:
        return option.name
    for full in family.writes:
        if meant == {full} and option.value is not None:
            return full
    if not meant or not meant <= family.long:
        _refuse(shown, f"The option {option.name} is not one that only reads", name)
    return option.name


def _globals(words: Sequence[Word]) -> Sequence[Word] | None:
    """The subcommand and what follows, or None when git only informs about itself."""
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
            value = word.cut(2) if len(text) > 2 else _next(words, at)
            at += 1 if len(text) > 2 else 2
            _judge_setting(value)
        elif name in _GLOBAL_VALUES:
            value = word.cut(len(name) + 1) if equals else _next(words, at)
            at += 1 if equals else 2
            _judge_place(name, value)
        elif text in _GLOBAL_FLAGS:
            at += 1
        else:
            _refuse(f"git {text.replace(UNKNOWN, '…')}", "The option is not one that only reads")
    return None


def _next(words: Sequence[Word], at: int) -> Word:
    if at + 1 >= len(words):
        _refuse(f"git {words[at].text}", "The option's value is missing")
    return words[at + 1]


def _judge_place(name: str, value: Word) -> None:
    """`-C` and `--git-dir`: another repository's settings may start programs."""
    if value.may_split:
        _refuse(value.raw, "An unquoted expansion stands before git's subcommand")
    if name == "--git-dir" and value.known:
        last = value.text.rstrip("/").rpartition("/")[2]
        if last != ".git" and not value.text.endswith(".git"):
            _refuse(value.text, "This is not a repository's own .git directory")


def _judge_setting(value: Word) -> None:
    """`-c name=value`: only settings that neither start programs nor open the way to."""
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
    """An environment variable that git reads.

    Raises:
        DeniedError: The variable may make git start a program or use another repository.
    """
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


_HARMLESS_VARIABLES = names(
    "GIT_TERMINAL_PROMPT GIT_OPTIONAL_LOCKS GIT_LITERAL_PATHSPECS GIT_GLOB_PATHSPECS"
    " GIT_NOGLOB_PATHSPECS GIT_ICASE_PATHSPECS GIT_NO_REPLACE_OBJECTS GIT_ADVICE GIT_PAGER_IN_USE"
    " GIT_CEILING_DIRECTORIES GIT_DISCOVERY_ACROSS_FILESYSTEM GIT_FLUSH GIT_MERGE_VERBOSITY"
    # Git does not know these; builds and people do.
    " GIT_SHA GIT_COMMIT GIT_HASH GIT_REV GIT_REVISION GIT_BRANCH GIT_REF GIT_TAG GIT_VERSION"
    " GIT_DESCRIBE GIT_ROOT GIT_REPO GIT_URL GIT_REMOTE GIT_STATUS GIT_LOG GIT_DIFF GIT_DATE"
    " GIT_USER GIT_NAME GIT_EMAIL GIT_TIMESTAMP GIT_SHORT_SHA GIT_COMMIT_SHA GIT_COMMIT_HASH"
)


def _shown(name: str, arguments: Sequence[Word]) -> str:
    return " ".join([f"git {name}", *(w.raw or w.text for w in arguments)])


def _refuse(part: str, reason: str, subcommand: str = "") -> NoReturn:
    deny(RULE, part, reason, _ALTERNATIVES.get(subcommand, _INSTEAD))
