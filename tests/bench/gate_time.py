"""How long a check takes in the gate, and by itself; how long the judge tree takes, and a worktree of git's."""

import asyncio
import subprocess
import time
from pathlib import Path

from ralph_tui.engine.verification.check_command import run_command
from ralph_tui.engine.verification.judge_tree import JudgeTree
from tests.engine.verification.evidence.projects import (
    PYTEST,
    RIGHT,
    Tried,
    check_environment,
    write,
)

CHANGED, OF = 10, 20_000
"""The files that change before the judge tree is moved, and all of them."""

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


class JudgeTime:
    """A repository of many files, of which a few change for each claim."""

    def __init__(self, root: Path) -> None:
        write(root, {f"src/d{n // 100}/f{n}.py": f"x = {n}\n" for n in range(OF)})
        self._root = root
        self._number = 0
        self._git("init", "-q")
        self._git("add", ".")
        self._git("-c", "user.name=me", "-c", "user.email=me@localhost", "commit", "-qm", "first")
        self._tree = JudgeTree(root)
        self._tree.start()
        self.moved()

    def moved(self) -> float:
        """Seconds of taking the project with its changes and of putting it into the tree with an original."""
        self._change()
        started, store = time.perf_counter(), self._tree.store
        original = {"src/d0/f0.py": store.put(b"x = 0\n")}
        self._tree.write(store.tree_with(store.take(), original))
        return time.perf_counter() - started

    def worktree(self) -> float:
        self._change()
        place = str(self._root.with_name(f"worktree-{self._number}"))
        started = time.perf_counter()
        self._git("worktree", "add", "-q", "--detach", place)
        return time.perf_counter() - started

    def _change(self) -> None:
        self._number += 1
        files = {f"src/d{n}/f{n * 100}.py": f"x = {self._number}\n" for n in range(CHANGED)}
        write(self._root, files)

    def _git(self, *words: str) -> None:
        subprocess.run(["git", *words], cwd=self._root, check=True)
