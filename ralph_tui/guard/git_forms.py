"""Git subcommands that read in one form and write in another: each form's own question.

Every function gets the options and operands (and all words) of a subcommand whose options have been
judged, and answers with what is wrong, or an empty text when the form only reads.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from ralph_tui.guard.options import Arguments
from ralph_tui.guard.syntax import Word

Form = Callable[[Arguments, Sequence[Word]], str]

_LISTS = ("--list", "-l")
_SELECTS = (
    "--contains", "--no-contains", "--with", "--without", "--merged", "--no-merged", "--points-at",
)  # fmt: skip


def _branch(read: Arguments, words: Sequence[Word]) -> str:
    if any(word.may_split for word in words):
        return "An expansion may add options to this command"
    listing = read.has(*_LISTS, *_SELECTS)
    return "" if listing or not read.operands else "With a name alone this creates a branch"


def _tag(read: Arguments, words: Sequence[Word]) -> str:
    if any(word.may_split for word in words):
        return "An expansion may add options to this command"
    listing = read.has(*_LISTS, *_SELECTS, "-n", "-v", "--verify")
    return "" if listing or not read.operands else "With a name alone this creates a tag"


def _config(read: Arguments, words: Sequence[Word]) -> str:
    if any(word.may_split for word in words):
        return "An expansion may add options to this command"
    if read.has("--list", "-l") or any(o.name.startswith("--get") for o in read.options):
        return ""
    operands = [word.text for word in read.operands]
    if operands[:1] in (["get"], ["list"]):
        return ""
    return "" if len(operands) == 1 and operands[0] not in _CONFIG_VERBS else "This writes settings"


_CONFIG_VERBS = ("set", "unset", "rename-section", "remove-section", "edit")


def _first(*allowed: str, bare: bool = False) -> Form:
    """The first operand must be one of these subcommands; `bare` allows none at all."""

    def form(read: Arguments, words: Sequence[Word]) -> str:
        # The subcommand comes first; before it only flags can stand, and those are judged.
        operands = [word.text for word in read.operands]
        if any(word.may_split for word in words):
            return "An expansion may add words to this command"
        if not operands:
            return "" if bare else "In this form it writes"
        return "" if operands[0] in allowed else "In this form it writes"

    return form


def _stash(read: Arguments, words: Sequence[Word]) -> str:
    verb = words[0].text if words else ""
    if verb not in ("list", "show"):
        return "This hides or drops uncommitted work"
    # What follows are options of log and diff; `--output` is the one that writes.
    writing = any("--output".startswith(o.name) and len(o.name) > 3 for o in read.options)
    return "Write with a redirection instead" if writing or read.has("--ext-diff") else ""


def _reflog(_: Arguments, words: Sequence[Word]) -> str:
    verbs = {"expire", "delete", "drop", "write"}
    if any(word.text in verbs for word in words) or (words and words[0].may_split):
        return "This removes entries"
    return ""


def _remote(read: Arguments, words: Sequence[Word]) -> str:
    if any(word.may_split for word in words):
        return "An expansion may add words to this command"
    operands = [word.text for word in read.operands]
    return "" if not operands or operands[0] in ("show", "get-url") else "This edits remotes"


def _symbolic_ref(read: Arguments, words: Sequence[Word]) -> str:
    flags = {"-q", "--quiet", "--short", "--no-recurse", "--recurse"}
    if any(option.name not in flags for option in read.options):
        return "This option changes the reference"
    changed = len(read.operands) != 1 or any(word.may_split for word in words)
    return "With a second name this moves the reference" if changed else ""


def _replace(read: Arguments, _: Sequence[Word]) -> str:
    if any(option.name not in ("-l", "--list", "--format") for option in read.options):
        return "This replaces objects"
    return "" if read.has(*_LISTS) or not read.operands else "This replaces objects"


def _apply(read: Arguments, _: Sequence[Word]) -> str:
    if read.has("--stat", "--numstat", "--summary", "--check"):
        return ""
    return "This changes files; make the edits with Edit"


def _format_patch(read: Arguments, _: Sequence[Word]) -> str:
    return "" if read.has("--stdout") else "Without --stdout this writes files"


def _clean(read: Arguments, words: Sequence[Word]) -> str:
    if any(word.may_split for word in words) or read.has("--no-dry-run"):
        return "This may remove files"
    return "" if read.has("-n", "--dry-run") else "This removes files"


def _trailers(read: Arguments, _: Sequence[Word]) -> str:
    in_place = any(len(o.name) > 3 and "--in-place".startswith(o.name) for o in read.options)
    return "This writes the file" if in_place else ""


def _merge_tree(read: Arguments, _: Sequence[Word]) -> str:
    if any(option.name != "--trivial-merge" for option in read.options):
        return "This writes objects"
    return "" if len(read.operands) == 3 else "This writes objects"


def _merge_file(read: Arguments, _: Sequence[Word]) -> str:
    return "" if read.has("-p", "--stdout") else "Without -p this writes the file"


def _ls_remote(read: Arguments, _: Sequence[Word]) -> str:
    helper = any("::" in word.text or word.text.startswith("-") for word in read.operands)
    return "This address starts a program" if helper else ""


def _submodule(read: Arguments, words: Sequence[Word]) -> str:
    flags = ("-q", "--quiet", "--cached", "--recursive", "--files")
    if any(option.name not in flags for option in read.options):
        return "In this form it writes"
    return _first("status", "summary", bare=True)(read, words)


FORMS: Mapping[str, Form] = MappingProxyType(
    {
        "apply": _apply,
        "bisect": _first("log", "terms"),
        "branch": _branch,
        "clean": _clean,
        "commit-graph": _first("verify"),
        "interpret-trailers": _trailers,
        "multi-pack-index": _first("verify"),
        "rerere": _first("status", "diff", "remaining"),
        "bundle": _first("verify", "list-heads"),
        "config": _config,
        "format-patch": _format_patch,
        "ls-remote": _ls_remote,
        "merge-file": _merge_file,
        "merge-tree": _merge_tree,
        "notes": _first("list", "show", "get-ref", bare=True),
        "reflog": _reflog,
        "remote": _remote,
        "replace": _replace,
        "sparse-checkout": _first("list", "check-rules"),
        "stash": _stash,
        "submodule": _submodule,
        "symbolic-ref": _symbolic_ref,
        "tag": _tag,
        "worktree": _first("list"),
    }
)
