"""Hides keys from other processes, which could read them in `/proc/PID/environ`.

Linux shows the initial environment of a process to every process of the same user, including an agent's
scripts outside a sandbox.
"""

import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from ralph_tui.domain.redaction import is_secret_name

_ENV_START = 47
"""The index of env_start in /proc/self/stat, counted from the state (man 5 proc: field 50)."""


def blank_keys() -> None:
    """Blank secret values in this process's environment block; `os.environ` and child processes keep them."""
    if sys.platform != "linux":
        return
    import ctypes

    try:
        fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
        seen = Path("/proc/self/environ").read_bytes()
    except OSError:
        return  # what this process may not read, no other process of the person's may
    start, end = (int(field) for field in fields[_ENV_START : _ENV_START + 2])
    if not start or ctypes.string_at(start, end - start) != seen:
        return  # not the block that other processes see
    for name, offset, length in _secrets(seen):
        if name in os.environ:
            os.putenv(name, os.environ[name])  # makes the C library keep its own copy
        ctypes.memset(start + offset, ord("*"), length)


def _secrets(block: bytes) -> Iterator[tuple[str, int, int]]:
    offset = 0
    for entry in block.split(b"\0"):
        name, equals, value = entry.partition(b"=")
        if equals and value and is_secret_name(os.fsdecode(name)):
            yield os.fsdecode(name), offset + len(name) + 1, len(value)
        offset += len(entry) + 1


def without_keys(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if not is_secret_name(name)}


def visible_keys(environment: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(n for n, v in environment.items() if v.strip("*") and is_secret_name(n))
