"""Programs that write to the repository although nobody said git: releases, version bumps, hook managers."""

from collections.abc import Mapping
from types import MappingProxyType

from ralph_tui.guard.names import names
from ralph_tui.guard.options import parse
from ralph_tui.guard.verdicts import deny
from ralph_tui.guard.walk import Invocation

_ANY = names("*")
_COMMITTERS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        **dict.fromkeys(names("npm pnpm yarn"), names("version")),
        "cargo": names("release"),
        "changeset": names("publish tag"),
        "commitizen": names("bump commit c init"),
        **dict.fromkeys(names("bump2version bumpversion release-it standard-version"), _ANY),
        **dict.fromkeys(names("git-cz np lint-staged husky"), _ANY),
        "bump-my-version": names("bump"),
        "cz": names("bump commit c init"),
        "lerna": names("version publish"),
        "semantic-release": names("version publish"),
        "pre-commit": names("install uninstall install-hooks"),
        "lefthook": names("install uninstall"),
        "git-lfs": names("install uninstall"),
        "cargo-release": _ANY,
        "commit-and-tag-version": _ANY,
        "nx": names("release"),
        "rush": names("publish version"),
        "mvn": names("release:prepare release:perform release:branch scm:checkin scm:tag"),
        "mvnw": names("release:prepare release:perform release:branch scm:checkin scm:tag"),
        "dvc": names("install"),
        "nbdime": names("config-git"),
        "nbstripout": names("--install --uninstall"),
        "prek": names("install uninstall install-hooks init-template-dir"),
        **dict.fromkeys(names("overcommit simple-git-hooks yorkie ghooks gitmoji tbump bfg"), _ANY),
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
    if verbs is _ANY or bare or (named and not looks):
        reason = f"`{given.program}` commits, tags or installs hooks by itself"
        deny("git-read-only", given.shown, reason, "Leave releases and hooks to the person.")
