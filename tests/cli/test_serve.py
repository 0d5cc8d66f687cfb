"""The screen in a browser: who gets in, and a loop steered from a real page."""

import re
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import psutil
import pytest
from aiohttp import ClientSession, ClientWebSocketResponse, CookieJar, WSServerHandshakeError

from ralph_tui.engine.control.controls import Controls
from ralph_tui.store.lock import LoopLock
from ralph_tui.store.project import Project
from tests.cli.processes import inside
from tests.harness.browser import page_at
from tests.harness.model import serving_in_process
from tests.harness.projects import make_project, task
from tests.harness.real_processes import (
    marked_processes,
    ralph_environment,
    ralph_running,
    run_ralph,
)
from tests.harness.scenarios import scenario, works_forever
from tests.harness.waiting import until


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


@asynccontextmanager
async def served(project: Path, environment: dict[str, str] | None = None) -> AsyncIterator[str]:
    words = ["serve", "--no-open", "--port", str(free_port())]
    async with ralph_running(words, project, environment=environment) as running:
        assert running.process.stderr is not None
        line = (await running.process.stderr.readline()).decode()
        found = re.search(r"http://\S+", line)
        assert found, line
        yield found[0]
        running.process.send_signal(signal.SIGINT)
        assert (await running.finished()).status == 0
        await until(lambda: not marked_processes(running.mark), what="no page left behind")


def browser_like() -> ClientSession:
    return ClientSession(cookie_jar=CookieJar(unsafe=True))


def test_what_a_base_install_lacks_for_it_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "ralph_tui.tui.web_server", raising=False)
    monkeypatch.setitem(sys.modules, "aiohttp_jinja2", None)
    done = inside("serve", cwd=make_project(tmp_path, [task("a")]))
    assert done.returncode == 3
    assert "not installed: aiohttp_jinja2" in done.stderr
    assert ".[serve]" in done.stderr


async def test_only_the_printed_address_opens_it(tmp_path: Path) -> None:
    project = make_project(tmp_path, [task("a")])
    async with served(project) as address, browser_like() as browser:
        place = address.partition("/?")[0]
        ours = {"Origin": place}

        async def status(url: str, **headers: str) -> int:
            async with browser.get(url, headers=headers) as answer:
                return answer.status

        async def refused(**headers: str) -> int:
            with pytest.raises(WSServerHandshakeError) as error:
                await browser.ws_connect(f"{place}/ws", headers=headers)
            return error.value.status

        assert await status(place) == 403
        assert await status(f"{place}/?key=guess") == 403
        assert await refused(**ours) == 403, "a screen is opened by its socket"
        assert await status(address, Host="rebound.example") == 403
        async with browser.get(address) as answer:
            opened, csp = str(answer.url), answer.headers["Content-Security-Policy"]
            page = await answer.text()
        assert "key=" not in opened, "the key is in the cookie now"
        assert await refused(**ours) == 403, "which only the page's own path gets"
        place = opened.rstrip("/")
        assert await refused(Origin="http://evil.example") == 403
        assert "'unsafe" not in csp.partition("script-src")[2].partition(";")[0]
        assert "frame-ancestors 'none'" in csp
        assert "://" not in page.replace(opened.partition("://")[2].rstrip("/"), "").replace(
            "ws:///ws", ""
        ), "nothing comes from elsewhere"
        async with browser.ws_connect(f"{place}/ws", headers=ours) as screen:
            await screen.send_str('["resize", {"width": 1e9}] [')
            await screen.send_str('["resize", {"width": -1, "height": 0}]')
            assert (await screen.receive()).data


@pytest.mark.long
async def test_two_servers_in_one_browser_do_not_shut_out_each_other(tmp_path: Path) -> None:
    project = make_project(tmp_path, [task("a")])
    async with served(project) as one, served(project) as other, browser_like() as browser:
        async with browser.get(one) as answer:
            opened = answer.url
        async with browser.get(other) as answer:
            assert answer.status == 200
        async with browser.get(opened) as answer:
            assert answer.status == 200, "a reload"


def page_processes() -> list[psutil.Process]:
    found = []
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):  # also one that has ended and is not waited for yet
            if "--project-root" in process.cmdline():
                found.append(process)
    return found


@pytest.mark.long
async def test_a_page_and_its_process_end_together_whatever_becomes_of_either(
    tmp_path: Path,
) -> None:
    project = make_project(tmp_path, [task("a")])
    async with browser_like() as browser:
        async with served(project) as address:
            async with browser.get(address) as answer:
                opened = str(answer.url)
            ours = {"Origin": address.partition("/?")[0]}

            async def page() -> ClientWebSocketResponse:
                screen = await browser.ws_connect(f"{opened}ws", headers=ours)
                assert (await screen.receive()).data
                return screen

            screen = await page()
            page_processes()[0].kill()
            async for _ in screen:
                pass
            assert screen.closed, "it does not stand still as if it were live"
            await page()
            page_processes()[0].suspend()
        assert not page_processes(), (
            "not even one that is deaf, and the server does not wait for it"
        )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--host", "192.0.2.7"], "anyone who opens the screen can run commands as you"),
        (["--host", "0.0.0.0"], "means every address of this machine"),
        (["--host", "my laptop"], "is not an IP address"),
        (["--host", "192.0.2.7", "--let-others-in"], "Cannot listen on 192.0.2.7:8642"),
    ],
)
@pytest.mark.long
async def test_other_addresses_are_refused_in_words(
    tmp_path: Path, words: list[str], said: str
) -> None:
    done = await run_ralph(["serve", "--no-open", *words], make_project(tmp_path))
    assert done.status == 3
    assert said in done.stderr


@pytest.mark.serial
@pytest.mark.needs("chromium")
async def test_a_loop_is_started_and_steered_from_a_page_and_outlives_it(tmp_path: Path) -> None:
    project = make_project(tmp_path, [task("a"), task("b")])
    lock = LoopLock(Project(project).layout)

    def running() -> bool:
        return lock.owner() is not None

    with serving_in_process(scenario(works_forever("a")), tmp_path) as server:
        environment = ralph_environment(server, tmp_path)
        async with served(project, environment) as address:
            async with page_at(address, tmp_path / "chromium") as page:
                await page.until_shown("Ready to build. Next: a")
                title = await page.call("Runtime.evaluate", expression="document.title")
                assert "project idle" in str(title)
                assert address.rpartition("=")[2] not in str(
                    await page.call("Runtime.evaluate", expression="location.href")
                )
                await page.press("b")  # without a click into the page before
                owner = await _owner(lock)
                await page.until_shown(f"attached to process {owner}")
                await page.until_shown("print(1)")
                await page.press("p")
                await page.until_shown("pausing")
            assert running(), "closing the page ends nothing"
            Controls(project).stop(now=True)
            await until(lambda: not running(), what="the end of the loop")


async def _owner(lock: LoopLock) -> int:
    await until(lambda: lock.owner() is not None, what="a loop")
    owner = lock.owner()
    assert owner
    return owner.pid
