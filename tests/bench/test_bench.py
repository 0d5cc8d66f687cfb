"""Benchmarks against a peer in the same run; they print a table and assert no times."""

import json
import os
import statistics
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest
from pydantic import JsonValue

from tests.bench import lasting, long_journal, startup
from tests.bench.gate import Gate
from tests.bench.keys import paced
from tests.bench.loops import ITERATIONS, NO_CHECK, UNIT_TESTS, Timed, bare_loop, ralph_loop
from tests.bench.report import Row, in_turns, timed_row

pytestmark = pytest.mark.timeout(900)

LOOP_ROUNDS = 3
ROUNDS = 9

EVENTS = int(os.environ.get("RALPH_EVENTS", "100000"))
"""RALPH_EVENTS=1000000 for the whole of a long day."""


@pytest.mark.parametrize(
    ("check", "name"),
    [(UNIT_TESTS, "check: a pytest run"), (NO_CHECK, "check: nothing")],
    ids=["pytest", "nothing"],
)
def test_an_iteration_against_a_bare_shell_loop(
    tmp_path: Path, rows: list[Row], check: str, name: str
) -> None:
    pairs = [
        (bare_loop(tmp_path / f"bare-{n}", check), ralph_loop(tmp_path / f"ours-{n}", check))
        for n in range(LOOP_ROUNDS)
    ]
    figures: tuple[tuple[str, Callable[[Timed], float], str], ...] = (
        (f"one iteration: one file written, {name}", lambda timed: timed.typical, "< 1"),
        (f"all of a run of {ITERATIONS}, {name}", lambda timed: timed.whole, "≤ 1.15"),
        ("… processor time", lambda timed: timed.processor, "≤ 1.4"),
    )
    for what, figure, target in figures:
        ours = statistics.median(figure(ralph) for _, ralph in pairs)
        peer = statistics.median(figure(bare) for bare, _ in pairs)
        assert ours > 0
        assert peer > 0
        rows.append(timed_row(what, ours, peer, "shell loop of `claude -p`", target))
    if check is NO_CHECK:
        _tell_requests(rows, pairs[-1][1], pairs[-1][0])


def _tell_requests(rows: list[Row], ours: Timed, peer: Timed) -> None:
    """Bytes of an iteration's first request, and how much of it the model's cache has seen."""
    size, share = _first_requests(ours)
    peer_size, peer_share = _first_requests(peer)
    what, peer_name = "bytes of an iteration's first request", "`claude -p`"
    rows.append(Row(what, f"{size:,}", f"{peer_name}: {peer_size:,}", size / peer_size))
    what, prefix = "share of it identical to the one before (prefix)", f"{peer_share:.1%}"
    rows.append(Row(what, f"{share:.1%}", f"{peer_name}: {prefix}", share / peer_share))


def _first_requests(timed: Timed) -> tuple[int, float]:
    first = [request for request in timed.requests if request["turn"] == 0]
    assert len(first) > 1
    texts = [_as_cached(request["body"]) for request in first]
    shares = [_common(before, text) / len(text) for before, text in pairwise(texts)]
    sizes = [size for request in first if isinstance(size := request["size"], int)]
    return round(statistics.median(sizes)), statistics.median(shares)


def _common(before: str, after: str) -> int:
    pairs = zip(before, after, strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(before), len(after)))


def _as_cached(body: JsonValue) -> str:
    assert isinstance(body, dict)
    return json.dumps([body.get(part) for part in ("tools", "system", "messages")])


def test_the_gate_against_the_check_alone(tmp_path: Path, rows: list[Row]) -> None:
    gate = Gate(tmp_path / "project")
    assert min(gate.in_place(), gate.check()) > 0  # the first of each also compiles
    rows.append(
        timed_row(
            "a check in place",
            *in_turns(gate.in_place, gate.check, ROUNDS),
            "the check alone",
            "≤ 1.05",
        )
    )
    first, added = gate.judge_tree(), gate.worktree()
    rows.append(
        timed_row("the judge tree of 20,000 files, at first", first, added, "`git worktree add`")
    )
    later, peer = in_turns(gate.judge_tree, gate.worktree, LOOP_ROUNDS)
    rows.append(timed_row("… for each later claim", later, peer, "`git worktree add`", "≤ 300 ms"))


