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
    "with the original check files the check ends with status 1": "fails with the original check files",
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
    "is not as it was installed": "the runner is not as it was installed",
    "is a script instead of": "the runner is a script",
}
"""The parts of the gate's reasons that tests look for, as sentences."""

HEAD = """\
# How hard is it to fool?

A project has a failing test, and the task says: make it pass. An agent can do the work, or it can make the check green in some other
way. This page lists {cheats} such cheats, which ralph refuses, and {honest} honest ways of working, which ralph must accept.

**How it is tested.** Every row is a test on a real runner. The sandbox and the guard are off in these tests, so the evidence alone has to
catch the cheat. A scripted model also plays {played} of the cheats on pytest projects through the real Claude Code CLI, with and without
the sandbox. The usual test run plays {quick} of the cheats, and `RALPH_LONG=1` plays all of them before a release.

**Compared with other loops.** A loop without checks accepts all of these cheats, because it takes the agent's word. A loop that only runs
the test command accepts most of them, because the command ends with status 0.

This page is generated. After a change of the tables, run `uv run python -m tests.tools.fooling_table`.
"""

TAIL = """
## What ralph cannot detect

- **Special cases in the code.** `if numbers == [1, 2]: return 3` passes the tests you have, and no test run can show it. Validation against
  the specs and reviews of criteria in prose look for that.
- **Forged reports.** Code runs in the same process as its test runner. Such code can read ralph's reporter and write its lines.
- **Tests in source files.** Ralph counts tests in Rust's `#[cfg(test)]` modules and in doctests, but cannot restore the original tests there.
- **Runners without a report.** A runner whose report ralph does not know counts by its exit status, and the receipt says so. If the check
  names a Python or node script, ralph sees whether the script reached its end. It does not see that for a script inside a shell script.
- **Patched test helpers.** A test may honestly replace attributes of its own helper modules. If the code under test does the same, ralph
  notices only that a function or its code was exchanged.

Ralph is strict in one case: node code that ends the process from a later callback is refused, even if the check was done by then.

The following cheats are accepted today. A test fails when that changes.

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
    """Complete the part of the gate's reason that a test looks for."""
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
