"""The child that reads commands: its death, its silence and its nonsense are denials."""

import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path

import psutil
import pytest

from ralph_tui.guard.command_judge import CommandJudge
from ralph_tui.guard.core.policy import Policy
from tests.harness.waiting import until

pytestmark = pytest.mark.usefixtures("own_processes")

POLICY = Policy(root=Path("/work/proj"))


@pytest.fixture
async def judge() -> AsyncIterator[CommandJudge]:
    judge = CommandJudge()
    yield judge
    await judge.close()


def child(body: str) -> tuple[str, ...]:
    start = "import sys, time, os\nprint('ready', flush=True)\nsys.stdin.readline()\n"
    return (sys.executable, "-I", "-c", start + body)


async def test_the_same_verdicts_as_without_a_child(judge: CommandJudge) -> None:
    await judge.warm_up()
    pid = judge.pid
    assert (await judge.judge("echo 'ü 日本 \n😀'", POLICY)).decision == "allow"
    assert (await judge.judge("git push", POLICY)).rule == "git-read-only"
    assert (await judge.judge("pytest", POLICY)).command == "uv run pytest"
    assert (await judge.judge("echo \ud800", POLICY)).decision == "deny"
    assert (await judge.judge("a" * 300_000, POLICY)).decision == "deny"
    assert judge.pid == pid


async def test_one_child_judges_by_the_policy_of_each_command(judge: CommandJudge) -> None:
    asking = Policy(root=POLICY.root, ask_commands=("ls",))
    verdicts = [await judge.judge("ls", policy) for policy in (POLICY, asking, POLICY)]
    assert [verdict.decision for verdict in verdicts] == ["allow", "ask", "allow"]


async def test_many_at_once_get_their_own_answers(judge: CommandJudge) -> None:
    commands = [f"pytest -k {i}" for i in range(40)]
    verdicts = await asyncio.gather(*(judge.judge(command, POLICY) for command in commands))
    assert [verdict.command for verdict in verdicts] == [f"uv run {c}" for c in commands]


async def test_a_child_killed_while_idle_is_replaced(judge: CommandJudge) -> None:
    await judge.warm_up()
    pid = judge.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    await until(lambda: judge.pid is None)
    assert (await judge.judge("ls", POLICY)).decision == "allow"
    assert judge.pid not in (None, pid)


async def test_a_child_killed_at_any_moment_never_lets_a_command_through(
    judge: CommandJudge,
) -> None:
    for _ in range(3):
        await judge.warm_up()
        assert judge.pid is not None
        os.kill(judge.pid, signal.SIGKILL)
        assert (await judge.judge("git push", POLICY)).decision == "deny"
    assert (await judge.judge("git status", POLICY)).decision == "allow"


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
    judge = CommandJudge(argv=child(body))
    verdict = await judge.judge("ls", POLICY)
    assert (verdict.decision, verdict.rule) == ("deny", "unreadable-command")
    assert "Split" in verdict.instead
    await judge.close()


async def test_silence_is_a_denial_at_the_deadline() -> None:
    judge = CommandJudge(argv=child("time.sleep(600)"), deadline=lambda: 0.2)
    start = time.monotonic()
    assert (await judge.judge("ls", POLICY)).rule == "unreadable-command"
    assert time.monotonic() - start < 60, "it waited for the end of the silence"
    assert judge.pid is None
    await judge.close()


async def test_a_child_that_cannot_start_is_a_denial() -> None:
    judge = CommandJudge(argv=("/nonexistent/python",))
    assert (await judge.judge("ls", POLICY)).decision == "deny"
    await judge.warm_up()
    assert judge.pid is None
    await judge.close()


async def test_a_child_that_says_something_else_first_is_a_denial() -> None:
    judge = CommandJudge(argv=(sys.executable, "-I", "-c", "print('hello')"))
    assert (await judge.judge("ls", POLICY)).decision == "deny"
    await judge.close()


async def test_a_cancelled_question_does_not_answer_the_next(judge: CommandJudge) -> None:
    await judge.warm_up()
    asking = asyncio.create_task(judge.judge("ls", POLICY))
    await asyncio.sleep(0)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert (await judge.judge("git push", POLICY)).decision == "deny"


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
        "from ralph_tui.guard.command_judge import CommandJudge\n"
        "async def main():\n"
        "    judge = CommandJudge()\n"
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
