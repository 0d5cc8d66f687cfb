"""A PATH in which some programs are missing and everything else is as it was."""

import os
from pathlib import Path


def path_without(directory: Path, *names: str) -> str:
    """The PATH of this process without these programs; makes `directory` for what stays of theirs."""
    directory.mkdir()
    found: list[str] = []
    for place in os.environ.get("PATH", os.defpath).split(os.pathsep):
        held = Path(place or ".")
        if not any((held / name).exists() for name in names):
            found.append(place)
            continue
        kept = directory / f"{len(found)}"
        kept.mkdir()
        for program in held.iterdir():
            if program.name not in names:
                (kept / program.name).symlink_to(program.absolute())
        found.append(str(kept))
    return os.pathsep.join(found)
