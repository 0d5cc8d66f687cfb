"""Writing several documents so that a crash leaves all of them old or all of them new.

New contents are written to temporary files first. A list of the renames is put in place, which is the
moment of decision, then the renames are done; whoever finds the list after a crash finishes them.
"""

import json
from dataclasses import dataclass
from pathlib import Path

from ralph_tui.domain.errors import StoreError
from ralph_tui.store.files import (
    DamagedError,
    explained,
    read_regular,
    remove_stale_temps,
    stage,
    sync_directory,
    write_atomic,
    write_target,
)
from ralph_tui.store.layout import Layout
from ralph_tui.store.strictjson import parse_object


@dataclass(frozen=True)
class Write:
    """A file's new content, and what it was when the change was worked out."""

    path: Path
    data: bytes
    before: bytes | None


def write(layout: Layout, writes: tuple[Write, ...]) -> bool:
    """Put all new contents in place; False, with nothing written, when a file changed meanwhile.

    Raises:
        StoreError: The disk did not allow it.
    """
    staged: list[tuple[Path, Path]] = []
    try:
        with explained("write in", layout.dot):
            for item in writes:
                target = write_target(item.path)
                staged.append((stage(target, item.data), target))
            if not all(_unchanged(item) for item in writes):
                _discard(staged)
                return False
            if len(staged) > 1:
                _decide(layout, staged)
            else:
                for temp, target in staged:
                    temp.replace(target)
                sync_directory(layout.dot)
    except BaseException:
        # Once the list of renames is in place the decision is made: the temporary files are needed.
        if not layout.commit.exists():
            _discard(staged)
        raise
    return True


def _decide(layout: Layout, staged: list[tuple[Path, Path]]) -> None:
    renames = [[str(temp), str(target)] for temp, target in staged]
    write_atomic(layout.commit, json.dumps({"renames": renames}).encode())
    finish(layout)


def finish(layout: Layout) -> None:
    """Do the renames a dead process decided on; call with the write lock held."""
    if not layout.commit.exists():
        return
    dot = layout.dot.resolve()
    with explained("finish the last change in", layout.dot):
        for temp, target in _renames(layout.commit):
            # The list is ours, but an agent may write files: nothing outside .ralph is touched.
            if temp.parent.resolve() == dot and target.parent.resolve() == dot and temp.exists():
                temp.replace(target)
        sync_directory(dot)
        layout.commit.unlink(missing_ok=True)


def sweep(layout: Layout) -> None:
    """Remove what dead writers left; call with the write lock held."""
    finish(layout)
    with explained("clean up", layout.dot):
        remove_stale_temps(layout.dot)


def _renames(path: Path) -> list[tuple[Path, Path]]:
    try:
        renames = parse_object(read_regular(path) or b"").get("renames")
    except DamagedError as error:
        raise StoreError(
            f"{path} is damaged ({error}).", "Delete it; the documents are whole."
        ) from error
    pairs = renames if isinstance(renames, list) else []
    return [
        (Path(str(pair[0])), Path(str(pair[1])))
        for pair in pairs
        if isinstance(pair, list) and len(pair) == 2
    ]


def _unchanged(item: Write) -> bool:
    try:
        return read_regular(item.path) == item.before
    except DamagedError:
        return False


def _discard(staged: list[tuple[Path, Path]]) -> None:
    for temp, _ in staged:
        temp.unlink(missing_ok=True)
