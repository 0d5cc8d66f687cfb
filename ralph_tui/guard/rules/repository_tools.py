"""Refuses changes that programs other than git make to the repository: forge CLIs and release tools."""

import re
from collections.abc import Mapping
from types import MappingProxyType

from ralph_tui.guard.core.arguments import Arguments, Spec, names, parse
from ralph_tui.guard.core.rule_context import Invocation, unreadable_part
from ralph_tui.guard.core.verdicts import deny
from ralph_tui.guard.rules.git import RULE

_ANY_USE = names("*")
_COMMITTERS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        **dict.fromkeys(names("npm pnpm yarn"), names("version")),
        "cargo": names("release"),
        "changeset": names("publish tag"),
        "commitizen": names("bump commit c init"),
        **dict.fromkeys(names("bump2version bumpversion release-it standard-version"), _ANY_USE),
        **dict.fromkeys(names("git-cz np lint-staged husky"), _ANY_USE),
        "bump-my-version": names("bump"),
        "cz": names("bump commit c init"),
        "lerna": names("version publish"),
        "semantic-release": names("version publish"),
        "pre-commit": names("install uninstall install-hooks"),
        "lefthook": names("install uninstall"),
        "git-lfs": names("install uninstall"),
        "cargo-release": _ANY_USE,
        "commit-and-tag-version": _ANY_USE,
        "nx": names("release"),
        "rush": names("publish version"),
        "mvn": names("release:prepare release:perform release:branch scm:checkin scm:tag"),
        "mvnw": names("release:prepare release:perform release:branch scm:checkin scm:tag"),
        "dvc": names("install"),
        "nbdime": names("config-git"),
        "nbstripout": names("--install --uninstall"),
        "prek": names("install uninstall install-hooks init-template-dir"),
        **dict.fromkeys(
            names("overcommit simple-git-hooks yorkie ghooks gitmoji tbump bfg"), _ANY_USE
        ),
        "captainhook": names("install uninstall"),
        "gitlint": names("install-hook uninstall-hook"),
        "ggshield": names("install"),
        "mob": names("start next done reset clean fire"),
        "gt": names(
            "create submit modify sync restack commit delete fold move track init continue squash"
            " split pop rename get checkout co c s m r"
        ),
        "gs": names("branch commit stack upstack downstack repo rebase trunk up down auth"),
        "sl": names(
            "commit ci amend add addremove rm remove forget push pull goto go checkout rebase revert"
            " uncommit unamend hide bookmark clone init absorb fold split metaedit shelve unshelve"
        ),
        "mr": names("commit ci push pull update up checkout co register record rebase"),
        "repo": names("init sync upload start abandon forall checkout cherry-pick download rebase"),
        "tg": names("create update delete import init push pull rename revert tag depend"),
    }
)

_LOOKING = names("npm pnpm yarn")
"""What only prints versions when it is given none."""


def refuse_committer(given: Invocation) -> None:
    """Refuse what commits, tags or installs hooks on its own.

    Raises:
        DeniedError: It does.
    """
    verbs = _COMMITTERS.get(given.program)
    if verbs is None:
        return
    read = parse(given.arguments)
    operands = [word.text for word in read.operands]
    if read.has("--help", "-h", "--version", "--dry-run", "--no-git-tag-version", "--run"):
        return
    named = (operands and operands[0] in verbs) or read.has(*verbs)
    bare = not operands and given.program == "semantic-release"
    bumps = read.has("--major", "--minor", "--patch", "--new-version", "--prerelease")
    looks = operands == ["version"] and given.program in _LOOKING and not bumps
    if verbs is _ANY_USE or bare or (named and not looks):
        reason = f"`{given.program}` commits, tags or installs hooks on its own"
        deny("git-read-only", given.shown, reason, "Leave releases and hooks to the person.")


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
    """Tell whether a request deletes, or writes to what is git's."""
    methods = [word.text.upper() for word in read.values("-X", "--method")]
    fields = read.has("-f", "-F", "--field", "--raw-field", "--input")
    method = methods[-1] if methods else "POST" if fields else "GET"
    path = "/" + "".join(word.text for word in read.operands[1:2])
    return method == "DELETE" or (method != "GET" and bool(_REFERENCES.search(path)))
