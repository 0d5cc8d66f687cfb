"""Lists the options with which each of git's subcommands only reads."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from ralph_tui.guard.core.arguments import NO_VALUES, Spec, names


def _names(text: str) -> frozenset[str]:
    return frozenset("--" + name for name in text.split())


DIFF = _names(
    """
    abbrev abbrev-commit always anchored base binary break-rewrites cached cc check color
    color-moved color-moved-ws color-words combined-all-paths compact-summary cumulative dd
    default-prefix diff-algorithm diff-filter diff-merges dirstat dirstat-by-file dst-prefix
    encoding exit-code expand-tabs find-copies find-copies-harder find-object find-renames follow
    format full-index function-context histogram ignore-all-space ignore-blank-lines
    ignore-cr-at-eol ignore-matching-lines ignore-space-at-eol ignore-space-change
    ignore-submodules indent-heuristic inter-hunk-context irreversible-delete
    ita-invisible-in-index ita-visible-in-index line-prefix max-depth merge-base minimal name-only
    name-status no-abbrev no-abbrev-commit no-color no-color-moved no-color-moved-ws no-commit-id
    no-compact-summary no-diff-merges no-exit-code no-expand-tabs no-ext-diff
    no-find-copies-harder no-follow no-full-index no-function-context no-ignore-matching-lines
    no-indent-heuristic no-index no-minimal no-notes no-patch no-prefix no-quiet no-relative
    no-rename-empty no-renames no-show-signature no-stat no-text no-textconv no-word-diff notes
    numstat oneline ours output-indicator-context output-indicator-new output-indicator-old patch
    patch-with-raw patch-with-stat patience pickaxe-all pickaxe-regex pretty quiet raw relative
    remerge-diff rename-empty root rotate-to shortstat show-signature skip-to src-prefix staged
    stat stat-count stat-graph-width stat-name-width stat-width stdin submodule summary text
    textconv theirs unified word-diff word-diff-regex ws-error-highlight
    """
)
"""Options of the diff family; `--output` is judged as a write, `--ext-diff` runs a program."""

REVISIONS = _names(
    """
    abbrev-commit after all all-match alternate-refs ancestry-path author author-date-order
    basic-regexp before bisect bisect-all bisect-vars boundary branches cc cherry cherry-mark
    cherry-pick children clear-decorations combined-all-paths commit-header committer count date
    date-order dd decorate decorate-refs decorate-refs-exclude default dense diff-merges
    disk-usage do-walk early-output encoding exclude exclude-first-parent-only exclude-hidden
    exclude-promisor-objects expand-tabs extended-regexp filter filter-print-omitted
    filter-provided-objects first-parent fixed-strings follow format full-diff full-history glob
    graph grep grep-reflog header ignore-missing in-commit-order indexed-objects invert-grep
    left-only left-right line-prefix log-size mailmap max-age max-count max-count-oldest
    max-parents maximal-only merge merges min-age min-parents missing no-abbrev-commit
    no-commit-header no-decorate no-diff-merges no-expand-tabs no-filter no-graph no-mailmap
    no-max-parents no-merges no-min-parents no-notes no-object-names no-patch no-quiet
    no-show-signature no-source no-standard-notes no-use-mailmap no-walk not notes object-names
    objects objects-edge objects-edge-aggressive oneline parents perl-regexp pretty progress quiet
    reflog regexp-ignore-case relative-date remerge-diff remotes remove-empty reverse right-only
    root show-linear-break show-notes show-notes-by-default show-pulls show-signature
    simplify-by-decoration simplify-merges since since-as-filter single-worktree skip source
    sparse standard-notes stat stdin tags timestamp topo-order unpacked until use-bitmap-index
    use-mailmap verbose verify walk-reflogs
    """
)
"""Options that choose and print commits."""

BLAME = _names(
    """
    abbrev color-by-age color-lines contents date encoding first-parent ignore-rev
    ignore-revs-file incremental line-porcelain minimal no-abbrev no-color-by-age no-color-lines
    no-contents no-ignore-rev no-ignore-revs-file no-incremental no-line-porcelain no-minimal
    no-porcelain no-progress no-root no-score-debug no-show-email no-show-name no-show-number
    no-show-stats not porcelain progress reverse root score-debug show-email show-name show-number
    show-stats since
    """
)
"""Options of `blame` and `annotate` beyond the diff family."""

GREP = _names(
    """
    after-context all-match and basic-regexp before-context break cached color column context
    count exclude-standard extended-regexp files-with-matches files-without-match fixed-strings
    full-name function-context heading ignore-case index invert-match line-number max-count
    max-depth name-only no-after-context no-all-match no-basic-regexp no-before-context no-break
    no-cached no-color no-column no-context no-count no-exclude-standard no-ext-grep
    no-extended-regexp no-files-with-matches no-files-without-match no-fixed-strings no-full-name
    no-function-context no-heading no-ignore-case no-index no-invert-match no-line-number
    no-max-count no-name-only no-null no-only-matching no-or no-perl-regexp no-quiet
    no-recurse-submodules no-recursive no-show-function no-text no-textconv no-threads
    no-untracked no-word-regexp not null only-matching or perl-regexp quiet recurse-submodules
    recursive show-function text textconv threads untracked word-regexp
    """
)
"""Options of `grep`, but not the pager it can open."""

STATUS = _names(
    """
    ahead-behind branch column find-renames ignore-submodules ignored long no-ahead-behind
    no-branch no-column no-ignore-submodules no-ignored no-long no-null no-porcelain no-renames
    no-short no-show-stash no-untracked-files no-verbose null porcelain renames short show-stash
    untracked-files verbose
    """
)
"""Options of `status`."""

LISTING = _names(
    """
    abbrev all color column contains format ignore-case list merged no-abbrev no-color no-column
    no-contains no-merged no-sort no-verbose omit-empty points-at quiet remotes show-current sort
    verbose verify with without
    """
)
"""Options of `branch` and `tag` that print or select; none of them creates or deletes."""

CONFIG = _names(
    """
    all blob bool bool-or-int bool-or-str default expiry-date file fixed-value get get-all
    get-color get-colorbool get-regexp get-urlmatch global includes int list local name-only
    no-includes no-show-names no-type null path regexp show-names show-origin show-scope system
    type url value worktree
    """
)
"""Options of `config` that read or modify reading."""

LS_REMOTE = _names(
    """
    branches exit-code get-url heads no-heads no-quiet no-tags quiet refs sort symref tags
    """
)
"""Options of `ls-remote`, but not the programs it can start."""

HASH_OBJECT = _names(
    """
    filters literally no-filters no-literally no-path no-stdin no-stdin-paths path stdin
    stdin-paths
    """
)
"""Options of `hash-object`."""

FSCK = _names(
    """
    cache connectivity-only dangling full name-objects no-cache no-connectivity-only no-dangling
    no-full no-name-objects no-progress no-references no-reflogs no-root no-strict no-tags
    no-unreachable no-verbose progress references reflogs root strict tags unreachable verbose
    """
)
"""Options of `fsck`, but not the one that writes what it finds."""

CLEAN = _names("dry-run quiet exclude force no-quiet")
"""Options of `clean`, of use only with `--dry-run`."""

ARCHIVE = _names(
    """
    add-file add-virtual-file format list mtime prefix verbose worktree-attributes
    """
)
"""Options of `archive`; `--output` is judged as a write."""

FORMAT_PATCH = _names(
    """
    add-header attach base binary cc cover-from-description cover-letter creation-factor
    filename-max-length force-in-body-from from ignore-if-in-upstream in-reply-to inline interdiff
    keep-subject no-add-header no-attach no-base no-binary no-cc no-cover-from-description
    no-cover-letter no-creation-factor no-filename-max-length no-force-in-body-from no-from
    no-ignore-if-in-upstream no-in-reply-to no-interdiff no-numbered no-numbered-files no-progress
    no-quiet no-range-diff no-reroll-count no-signature no-signature-file no-signoff
    no-start-number no-stat no-stdout no-suffix no-thread no-to no-zero-commit numbered
    numbered-files progress quiet range-diff reroll-count rfc signature signature-file signoff
    start-number stdout subject-prefix suffix thread to zero-commit
    """
)
"""Options of `format-patch`, of use only with `--stdout`."""

APPLY = _names(
    """
    allow-empty check directory exclude ignore-space-change ignore-whitespace inaccurate-eof
    include no-add numstat quiet recount reverse stat summary unidiff-zero verbose whitespace
    """
)
"""Options of `apply` that describe a patch or how to read one."""

EVERY_LONG = _names(
    """
    3way add annotate apply build-fake-ancestor cached-apply cleanup copy create-reflog delete
    edit edit-description exec ext-diff file force index local-user lost-found message move
    no-list no-track open-files-in-pager output output-directory recurse-submodules reject remote
    remove-section rename-section replace-all server-option set-upstream set-upstream-to sign
    stdin-commit track trailer unset unset-all unset-upstream unset-value upload-pack
    """
)
"""Options that do not only read, to judge abbreviations by."""


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
_LOG = Family(DIFF | REVISIONS, _LOG_SPEC, writes=("--output",))
_BLAME = Family(DIFF | REVISIONS | BLAME, _LOG_SPEC, writes=("--output",))
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
            DIFF | REVISIONS | {"--numbered", "--summary", "--email", "--group"},
            _LOG_SPEC,
            writes=("--output",),
        ),
        "range-diff": Family(
            DIFF | REVISIONS | {"--creation-factor", "--no-dual-color", "--dual-color"},
            _LOG_SPEC,
            writes=("--output",),
        ),
        "show-branch": Family(),
        "blame": _BLAME,
        "annotate": _BLAME,
        "status": Family(STATUS),
        "grep": Family(
            GREP,
            Spec("efABCm", long=frozenset({"--max-depth", "--threads", "--max-count"})),
            no_short="O",
        ),
        "ls-remote": Family(LS_REMOTE, Spec("o", long=frozenset({"--sort"})), "u"),
        "hash-object": Family(HASH_OBJECT, Spec("t", long=frozenset({"--path"})), "w"),
        "fsck": Family(FSCK),
        "clean": Family(CLEAN, Spec("e", long=names("--exclude")), "i"),
        "archive": Family(
            ARCHIVE,
            Spec("o", long=frozenset({"--output", "--format", "--prefix"})),
            writes=("--output", "-o"),
        ),
        "fast-export": Family(
            REVISIONS
            | names("--progress --data --full-tree --anonymize --show-original-ids --refspec")
            | names("--signed-tags --tag-of-filtered-object --no-data --reencode --mark-tags")
        ),
        "merge-file": Family(None, Spec("L", long=names("--marker-size --diff-algorithm"))),
        "format-patch": Family(DIFF | REVISIONS | FORMAT_PATCH, _LOG_SPEC, "o", ("--output",)),
        "apply": Family(APPLY, Spec("p", attached="C"), "3"),
        "branch": Family(
            LISTING,
            Spec(long=names("--contains --sort --format --points-at --merged")),
            "dDmMcCftu",
        ),
        "tag": Family(
            LISTING,
            Spec(
                attached="n",
                long=names("--contains --sort --format --points-at --merged"),
            ),
            "asudfmFe",
        ),
        "config": Family(
            CONFIG,
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