def test_first_paint_against_an_empty_app(tmp_path: Path, rows: list[Row]) -> None:
    root = startup.project(tmp_path)
    empty = partial(startup.paints, root, startup.TASKS, "-c", startup.EMPTY_APP)
    moments = (
        ("first paint of `ralph`: its frames", startup.FRAMES, "≤ 1.25"),
        ("… the plan's tasks", startup.TASKS, "≤ 1.6"),
        ("… its dashboard, which takes keys", startup.DASHBOARD, ""),
        ("… all that it read", startup.PROJECT, ""),
    )
    for name, what, target in moments:
        paint = partial(startup.paints, root, what, *startup.RALPH)
        assert min(paint(), empty()) > 0  # the first of each also warms caches and bytecode
        ours, peer = in_turns(paint, empty, ROUNDS)
        rows.append(timed_row(name, ours, peer, "empty Textual app", target))


def test_status_against_its_imports(tmp_path: Path, rows: list[Row]) -> None:
    root = startup.project(tmp_path)
    status = partial(startup.takes, root, *startup.RALPH, "status")
    status()  # warms caches and bytecode
    peers = (
        ("`import typer, pydantic`", "import typer, pydantic", "≤ 1.5"),
        ("a Python with one pydantic model", startup.ONE_MODEL, ""),
    )
    for name, code, target in peers:
        ours, peer = in_turns(status, partial(startup.takes, root, "-c", code), ROUNDS)
        assert ours > 0
        rows.append(timed_row("`ralph status`", ours, peer, name, target))


def test_keys_while_events_stream(tmp_path: Path, rows: list[Row]) -> None:
    idle = paced(0, tmp_path / "idle")
    for rate in (1_000, 5_000):
        busy = paced(rate, tmp_path / str(rate))
        assert busy.rate > 0
        at = f"{rate:,} events/s"
        rows.append(
            Row(
                f"events shown at {at} ({busy.cpu:.0%} of a core)",
                f"{busy.rate:,.0f}/s",
                f"sent: {rate:,}/s",
                busy.rate / rate,
                "1",
            )
        )
        rows.append(timed_row(f"key to paint at {at}, p50", busy.p50, idle.p50, "idle"))
        rows.append(timed_row(f"key to paint at {at}, p95", busy.p95, idle.p95, "idle"))


def test_a_screen_at_rest(tmp_path: Path, rows: list[Row]) -> None:
    root = startup.project(tmp_path)
    peer = lasting.rests(root, startup.TASKS, "-c", startup.EMPTY_APP)
    ours = lasting.rests(root, startup.PROJECT, *startup.RALPH)
    name = "empty Textual app"
    share = ours / peer if peer else float("nan")
    rows.append(
        Row("a core at rest", f"{ours:.1%}", f"{name}: {peer:.1%}", share, "≤ 1 % of a core")
    )


def test_memory_while_events_stream(tmp_path: Path, rows: list[Row]) -> None:
    early, late = lasting.memory_over(EVENTS, tmp_path / "events")
    assert early > 0
    what = f"memory after {EVENTS:,} events"
    peer = f"after {EVENTS // 5:,}: {early / 1e6:.0f} MB"
    rows.append(Row(what, f"{late / 1e6:.0f} MB", peer, late / early, "1"))


def test_a_long_journal_is_read(tmp_path: Path, rows: list[Row]) -> None:
    root = long_journal.project(tmp_path, EVENTS)
    peer = f"{EVENTS:,} lines read as JSON"
    for what, work, target in (
        ("the newest iterations", long_journal.newest, ""),
        ("all iterations", long_journal.whole, "< 1"),
    ):
        ours, floor = in_turns(partial(work, root), partial(long_journal.floor, root), 3)
        assert ours > 0
        rows.append(timed_row(f"{what} of {EVENTS:,} events", ours, floor, peer, target))


def test_keys_in_long_lists(tmp_path: Path, rows: list[Row]) -> None:
    for name, keys in lasting.LISTS.items():
        peer = lasting.steps(100, keys, tmp_path / f"{name}-few")
        ours = lasting.steps(10_000, keys, tmp_path / f"{name}-many")
        rows.append(timed_row(f"j in {name} of 10,000", ours, peer, "of 100", "≤ 1.3"))


def test_a_board_of_many_tasks(tmp_path: Path, rows: list[Row]) -> None:
    peer = lasting.board_pages(100, tmp_path / "few")
    ours = lasting.board_pages(10_000, tmp_path / "many")
    rows.append(
        timed_row("half a page of a board of 10,000 tasks", ours, peer, "of 100 tasks", "1")
    )


def test_tasks_that_change(rows: list[Row]) -> None:
    ours, peer = in_turns(partial(lasting.changes, 10_000), partial(lasting.changes, 100), ROUNDS)
    assert peer > 0
    rows.append(timed_row("200 changes of 10,000 tasks", ours, peer, "of 100 tasks", "1"))
