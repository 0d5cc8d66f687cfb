"""Judges commands in a child process with a deadline, because a hostile text may take too long to read."""

import asyncio
import contextlib
import json
import pickle
import sys
from collections.abc import Callable, Iterator

from pydantic import TypeAdapter

from ralph_tui.domain.tool_calls import Verdict
from ralph_tui.guard.core.policy import Policy
from ralph_tui.guard.core.verdicts import unreadable
from ralph_tui.guard.worker import READY

DEADLINE = 1.0
"""Seconds a command may take; judging one takes milliseconds."""
_START_DEADLINE = 15.0
_LINE_LIMIT = 1 << 22
_VERDICTS = TypeAdapter(Verdict)

Judge = Callable[[str], Verdict]


class _ChildError(Exception):
    """The child died, did not start, or sent an invalid answer."""


class CommandJudge:
    """Judges commands in a long-lived child; every failure of the child is a denial.

    The policy changes with the phase, and is sent to the child when it does.

    Args:
        argv: The command line of the child; tests pass a broken one.
        deadline: Returns the seconds that the next command may take.
    """

    def __init__(
        self,
        *,
        argv: tuple[str, ...] = (),
        deadline: Callable[[], float] = lambda: DEADLINE,
    ) -> None:
        self._argv = argv or (sys.executable, "-I", "-X", "utf8", "-m", "ralph_tui.guard.worker")
        self._deadline = deadline
        self._lock = asyncio.Lock()
        self._child: asyncio.subprocess.Process | None = None
        self._policy_of_child: Policy | None = None

    @property
    def pid(self) -> int | None:
        return self._child.pid if self._child and self._child.returncode is None else None

    async def warm_up(self) -> None:
        async with self._lock:
            with contextlib.suppress(_ChildError, OSError):
                await self._ensure_child()

    async def judge(self, command: str, policy: Policy) -> Verdict:
        async with self._lock:
            for _ in range(2):  # once more, as the child may have died while idle
                try:
                    return await self._ask(command, policy)
                except TimeoutError:
                    await self._kill_child()
                    return unreadable(command, "The command takes too long to check")
                except (_ChildError, OSError):
                    await self._kill_child()
                except asyncio.CancelledError:
                    await self._kill_child()  # its answer would go to the next command
                    raise
            return unreadable(
                command, "The command cannot be checked, because the guard's reader died on it"
            )

    async def close(self) -> None:
        async with self._lock:
            await self._kill_child()

    async def _ask(self, command: str, policy: Policy) -> Verdict:
        child = await self._ensure_child()
        assert child.stdin is not None
        async with asyncio.timeout(self._deadline()):
            if policy != self._policy_of_child:
                child.stdin.write(_encode_line({"policy": pickle.dumps(policy).hex()}))
                self._policy_of_child = policy
            child.stdin.write(_encode_line({"command": command}))
            await child.stdin.drain()
            line = await _read_line(child)
            try:
                return _VERDICTS.validate_json(line)
            except ValueError as error:
                raise _ChildError from error

    async def _ensure_child(self) -> asyncio.subprocess.Process:
        if self._child is not None and self._child.returncode is None:
            return self._child
        self._child = child = await asyncio.create_subprocess_exec(
            *self._argv,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            cwd="/",
            env={"LC_ALL": "C.UTF-8"},
            limit=_LINE_LIMIT,
            start_new_session=True,  # keeps the terminal's Ctrl+C from the child
        )
        self._policy_of_child = None
        try:
            async with asyncio.timeout(_START_DEADLINE):
                if await _read_line(child) != READY:
                    raise _ChildError
        except TimeoutError as error:
            raise _ChildError from error
        return child

    async def _kill_child(self) -> None:
        child, self._child = self._child, None
        if child is None:
            return
        if child.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                child.kill()
        assert child.stdin is not None
        child.stdin.close()
        await child.wait()


@contextlib.contextmanager
def judging(
    policy: Policy, *, deadline: Callable[[], float] = lambda: DEADLINE, argv: tuple[str, ...] = ()
) -> Iterator[Judge]:
    judge = CommandJudge(deadline=deadline, argv=argv)
    with asyncio.Runner() as runner:
        try:
            yield lambda command: runner.run(judge.judge(command, policy))
        finally:
            runner.run(judge.close())


async def _read_line(child: asyncio.subprocess.Process) -> bytes:
    assert child.stdout is not None
    try:
        line = await child.stdout.readline()
    except ValueError as error:  # longer than the limit
        raise _ChildError from error
    if not line.endswith(b"\n"):
        raise _ChildError
    return line


def _encode_line(value: object) -> bytes:
    return json.dumps(value).encode("ascii") + b"\n"
