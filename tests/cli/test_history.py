"""The history for other programs, on standard output."""

import csv
import io
import json
from pathlib import Path

import pytest

from ralph_tui.domain import events as ev
from ralph_tui.domain.errors import ExitCode
from tests.cli.processes import inside

TIMES = ("2026-01-02T03:04:00Z", "2026-01-02T03:05:01.500000Z")
FORMULAS = ['=cmd|"/C calc"!A0', "\t@SUM(1)", " +1", "-1", 'plain "quoted", and | more']


@pytest.fixture
def project(tmp_path: Path) -> Path:
    events: list[ev.Event] = []
    for number, title in enumerate(FORMULAS, 1):
        about = {"iteration": number, "task_id": f"t{number}"}
        figures = {"cost_usd": 0.1 + 0.2, "tokens": 1500, "seconds": 61.5}
        begun = {**about, "title": title, "attempt": 1, "time": TIMES[0]}
        ended = {**about, **figures, "outcome": "complete", "reason": "checked", "time": TIMES[1]}
        events += [
            ev.IterationStarted.model_validate(begun),
            ev.IterationFinished.model_validate(ended),
        ]
    journal = tmp_path / ".ralph" / "events.jsonl"
    journal.parent.mkdir()
    numbered = (event.model_copy(update={"seq": seq}) for seq, event in enumerate(events, 1))
    text = "".join(event.model_dump_json() + "\n" for event in numbered)
    journal.write_text(text, encoding="utf-8")
    return tmp_path


def test_a_spreadsheet_gets_the_figures_and_no_formula(project: Path) -> None:
    told = inside("history", "--as", "csv", cwd=project).stdout
    rows = list(csv.DictReader(io.StringIO(told)))
    titles = [row["title"] for row in rows]
    assert titles == [f"'{text.strip()}" for text in FORMULAS[:4]] + [FORMULAS[4]]
    assert sum(float(row["cost_usd"]) for row in rows) == pytest.approx(1.5)
    assert {(row["cost_usd"], row["tokens"], row["seconds"]) for row in rows} == {
        ("0.3", "1500", "61.5")
    }


def test_programs_and_people_get_the_same_totals(project: Path) -> None:
    document = json.loads(inside("history", "--as", "json", cwd=project).stdout)
    assert [it["title"] for it in document["iterations"]] == FORMULAS
    told = inside("history", "--as", "md", cwd=project).stdout
    assert "- Iterations: 5\n- Cost: $1.50\n- Tokens: 7,500\n" in told
    both = inside("history", "--as", "md", "--json", cwd=project)
    assert both.returncode == 3
    assert "exclude each other" in both.stderr


def test_another_form_is_refused_in_words_of_its_own(project: Path) -> None:
    done = inside("history", "--as", "xls", cwd=project)
    assert "Invalid value for '--as': 'xls' is not one of 'csv', 'json', 'md'." in done.stderr
    assert done.returncode == ExitCode.ERROR
