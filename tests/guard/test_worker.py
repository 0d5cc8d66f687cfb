"""The child that reads commands: its death, its silence and its nonsense are denials."""

import asyncio
import io
import json
import os
import signal
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest

from ralph_tui.guard.core.policy import Policy
from ralph_tui.guard.worker import CommandJudge, serve
from tests.harness.waiting import until

POLICY = Policy(root=Path("/work/proj"))


@pytest.fixture
async def judge() -> AsyncIterator[CommandJudge]:
    judge = CommandJudge(POLICY)
    yield judge
    await judge.close()


def child(body: str) -> tuple[str, ...]:
    start = "import sys, time, os\nsys.stdin.readline()\nprint('ready', flush=True)\n"
    return (sys.executable, "-I", "-c", start + body)


async def test_the_same_verdicts_as_without_a_child(judge: CommandJudge) -> None:
    await judge.warm_up()
    pid = judge.pid
    assert (await judge.judge("echo 'ü 日本 \n😀'")).decision == "allow"
    assert (await judge.judge("git push")).rule == "git-read-only"
    assert (await judge.judge("pytest")).command == "uv run pytest"
    assert (await judge.judge("echo \ud800")).decision == "deny"
    assert (await judge.judge("a" * 300_000)).decision == "deny"
    assert judge.pid == pid


async def test_many_at_once_get_their_own_answers(judge: CommandJudge) -> None:
    commands = [f"pytest -k {i}" for i in range(40)]
    verdicts = await asyncio.gather(*(judge.judge(command) for command in commands))
    assert [verdict.command for verdict in verdicts] == [f"uv run {c}" for c in commands]


async def test_a_child_killed_while_idle_is_replaced(judge: CommandJudge) -> None:
    await judge.warm_up()
    pid = judge.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    await until(lambda: judge.pid is None)
    assert (await judge.judge("ls")).decision == "allow"
    assert judge.pid not in (None, pid)


async def test_a_child_killed_at_any_moment_never_lets_a_command_through(
    judge: CommandJudge,
) -> None:
    for _ in range(3):
        await judge.warm_up()
        assert judge.pid is not None
        os.kill(judge.pid, signal.SIGKILL)
        assert (await judge.judge("git push")).decision == "deny"
    assert (await judge.judge("git status")).decision == "allow"


@pytest.mark.parametrize(
    "body",
    [
        "sys.stdin.readline(); os._exit(1)",
        "sys.stdin.readline(); os.kill(os.getpid(), 11)",
        "sys.stdin.readline(); print('nonsense', flush=True); sys.stdin.readline()",
        'sys.stdin.readline(); print(\'{"decision": "maybe"}\', flush=True); sys.stdin.readline()',
        "sys.stdin.readline(); sys.stdout.write('{'); sys.stdout.flush()",
        "sys.stdin.readline(); print('x' * 9_000_000, flush=True); sys.stdin.readline()",
    ],
)
async def test_death_and_nonsense_are_denials(body: str) -> None:
    judge = CommandJudge(POLICY, argv=child(body))
    verdict = await judge.judge("ls")
    assert (verdict.decision, verdict.rule) == ("deny", "unreadable-command")
    assert "Split" in verdict.instead
    await judge.close()


async def test_silence_is_a_denial_at_the_deadline() -> None:
    judge = CommandJudge(POLICY, argv=child("time.sleep(600)"), deadline=lambda: 0.2)
    start = time.monotonic()
    assert (await judge.judge("ls")).rule == "unreadable-command"
    assert time.monotonic() - start < 60, "it waited for the end of the silence"
    assert judge.pid is None
    await judge.close()


async def test_a_child_that_cannot_start_is_a_denial() -> None:
    judge = CommandJudge(POLICY, argv=("/nonexistent/python",))
    assert (await judge.judge("ls")).decision == "deny"
    await judge.warm_up()
    assert judge.pid is None
    await judge.close()


async def test_a_child_that_says_something_else_first_is_a_denial() -> None:
    judge = CommandJudge(POLICY, argv=(sys.executable, "-I", "-c", "print('hello')"))
    assert (await judge.judge("ls")).decision == "deny"
    await judge.close()


async def test_a_cancelled_question_does_not_answer_the_next(judge: CommandJudge) -> None:
    await judge.warm_up()
    asking = asyncio.create_task(judge.judge("ls"))
    await asyncio.sleep(0)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert (await judge.judge("git push")).decision == "deny"


async def test_closing_ends_the_child_and_may_be_repeated(judge: CommandJudge) -> None:
    await judge.warm_up()
    pid = judge.pid
    assert pid is not None
    await judge.close()
    await judge.close()
    assert not psutil.pid_exists(pid)


async def test_the_child_ends_with_its_parent() -> None:
    script = (
        "import asyncio, os\n"
        "from pathlib import Path\n"
        "from ralph_tui.guard.core.policy import Policy\n"
        "from ralph_tui.guard.worker import CommandJudge\n"
        "async def main():\n"
        "    judge = CommandJudge(Policy(root=Path('/')))\n"
        "    await judge.warm_up()\n"
        "    print(judge.pid, flush=True)\n"
        "    os.kill(os.getpid(), 9)\n"
        "asyncio.run(main())\n"
    )
    parent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", script, stdout=asyncio.subprocess.PIPE
    )
    out, _ = await parent.communicate()
    pid = int(out)

    def gone() -> bool:
        try:
            return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return True

    await until(gone)


async def test_the_childs_environment_is_empty(
    judge: CommandJudge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("API_SECRET_KEY", "hush")
    await judge.warm_up()
    assert set(psutil.Process(judge.pid).environ()) <= {"LC_ALL"}


def test_serve_answers_line_by_line() -> None:
    lines = [POLICY.model_dump_json(), *(json.dumps({"command": c}) for c in ("ls", "git push"))]
    sink = io.BytesIO()
    serve(io.BytesIO("\n".join(lines).encode()), sink)
    ready, *answers = sink.getvalue().decode().splitlines()
    assert ready == "ready"
    assert [json.loads(answer)["decision"] for answer in answers] == ["allow", "deny"]
