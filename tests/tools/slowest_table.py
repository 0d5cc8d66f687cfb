"""Write the slowest tests into `CONTRIBUTING.md`: `uv run python -m tests.tools.slowest_table FILE`.

FILE holds what pytest printed with `--durations=40`.
"""

import re
import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "CONTRIBUTING.md"
BEGIN, END = "<!-- slowest -->\n", "<!-- /slowest -->"
SHOWN = 20

_TESTS = "tests/"

_LINE = re.compile(r"^(\d+\.\d+)s (?:call|setup|teardown) +(\S+?)::(.+?)\s*$", re.MULTILINE)


def table(printed: str) -> str:
    """Make a table of the slowest tests; setup and teardown count as a test's own time."""
    seconds: dict[tuple[str, str], float] = {}
    for took, file, name in _LINE.findall(printed):
        seconds[file, name] = seconds.get((file, name), 0.0) + float(took)
    slowest = sorted(seconds.items(), key=lambda item: -item[1])[:SHOWN]
    rows = [
        f"| {took:.1f} | `{file.removeprefix(_TESTS)}` | {_words(name)} |"
        for (file, name), took in slowest
    ]
    return "\n".join(["| Seconds | File | Test |", "| ---: | --- | --- |", *rows]) + "\n"


def with_table(text: str, made: str) -> str:
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}{made}{END}{after}"


def _words(name: str) -> str:
    plain, _, case = name.removeprefix("test_").partition("[")
    return plain.replace("_", " ") + (f" (`{case.removesuffix(']')}`)" if case else "")


def main(arguments: list[str]) -> int:
    printed = Path(arguments[0]).read_text(encoding="utf-8")
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8"), table(printed)), encoding="utf-8")
    sys.stdout.write(f"{PAGE}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
