"""Which part of a spec an iteration gets: what its task names, never more than fits, always the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_tui.domain.documents.specs import (
    CHARACTERS,
    Spec,
    SpecPart,
    counting,
    parts_for,
    persons_own,
)
from ralph_tui.domain.plan.plan import Task

AUTH = """\
# Accounts

## Problem Statement
Nobody can sign in.

## Signing in
A person signs in with a password.

### Wrong passwords
After five, wait a minute.

## Requirements
- **FR-003**: Sessions end after a day.
- **FR-0031**: Something else.

## Requirement 2: Export
It writes CSV.

## Acceptance Criteria
- [ ] Signing in works.

```
## Not a heading
```
"""
SPECS = (Spec(name="auth.md", text=AUTH), Spec(name="storage.md", text="# Storage\nUse sqlite.\n"))


def named(text: str, **fields: object) -> list[tuple[str, str]]:
    task = Task.model_validate({"id": "task-001", "description": text, **fields})
    return [(part.file, part.heading) for part in parts_for(task, SPECS)]


@pytest.mark.parametrize(
    ("said", "file", "heading"),
    [
        ("See specs/auth.md#signing-in.", "auth.md", "Signing in"),
        ("As auth.md#wrong-passwords says", "auth.md", "Wrong passwords"),
        ("Build signing in", "auth.md", "Signing in"),
        ("Handle `Wrong Passwords` and signing in", "auth.md", "Wrong passwords"),
        ("Do FR-003", "auth.md", "Requirements"),
        ("_Requirements: 2.1, 7.4_", "auth.md", "Requirement 2: Export"),
        ("Follow specs/storage.md", "storage.md", ""),
        ("Follow ./specs/STORAGE.md.", "storage.md", ""),
        ("Follow storage.md#no-such-anchor", "storage.md", ""),
    ],
)
def test_a_task_names_a_part(said: str, file: str, heading: str) -> None:
    assert named(said) == [(file, heading)]


@pytest.mark.parametrize(
    "said",
    [
        "Say what the acceptance criteria are",  # every spec has such a section
        "Do FR-00",
        "Do FR-004",
        "Resigning in anger",
        "Not a heading",
        "Requirements: 3.1",
        "Follow other.md, and ../../etc/passwd",
        "",
    ],
)
def test_a_task_that_names_nothing_gets_nothing(said: str) -> None:
    assert named(said) == []


def test_everything_a_task_says_counts() -> None:
    assert named("x", notes="specs/storage.md") == [("storage.md", "")]
    assert named("x", verification_criteria=["Signing in works"]) == [("auth.md", "Signing in")]
    assert named("x", group="Signing in") == [("auth.md", "Signing in")]
    assert named("x", id="FR-003") == [("auth.md", "Requirements")]


def test_a_section_has_what_is_below_it_and_nothing_after() -> None:
    [part] = parts_for(Task(id="a", description="specs/auth.md#signing-in"), SPECS)
    assert part.text.startswith("## Signing in\nA person")
    assert part.text.endswith("After five, wait a minute.")


def test_parts_share_the_room_and_say_what_they_leave_out() -> None:
    long = "".join(f"Line {number} of it.\n" for number in range(2_000))
    specs = [Spec(name=f"{name}.md", text=f"# {name}\n{long}") for name in "ab"]
    parts = parts_for(Task(id="t", description="a.md and b.md"), specs)
    assert [part.file for part in parts] == ["a.md", "b.md"]
    assert sum(len(part.text) for part in parts) <= CHARACTERS
    assert all(part.text.endswith("of it.") and part.left_out > 10_000 for part in parts)


def test_text_of_a_spec_is_made_inert() -> None:
    [part] = parts_for(
        Task(id="t", description="evil.md"), [Spec(name="evil.md", text="a\x1b[2Jb\u202e")]
    )
    assert part == SpecPart(file="evil.md", text="ab")


@given(
    st.text(max_size=300),
    st.lists(
        st.sampled_from(
            ["# A\n", "## Signing in\n", "```\n", "- FR-1: x\n", "word ", "\n", "~~~\n"]
        )
    ),
    st.integers(0, 500),
)
def test_whatever_is_written_the_parts_are_in_the_file_and_fit(
    said: str, lines: list[str], most: int
) -> None:
    spec = Spec(name="a.md", text="".join(lines))
    task = Task(id="t", description=f"{said} FR-1 signing in a.md")
    parts = parts_for(task, [spec], most=most)
    assert parts == parts_for(task, [spec], most=most)
    assert sum(len(part.text) for part in parts) <= most
    assert all(part.text in spec.text for part in parts)


WHOLE = """## Problem Statement
x
## Success Criteria
- x
## Constraints
x
## Acceptance Criteria
- [ ] x
"""


@pytest.mark.parametrize(
    ("files", "written", "expected"),
    [
        ({}, (), ""),
        ({"own": "# Design", "ours": WHOLE}, ("ours.md",), "ours"),
        ({"own": "# Design", "ours": "# Half done"}, ("ours.md",), "ours"),
        ({"own": "# Design", "by-hand": WHOLE}, (), "by-hand"),
        ({"own": "# Design", "ours": WHOLE, "by-hand": WHOLE}, ("ours.md",), "by-hand ours"),
        ({"own": "# Design", "notes": "# Notes"}, (), "notes own"),
        ({"own": "# Design"}, ("gone.md",), "own"),
    ],
)
def test_whose_specs_count(files: dict[str, str], written: tuple[str, ...], expected: str) -> None:
    specs = [Spec(name=f"{name}.md", text=text) for name, text in sorted(files.items())]
    counted = counting(specs, written)
    assert " ".join(spec.name.removesuffix(".md") for spec in counted) == expected


@pytest.mark.parametrize(
    ("written", "before", "expected"),
    [
        ("", None, "a b c"),
        ("b", None, "a c"),
        ("", "a", "a"),
        ("b", "", ""),
        ("b", "a gone", "a"),
    ],
)
def test_which_files_in_the_folder_are_the_persons(
    written: str, before: str | None, expected: str
) -> None:
    kept = None if before is None else before.split()
    assert " ".join(persons_own(["a", "b", "c"], written.split(), kept)) == expected
