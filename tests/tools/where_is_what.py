"""Write `docs/contributing/where-is-what.md`: `uv run python -m tests.tools.where_is_what`."""

import ast
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
QUESTIONS = ROOT / "docs" / "contributing" / "where_is_what.yaml"
PAGE = QUESTIONS.with_name("where-is-what.md")
SEARCHED = ("ralph_tui", "tests/harness")
"""The folders whose symbols can be answers."""

HEAD = """\
# Where is what?

This page lists {count} questions that newcomers ask, and the file with each answer. Guess before you look, because the tree is meant to be easy to
guess.

This page is generated from `where_is_what.yaml`. After you change that file, run `uv run python -m tests.tools.where_is_what`.
"""


@dataclass(frozen=True)
class Answer:
    """One question with its answer."""

    about: str
    ask: str
    symbol: str
    folder: str
    why: str


def answers() -> list[Answer]:
    groups = yaml.safe_load(QUESTIONS.read_text(encoding="utf-8"))
    return [
        Answer(group["about"], one["ask"], str(one["answer"]), one.get("in", ""), one["why"])
        for group in groups
        for one in group["questions"]
    ]


def symbols() -> dict[str, list[str]]:
    """Find the files that define each top-level class, function and method."""
    found: dict[str, list[str]] = defaultdict(list)
    for folder in SEARCHED:
        for path in sorted((ROOT / folder).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                    found[node.name].append(name)
                if isinstance(node, ast.ClassDef):
                    for part in node.body:
                        if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef):
                            found[f"{node.name}.{part.name}"].append(name)
    return found


def place_of(answer: Answer, found: dict[str, list[str]]) -> str:
    """Find the file of an answer."""
    if "/" in answer.symbol:
        if not (ROOT / answer.symbol).is_file():
            raise LookupError(f"{answer.ask} {answer.symbol} does not exist.")
        return answer.symbol
    places = [place for place in found.get(answer.symbol, ()) if place.startswith(answer.folder)]
    if len(places) != 1:
        raise LookupError(f"{answer.ask} {answer.symbol} is defined in {places or 'no file'}.")
    return places[0]


def page() -> str:
    asked, found = answers(), symbols()
    places = _places(asked, found)
    parts = [HEAD.format(count=len(asked))]
    about = ""
    for answer in asked:
        if answer.about != about:
            about = answer.about
            parts.append(
                f"\n## {about}\n\n| Question | File | Symbol | |\n| --- | --- | --- | --- |\n"
            )
        symbol = "" if "/" in answer.symbol else f"`{answer.symbol}`"
        parts.append(f"| {answer.ask} | `{places[answer]}` | {symbol} | {answer.why} |\n")
    return "".join(parts)


def _places(asked: list[Answer], found: dict[str, list[str]]) -> dict[Answer, str]:
    places, lost = {}, []
    for answer in asked:
        try:
            places[answer] = place_of(answer, found)
        except LookupError as error:
            lost.append(str(error))
    if lost:
        raise LookupError("\n".join(lost))
    return places


def main() -> int:
    PAGE.write_text(page(), encoding="utf-8")
    sys.stdout.write(f"{PAGE}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
