"""Migrate documents of older versions, one version at a time."""

from collections.abc import Callable, Mapping
from pathlib import Path

from pydantic import JsonValue

from ralph_tui.domain.errors import StoreError

Data = dict[str, JsonValue]
Migration = Callable[[Data], Data]

FIRST_VERSION = 1
"""The version of a file without `schema_version`, such as one written by hand."""

MIGRATIONS: dict[tuple[str, int], Migration] = {}
"""`(document, version) -> function to the next version`. Empty, because nothing has changed since version 1."""


class NewerError(StoreError):
    """A newer ralph wrote the document."""


def version_of(data: Data, path: Path) -> int:
    version = data.get("schema_version", FIRST_VERSION)
    if isinstance(version, bool) or not isinstance(version, int) or version < FIRST_VERSION:
        raise StoreError(
            f"{path}: schema_version must be a whole number of at least 1, not {version!r}.",
            "Correct the value, or remove the line if you wrote the file by hand.",
        )
    return version


def migrate(
    data: Data,
    *,
    document: str,
    current: int,
    path: Path,
    migrations: Mapping[tuple[str, int], Migration] | None = None,
) -> Data:
    """Return the document migrated to the current version, without changing `data`.

    Args:
        migrations: One step for each document and version; ralph's own by default.

    Raises:
        NewerError: A newer ralph wrote the document.
    """
    version = version_of(data, path)
    if version > current:
        raise NewerError(
            f"{path} was written by a newer ralph (schema version {version}, "
            f"this version supports {current}).",
            "Upgrade ralph-tui. The file was not changed.",
        )
    known = MIGRATIONS if migrations is None else migrations
    for step in range(version, current):
        data = known[document, step](dict(data)) | {"schema_version": step + 1}
    return data
