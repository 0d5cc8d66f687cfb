"""Rules of the suite: which tests are left out, which run alone, and which may be skipped.

A test marked `long` is played with RALPH_LONG=1. One marked `costly` or `serial` is left out where a person runs the whole suite;
it is played in CI, and where its file is named.

A test marked `serial` needs a terminal or measures real time. Nothing runs beside it: a session with workers leaves it out and says
so, and one without (`-n 0`) plays it. CI plays one session of each kind: `--serial no`, then `--serial only`, which reads only files that
name the mark.

A test marked `needs` is skipped where a program is missing. In CI every other skip fails, unless `tests/allowed_skips.txt` lists
the test and its reason, and so does one for a program that `.ci/run` did not report as missing, in RALPH_MISSING. A person is told.
"""

import os
import shutil
from functools import cache
from pathlib import Path
from typing import Protocol

import pytest

from ralph_tui.domain.formatting import plural
from ralph_tui.guard.sandbox.os_sandbox import sandbox_problem

ALLOWED = "tests/allowed_skips.txt"
STRICT = bool(os.environ.get("CI"))
MISSING = os.environ.get("RALPH_MISSING", "").split()

LONG = "RALPH_LONG" in os.environ

_OTHER_NAMES = {"chromium": ("chromium-browser", "chrome")}
_LEFT_OUT = pytest.StashKey[str]()
_NEED_NO_WORKERS = pytest.StashKey[int]()


class Worker(Protocol):
    """One of xdist's workers, as its controller has it."""

    config: pytest.Config
    workerinput: dict[str, str]


def pytest_addoption(parser: pytest.Parser) -> None:
    told = "leave out tests marked `serial`, or play only them"
    parser.addoption("--serial", choices=("no", "only"), help=told)


def pytest_configure(config: pytest.Config) -> None:
    told = getattr(config, "workerinput", None)
    whole = config.args_source is not config.ArgsSource.ARGS
    left_out = "" if LONG else "long" if STRICT or not whole else "long costly serial"
    config.stash[_LEFT_OUT] = told["left out"] if told else left_out


def pytest_configure_node(node: Worker) -> None:
    """Tell a worker which tests this session leaves out."""
    node.workerinput["left out"] = node.config.stash[_LEFT_OUT] + " serial"


def pytest_testnodedown(node: Worker) -> None:
    output = getattr(node, "workeroutput", {})  # one that crashed has none
    node.config.stash[_NEED_NO_WORKERS] = output.get("serial", 0)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    if config.option.serial == "only" and collection_path.suffix == ".py":
        return "mark.serial" not in collection_path.read_text(encoding="utf-8") or None
    return None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    left_out, serial = config.stash[_LEFT_OUT].split(), config.option.serial
    out = {
        item
        for item in items
        if any(map(item.get_closest_marker, left_out))
        or (serial and _is_serial(item) == (serial == "no"))
    }
    if isinstance(told := getattr(config, "workeroutput", None), dict):
        told["serial"] = sum(map(_is_serial, out))
    config.hook.pytest_deselected(items=list(out))  # pytest says how many
    items[:] = [item for item in items if item not in out]


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
    if not STRICT and (alone := config.stash.get(_NEED_NO_WORKERS, 0)):
        words = plural(alone, "serial test")
        terminalreporter.write_line(f"Left out: {words}, which `-n 0` plays.")
    if STRICT:
        ran = {
            report.nodeid.partition("[")[0].rpartition("::")[2].removeprefix("test_")
            for report in terminalreporter.stats.get("passed", ())
            if ["needs", "sandbox"] in map(list, report.user_properties)
        }
        if ran:
            names = ", ".join(sorted(ran))
            terminalreporter.write_line(f"Sandbox: {len(ran)} tests ran: {names}")
    for report in terminalreporter.stats.get("skipped", ()):
        reason = str(report.longrepr[2]).removeprefix("Skipped: ")
        if not is_allowed(config.rootpath, report.nodeid, reason):
            terminalreporter.write_line(
                f"Skipped, which CI would not allow: {report.nodeid}: {reason}"
            )
