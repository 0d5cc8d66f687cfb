"""The model in a process of its own: `python model_process.py SCENARIO --port-file F --log L`."""

import argparse
import asyncio
import contextlib
import json
from dataclasses import asdict
from pathlib import Path

from ralph_tui.demo.scenario import load_scenario
from ralph_tui.demo.server import ModelServer, RecordedRequest


def main() -> None:
    """Write the port to a file, and serve a scenario until a signal ends the process."""
    parser = argparse.ArgumentParser()
    parser.add_argument("scenario", type=Path)
    parser.add_argument("--port-file", type=Path, required=True)
    parser.add_argument("--log", type=Path, required=True)
    given = parser.parse_args()
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve_forever(given.scenario, given.port_file, given.log))


async def _serve_forever(scenario: Path, port_file: Path, log: Path) -> None:
    def append_to_log(request: RecordedRequest) -> None:
        with log.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(request)) + "\n")

    async with ModelServer(load_scenario(scenario), on_request=append_to_log) as server:
        partial = port_file.with_suffix(".partial")
        partial.write_text(str(server.port))
        partial.replace(port_file)
        await asyncio.Event().wait()


if __name__ == "__main__":
    main()
