"""Prints milliseconds per command over the corpus: `uv run python -m tests.guard.bench_guard`."""

import asyncio
import json
import statistics
import sys
import time
from pathlib import Path

from ralph_tui.guard.analysis.judge import judge_command
from ralph_tui.guard.core.policy import Policy
from ralph_tui.guard.worker import CommandJudge

POLICY = Policy(root=Path("/work/proj"))


def commands() -> list[str]:
    lines = Path(__file__).with_name("corpus.jsonl").read_text().splitlines()
    return [json.loads(line)["command"] for line in lines]


async def through_child() -> list[float]:
    judge = CommandJudge(POLICY)
    await judge.warm_up()
    times = []
    for command in commands():
        start = time.perf_counter()
        await judge.judge(command)
        times.append(time.perf_counter() - start)
    await judge.close()
    return times


def in_process() -> list[float]:
    judge_command("true", POLICY)
    times = []
    for command in commands():
        start = time.perf_counter()
        judge_command(command, POLICY)
        times.append(time.perf_counter() - start)
    return times


def report(name: str, times: list[float]) -> None:
    milliseconds = [1000 * t for t in times]
    median, worst = statistics.median(milliseconds), max(milliseconds)
    sys.stdout.write(f"{name:12} median {median:.2f} ms  worst {worst:.2f} ms\n")


if __name__ == "__main__":
    report("in process", in_process())
    report("with child", asyncio.run(through_child()))
