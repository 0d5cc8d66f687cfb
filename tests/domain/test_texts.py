"""Hostile text, criteria and the memory file."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from ralph_tui.domain.documents.agents_md import shown
from ralph_tui.domain.documents.memory import (
    ACTIVE_MEMORY_LIMIT,
    CHARACTERS,
    NEWEST,
    SHOWN,
    MemoryNote,
    SessionFacts,
    active_memory,
    choose,
    relevant_handoff,
    render_memory,
    words_of,
    words_of_task,
)
from ralph_tui.domain.formatting import plural
from ralph_tui.domain.plan.plan import ImplementationPlan, Task
from ralph_tui.domain.redaction import unfinished
from ralph_tui.domain.sanitize import head, inert, one_line, tail
from ralph_tui.domain.verification.check_commands import (
    CheckCommand,
    CheckKind,
    ProjectChecks,
    runnable_command,
)
from ralph_tui.domain.verification.verification import CommandCriterion

DANGEROUS = {chr(c) for c in (*range(9), *range(11, 32), *range(127, 160))} | set(
    "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f"
)


@given(st.text())
def test_inert_text_has_nothing_that_acts(text: str) -> None:
    clean = inert(text)
    assert not DANGEROUS & set(clean)
    assert inert(clean) == clean
    clean.encode("utf-8")


@given(st.text(st.characters(categories=["L", "N", "P"]), max_size=200))
def test_plain_text_is_left_alone(text: str) -> None:
    assert inert(text) == text


@pytest.mark.parametrize(
    ("hostile", "shown"),
    [
        ("\x1b]52;c;aGk=\x07ok", "ok"),
        ("\x1b]0;title\x1b\\ok", "ok"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1bP1$tx\x1b\\ok", "ok"),
        ("\x9b31mred", "red"),
        ("\x9d0;title\x9cok", "ok"),
        ("a\rb", "a\nb"),
        ("a\r\nb", "a\nb"),
        ("[/] [@click=app.quit]x[/]", "[/] [@click=app.quit]x[/]"),
        ("\u202eevil", "evil"),
        ("un\x1b]52;c;never ended", "un"),
        ("un\x1b]52;c;never ended\nnext", "un\nnext"),
        ("un\x1bPnever ended\nnext", "un\nnext"),
    ],
)
def test_sequences_go_with_their_content(hostile: str, shown: str) -> None:
    assert inert(hostile) == shown


@pytest.mark.timeout(30)
@pytest.mark.parametrize(
    "text",
    ["\x90" * 200_000 + "\x1bA", "\x9da\x90" * 70_000 + "\x1bA", "-eyJaaaaaaaa" * 20_000],
)
def test_hostile_text_takes_no_longer_than_any_other(text: str) -> None:
    assert inert(text) == inert(inert(text))
    assert unfinished("a" * len(text) + " ") == len(text) + 1


@pytest.mark.parametrize("sign", ["\u26a0", "\u2714", "\u2139", "\U0001f5c4", "1\u20e3"])
def test_a_sign_has_as_many_cells_as_every_terminal_gives_it(sign: str) -> None:
    """With a variation selector Textual counts two cells, and tmux, xterm and others draw one."""
    asked = sign[0] + "\ufe0f" + sign[1:]
    assert cell_len(asked) == 2
    for text in (asked, f"{asked}\n"):
        assert inert(text).strip() == sign
    assert cell_len(inert(asked)) == 1


@given(st.text(), st.integers(10, 500))
def test_cuts_are_bounded(text: str, limit: int) -> None:
    for cut in (head(text, limit), tail(text, limit), one_line(text, limit)):
        assert len(cut) <= limit
    assert "\n" not in one_line(text, limit)


CHECKS = ProjectChecks(
    commands=(
        CheckCommand(
            kind=CheckKind.TESTS,
            command="uv run --group test pytest",
            runner="pytest",
            file="pyproject.toml",
        ),
        CheckCommand(
            kind=CheckKind.LINT, command="npm run lint", runner="npm", file="package.json"
        ),
    )
)


def test_which_criteria_are_commands() -> None:
    text = Path(__file__).with_name("criteria.txt").read_text(encoding="utf-8")
    wanted = dict(line.split("  ->  ") for line in text.splitlines())
    assert {said: runnable_command(said, CHECKS) or "prose" for said in wanted} == wanted
    assert runnable_command(CommandCriterion(command="make", description="x"), CHECKS) == "make"


def test_memory_has_the_seeds_sections() -> None:
    facts = SessionFacts(
        iteration=47, task_id="task-023", task_description="Verify", session_cost_usd=2.5,
        session_tokens=250_000, progress=0.65, files=("a.py", "b.py"),
    )  # fmt: skip
    note = MemoryNote(
        progress="Sending works", decisions=("JWT",), files=("b.py", "c.py"),
        dependencies=("`uv add python-jose` for JWT handling",),
    )  # fmt: skip
    text = render_memory(facts, note)
    for line in (
        "# Session Memory - Iteration 47", "## Completed This Session", "Task ID: task-023",
        "Progress: Sending works", "- JWT", "1. b.py", "2. c.py", "3. a.py",
        "## Dependencies Added\n- `uv add python-jose` for JWT handling\n",
        "- Session Cost: $2.5000", "- Session Tokens: 250,000", "- Total Progress: 65%",
    ):  # fmt: skip
        assert line in text


WRITTEN = datetime(2026, 1, 2, tzinfo=UTC)
EARLIER, LATER = WRITTEN - timedelta(hours=1), WRITTEN + timedelta(hours=1)


@pytest.mark.parametrize(
    ("completed", "task_id", "kept"),
    [
        (None, "b", "all"),
        (EARLIER, "b", "all"),
        (LATER, "b", "decisions"),
        (LATER, "a", "all"),  # its own task goes on, whatever was completed meanwhile
        (LATER, None, "decisions"),
    ],
)
def test_a_handoff_older_than_the_last_completion_is_not_current(
    completed: datetime | None, task_id: str | None, kept: str
) -> None:
    note = MemoryNote(progress="half", decisions=("JWT",), notes=("mind the gap",))
    text = render_memory(SessionFacts(iteration=1, task_id="a"), note)
    tasks = (Task(id="a"), Task(id="b"), Task(id="x", completed_at=completed))
    plan = ImplementationPlan(tasks=tasks)
    shown = relevant_handoff(text, WRITTEN, plan, plan.task(task_id) if task_id else None)
    assert "JWT" in shown
    assert (shown == text) == (kept == "all")
    assert ("half" in shown) == ("mind the gap" in shown) == (kept == "all")


def test_notes_of_one_session_add_up() -> None:
    first = MemoryNote(progress="one", notes=("a",), decisions=("x",))
    both = first.completed_by(MemoryNote(notes=("b", "a")))
    assert both == MemoryNote(progress="one", notes=("a", "b"), decisions=("x",))


def test_memory_without_a_summary_says_so() -> None:
    text = render_memory(SessionFacts(iteration=1, task_id="a"), None)
    assert "The model left no summary" in text


@given(
    st.text(max_size=12_000),
    st.lists(st.text(max_size=6_000), max_size=3),
    st.lists(st.text(max_size=900), max_size=40),
    st.text(max_size=300),
)
def test_active_memory_is_bounded_and_keeps_the_newest(
    memory: str, recent: list[str], learned: list[str], state: str
) -> None:
    parts = (state, memory, *reversed(recent), "p" * 9_000)
    found = active_memory(parts, choose(learned, frozenset()))
    assert len(found.whole) <= ACTIVE_MEMORY_LIMIT
    assert found.text.startswith(state.strip())
    assert memory.strip()[:100] in found.text
    if learned:
        assert found.learnings[-1][:300] == learned[-1][:300], "the newest is never dropped"


LEARNED = [f"[2026-01-01 10:00:{n:02}] PATTERN: note {n} about nothing" for n in range(50)]
PYTEST = "[2026-01-01 09:00:00] DEBUGGING: sqlite locks when habits.store opens it twice"


def test_learnings_that_share_words_with_the_task_are_found_again() -> None:
    task = Task(id="t", description="Open the sqlite store once", verification_criteria=("x",))
    found = choose([PYTEST, *LEARNED], words_of_task(task))
    assert PYTEST in found
    assert found[-NEWEST:] == tuple(LEARNED[-NEWEST:]), "the newest, whatever they are about"
    assert len(found) == 1 + SHOWN
    assert found[0] == "(31 older learnings not shown: progress.txt)"
    without = choose([PYTEST, *LEARNED], words_of("Colours of the header"))
    assert PYTEST not in without
    assert without[1:] == tuple(LEARNED[-SHOWN:]), "then the newer ones"


@given(st.lists(st.text(max_size=900), max_size=60), st.text(max_size=200))
def test_chosen_learnings_are_bounded_in_order_and_counted(learned: list[str], about: str) -> None:
    found = choose(learned, words_of(about))
    lines = found[next(iter(found), "").endswith(" not shown: progress.txt)") :]
    assert min(len(learned), NEWEST) <= len(lines) <= SHOWN
    assert sum(map(len, lines)) <= CHARACTERS
    left_out = plural(len(learned) - len(lines), "older learning")
    assert found[0].startswith(f"({left_out} ") if len(lines) < len(learned) else found == lines
    cut = [line.removesuffix("…") for line in lines]
    places = iter(learned)
    assert all(any(text.startswith(line) for text in places) for line in cut)


def test_agents_md_is_kept_short() -> None:
    lines = [f"line {n}" for n in range(70)]
    assert shown("\n".join(lines[:60])) == "\n".join(lines[:60])
    assert shown("\n".join(lines)).endswith(
        "line 59\n(These are the first 60 of 70 lines. The whole file is AGENTS.md in the project's"
        " directory: read the rest there when it matters.)"
    )
