"""With which options each of git's subcommands only reads."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from ralph_tui.guard import git_options as known
from ralph_tui.guard.names import names
from ralph_tui.guard.options import NO_VALUES, Spec


@dataclass(frozen=True, slots=True)
class Family:
    """The options with which a subcommand only reads; `long` None when none of its options writes."""

    long: frozenset[str] | None = None
    spec: Spec = NO_VALUES
    no_short: str = ""
    writes: tuple[str, ...] = ()
    """Options whose value is a file to write, for the path rules to judge."""


_LOG_SPEC = Spec(
    short="nSGLOl",
    attached="UMCBXWIw",
    long=names(
        "--author --committer --grep --since --until --after --before --max-count --skip --date"
        " --output --diff-filter --diff-algorithm --anchored --find-object"
    ),
)
_LOG = Family(known.DIFF | known.REVISIONS, _LOG_SPEC, writes=("--output",))
_BLAME = Family(known.DIFF | known.REVISIONS | known.BLAME, _LOG_SPEC, writes=("--output",))
FAMILIES: Mapping[str, Family] = MappingProxyType(
    {
        **dict.fromkeys(
            names(
                "log show diff whatchanged rev-list diff-tree diff-index diff-files reflog cherry"
                " range-diff shortlog show-branch"
            ),
            _LOG,
        ),
        "shortlog": Family(
            known.DIFF | known.REVISIONS | {"--numbered", "--summary", "--email", "--group"},
            _LOG_SPEC,
            writes=("--output",),
        ),
        "range-diff": Family(
            known.DIFF | known.REVISIONS | {"--creation-factor", "--no-dual-color", "--dual-color"},
            _LOG_SPEC,
            writes=("--output",),
        ),
        "show-branch": Family(),
        "blame": _BLAME,
        "annotate": _BLAME,
        "status": Family(known.STATUS),
        "grep": Family(
            known.GREP,
            Spec("efABCm", long=frozenset({"--max-depth", "--threads", "--max-count"})),
            no_short="O",
        ),
        "ls-remote": Family(known.LS_REMOTE, Spec("o", long=frozenset({"--sort"})), "u"),
        "hash-object": Family(known.HASH_OBJECT, Spec("t", long=frozenset({"--path"})), "w"),
        "fsck": Family(known.FSCK),
        "clean": Family(known.CLEAN, Spec("e", long=names("--exclude")), "i"),
        "archive": Family(
            known.ARCHIVE,
            Spec("o", long=frozenset({"--output", "--format", "--prefix"})),
            writes=("--output", "-o"),
        ),
        "fast-export": Family(
            known.REVISIONS
            | names("--progress --data --full-tree --anonymize --show-original-ids --refspec")
            | names("--signed-tags --tag-of-filtered-object --no-data --reencode --mark-tags")
        ),
        "merge-file": Family(None, Spec("L", long=names("--marker-size --diff-algorithm"))),
        "format-patch": Family(
            known.DIFF | known.REVISIONS | known.FORMAT_PATCH, _LOG_SPEC, "o", ("--output",)
        ),
        "apply": Family(known.APPLY, Spec("p", attached="C"), "3"),
        "branch": Family(
            known.LISTING,
            Spec(long=names("--contains --sort --format --points-at --merged")),
            "dDmMcCftu",
        ),
        "tag": Family(
            known.LISTING,
            Spec(
                attached="n",
                long=names("--contains --sort --format --points-at --merged"),
            ),
            "asudfmFe",
        ),
        "config": Family(
            known.CONFIG,
            Spec("f", long=names("--file --blob --type --default --get-color")),
            "e",
        ),
        "help": Family(
            names("--all --guides --config --verbose --man --user-interfaces"),
            no_short="wi",
        ),
    }
)
"""Subcommands that are not here take no option that writes, or are read by their form."""
