"""What the gate adds to a check: in place, and to put a claim into the judge tree of a large repository."""

import asyncio
import itertools
import subprocess
import time
from pathlib import Path

from tests.engine.verification.evidence.projects import PROJECT, Tried, check_environment, write

FILES = 20_000
_MANY = "import pytest\n@pytest.mark.parametrize('n', range(1000))\ndef test_many(n):\n    assert n >= 0\n"


class Gate:
    """A repository with many files whose check passes."""

    def __init__(self, root: Path) -> None:
        folders = [root / f"data/{number}" for number in range(FILES // 100)]
        for folder in folders:
            folder.mkdir(parents=True)
            for number in range(100):
                (folder / f"{number}.txt").write_text(f"{folder.name} {number}\n")
        self.root = root
        files = {**PROJECT, "tests/test_total.py": _MANY}
        write(root, files)
        for words in ("init -q", "add -A", "-c user.name=a -c user.email=a@b.c commit -qm Begin"):
            subprocess.run(["git", *words.split()], cwd=root, check=True)
        self._tried = Tried(root, files)
        self._numbers = itertools.count()

    def check(self) -> float:
        """Seconds of the check as a person runs it."""
        command = ["bash", "-c", self._tried.command]
        began = time.perf_counter()
        subprocess.run(command, cwd=self.root, env=check_environment(), check=True, stdout=-3)
        return time.perf_counter() - began

    def in_place(self) -> float:
        """Seconds of the same check in the gate."""
        began = time.perf_counter()
        asyncio.run(self._tried.take_baseline())
        return time.perf_counter() - began

    def judge_tree(self) -> float:
        """Seconds until a claim that changed a file is in the judge tree."""
        write(self.root, {"total.py": f"# {next(self._numbers)}\n"})
        began = time.perf_counter()
        self._tried.tree.write(self._tried.tree.store.take())
        return time.perf_counter() - began

    def worktree(self) -> float:
        """Seconds of `git worktree add` of the same repository."""
        place = self.root.parent / f"worktree-{next(self._numbers)}"
        began = time.perf_counter()
        subprocess.run(
            ["git", "worktree", "add", "-q", "--detach", place], cwd=self.root, check=True
        )
        return time.perf_counter() - began
