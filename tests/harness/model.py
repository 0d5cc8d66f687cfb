"""The loopback model: in the test's own event loop, in a thread, or in a process."""

import asyncio
import contextlib
import json
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import JsonValue

from ralph_tui.demo.scenario import Scenario, load_scenario, parse_scenario
from ralph_tui.demo.server import ModelServer, RecordedRequest
from ralph_tui.demo.server import cli_environment as _cli_environment
from tests.harness.waiting import wait_until


def scenario_of(source: str | Path | Scenario) -> Scenario:
    if isinstance(source, Scenario):
        return source
    return load_scenario(source) if isinstance(source, Path) else parse_scenario(source)


@contextlib.asynccontextmanager
async def serving(source: str | Path | Scenario) -> AsyncIterator[ModelServer]:
    async with ModelServer(scenario_of(source)) as server:
        yield server


@contextlib.contextmanager
def serving_in_thread(source: str | Path | Scenario) -> Iterator[ModelServer]:
    """A model in a thread, for tests that block; read its `requests`, but await nothing of it."""
    scenario, ready, halt = scenario_of(source), threading.Event(), threading.Event()
    served: list[ModelServer] = []

    async def serve() -> None:
        async with ModelServer(scenario) as server:
            served.append(server)
            ready.set()
            await asyncio.to_thread(halt.wait)
            for _ in range(5):  # a connection accepted last gets the task that closes it
                await asyncio.sleep(0)

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    try:
        if not ready.wait(10):
            raise TimeoutError("the model did not start")
        yield served[0]
    finally:
        halt.set()
        thread.join()


def answered(server: ModelServer) -> tuple[RecordedRequest, ...]:
    """The requests that a script answered."""
    return tuple(request for request in server.requests if request.script)


@dataclass(frozen=True)
class ServerProcess:
    """A model in a process of its own, which outlives whatever the test kills."""

    url: str
    log: Path
    pid: int

    def environment(self, config_dir: Path) -> dict[str, str]:
        return _cli_environment(self.url, config_dir)

    def requests(self) -> list[dict[str, JsonValue]]:
        """The requests so far; the fields of `RecordedRequest`."""
        if not self.log.exists():
            return []
        lines = self.log.read_text(encoding="utf-8").splitlines(keepends=True)
        return [json.loads(line) for line in lines if line.endswith("\n")]


@contextlib.contextmanager
def serving_in_process(source: str | Path, tmp: Path) -> Iterator[ServerProcess]:
    """A model in a process of its own; its files go to `tmp`."""
    path = source
    if isinstance(source, str):
        path = tmp / "scenario.yaml"
        path.write_text(source, encoding="utf-8")
    port_file, log = tmp / "model.port", tmp / "model.jsonl"
    command = [sys.executable, str(Path(__file__).with_name("model_process.py")), str(path)]
    process = subprocess.Popen([*command, "--port-file", str(port_file), "--log", str(log)])
    try:
        wait_until(lambda: port_file.exists() or process.poll() is not None)
        if process.poll() is not None:
            raise RuntimeError(f"the model ended with status {process.returncode}")
        url = f"http://127.0.0.1:{port_file.read_text()}"
        yield ServerProcess(url=url, log=log, pid=process.pid)
    finally:
        process.terminate()
        process.wait(10)
        port_file.unlink(missing_ok=True)


def cli_environment(server: ModelServer | ServerProcess, tmp: Path) -> dict[str, str]:
    config_dir = tmp / "claude-config"
    config_dir.mkdir(parents=True, exist_ok=True)
    return server.environment(config_dir)
