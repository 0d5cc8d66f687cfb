"""The forges' own programs, gh and glab: they merge, check out and delete although nobody said git."""

import re
from collections.abc import Mapping
from types import MappingProxyType

from ralph_tui.guard.git import RULE
from ralph_tui.guard.names import names
from ralph_tui.guard.options import Arguments, Spec, parse
from ralph_tui.guard.verdicts import deny
from ralph_tui.guard.walk import Invocation, unreadable_part

FORGES = names("gh glab")
_SPEC = Spec("RXfFbtHq", long=names("--repo --hostname --method --field --raw-field --input --jq"))
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
"""What changes a repository, here or there, or has git or another program started."""
_REFERENCES = re.compile(r"/(?:git|merges?|contents|branches|releases|update-branch)(?:/|$)")


def judge_forge(given: Invocation) -> None:
    """Refuse what merges, checks out, tags or deletes; looking and talking do no harm.

    Raises:
        DeniedError: The command does one of these.
    """
    read = parse(given.arguments, _SPEC)
    if not read.operands or read.has("--help", "-h"):
        return
    group, verb = read.operands[0], read.operands[1] if read.operands[1:] else None
    verbs = _VERBS.get(group.text, frozenset())
    if not group.known or (verbs and verb is not None and not verb.known):
        unreadable_part(given.shown, f"Which {given.program} command runs is not known")
    named = verbs is _ANY or (verb is not None and verb.text in verbs)
    closes = verb is not None and verb.text == "close" and read.has("-d", "--delete-branch")
    moves = closes or (group.text == "mr" and read.has("--push"))
    if named or moves or (group.text == "api" and _api_changes(read)):
        reason = f"This has {given.program} change the repository, its branches or its tags"
        deny(RULE, given.shown, reason, "Leave merging, releases and branches to the person.")


def _api_changes(read: Arguments) -> bool:
    """Whether a request deletes, or writes to what is git's."""
    methods = [word.text.upper() for word in read.values("-X", "--method")]
    fields = read.has("-f", "-F", "--field", "--raw-field", "--input")
    method = methods[-1] if methods else "POST" if fields else "GET"
    path = "/" + "".join(word.text for word in read.operands[1:2])
    return method == "DELETE" or (method != "GET" and bool(_REFERENCES.search(path)))
