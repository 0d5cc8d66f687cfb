"""Rules of the suite: which tests run alone.

A test marked `serial` waits for real time or a real terminal. It runs last, and nothing else runs beside it: each test of a
worker holds a lock, the parallel ones together, a serial one alone. A lock needs nothing of xdist's schedulers, and the kernel
takes it back from a worker that crashes. Who waits for it has not begun: a test's timeout starts after its lock.
"""

import fcntl
import os
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import Protocol

import pytest

_LOCK = pytest.StashKey[tuple[Path, int]]()


class Worker(Protocol):
    """One of xdist's workers, as its controller has it."""

    config: pytest.Config
    workerinput: dict[str, str]


def pytest_configure(config: pytest.Config) -> None:
    told = getattr(config, "workerinput", None)
    path = told["lock"] if told else tempfile.mkstemp(prefix="ralph-tests-")[1]
    config.stash[_LOCK] = Path(path), os.open(path, os.O_RDWR)


def pytest_configure_node(node: Worker) -> None:
    """Tell a worker where the lock of this session is."""
    node.workerinput["lock"] = str(node.config.stash[_LOCK][0])


def pytest_unconfigure(config: pytest.Config) -> None:
    path, descriptor = config.stash[_LOCK]
    os.close(descriptor)
    if not hasattr(config, "workerinput"):
        path.unlink()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=_is_serial)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    _, lock = item.config.stash[_LOCK]
    fcntl.lockf(lock, fcntl.LOCK_EX if _is_serial(item) else fcntl.LOCK_SH)
    try:
        return (yield)
    finally:
        fcntl.lockf(lock, fcntl.LOCK_UN)


def _is_serial(item: pytest.Item) -> bool:
    return item.get_closest_marker("serial") is not None
