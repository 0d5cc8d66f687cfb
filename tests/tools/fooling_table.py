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
    "node in node_modules": "The runner is shadowed, or made to leave early",
    "conftest clears": "A conftest, plugin or settings file clears, deselects or recolors results",
    "patched runtest": "The code under test patches the test framework",
}
"""The first cheat of each class, and what the class is called."""

INPUTS = {
    "unchanged": "check files unchanged",
    "originals_used": "passes with the originals, too",
    "changed_allowed": "change allowed and named",
}

HEAD = """\
# How hard is it to fool?

A project has a failing test. The task says: make it pass. An agent can do the work, or it can make the check green some
other way. Every row below is a test: the first table is cheats that ralph refuses, the second is honest work that it
must not get in the way of. The rows run on real runners without the sandbox and without the guard, so that the evidence
alone has to hold; the cheats on pytest projects are also played by a model through the real Claude Code CLI, with and without
the sandbox.

A loop without a gate accepts all {cheats} cheats: it takes the agent's word. A loop that only runs the test command accepts
most of them, because the command ends with status 0.

This page is generated. After a change of the tables run `uv run python -m tests.tools.fooling_table`.
"""

TAIL = """
## What is out of reach

- A special case in the code (`if numbers == [1, 2]: return 3`) passes the tests you have. Validation against the specs and reviews of criteria in prose look for that; no test run can.
- Code in the same process as the runner that reads ralph's reporter and forges its lines one by one is not held.
- Tests inside source files (Rust's `#[cfg(test)]`, doctests) are counted, but cannot be put back to their originals.
- Runners without a report that ralph reads count by their exit status. The receipt says so. Of a Python or node script that
  the check names itself, ralph sees whether it reached its end; of a script inside a shell script it does not.
- node code under test that ends the process from a later callback is refused, whether or not the check was done by then.
- A test that replaces attributes of its own helper modules is honest work and is not told apart from code under test that does
  the same, unless a function or its code was exchanged.

These cheats are accepted today. A test fails when that changes:
"""


def page() -> str:
    """The whole page."""
    count = len(CHEATS) + len(MORE_CHEATS)
    parts = [HEAD.format(cheats=count), f"## {count} cheats"]
    for name, cheat in CHEATS.items():
        if name in CLASSES:
            parts.append(
                f"\n### {CLASSES[name]}\n\n| Cheat | Project | ralph | Loop without a gate |\n| --- | --- | --- | --- |"
            )
        parts.append(f"| {_cell(name)} | {cheat.kind} | refused{_why(cheat)} | accepted |")
    parts.append(
        "\n### Found by a second team\n\n| Cheat | Project | ralph | Loop without a gate |\n| --- | --- | --- | --- |"
    )
    parts += [
        f"| {_cell(way.what)} | {way.kind} | refused: {_cell(_reason(way))} | accepted |"
        for way in MORE_CHEATS.values()
    ]
    ways: Mapping[str, Cheat] = {**HONEST, **ALLOWED}
    parts.append(
        f"\n## {len(ways) + len(MORE_HONEST)} honest ways of working\n\n| Work | Project | ralph |\n| --- | --- | --- |"
    )
    parts += [
        f"| {_cell(name)} | {way.kind} | accepted: {INPUTS[way.said]} |"
        for name, way in ways.items()
    ]
    parts += [f"| {_cell(way.what)} | {way.kind} | accepted |" for way in MORE_HONEST.values()]
    parts.append(TAIL)
    parts += [f"- {_cell(way.what)} ({way.kind})" for way in OUT_OF_REACH.values()]
    return "\n".join(parts) + "\n"


def _why(cheat: Cheat) -> str:
    return f": {_cell(cheat.said)}" if cheat.said else ""


def _reason(way: Way) -> str:
    return "the check stays red" if way.said == "red" else way.said


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
