"""Bring documents of older versions up to date, one version at a time."""

from collections.abc import Callable, Mapping
from pathlib import Path

from pydantic import JsonValue

from ralph_tui.domain.errors import StoreError

Data = dict[str, JsonValue]
Migration = Callable[[Data], Data]

FIRST_VERSION = 1
"""The version of a file without `schema_version`, written by hand after the seeds' examples."""

MIGRATIONS: dict[tuple[str, int], Migration] = {}
"""`(document, version) -> function to the next version`; nothing has changed since version 1."""


class NewerError(StoreError):
    """A newer ralph wrote the document."""


def version_of(data: Data, path: Path) -> int:
    """Return the schema version that a document carries.

    Raises:
        StoreError: It is not a whole number from 1 on.
    """
    version = data.get("schema_version", FIRST_VERSION)
    if isinstance(version, bool) or not isinstance(version, int) or version < FIRST_VERSION:
        raise StoreError(
            f"{path}: schema_version must be a whole number from 1 on, not {version!r}.",
            "Correct it, or remove the line if you wrote the file by hand.",
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
    """Return the document in the current version, without changing `data`.

    Args:
        data: The document's JSON object.
        document: The document's kind, such as `plan`.
        current: The schema version that this ralph writes.
        path: The file, for messages.
        migrations: One step for each document and version; the product's own by default.

    Raises:
        NewerError: A newer ralph wrote it.
    """
    version = version_of(data, path)
    if version > current:
        raise NewerError(
            f"{path} was written by a newer ralph (schema version {version}, "
            f"this one knows {current}).",
            "Upgrade ralph-tui; the file was left as it is.",
        )
    known = MIGRATIONS if migrations is None else migrations
    for step in range(version, current):
        data = known[document, step](dict(data)) | {"schema_version": step + 1}
    return data
