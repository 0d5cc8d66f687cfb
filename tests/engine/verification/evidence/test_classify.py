"""On which side of a claim each changed file stands, and what the judge tree has of it: `classify.txt`."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ralph_tui.engine.verification.evidence import altered
from ralph_tui.engine.verification.evidence.classify import (
    Context,
    classify,
    judged_content,
    without_new_marks,
)
from ralph_tui.engine.verification.evidence.tests_inside import with_new_tests
from tests.harness.tables import Case, Line, Verb, each_case

CONTEXT = Context(
    inputs={"scripts/e2e.sh", "check.py"},
    task_text="Teach scripts/build.sh to sign, and say so in README.md (see tests/test_a.py)",
    touches=("docs/**", "config/*.toml", "tests/**"),
    named_by=lambda path: {
        "data/words.txt": ("tests/test_words.py",),
        "data/used.txt": ("src/app.py",),
    }.get(path, ()),
    hidden={"json", "requests"},
)


def base_of(line: Line, root: Path) -> bytes | None:
    path = root / line.name
    return path.read_bytes() if path.exists() else None


def side(line: Line, old: bytes | None, new: bytes, context: Context | None = CONTEXT) -> str:
    found = classify(line.name, old, new, context)
    return f"{found.side}: {found.reason}"


def judged(line: Line, root: Path) -> Iterator[str]:
    old = base_of(line, root)
    yield side(line, old, line.data, None)
    found = classify(line.name, old, line.data).side
    yield from shown(judged_content(line.name, found, old, line.data))


def shown(content: bytes | None) -> list[str]:
    return ["no file"] if content is None else [f"| {one}" for one in content.decode().splitlines()]


def marks(line: Line, root: Path) -> list[str]:
    old = base_of(line, root) or b""
    return shown(without_new_marks(old, line.data))


VERBS: dict[str, Verb] = {
    "changed": lambda line, _: side(line, b"old\n", b"new\n"),
    "new": lambda line, _: side(line, None, b"new\n"),
    "uses": lambda line, _: side(line, b"x = 0\n", line.data),
    "becomes": lambda line, root: side(line, base_of(line, root), line.data, None),
    "judged": judged,
    "based": lambda line, root: shown(
        with_new_tests(line.name, base_of(line, root), line.data, {"sum"})
    ),
    "other": lambda line, _: shown(altered.other_values(line.whole.encode(), {"test_sum"})),
    "computes": lambda line, _: shown(
        "".join(
            altered.computing_otherwise(line.name, one, altered.others())
            for one in line.text.splitlines(keepends=True)
        ).encode()
    ),
    "marks": marks,
}


@each_case(__file__)
def test_what_the_judge_tree_has(case: Case, tmp_path: Path, pytestconfig: pytest.Config) -> None:
    case.play(VERBS, tmp_path, pytestconfig)
