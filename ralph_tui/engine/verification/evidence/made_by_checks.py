"""Tell the files that checks create, such as reports, from the work."""

import re
from pathlib import Path

from ralph_tui.domain.errors import SetupError
from ralph_tui.engine.verification.judge_tree import JudgeTree
from ralph_tui.store.export_records import followed_names


class MadeByChecks:
    """The files that came up while checks ran. Such a file is the work once something else changes it.

    If the next checks write it again, it is no work after all. Every method blocks.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._ever: set[str] = set()
        self._last = ""
        self.paths: set[str] = set()
        self._outputs: set[str] = set()
        self.others: set[str] = set()
        """What git ignores and something else wrote before these checks, in this run."""

    def before(self, tree: JudgeTree) -> str:
        """Return the tree of the project before checks run, empty without one."""
        if now := _taken(tree):
            changed = tree.store.differences(self._last or now, now)
            self.paths.difference_update(one.path for one in changed)
            self._last = now
            self.others = {*tree.written()} - self._outputs
        return now

    def after(self, tree: JudgeTree, before: str) -> None:
        if before and (now := _taken(tree)):
            changed = tree.store.differences(before, now)
            self._outputs |= {*tree.written()} - self.others
            made = {one.path for one in changed if not one.old or one.path in self._ever}
            exports = {*followed_names(self._root)}
            self._ever |= {p for p in made - exports if not is_lock(p)}
            self.paths |= made & self._ever
            self._last = now


def _taken(tree: JudgeTree) -> str:
    try:
        tree.start()
        return tree.store.take()
    except (SetupError, OSError):  # told when a claim is inspected
        return ""


def is_lock(path: str) -> bool:
    """Return whether a tool that installs packages keeps their versions in this file."""
    return _LOCK.fullmatch(path.rpartition("/")[2]) is not None


_LOCK = re.compile(r".+[.-]lock(\.\w+|b)?|go\.sum|Package\.resolved")
