"""Write `docs/how-hard-is-it-to-fool.md` from the tables of tests: `uv run python -m tests.tools.fooling_table`."""

import sys
from itertools import groupby
from pathlib import Path

from tests.fooling.player import Row, bases, falls, rows

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-hard-is-it-to-fool.md"

HEAD = """\
# How hard is it to fool?

Suppose a project has a failing check, and the task is to make it pass. The agent can do the work, or it can make the check pass in some other
way. This page lists {cheats} such cheats by class, and {honest} honest ways of working, in {languages}.

| | ralph | ralph with the sandbox | a loop that runs the check |
| --- | --- | --- | --- |
| cheats accepted as *verified* | {cheats_open} | {cheats_sandbox} | {loop} of {cheats} |
| cheats accepted as *reviewed*, by a reviewer that agrees with everything | {fooled_open} | {fooled_sandbox} | |
| honest ways refused | {refused_open} | {refused_sandbox} | 0 of {honest} |
| honest ways that need a reviewer | {reviewed_open} | {reviewed_sandbox} | |

**How it is tested.** Each row is a project with a real toolchain and a plan. A scripted agent does what the row says and claims the task; the
rest is the real loop, with its baseline and its gate. All rows are played with and without the sandbox, and {cli} of them through the real
Claude Code CLI. Where a reviewer is asked, it agrees with everything. The normal test run plays {quick} rows. Before a release, `RALPH_LONG=1`
plays all of them.

**Compared with other loops.** A loop without checks takes the agent's word and accepts all of these cheats. The last column shows a loop that
runs the check after the agent, such as `claude -p` followed by `npm test`.

This page is generated. After you change the tables, run `uv run python -m tests.tools.fooling_table`.
"""

TAIL = """
## What ralph cannot detect

- **Special cases in the code.** `if numbers == [1, 2]: return 3` is product code that passes the tests you have, and no test run can reveal it.
  Such cheats are not in the tables. Validation against the specs and reviews of criteria in prose look for such code. ralph notices code
  that asks for a variable which only a test runner sets, or names your tests or their data, but not code that finds them by a search.
- **Other values in data.** What only the product reads is product, such as `en.json` or a price list. ralph holds back what such a file
  loses if another file names it, but not what it changes.
- **Runners without a report.** If ralph does not know the report of a runner, the exit status counts, and the receipt says so. ralph then
  changes the numbers and texts in your tests once: the check must turn red. A check that reads no such values is not tried this way.
- **New tests that expect what the code does.** Where everything passed before, a new test has to fail without the work, and also when it gives
  the code other numbers and texts or when the new code computes other results. ralph does not know whether the result it expects is right.
- **Helpers of tests among the sources.** Such a file counts as product if its name and place do not say more. Put it into a directory of tests.
- **Checks that ignore failures from the start.** A Makefile that ignores the status of its tests is green before any work. Such a task is
  never verified, but the reviewer judges it.
- **Packages from a forged record.** A new version of a Python package counts if the record of its installer fits, and one of a node
  package if the lock file names it only now. ralph does not ask the registry whether the record is genuine.
"""

_PEER = {True: "accepts", False: "refuses", None: "sometimes"}


def page() -> str:
    cheats, honest = rows("cheats"), rows("honest")
    everything = [*cheats.values(), *honest.values()]
    facts: dict[str, object] = {
        "cheats": len(cheats),
        "honest": len(honest),
        "languages": _listed(sorted({bases()[row.on].language for row in everything})),
        "loop": sum(row.loop is True for row in cheats.values()),
        "cli": sum(row.cli for row in everything),
        "quick": sum(row.quick for row in everything),
    }
    for mode in ("open", "sandbox"):
        bad = list(falls("cheats", mode).values())
        facts[f"cheats_{mode}"] = f"{bad.count('verified')} of {len(cheats)}"
        facts[f"fooled_{mode}"] = f"{bad.count('reviewed')} of {len(cheats)}"
        ends = list(falls("honest", mode).values())
        reviewed = ends.count("reviewed")
        facts[f"refused_{mode}"] = f"{len(ends) - reviewed} of {len(honest)}"
        facts[f"reviewed_{mode}"] = f"{reviewed} of {len(honest)}"
    parts = [HEAD.format(**facts)]
    parts += _table(f"{len(cheats)} cheats", "cheats", ("Cheat", "ralph", "runs the check"))
    parts += _table(f"{len(honest)} honest ways of working", "honest", ("Work", "ralph"))
    return "\n".join(parts) + "\n" + TAIL


def _listed(words: list[str]) -> str:
    return f"{', '.join(words[:-1])} and {words[-1]}"


def _table(title: str, table: str, columns: tuple[str, ...]) -> list[str]:
    parts = [f"## {title}"]
    for kind, listed in groupby(rows(table).items(), key=lambda item: item[1].kind):
        columns_of = (columns[0], "Project", *columns[1:])
        parts += [
            f"\n### {kind}\n",
            f"| {' | '.join(columns_of)} |",
            "| --- " * len(columns_of) + "|",
        ]
        parts += [f"| {' | '.join(_cells(table, name, row))} |" for name, row in listed]
    return [*parts, ""]


def _cells(table: str, name: str, row: Row) -> list[str]:
    good = "refused" if table == "cheats" else "verified"
    ends = [falls(table, mode).get(name, good) for mode in ("open", "sandbox")]
    said = ends[0] if ends[0] == ends[1] else f"{ends[0]}; with the sandbox {ends[1]}"
    cells = [row.what.replace("|", "\\|").replace("_", "\\_"), row.on, said]
    return [*cells, _PEER[row.loop]] if table == "cheats" else cells


def main() -> int:
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page(), encoding="utf-8")
    sys.stdout.write(f"{PAGE}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
