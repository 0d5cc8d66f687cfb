"""Renames that tell what they replaced: two files change places in one step of the operating system.

A check before a plain rename leaves an instant in which an editor may rename its own file there; that
file would be gone unseen. Where the system cannot exchange, only that instant is unwatched.
"""

import errno
import os
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

_AT_FDCWD = -100
_LINUX_EXCHANGE = 2
_DARWIN_SWAP = 2
_NOT_HERE = frozenset({errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM})


def put(temp: Path, target: Path) -> bool:
    """Put `temp` in the place of `target`; whether what was there is now at `temp`.

    Raises:
        OSError: Neither way worked; nothing changed.
    """
    if exchange(temp, target):
        return True
    temp.replace(target)
    return False


def exchange(first: Path, second: Path) -> bool:
    """Let two files change places; False when this system cannot, or one is not there.

    Raises:
        OSError: It could not be done for another reason.
    """
    call = _system_call()
    if call is None:
        return False
    function, flags = call
    arguments = (os.fsencode(first), os.fsencode(second))
    if sys.platform == "darwin":
        failed = function(*arguments, flags)
    else:
        failed = function(_AT_FDCWD, arguments[0], _AT_FDCWD, arguments[1], flags)
    if not failed:
        return True
    import ctypes

    number = ctypes.get_errno()
    if number in _NOT_HERE or number == errno.ENOENT:
        return False
    raise OSError(number, os.strerror(number), str(second))


@cache
def _system_call() -> tuple[Callable[..., int], int] | None:
    """The C library's function, with the flag that means exchange."""
    import ctypes  # who only reads the project need not wait for it

    library = ctypes.CDLL(None, use_errno=True)
    name, flag = (
        ("renamex_np", _DARWIN_SWAP) if sys.platform == "darwin" else ("renameat2", _LINUX_EXCHANGE)
    )
    function = getattr(library, name, None)
    return None if function is None else (function, flag)
