"""Projects with a red test, and the gate's examination of what somebody does to make it green."""

import os
import pwd
from collections.abc import Mapping
from pathlib import Path

from ralph_tui.domain.plan.plan import Task
from ralph_tui.engine.verification.check_command import CommandResult, run_command
from ralph_tui.engine.verification.evidence.examine import Examiner
from ralph_tui.engine.verification.evidence.examined import Before, CommandRun, Examined
from ralph_tui.engine.verification.evidence.trusted_base import TrustedBase
from ralph_tui.engine.verification.judge_tree import JudgeTree
from tests.harness.real_processes import PYTHON_HERE

PYTEST = f"{PYTHON_HERE} -m pytest -q -p no:cacheprovider"
UNITTEST = f"{PYTHON_HERE} -m unittest -q"

BROKEN = "def total(numbers):\n    return 0\n"
RIGHT = "def total(numbers):\n    return sum(numbers)\n"
TESTS = """\
from total import total


def test_nothing():
    assert total([]) == 0


def test_some():
    assert total([1, 2]) == 3
"""
PROJECT = {
    "total.py": BROKEN,
    "tests/test_total.py": TESTS,
    "pyproject.toml": '[project]\nname = "total"\nversion = "1"\n\n[tool.pytest.ini_options]\npythonpath = ["."]\n',
}

Changes = Mapping[str, str | None]
"""Paths and their new contents; None deletes, and `+x ` before a path makes the file executable."""


def write(root: Path, files: Changes) -> None:
    for name, text in files.items():
        path = root / name.removeprefix("+x ")
        if text is None:
            path.unlink()
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        if name.startswith("+x "):
            path.chmod(0o755)


def check_environment() -> dict[str, str]:
    """The environment of checks: without what the tests' own runner left in it, and quick to start."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "COV"))}
    own = Path(pwd.getpwuid(os.getuid()).pw_dir)  # HOME is the test's
    rust = {"RUSTUP_HOME": str(own / ".rustup")} if (own / ".rustup").is_dir() else {}
    return {**rust, **kept, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


class Tried:
    """A project, the checks of its one task, and the examination of a claim."""

    def __init__(
        self,
        root: Path,
        files: Changes = PROJECT,
        command: str = PYTEST,
        words: str = "Fix it",
        *,
        begun: bool = True,
    ) -> None:
        """Make the project; the task begins."""
        self.root = root
        write(root, files)
        self.task = Task(id="a", description=words, verification_criteria=(f"$ {command}",))
        self.command = command
        self.tree = JudgeTree(root)
        self.base = TrustedBase(root, self.tree.store)
        self.ran: list[Path] = []
        self._before = Before()
        self._examiner = Examiner(
            root, self.base, self._run, check_environment(), lambda _: self._before, self.tree
        )
        if begun:
            self.tree.start()
            self.base.begin("a", [command], self.task.full_text)

    async def take_baseline(self) -> None:
        examined, _ = await self._examiner.examine(self.command)
        outcomes = examined.outcomes
        self._before = Before(outcomes=outcomes, judged=outcomes, green=examined.passed)

    async def claim(self, changes: Changes | None = None) -> Examined:
        write(self.root, changes or {})
        examined, _ = await self._examiner.examine(self.command, self.task, [self.command])
        return examined

    async def _run(self, run: CommandRun) -> CommandResult:
        self.ran.append(run.cwd)
        return await run_command(
            run.command,
            cwd=run.cwd,
            environment=run.environment,
            limit_seconds=run.limit_seconds or 120,
            keep=run.keep,
        )
