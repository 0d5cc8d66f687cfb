import json
from pathlib import Path

from ralph_tui.domain.state import Phase
from ralph_tui.guard.check import check_lines
from ralph_tui.guard.policy import Policy

POLICY = Policy(root=Path("/work/proj"))


def test_one_answer_per_line_in_order() -> None:
    lines = [json.dumps({"command": c}) for c in ("ls", "pytest", "git push")]
    answers = list(check_lines(lines, POLICY))
    assert [(a["verdict"], a["command"]) for a in answers] == [
        ("allow", "ls"),
        ("rewrite", "uv run pytest"),
        ("deny", None),
    ]
    assert [a["rule"] for a in answers] == [None, "uv-run", "git-read-only"]
    assert answers[0]["reason"] is None
    assert "git push" in str(answers[2]["reason"])


def test_bad_lines_are_denials_with_their_number() -> None:
    bad = ["", "x", "[]", '{"command": 1}', '{"cmd": "ls"}', "[" * 100_000]
    answers = list(check_lines(bad, POLICY))
    assert [a["verdict"] for a in answers] == ["deny"] * len(bad)
    assert [f"Line {i}" in str(a["reason"]) for i, a in enumerate(answers, 1)] == [True] * len(bad)
    assert {a["rule"] for a in answers} == {"bad-input"}


def test_a_phase_without_commands() -> None:
    policy = Policy(root=Path("/work/proj"), phase=Phase.PLANNING)
    (answer,) = check_lines(['{"command": "ls"}'], policy)
    assert (answer["verdict"], answer["rule"]) == ("deny", "tool-not-in-phase")
