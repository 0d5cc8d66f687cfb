"""Lines 50-52: what a program pours out is bounded in memory, valid and inert."""

import os
from pathlib import Path

import psutil
import pytest

from ralph_tui.engine.verification.check_command import run_command

FLOODS = {
    "one endless line": "head -c 300M /dev/zero | tr '\\0' x",
    "many lines": "yes short | head -c 300M",
    "no text": "head -c 100M /dev/urandom",
    "escapes": "yes $'\\e]52;c;cHduZWQ=\\a\\e[31m' | head -c 100M",
}


@pytest.mark.usefixtures("played_cli")
@pytest.mark.parametrize("command", FLOODS.values(), ids=list(FLOODS))
async def test_a_flood_of_output_stays_small_and_its_end_is_kept(
    tmp_path: Path, command: str
) -> None:
    resident = psutil.Process().memory_info().rss
    result = await run_command(
        f"{command}; echo; echo the end",
        cwd=tmp_path,
        environment=os.environ,
        limit_seconds=60,
    )
    assert result.exit_code == 0
    assert result.tail.rstrip().endswith("the end")
    assert len(result.tail) <= 4_000
    assert not {"\x1b", "\x07", "\x00"} & set(result.tail)
    result.tail.encode("utf-8")
    assert psutil.Process().memory_info().rss - resident < 64 * 1024 * 1024
