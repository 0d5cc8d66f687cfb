"""Play all rows and write `falls.yaml` and the page anew: `uv run python -m tests.fooling.measure`.

It takes about ten minutes for each mode on two idle cores. Words after the command choose rows whose name has one of
them; the other rows keep what the file says.
"""

import asyncio
import os
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path

import yaml

from tests.fooling.player import GOOD, HERE, MODES, falls, missing, played, rows
from tests.tools.fooling_table import main as write_page

PERSONAL = ("RALPH_", "ANTHROPIC_", "CLAUDE", "GIT_", "PYTEST")
HEAD = "# Rows that do not end as they should, and how they end. A row that ends well must leave this file.\n"


def _end_of(one: tuple[str, str, str]) -> str:
    """Play one row in a home of its own; return how it ends."""
    table, name, mode = one
    if missing(rows(table)[name]):
        return falls(table, mode).get(name, GOOD[table][0])
    for variable in [v for v in os.environ if v.startswith(PERSONAL)]:
        del os.environ[variable]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as directory:
        home = Path(directory) / "home"
        places = {"HOME": "", "XDG_CONFIG_HOME": ".config", "XDG_STATE_HOME": ".local/state"}
        os.environ.update({variable: str(home / place) for variable, place in places.items()})
        home.mkdir()
        row = rows(table)[name]
        return asyncio.run(played(Path(directory), row, sandbox=mode == "sandbox")).word


def main() -> int:
    every = [(t, n, m) for t, m in product(GOOD, MODES) for n in rows(t)]
    chosen = [one for one in every if not sys.argv[1:] or any(w in one[1] for w in sys.argv[1:])]
    ends = {one: falls(one[0], one[2]).get(one[1], GOOD[one[0]][0]) for one in every}
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for one, word in zip(chosen, pool.map(_end_of, chosen), strict=True):
            ends[one] = word
            sys.stdout.write(f"{word:10} {' '.join(one)}\n")
    found: dict[str, dict[str, dict[str, list[str]]]] = {table: {} for table in GOOD}
    for table in GOOD:
        for name in rows(table):
            words = [ends[table, name, mode] for mode in MODES]
            of_mode = (
                {"both": words[0]} if words[0] == words[1] else dict(zip(MODES, words, strict=True))
            )
            for mode, word in of_mode.items():
                if word not in GOOD[table]:
                    found[table].setdefault(mode, {}).setdefault(word, []).append(name)
    text = yaml.safe_dump(found, sort_keys=False, width=200)
    (HERE / "falls.yaml").write_text(HEAD + text, encoding="utf-8")
    falls.cache_clear()
    return write_page()


if __name__ == "__main__":
    raise SystemExit(main())
