"""Find and remove the files that ralph created in a project (`ralph reset`), and keep those of other tools."""

import os
import re
import shutil
from collections.abc import Collection
from pathlib import Path

from ralph_tui.domain.documents.progress_log import WRITTEN
from ralph_tui.store.backup.mirror import Mirror, copied_at, set_aside
from ralph_tui.store.documents.multi_file_commit import Report
from ralph_tui.store.io.files import explained
from ralph_tui.store.journal.journal_location import move_journal
from ralph_tui.store.layout import Layout
from ralph_tui.store.lock import write_lock
from ralph_tui.store.text_files import inside

_DOCUMENTS = (
    "state", "plan", "budget", "breaker", "injections", "questions", "steps", "validation_report", "events", "commit",
    "active_memory", "followed",
)  # fmt: skip
"""Files directly in `.ralph`, with their backups and quarantined copies."""

_DIRECTORIES = {
    "logs": r"(last-prompt\.md|claude-cli\.log|background\.log)(\..+)?|ralph-crash-.+\.txt",
    "session_history": r"sessions\.jsonl(\..+)?|plan-.+\.json",
    "memory": r"phases/\w+\.md|(iterations|archive)/iter-\d+\.md|(sessions|archive)/session-\d+\.md",
    "exports": r".+-\d{8}T\d{6}\.(csv|json|md)",
}
"""Directories in `.ralph`, with patterns of the files that ralph writes there. Other tools may use them, too."""

_FEATURE_DIRECTORIES = {
    **_DIRECTORIES,
    "logs": r"",
    "session_history": r"plan-.+\.json",
}
"""The same for one of several features, which share logs, journal and sessions."""

_TEMPORARY = r"(.+/)?\.[^/]+\.tmp"
_HANDOFF = re.compile("# Session Memory")
_LEARNING = re.compile(rf"^(\[\d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d\] \w+: |{WRITTEN}$)", re.MULTILINE)


def made_by_ralph(
    layout: Layout, written: Collection[str], *, keep_specs: bool
) -> tuple[Path, ...]:
    """Return every path that a reset removes. A directory represents all of its content.

    Args:
        written: The names of the specs that ralph wrote; the other files in their folder stay.
        keep_specs: Whether these stay, too.
    """
    found: list[Path] = []
    shared = os.path.lexists(layout.project)
    kept = ("events", "commit") if shared else ()
    names = {layout.document(document).name for document in _DOCUMENTS if document not in kept}
    if layout.feature:
        found += [p for p in (layout.memory, layout.progress) if p.exists()]
    for entry in sorted(layout.home.iterdir()):
        pattern = (_FEATURE_DIRECTORIES if shared else _DIRECTORIES).get(entry.name)
        if pattern and entry.is_dir() and not entry.is_symlink():
            found += _in_directory(entry, pattern)
        elif _is_document(entry.name, names):
            found.append(entry)
    own = ((layout.memory, _HANDOFF), (layout.progress, _LEARNING))
    found += [path for path, words in own if not layout.feature and _contains(path, words)]
    return tuple(found) if keep_specs else (*found, *_spec_paths(layout, written))


def foreign_entries(layout: Layout) -> tuple[Path, ...]:
    """Return the entries of `.ralph` that are not ralph's, to be reported after a reset."""
    if os.path.lexists(layout.project):
        return ()  # the remaining files belong to the project or to other features
    ours = {layout.config, layout.lock, layout.write_lock, layout.gitignore, layout.archive}
    ours.add(layout.typed)
    ours.update(layout.directories)
    ours |= {parent for directory in layout.directories for parent in directory.parents}
    return tuple(path for path in sorted(layout.dot.iterdir()) if path not in ours)


def reset(layout: Layout, found: tuple[Path, ...], report: Report) -> bool:
    """Copy the state outside the project, then remove these paths; return whether a copy is kept."""
    with write_lock(layout):  # a command in another terminal may be changing a document
        mirror = Mirror(layout, report)
        mirror.sync()
        if layout.events in found:
            move_journal(layout)
        for path in found:
            with explained("remove", path):
                # A link is removed, not what it points to.
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path)
                else:
                    path.unlink(missing_ok=True)
        if os.path.lexists(layout.project):
            return set_aside(layout)
        is_kept = copied_at(layout.root) is not None
        if is_kept:  # an empty copy must not replace the one from an earlier reset
            mirror.renew()
    return is_kept


def _is_document(name: str, names: set[str]) -> bool:
    return any(
        name == one or name.startswith((f"{one}.", f".{one}.")) for one in names
    ) or name.startswith(".config.yaml.")


def _in_directory(directory: Path, pattern: str) -> list[Path]:
    files = [
        path for path in sorted(directory.rglob("*")) if path.is_symlink() or not path.is_dir()
    ]
    ours = re.compile(f"(?:{pattern})|{_TEMPORARY}")
    own = [path for path in files if ours.fullmatch(path.relative_to(directory).as_posix())]
    return [directory] if own and own == files else own


def _spec_paths(layout: Layout, written: Collection[str]) -> list[Path]:
    specs = layout.specs
    if not specs.is_dir() or inside(layout.root, specs) is None:
        return []
    ours = sorted(path for path in specs.glob("*.md") if path.name in written)
    whole = not specs.is_symlink() and len(ours) == sum(1 for _ in specs.iterdir())
    return [specs] if ours and whole else ours


def _contains(path: Path, words: re.Pattern[str]) -> bool:
    """Return whether a file outside `.ralph` contains ralph's own text, because other tools use the same names."""
    if path.is_symlink() or not path.is_file():
        return False
    with explained("read", path):
        return bool(words.search(path.read_text(encoding="utf-8", errors="replace")))
