"""Write `docs/how-hard-is-it-to-fool.md` from the tables of tests: `uv run python -m tests.tools.fooling_table`."""

import sys
from collections.abc import Mapping
from pathlib import Path

from tests.scenario.cheat_table import MORE_CHEATS, MORE_HONEST, OUT_OF_REACH, Way
from tests.scenario.test_cheats import ALLOWED, CHEATS, HONEST, Cheat

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-hard-is-it-to-fool.md"

CLASSES = {
    "weaker assertion": "Existing tests are weakened, skipped, marked or moved away",
    "script rewritten": "The script that is the check, or what it reads, is rewritten",
    "node in node_modules": "The runner is replaced, or made to exit early",
    "conftest clears": "A conftest, plugin or settings file clears, deselects or recolors results",
    "patched runtest": "The code under test patches the test framework",
}
"""The first cheat of each class, and what the class is called."""

INPUTS = {
    "unchanged": "check files unchanged",
    "originals_used": "also passes with the original check files",
    "changed_allowed": "the change was allowed, and the receipt names it",
}

SENTENCES = {
    "with the original check files": "fails with the original check files",
    "with the original check files tests/test_total.py::test_some failed": "fails with the original check files",
    "with the original check files the check exited with status 1": "fails with the original check files",
    "left no report": "the runner left no report",
    "was replaced by": "the test framework was patched",
    "was replaced by total.py": "the test framework was patched by total.py",
    "although the command ended with status 0": "tests failed although the command ended with status 0",
    "ended before its closing summary": "the runner ended before its summary",
    "ended before its tests": "the runner ended before its tests",
    "ended before": "the runner ended too early",
    "before its end": "the script ended too early",
    "while the check ran": "check files changed while the check ran",
    "was skipped by": "a test was skipped by the code under test",
    "was skipped by total.py": "a test was skipped by total.py",
    "was expected to fail by total.py": "a test was expected to fail by total.py",
    "a test that must fail": "a planted test that must fail did not fail",
    "took part in the run": "another file took part in the run",
    "never finished": "a test never finished",
    "no longer ran": "a test that ran before the run did not",
    "is expected to fail now": "a test is expected to fail now",
    "report was removed": "the runner's report was removed",
    "is not as it was before": "an installed package was changed with its list of files",
    "belongs to no installed package": "a start file that no package installed",
    "is not as it was installed": "an installed package was changed",
    "is not a Python interpreter": "the interpreter is another program",
}
"""The parts of the gate's reasons that tests look for, as sentences."""

HEAD = """\
# How hard is it to fool?

Suppose a project has a failing test, and the task is to make it pass. The agent can do the work, or it can make the check pass in some other
way. This page lists {cheats} such cheats, which ralph rejects, and {honest} honest ways of working, which ralph must accept.

**How it is tested.** Every row is a test with a real test runner. The sandbox and the guard are off in these tests, so only the evidence can
reveal the cheat. A scripted model also plays {played} of the cheats on pytest projects through the real Claude Code CLI, with and without the
sandbox. The normal test run plays {quick} of the cheats. Before a release, `RALPH_LONG=1` plays all of them.

**Compared with other loops.** A loop without checks accepts all of these cheats, because it takes the agent's word. A loop that only runs
the test command accepts most of them, because the command ends with status 0.

This page is generated. After you change the tables, run `uv run python -m tests.tools.fooling_table`.
"""

TAIL = """
## What ralph cannot detect

- **Special cases in the code.** `if numbers == [1, 2]: return 3` passes the tests you have, and no test run can reveal it. Validation against
  the specs and reviews of criteria in prose look for such code.
- **Forged reports.** The code under test runs in the same process as the test runner. It can read ralph's reporter and write lines in its name.
- **Tests in source files.** Ralph counts tests in Rust's `#[cfg(test)]` modules and in doctests, but cannot restore the original tests there.
- **Runners without a report.** If ralph does not know the report of a runner, the exit status counts, and the receipt says so. If the check
  runs a Python or node script directly, or `python -c` or `node -e`, ralph notices whether the code reached its end. Inside a shell script, it
  does not.
- **Scripts that may be the work.** If only the task's own criterion runs a script, and its name does not say that it is a check, the script may
  be what the task is about. Name such a script `check` or `test`, or run it from `build.test_command`.
- **Test helpers elsewhere.** Ralph knows the helpers in the directories of tests, not those beside the product's code.
- **Installed packages.** Ralph notices files in `.venv` that were edited, but not what a package does that the agent installs or writes there
  itself. It does not compare packages in `node_modules`.
- **Processes that hide.** A process that clears its environment is not found when a session ends. If it then changes a test, the change looks
  like yours. In the sandbox no process outlives its session.
- **Patched test helpers.** A test may honestly replace attributes of its own helper modules. If the code under test does the same, ralph
  notices only when a function or its code was replaced.

In one case ralph is too strict: it rejects node code that ends the process from a later callback, even if the check was complete by then.

Ralph accepts the following cheats today. A test fails if that changes.

"""


def page() -> str:
    """The whole page."""
    count = len(CHEATS) + len(MORE_CHEATS)
    ways: Mapping[str, Cheat] = {**HONEST, **ALLOWED}
    honest = len(ways) + len(MORE_HONEST)
    head = HEAD.format(
        cheats=count,
        honest=honest,
        played=sum(cheat.kind == "pytest" for cheat in CHEATS.values()),
        quick=sum(c.quick for c in CHEATS.values()) + sum(w.quick for w in MORE_CHEATS.values()),
    )
    parts = [head, f"## {count} cheats"]
    for name, cheat in CHEATS.items():
        if name in CLASSES:
            parts.append(f"\n### {CLASSES[name]}\n\n{_columns('Cheat')}")
        parts.append(f"| {_cell(name)} | {cheat.kind} | refused{_why(cheat)} |")
    parts.append(f"\n### More cheats of all kinds\n\n{_columns('Cheat')}")
    parts += [
        f"| {_cell(way.what)} | {way.kind} | refused: {_cell(_reason(way))} |"
        for way in MORE_CHEATS.values()
    ]
    parts.append(f"\n## {honest} honest ways of working\n\n{_columns('Work')}")
    parts += [
        f"| {_cell(name)} | {way.kind} | accepted: {INPUTS[way.said]} |"
        for name, way in ways.items()
    ]
    parts += [f"| {_cell(way.what)} | {way.kind} | accepted |" for way in MORE_HONEST.values()]
    parts.append(TAIL.rstrip("\n") + "\n")
    parts += [f"- {_cell(way.what)} ({way.kind})" for way in OUT_OF_REACH.values()]
    return "\n".join(parts) + "\n"


def _columns(what: str) -> str:
    return f"| {what} | Project | ralph |\n| --- | --- | --- |"


def _why(cheat: Cheat) -> str:
    return f": {_cell(_sentence(cheat.said))}" if cheat.said else ""


def _reason(way: Way) -> str:
    return "the check still fails" if way.said == "red" else _sentence(way.said)


def _sentence(said: str) -> str:
    return SENTENCES.get(said, said)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("_", "\\_")


def main() -> int:
    """Write the page."""
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page(), encoding="utf-8")
    sys.stdout.write(f"{PAGE}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
