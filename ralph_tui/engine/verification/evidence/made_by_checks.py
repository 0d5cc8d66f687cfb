"""Tell the files that checks create, such as reports, from the work."""

from pathlib import Path

from ralph_tui.domain.errors import SetupError
from ralph_tui.engine.verification.detection.directory_files import DirectoryFiles
from ralph_tui.engine.verification.detection.named_tasks import lock_files
from ralph_tui.store.export_records import followed_names
from ralph_tui.vcs.snapshots import SnapshotStore


class MadeByChecks:
    """The files that came up while checks ran. Such a file is the work once something else changes it.

    If the next checks write it again, it is no work after all. Every method blocks.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._ever: set[str] = set()
        self._last = ""
        self.paths: set[str] = set()

    def before(self, store: SnapshotStore) -> str:
        """Return the tree of the project before checks run, empty without one."""
        if now := _taken(store):
            changed = store.differences(self._last or now, now)
            self.paths.difference_update(one.path for one in changed)
            self._last = now
        return now

    def after(self, store: SnapshotStore, before: str) -> None:
        if before and (now := _taken(store)):
            changed = store.differences(before, now)
            made = {one.path for one in changed if not one.old or one.path in self._ever}
            exports = {*followed_names(self._root)}
            self._ever |= {p for p in made - exports if not is_own_lock(self._root, p)}
            self.paths |= made & self._ever
            self._last = now


def _taken(store: SnapshotStore) -> str:
    try:
        return store.take()
    except (SetupError, OSError):  # told when a claim is inspected
        return ""


def is_own_lock(root: Path, path: str) -> bool:
    """Return whether a path is the lock file of the tool that manages the project in its directory."""
    place, _, name = path.rpartition("/")
    return name in lock_files(DirectoryFiles(root / place))
