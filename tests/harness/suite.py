"""Rules of the suite: which tests are left out, which run alone, and which may be skipped.

A test marked `long` is played with RALPH_LONG=1. One marked `costly` or `serial` is left out where a person runs the whole suite;
it is played in CI, and where its file is named.

A test marked `serial` needs a terminal or measures real time. It runs last, and nothing else runs beside it: each test of a
worker holds a lock, the parallel ones together, a serial one alone. A lock needs nothing of xdist's schedulers, and the kernel
takes it back from a worker that crashes. Who waits for it has not begun: a test's timeout starts after its lock.

A test marked `needs` is skipped where a program is missing. In CI every other skip fails, unless `tests/allowed_skips.txt` lists
the test and its reason, and so does one for a program that `.ci/run` did not report as missing, in RALPH_MISSING. A person is told.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Generator
from functools import cache
from pathlib import Path
from typing import Protocol

import pytest

from ralph_tui.guard.sandbox.os_sandbox import sandbox_problem

ALLOWED = "tests/allowed_skips.txt"
STRICT = bool(os.environ.get("CI"))
MISSING = os.environ.get("RALPH_MISSING", "").split()

LONG = "RALPH_LONG" in os.environ

_OTHER_NAMES = {"chromium": ("chromium-browser", "chrome")}
_LOCK = pytest.StashKey[tuple[Path, int]]()
_LEFT_OUT = pytest.StashKey[str]()


class Worker(Protocol):
    """One of xdist's workers, as its controller has it."""

    config: pytest.Config
    workerinput: dict[str, str]


def pytest_configure(config: pytest.Config) -> None:
    told = getattr(config, "workerinput", None)
    whole = config.args_source is not config.ArgsSource.ARGS
    left_out = "" if LONG else "long" if STRICT or not whole else "long costly serial"
    config.stash[_LEFT_OUT] = told["left out"] if told else left_out
    path = told["lock"] if told else tempfile.mkstemp(prefix="ralph-tests-")[1]
    config.stash[_LOCK] = Path(path), os.open(path, os.O_RDWR)


def pytest_configure_node(node: Worker) -> None:
    """Tell a worker where the lock of this session is, and which tests it leaves out."""
    node.workerinput["lock"] = str(node.config.stash[_LOCK][0])
    node.workerinput["left out"] = node.config.stash[_LEFT_OUT]


def pytest_unconfigure(config: pytest.Config) -> None:
    path, descriptor = config.stash[_LOCK]
    os.close(descriptor)
    if not hasattr(config, "workerinput"):
        path.unlink()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    left_out = config.stash[_LEFT_OUT].split()
    out = {item for item in items if any(map(item.get_closest_marker, left_out))}
    config.hook.pytest_deselected(items=list(out))  # pytest says how many
    items[:] = sorted((item for item in items if item not in out), key=_is_serial)


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


def need(*names: str) -> None:
    """Skip the running test where one of these programs is missing; `sandbox` stands for one that works."""
    for name in names:
        if problem := _problem(name):
            pytest.skip(f"{name}: {problem}")


@cache
def _problem(name: str) -> str:
    if name == "sandbox":
        return sandbox_problem()
    return "" if program(name) else "not installed"


def program(name: str) -> str | None:
    """Return the path of a program, which may have another name."""
    return next(filter(None, map(shutil.which, (name, *_OTHER_NAMES.get(name, ())))), None)


def pytest_runtest_setup(item: pytest.Item) -> None:
    for mark in item.iter_markers("needs"):
        item.user_properties.extend(("needs", name) for name in mark.args)
        need(*mark.args)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> None:
    skipped = call.excinfo.value if call.excinfo else None
    if not STRICT or not isinstance(skipped, pytest.skip.Exception):
        return
    if not is_allowed(item.config.rootpath, item.nodeid, str(skipped)):
        text = f"skipped, and {ALLOWED} does not list it: {skipped}"
        failed = pytest.fail.Exception(text, pytrace=False).with_traceback(skipped.__traceback__)
        call.excinfo = pytest.ExceptionInfo.from_exception(failed)


def is_allowed(root: Path, test: str, reason: str) -> bool:
    """Return whether CI may skip a test, given by its node ID, for a reason."""
    return reason.partition(":")[0] in MISSING or f"{test.partition('[')[0]}: {reason}" in (
        allowed_skips(root)
    )


@cache
def allowed_skips(root: Path) -> tuple[str, ...]:
    return tuple((root / ALLOWED).read_text(encoding="utf-8").splitlines())


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name the tests of the sandbox, which few machines have, and tell a person of skips that CI would not allow."""
    config = terminalreporter.config
    if hasattr(config, "workerinput"):
        return
    if STRICT:
        ran = {
            report.nodeid.partition("[")[0].rpartition("::")[2].removeprefix("test_")
            for report in terminalreporter.stats.get("passed", ())
            if ["needs", "sandbox"] in map(list, report.user_properties)
        }
        terminalreporter.write_line(f"Sandbox: {len(ran)} tests ran: {', '.join(sorted(ran))}")
    for report in terminalreporter.stats.get("skipped", ()):
        reason = str(report.longrepr[2]).removeprefix("Skipped: ")
        if not is_allowed(config.rootpath, report.nodeid, reason):
            terminalreporter.write_line(
                f"Skipped, which CI would not allow: {report.nodeid}: {reason}"
            )
