"""Undo changes that an agent's commands make to ralph's documents, from a copy that they cannot reach.

A document is intact if it equals ralph's own copy, or the content that a transaction was about to write when
ralph died. Any other content comes from another program. It is the person's, unless a command of the agent ran
at that moment.
"""

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
    content_digest,
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
"""Documents that affect decisions: tasks and their status, approvals, answers, settings, limits and costs.

An agent may change no part of them. While a command runs, a person changes them with `ralph edit` or on the
screen.
"""

INTENT = "intent.json"
"""The file with the digests of what a transaction is about to write."""


class DocumentGuard:
    """Compares ralph's documents with their intended content. Hold the write lock for every call except `differs`."""

    def __init__(
        self, layout: Layout, clock: Callable[[], datetime], undone: Callable[[str], None]
    ) -> None:
        """Guard the documents of `layout`. `undone` receives a sentence for each change that is undone."""
        self._layout = layout
        self._clock = clock
        self._undone = undone
        self._copies: dict[str, tuple[tuple[int, int, int], bytes]] = {}
        paths: list[Path] = [getattr(layout, name) for name in GUARDED]
        self._paths = {path: copy_name(layout, path) for path in paths}
        """Each guarded document with the name of its copy."""

    def differs(self) -> bool:
        return any(self._changed())

    def undo(self) -> None:
        """Restore every document that a command of the agent has changed."""
        for path, data, copy in self._changed():
            if data is not None and self._is_intended(path, data):
                self._update_copy(path, data)  # the writer died before it could
                continue
            if not self._is_by_agent(path, data):
                continue
            aside = ""
            if data:
                kept = path.with_name(f"{path.name}.refused-{file_stamp(self._clock())}")
                write_atomic(kept, data)
                forget_older(path, "refused")
                aside = f" The other version is kept as {kept.name}."
            write_atomic(path, copy)
            self._undone(
                f"{path.name} was changed while a command of the agent ran. Ralph restored its own copy."
                f"{aside} If you made this change, make it again with `ralph edit` or on the screen."
            )

    def may_copy(self, path: Path, data: bytes) -> bool:
        if path not in self._paths:
            return True
        known = self._copy(path)
        return (
            known in (None, data)
            or self._is_intended(path, data)
            or not self._is_by_agent(path, data)
        )

    def intend(self, writes: Mapping[Path, bytes]) -> None:
        """Record what is about to be written, so that the content does not count as an edit after a crash."""
        digests = {self._key(path): content_digest(data) for path, data in writes.items()}
        try:
            replace_file(mirror_of(self._layout.root) / INTENT, json.dumps(digests).encode())
        except (OSError, StoreError):
            return  # the mirror cannot be written either, and reports that

    def _key(self, path: Path) -> str:
        return path.relative_to(self._layout.dot).as_posix()

    def _changed(self) -> Iterator[tuple[Path, bytes | None, bytes]]:
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
        return self._intents().get(self._key(path)) == content_digest(data)

    def _is_by_agent(self, path: Path, data: bytes | None) -> bool:
        from ralph_tui.store.journal.agent_activity import commands_alive, read_activity

        activity = read_activity(self._layout.root)
        if activity.boot != boot_id():
            return False
        if data is None:  # missing or not a file, so the time of the change is unknown
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

    def _update_copy(self, path: Path, data: bytes) -> None:
        try:
            replace_file(mirror_of(self._layout.root) / copy_name(self._layout, path), data)
        except (OSError, StoreError):
            return  # the mirror reports that

    def _copied_at(self, path: Path) -> float:
        try:
            return (mirror_of(self._layout.root) / copy_name(self._layout, path)).stat().st_mtime
        except OSError:
            return 0.0

    def _copy(self, path: Path) -> bytes | None:
        try:
            copy = mirror_of(self._layout.root) / self._paths[path]
            info = os.stat(copy)  # noqa: PTH116 - called in every transaction
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
