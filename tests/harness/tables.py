"""Tables of a test as text: what is given stands at the left edge, and what comes of it further in.

Each case begins with `# its title`, and each paragraph has a place of its own. `> FILE TEXT` writes a file there, and lines behind `|`
are text, too. Every other first word is a verb of the test beside the table. `pytest FILE --snapshot-update` writes down what comes of
it now. Look at each change before you commit it.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import unified_diff
from pathlib import Path
from textwrap import indent
from typing import NamedTuple

import pytest


@dataclass
class Line:
    """A line from the left edge, with the text and the acts that belong to it."""

    sign: str
    rest: str
    text: str = ""
    acts: list[str] = field(default_factory=list)

    @property
    def given(self) -> str:
        words = f"{self.sign} {self.rest}".rstrip() + "\n"
        return (
            words
            + indent(self.text, "| ", lambda _: True)
            + "".join(f"@ {act}\n" for act in self.acts)
        )

    @property
    def name(self) -> str:
        """The first word behind the verb, with `\\x20` for a space."""
        return spelled(self.rest.partition(" ")[0]).decode()

    @property
    def whole(self) -> str:
        """What stands behind the verb, or the lines below."""
        return self.text or self.rest

    @property
    def data(self) -> bytes:
        """What stands behind the first word, or the lines below."""
        return self.text.encode() or spelled(self.rest.partition(" ")[2])


Verb = Callable[[Line, Path], str | Iterable[str]]


class Case(NamedTuple):
    path: Path
    text: str

    def compare(self, now: str, config: pytest.Config) -> None:
        now = "\n".join(line.rstrip() for line in now.rstrip().splitlines())
        if config.option.update_snapshots:
            whole = self.path.read_text("utf-8")
            self.path.write_text(whole.replace(self.text, now), encoding="utf-8")
        elif now != self.text:
            pair = self.text.splitlines(), now.splitlines()
            pytest.fail("\n".join(unified_diff(*pair, "recorded", "now", lineterm="")))

    def play(self, verbs: Mapping[str, Verb], root: Path, config: pytest.Config) -> None:
        paragraphs = enumerate(self.text.split("\n\n"))
        told = (
            _played(text, verbs, root / str(number) / "above/here") for number, text in paragraphs
        )
        self.compare("\n".join(told), config)


def _played(text: str, verbs: Mapping[str, Verb], root: Path) -> str:
    root.mkdir(parents=True)
    now = ""
    for line in lines_of(text):
        now += line.given
        if line.sign == ">":
            write_file(root, line)
        elif line.sign != "#":
            said = verbs[line.sign](line, root)
            told = said if isinstance(said, str) else "\n".join(said)
            now += indent(told or "nothing", "    ", lambda _: True) + "\n"
    return now


def cases(path: Path) -> list[Case]:
    found = re.split(r"(?m)^(?=# )", path.read_text(encoding="utf-8"))[1:]
    return [Case(path, text.rstrip()) for text in found]


def each_case(test: str, name: str = "") -> pytest.MarkDecorator:
    """Give a test the cases of the text beside it, which has the test's name."""
    path = Path(test).with_name(name or f"{Path(test).stem.removeprefix('test_')}.txt")
    given = [pytest.param(case, id=title(case)) for case in cases(path)]
    return pytest.mark.parametrize("case", given)


def title(case: Case) -> str:
    return case.text.partition("\n")[0].removeprefix("# ").partition(" [")[0].rstrip(".")


def lines_of(text: str) -> Iterator[Line]:
    found: list[Line] = []
    for line in text.splitlines():
        sign, _, rest = line.partition(" ")
        if line[:1] in ("", " "):
            continue
        if sign == "|":
            found[-1].text += f"{rest}\n"
        elif sign == "@":
            found[-1].acts.append(rest)
        else:
            found.append(Line(sign, rest))
    yield from found


def write_file(root: Path, line: Line) -> None:
    path = root / line.name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(line.data)


def spelled(text: str) -> bytes:
    """A text as a file has it: `\\n` and `\\xe9` stand for their bytes, `x*1000` for as many x."""
    longer = re.sub(r"x\*(\d+)", lambda found: "x" * int(found[1]), text)
    data = longer.encode().replace(b"\\n", b"\n")
    return re.sub(rb"\\x([0-9a-f]{2})", lambda found: bytes([int(found[1], 16)]), data)
