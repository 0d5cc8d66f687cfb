"""The git subcommands that the settings can allow an agent and that the guard checks."""

GIT_READ_ONLY = (
    "annotate", "apply", "archive", "bisect", "blame", "branch", "bundle", "cat-file", "check-attr",
    "check-ignore", "check-mailmap", "check-ref-format", "cherry", "clean", "column",
    "commit-graph", "config", "count-objects", "describe", "diff", "diff-files", "diff-index", "diff-tree",
    "fast-export", "fetch", "fmt-merge-msg", "for-each-ref",
    "format-patch", "fsck", "get-tar-commit-id", "grep", "hash-object", "help", "interpret-trailers", "log", "ls-files",
    "ls-remote", "ls-tree", "merge-base", "merge-file", "merge-tree", "multi-pack-index", "name-rev", "notes", "patch-id",
    "range-diff", "reflog", "remote", "replace", "rerere", "rev-list", "rev-parse", "shortlog", "show",
    "show-branch", "show-index", "show-ref", "sparse-checkout", "stash", "status", "stripspace",
    "submodule", "symbolic-ref", "tag", "var", "verify-commit", "verify-pack", "verify-tag",
    "version", "whatchanged", "worktree",
)  # fmt: skip
"""Subcommands that can be used read-only; the guard knows which of their options only read."""

EVERY_READING = "all"
"""The settings' name for all of these subcommands."""
