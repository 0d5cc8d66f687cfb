"""Git's own subcommands, to tell `git-branch` from a program that is merely named so."""

from ralph_tui.domain.git_commands import GIT_READ_ONLY
from ralph_tui.guard.names import names

MUTATING = names(
    "add am bisect branch checkout checkout-index cherry-pick citool clean clone commit"
    " commit-graph commit-tree config fast-import fetch fetch-pack filter-branch gc gui hook"
    " http-push init imap-send index-pack maintenance merge merge-file merge-index merge-one-file"
    " mergetool mktag mktree multi-pack-index mv notes pack-objects pack-refs prune prune-packed"
    " pull push quiltimport read-tree rebase receive-pack reflog remote repack replace rerere"
    " reset restore revert rm scalar send-email send-pack sparse-checkout stash submodule subtree"
    " svn switch symbolic-ref tag unpack-objects update-index update-ref update-server-info"
    " upload-pack worktree write-tree difftool instaweb p4 lfs credential daemon for-each-repo"
)
"""Subcommands that can change something."""

GIT_COMMANDS = MUTATING | frozenset(GIT_READ_ONLY)
