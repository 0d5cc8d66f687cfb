"""Refuses changes to the repository by programs other than git, such as forge CLIs and release tools."""

import re
from collections.abc import Mapping
from types import MappingProxyType

from ralph_tui.guard.core.arguments import Arguments, names
from ralph_tui.guard.core.rule_context import Invocation, refuse_unreadable
from ralph_tui.guard.core.verdicts import deny
from ralph_tui.guard.rules.git import RULE

_ANY_USE = names("*")
_RELEASES = re.compile(r"(?:py-?)?bump.*|gh-?pages.*|ghp-.*|release-(?:it|plz|please).*")

_PRINT_VERSIONS = names("npm pnpm yarn")


def refuse_committer(call: Invocation) -> None:
    verbs = call.listed.commits
    if not verbs and _RELEASES.fullmatch(call.program):
        verbs = _ANY_USE
    if not verbs:
        return
    args = call.args
    operands = [word.text for word in args.operands]
    if args.has(
        "--help", "-h", "--version", "--dry-run", "--draft", "--no-git-tag-version", "--run"
    ):
        return
    named = (operands and operands[0] in verbs) or args.has(*verbs)
    bare = not operands and call.program == "semantic-release"
    bumps = args.has("--major", "--minor", "--patch", "--new-version", "--prerelease")
    looks = operands == ["version"] and call.program in _PRINT_VERSIONS and not bumps
    if verbs == _ANY_USE or bare or (named and not looks):
        reason = f"`{call.program}` commits, tags or installs hooks on its own"
        deny("git-read-only", call.shown, reason, "Leave releases and hooks to the person.")


FORGES = names("gh glab")
_ANY = names("*")
_VERBS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "pr": names("merge checkout co update-branch revert"),
        "mr": names("merge accept checkout rebase delete"),
        "repo": names("sync create fork delete rename archive unarchive edit clone set-default"),
        "release": names("create delete edit upload delete-asset"),
        "alias": names("set import delete"),
        "auth": names("setup-git token login logout refresh"),
        "extension": names("install upgrade exec"),
        "issue": names("develop"),
        "co": _ANY,
    }
)
_REFERENCES = re.compile(r"/(?:git|merges?|contents|branches|releases|update-branch)(?:/|$)")


def judge_forge(call: Invocation) -> None:
    args = call.args
    if not args.operands or args.has("--help", "-h"):
        return
    group, verb = args.operands[0], args.operands[1] if args.operands[1:] else None
    verbs = _VERBS.get(group.text, frozenset())
    if not group.known or (verbs and verb is not None and not verb.known):
        refuse_unreadable(call.shown, f"The {call.program} command is not known")
    named = verbs is _ANY or (verb is not None and verb.text in verbs)
    closes = verb is not None and verb.text == "close" and args.has("-d", "--delete-branch")
    moves = closes or (group.text == "mr" and args.has("--push"))
    if named or moves or (group.text == "api" and _api_changes(args)):
        reason = f"This makes {call.program} change the repository, its branches or its tags"
        deny(RULE, call.shown, reason, "Leave merging, releases and branches to the person.")


def _api_changes(args: Arguments) -> bool:
    methods = [word.text.upper() for word in args.values("-X", "--method")]
    fields = args.has("-f", "-F", "--field", "--raw-field", "--input")
    method = methods[-1] if methods else "POST" if fields else "GET"
    path = "/" + "".join(word.text for word in args.operands[1:2])
    return method == "DELETE" or (method != "GET" and bool(_REFERENCES.search(path)))
