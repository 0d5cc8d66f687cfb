"""Tell every process while what an agent started may write ralph's documents."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ralph_tui.domain.errors import StoreError
from ralph_tui.store.backup.mirror import HOLD, mirror_of
from ralph_tui.store.lock import file_lock

if TYPE_CHECKING:
    from filelock import BaseFileLock


class DocumentHold:
    """A lock beside the copies, where the agent cannot write, which ends with the process of the loop.

    While it is held, what others change in the documents counts as the agent's, in every process.
    """

    def __init__(
        self, root: Path, undo: Callable[[], None], report: Callable[[str], None] = lambda _: None
    ) -> None:
        """Hold nothing yet. `undo` undoes the changes before each release; `report` receives a problem."""
        self._root, self._undo, self._report = root, undo, report
        self._lock: BaseFileLock | None = None

    def hold(self) -> None:
        try:
            lock = self._lock or file_lock(mirror_of(self._root) / HOLD)
            if self._lock is None and mirror_of(self._root).is_dir():  # a missing one stays missing
                lock.acquire()  # another process holds it only to see whether it is held
        except (OSError, StoreError) as error:
            self._report(f"Changes by the agent's commands cannot be recognized: {error}.")
        else:
            self._lock = lock

    def release(self) -> None:
        if self._lock is None:
            return
        try:
            self._undo()
        except StoreError as error:
            self._report(str(error))
        finally:
            lock, self._lock = self._lock, None
            lock.release()
