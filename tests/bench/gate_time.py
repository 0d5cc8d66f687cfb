"""How long a check takes in the gate, and by itself."""

import asyncio
import time
from pathlib import Path

from ralph_tui.engine.verification.check_command import run_command
from tests.engine.verification.evidence.projects import (
    PYTEST,
    RIGHT,
    Tried,
    check_environment,
    write,
)

TESTS = 400
FILES = 2_000


class GateTime:
    """A project of many files whose check is a pytest run, with check files as the person has them."""

    def __init__(self, root: Path) -> None:
        """Make the project; its task has begun."""
        tests = "".join(
            f"\n\ndef test_{n}():\n    time.sleep(0.005)\n    assert total([{n}]) == {n}\n"
            for n in range(TESTS)
        )
        many = {f"src/d{n // 100}/f{n}.py": "x = 1\n" for n in range(FILES)}
        files = {
            "total.py": RIGHT,
            "test_total.py": f"import time\n\nfrom total import total\n{tests}",
        }
        write(root, many | files)
        self._root = root
        self.alone()  # so that the bytecode is older than the session
        self._tried = Tried(root, {})

    def gate(self) -> float:
        return asyncio.run(self._claimed())

    def alone(self) -> float:
        return asyncio.run(self._alone())

    async def _claimed(self) -> float:
        started = time.perf_counter()
        examined = await self._tried.claim()
        assert examined.passed, examined.faults
        return time.perf_counter() - started

    async def _alone(self) -> float:
        started = time.perf_counter()
        done = await run_command(
            PYTEST,
            cwd=self._root,
            environment=check_environment(),
            limit_seconds=60,
        )
        assert done.exit_code == 0, done.tail
        return time.perf_counter() - started
