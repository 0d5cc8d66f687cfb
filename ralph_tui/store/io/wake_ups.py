"""Wake a waiting task when files may have changed. The task finds out what changed."""

import stat
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path

from ralph_tui.domain.errors import StoreError

DEBOUNCE_MS = 50
STEP_MS = 50
POLL_MS = 1000
"""How often files are checked without a notification, for file systems that send none and for
changes just before the watch began. Half the interval costs an idle screen another 0.15 % of a core."""

FORCED_POLL_MS = 200


async def wake_ups(
    *directories: Path, names: frozenset[str], suffix: str | None = None
) -> AsyncGenerator[None, None]:
    """Yield once at the start, and whenever a file with one of `names` or the suffix may have changed.

    Missing directories are watched once they appear. The parents of the first may be missing, too.
    """
    import asyncio

    yield
    while True:
        existing = await asyncio.to_thread(_existing, directories)
        watch = _watch(existing, names | {d.name for d in directories}, suffix)
        async with aclosing(watch):
            async for _ in watch:
                yield
                if await asyncio.to_thread(_existing, directories) != existing:
                    break


async def _watch(
    directories: tuple[tuple[Path, int], ...],
    names: frozenset[str],
    suffix: str | None,
) -> AsyncGenerator[None, None]:
    import asyncio

    from watchfiles import Change, awatch

    def relevant(_: Change, path: str) -> bool:
        name = Path(path).name
        return name in names or (suffix is not None and name.endswith(suffix))

    for force_polling in (None, True):
        try:
            changes = awatch(
                *(path for path, _ in directories),
                watch_filter=relevant,
                debounce=DEBOUNCE_MS,
                step=STEP_MS,
                rust_timeout=POLL_MS,
                yield_on_timeout=True,
                force_polling=force_polling,
                poll_delay_ms=FORCED_POLL_MS,
                recursive=False,
            )
            async with aclosing(changes):
                async for _ in changes:
                    yield
        except FileNotFoundError:
            # A directory has vanished. Pause, then the caller retries.
            await asyncio.sleep(POLL_MS / 1000)
            return
        except (OSError, RuntimeError) as error:
            # Notifications are unsupported, or the user's limit is reached: poll instead.
            if force_polling:
                places = ", ".join(str(path) for path, _ in directories)
                raise StoreError(
                    f"Cannot watch {places}: {error}.", "Changes will show after a restart."
                ) from error
        else:
            return


def _existing(directories: tuple[Path, ...]) -> tuple[tuple[Path, int], ...]:
    nearest = next(path for path in (directories[0], *directories[0].parents) if path.is_dir())
    found: dict[Path, int] = {}
    for path in (*directories, nearest):
        try:
            info = path.stat()
        except OSError:
            continue
        if stat.S_ISDIR(info.st_mode):
            found[path] = info.st_ino
    return tuple(found.items())
