"""Undo what an agent's commands change in ralph's documents, from the copy they cannot reach.

A document is intact if it equals ralph's own copy, or what a transaction was about to
write when ralph died. Everything else was changed by another program: by the person, unless a command of
the agent ran at that moment.
"""

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path

from ralph_tui.domain.errors import StoreError
from ralph_tui.store.backup.mirror import copy_name, mirror_of
from ralph_tui.store.io.files import (
    DamagedError,
    file_stamp,
    read_regular,
    replace_file,
    write_atomic,
)
from ralph_tui.store.io.quarantine import forget_older
from ralph_tui.store.layout import Layout
from ralph_tui.store.lock import boot_id

GUARDED = (
    "state", "plan", "budget", "breaker", "questions", "steps", "injections", "config",
    "validation_report", "project",
)  # fmt: skip
"""Every document that decides something: tasks and their status, approvals, answers, settings, limits, costs.

Each document is guarded as a whole: an agent may change no field, and a person changes it while
a command runs through `ralph edit` or the screen.
"""

INTENT = "intent.json"
"""Digests of what a transaction is about to write."""


class DocumentGuard:
    """Knows the intended content of ralph's documents. Hold the write lock for every call but `differs`."""

    def __init__(
        self, layout: Layout, clock: Callable[[], datetime], undone: Callable[[str], None]
    ) -> None:
        """Guard the documents of `layout`; `undone` receives a sentence for each change that is undone."""
        self._layout = layout
        self._clock = clock
        self._undone = undone
        self._copies: dict[str, tuple[tuple[int, int, int], bytes]] = {}
        self._paths = {path: copy_name(layout, path) for path in _guarded(layout)}
        """Each guarded document with the name of its copy."""

    def differs(self) -> bool:
        """Return whether a document differs from what ralph wrote; takes no lock."""
        return any(self._changed())

    def undo(self) -> None:
        """Put back every document that a command of the agent has changed."""
        for path, data, copy in self._changed():
            if data is not None and self._is_intended(
                path, data
            ):  # the writer died before the copy was made
                self._keep(path, data)
                continue
            if not self._is_the_agents(path, data):
                continue
            aside = ""
            if data:
                kept = path.with_name(f"{path.name}.refused-{file_stamp(self._clock())}")
                write_atomic(kept, data)
                forget_older(path, "refused")
                aside = f" The other version is kept as {kept.name}."
            write_atomic(path, copy)
            self._undone(
                f"{path.name} was changed while a command of the agent ran. Ralph put its own copy back."
                f"{aside} If you made this change, repeat it with `ralph edit` or on the screen."
            )

    def may_copy(self, path: Path, data: bytes) -> bool:
        """Return whether a document's current content may become ralph's own copy."""
        if path not in self._paths:
            return True
        known = self._copy(path)
        return (
            known in (None, data)
            or self._is_intended(path, data)
            or not self._is_the_agents(path, data)
        )

    def intend(self, writes: Mapping[Path, bytes]) -> None:
        """Record what is about to be written, so that a crash right after the write is not taken for an edit."""
        digests = {self._key(path): _digest(data) for path, data in writes.items()}
        try:
            replace_file(mirror_of(self._layout.root) / INTENT, json.dumps(digests).encode())
        except (OSError, StoreError):
            return  # there is no copy either, and the mirror reports that

    def _key(self, path: Path) -> str:
        """Return what tells a document from those of other features."""
        return path.relative_to(self._layout.dot).as_posix()

    def _changed(self) -> Iterator[tuple[Path, bytes | None, bytes]]:
        """Yield the documents that differ from ralph's own copy, with both contents."""
        for path in self._paths:
            copy = self._copy(path)
            if copy is None:
                continue
            try:
                data = read_regular(path)
            except (DamagedError, StoreError):
                data = None
            if data != copy:
                yield path, data, copy

    def _is_intended(self, path: Path, data: bytes) -> bool:
        return self._intents().get(self._key(path)) == _digest(data)

    def _is_the_agents(self, path: Path, data: bytes | None) -> bool:
        """Return whether a command of the agent was running when this document changed."""
        from ralph_tui.store.journal.agent_activity import commands_alive, read_activity

        activity = read_activity(self._layout.root)
        if activity.boot != boot_id():
            return False
        if data is None:  # gone or not a file: the time of the change is unknown
            return activity.covers_any_since(self._copied_at(path)) or commands_alive(activity)
        try:
            info = path.lstat()
        except OSError:
            return True
        changed = max(info.st_ctime, info.st_mtime if info.st_mtime <= time.time() else 0.0)
        return (
            activity.covers(info.st_ctime) or activity.covers(changed) or commands_alive(activity)
        )

    def _intents(self) -> dict[str, str]:
        try:
            found = json.loads(read_regular(mirror_of(self._layout.root) / INTENT) or b"{}")
            return {str(name): str(digest) for name, digest in found.items()}
        except (OSError, ValueError, AttributeError, DamagedError, StoreError):
            return {}

    def _keep(self, path: Path, data: bytes) -> None:
        try:
            replace_file(mirror_of(self._layout.root) / copy_name(self._layout, path), data)
        except (OSError, StoreError):
            return  # the mirror reports that

    def _copied_at(self, path: Path) -> float:
        return (mirror_of(self._layout.root) / copy_name(self._layout, path)).stat().st_mtime

    def _copy(self, path: Path) -> bytes | None:
        """Return ralph's own copy of a document, or None."""
        try:
            copy = mirror_of(self._layout.root) / self._paths[path]
            info = os.stat(copy)  # noqa: PTH116 - asked at every transaction
            signature = (info.st_mtime_ns, info.st_size, info.st_ino)
            known = self._copies.get(path.name)
            if known is not None and known[0] == signature:
                return known[1]
            data = read_regular(copy)
        except (OSError, DamagedError, StoreError):
            return None
        if data is None:
            return None
        self._copies[path.name] = (signature, data)
        return data


def _guarded(layout: Layout) -> tuple[Path, ...]:
    return tuple(getattr(layout, name) for name in GUARDED)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
