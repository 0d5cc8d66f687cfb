"""The recorded decisions about commands: what the text rules deny, allow or rewrite, and what the sandbox holds."""

import json
from collections.abc import Iterator
from pathlib import Path

CORPUS, ADVERSARIAL = (
    [json.loads(line) for line in Path(__file__).with_name(name).read_text().splitlines()]
    for name in ("corpus.jsonl", "adversarial.jsonl")
)


def by_text(expect: str) -> str:
    """The verdict of the text rules, which let through what the sandbox holds."""
    return "allow" if expect == "sandbox" else expect


def classes() -> Iterator[tuple[str, str, str, str | None]]:
    """The lines of classes.txt: class, expected verdict, command, and what it becomes."""
    kind = expect = ""
    marks = str.maketrans({"␤": "\n", "␉": "\t", "␍": "\r"})
    text = Path(__file__).with_name("classes.txt").read_text(encoding="utf-8")
    for line in filter(None, text.split("\n")[1:]):
        if line.startswith("## "):
            _, kind, expect = line.split(" ")
        else:
            command, _, becomes = line.translate(marks).partition(" ==> ")
            yield kind, expect, command, becomes or None
