"""Serve the model from a separate process: `python -m ralph_tui.demo SCENARIO --port-file F`."""

import argparse
import asyncio
import contextlib
import json
import math
from dataclasses import asdict
from pathlib import Path

from ralph_tui.demo.scenario import Scenario
from ralph_tui.demo.scenario_loader import load_scenario
from ralph_tui.demo.server import ModelServer, RecordedRequest
from ralph_tui.domain.errors import RalphError


def main() -> None:
    """Write the port to a file, and serve a scenario until a signal ends the process."""
    parser = argparse.ArgumentParser(description="Play a scenario on a loopback Messages API.")
    parser.add_argument("scenario", type=Path)
    parser.add_argument("--port-file", type=Path, required=True)
    parser.add_argument("--log", type=Path, help="append one JSON line for each request")
    parser.add_argument("--speed", type=float, default=math.inf)
    given = parser.parse_args()
    try:
        scenario = load_scenario(given.scenario)
    except RalphError as error:
        parser.exit(error.exit_code, f"{error}\n")
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve_forever(scenario, given.port_file, given.log, given.speed))


async def _serve_forever(
    scenario: Scenario, port_file: Path, log: Path | None, speed: float
) -> None:
    def append_to_log(request: RecordedRequest) -> None:
        assert log
        with log.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(request)) + "\n")

    on_request = append_to_log if log else None
    async with ModelServer(scenario, speed=speed, on_request=on_request) as server:
        partial = port_file.with_suffix(".partial")
        partial.write_text(str(server.port))
        partial.replace(port_file)
        await asyncio.Event().wait()


if __name__ == "__main__":
    main()
