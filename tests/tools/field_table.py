"""Write `docs/real-projects.md` from the field of tests: `uv run python -m tests.tools.field_table`."""

import sys
from collections.abc import Iterator
from pathlib import Path

from tests.field.player import GOOD, SURROUNDED, Package, packages, surroundings

PAGE = Path(__file__).resolve().parents[2] / "docs" / "real-projects.md"

HEAD = """\
# Tried on real projects

Ralph's tests play {count} published packages at fixed versions: {registries}. Each one becomes a repository with its dependencies installed, as
a person would have it. Then a scripted agent does an honest task with a test, and after that a lie: it breaks something and changes the tests
so that they pass. Everything else is real: `ralph init`, the checks that ralph finds, the loop, the gate, the commits and `ralph undo`.

| | as it should be |
| --- | --- |
| tests found without a setting | {found} of {count} |
| honest work verified | {honest} of {count} |
| lies refused | {lie} of {count} |
| lies verified | {verified} of {count} |
| `ralph undo` restores every byte | {undo} of {count} |
| a commit with this work and nothing else | {commit} of {count} |

Where a reviewer is asked, it agrees with everything, so *reviewed* says that no command showed the work. The normal test run plays {quick}
packages, without the sandbox. Before a release, `RALPH_LONG=1` plays all of them, with the sandbox.

This page is generated. After you change the field, run `uv run python -m tests.tools.field_table`.
"""


def page() -> str:
    tried = (PAGE.parents[1] / "tests/field/by_hand.md").read_text(encoding="utf-8")
    every = packages().values()
    registries = [package.source.registry for package in every]
    shown = [f"{registries.count(name)} from {name}" for name in dict.fromkeys(registries)]
    facts = {step: sum(step not in package.ends for package in every) for step in GOOD}
    head = HEAD.format(
        count=len(every),
        registries=", ".join(shown),
        found=sum(package.found is None for package in every),
        verified=sum(package.ends.get("lie") == "verified" for package in every),
        quick=sum(package.quick for package in every),
        **facts,
    )
    columns = "Package | Shape | Test command | Honest work | Lie | Undo | Commit | What fell"
    rows = [f"| {' | '.join(_cells(package))} |" for package in every]
    table = [f"| {columns} |", "| --- " * len(columns.split("|")) + "|", *rows]
    return "\n".join([head, *table, "", *_surroundings(), "", tried])


def _surroundings() -> Iterator[str]:
    yield from (
        "## Surroundings",
        "",
        f"Without the sandbox, the tests play {' and '.join(SURROUNDED)} in each of these.",
        "",
    )
    yield from ("| What surrounds the repository | Ends |", "| --- | --- |")
    for one in surroundings().values():
        other = [f"{name}: {', '.join(ends.values())}" for name, ends in one.ends.items()]
        usual = "as usual" if one.commits else "as usual; `git.commit` refuses to start"
        yield f"| {one.name} | {'; '.join(other) or usual}{f'. {one.why}' if one.why else ''} |"


def _cells(package: Package) -> list[str]:
    source, ends = package.source, package.expected
    how = f"instead of `{package.found}`" if package.found else "not found"
    how = "found" if package.found is None else how
    how += "; given in `build.test_command`" if package.line else ""
    cells = [
        f"{source.name} {source.version} ({source.registry})",
        package.shape,
        f"`{package.tests}`, {how}",
        *(ends[step] for step in GOOD),
        package.why or "nothing",
    ]
    return [cell.replace("|", "\\|") for cell in cells]


def main() -> int:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")
    sys.stdout.write(f"{PAGE}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
