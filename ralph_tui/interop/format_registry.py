"""Lists the formats and detects which one a file is in."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import TypeGuard, TypeVar

from ralph_tui.domain.sanitize import one_line
from ralph_tui.interop.formats import (
    Imported,
    Importer,
    ImportOptions,
    InteropError,
    Source,
    Writable,
)

T = TypeVar("T")

ENTRY_POINTS = "ralph_tui.importers"
"""The entry point group for importers of other packages."""

MIN_SCORE = 30
"""The lowest score from `sniff` at which a file counts as in a format."""


@cache
def built_in() -> Sequence[Importer]:
    """Return ralph's own importers, in the order in which they are listed."""
    # Imported here, so that only commands that need a format wait for the readers.
    from ralph_tui.interop.beads import BEADS_FORMAT
    from ralph_tui.interop.github_issues import GITHUB_FORMAT
    from ralph_tui.interop.json_plans import PRD_FORMAT, WIGGUM_FORMAT
    from ralph_tui.interop.markdown.bmad import BMAD_FORMAT
    from ralph_tui.interop.markdown.dialects import FIX_PLAN, KIRO, OPENSPEC, SPEC_KIT, TODO
    from ralph_tui.interop.taskmaster import TASKMASTER_FORMAT

    return (
        *(PRD_FORMAT, WIGGUM_FORMAT, TASKMASTER_FORMAT, BEADS_FORMAT, GITHUB_FORMAT),
        *(FIX_PLAN, SPEC_KIT, KIRO, OPENSPEC, BMAD_FORMAT, TODO),
    )


@dataclass(frozen=True)
class Formats:
    """The importers of this installation, ralph's own first, and a sentence about each that could not be loaded."""

    importers: tuple[Importer, ...]
    broken: tuple[str, ...] = ()

    @property
    def names(self) -> str:
        return ", ".join(importer.name for importer in self.importers)

    def named(self, name: str) -> Importer:
        wanted = name.strip().casefold()
        for importer in self.importers:
            if wanted in (importer.name.casefold(), *getattr(importer, "also", ())):
                return importer
        what = f"unknown format {one_line(name, 60)!r}"
        raise InteropError("--as", 0, what, " ".join((f"Formats: {self.names}.", *self.broken)))

    def detect(self, source: Source) -> Importer:
        hint = " ".join((f"Choose the format with `--as`: {self.names}.", *self.broken))
        if not source.text.strip():
            what, hint = "the file is empty", "Give the path of a file with tasks."
            raise InteropError(source.name, 0, what, hint)
        scores = [(importer.sniff(source), importer) for importer in self.importers]
        sure = max((score for score, _ in scores), default=0)
        best = [importer for score, importer in scores if score == sure]
        if sure < MIN_SCORE:
            if re.match(r"\s*\[?\s*\{", source.head):
                from ralph_tui.interop.json_text import JsonText

                JsonText(source)  # raises the error of a broken file
            raise InteropError(source.name, 0, "the format of this file is unknown", hint)
        if len(best) > 1:
            what = f"the file fits {' and '.join(one.name for one in best)} equally well"
            raise InteropError(source.name, 0, what, "Choose one with `--as`.")
        return best[0]


@cache
def formats() -> Formats:
    importers = list(built_in())
    broken = []
    for point in sorted(entry_points(group=ENTRY_POINTS), key=lambda found: found.name):
        told = f"The installed importer {one_line(point.name, 60)!r}"
        try:
            importer = _loaded(point)
        except Exception as error:  # noqa: BLE001 - code of another package: its failure is reported, and ralph continues
            broken.append(f"{told} could not be loaded: {_reason(error)}.")
            continue
        if any(importer.name == other.name for other in importers):
            taken = f"the format {one_line(importer.name, 60)!r} already exists"
            broken.append(f"{told} is ignored: {taken}.")
        else:
            importers.append(importer)
    return Formats(tuple(importers), tuple(broken))


def is_exporter(importer: Importer) -> TypeGuard[Writable]:
    return callable(getattr(importer, "write", None))


def _loaded(point: EntryPoint) -> Importer:
    """Load an entry point: an importer, or its class, which takes no arguments."""
    found = point.load()
    importer = found() if isinstance(found, type) else found
    for part in ("sniff", "read"):
        if not callable(getattr(importer, part, None)):
            raise TypeError(f"it has no {part}()")
    if not isinstance(importer.name, str) or not importer.name.strip():
        raise TypeError("it has no name")
    return _Guarded(importer)


def _reason(error: BaseException) -> str:
    return one_line(f"{type(error).__name__}: {error}", 200).rstrip(".")


class _Guarded:
    """Wraps an importer of another package and turns its exceptions into an `InteropError`."""

    def __init__(self, importer: Importer) -> None:
        self._importer = importer
        self.name: str = importer.name
        if is_exporter(importer):
            write = importer.write
            self.write = lambda plan, before: self._called(before, lambda: write(plan, before))

    def sniff(self, source: Source) -> int:
        try:
            return max(0, min(100, int(self._importer.sniff(source))))
        except Exception:  # noqa: BLE001 - counts as an unknown file; `--as` shows the failure
            return 0

    def read(self, source: Source, wanted: ImportOptions) -> Imported:
        return self._called(source, lambda: self._importer.read(source, wanted))

    def _called(self, source: Source, function: Callable[[], T]) -> T:
        try:
            return function()
        except InteropError:
            raise
        except Exception as error:
            what = f"the installed importer {one_line(self.name, 60)!r} failed: {_reason(error)}"
            hint = "Report this to its author, or choose another format with `--as`."
            raise InteropError(source.name, 0, what, hint) from error
