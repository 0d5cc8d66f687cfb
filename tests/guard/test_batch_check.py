import json
import sys
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from ralph_tui.domain.project_state import Phase
from ralph_tui.guard.batch_check import check_lines
from ralph_tui.guard.command_judge import judging
from ralph_tui.guard.core.policy import Policy

pytestmark = pytest.mark.usefixtures("own_processes")

POLICY = Policy(root=Path("/work/proj"))


def test_one_answer_per_line_in_order() -> None:
    lines = [json.dumps({"command": c}).encode() for c in ("ls", "pytest", "git push")]
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
    bad = [b"", b"  ", b"x", b"[]", b'{"command": 1}', b'{"cmd": "ls"}', b"[" * 100_000]
    bad += [
        b'{"command": "echo \xff"}',
        b"\x00",
        b'{"n": ' + b"9" * 5_000 + b"}",
        b'{"command": NaN}',
    ]
    bad += ['{"command": "ls"}'.encode("utf-16"), b"y" * 10_000_000]
    answers = list(check_lines(bad, POLICY))
    assert [a["verdict"] for a in answers] == ["deny"] * len(bad)
    assert [f"Line {i}" in str(a["reason"]) for i, a in enumerate(answers, 1)] == [True] * len(bad)
    assert {a["rule"] for a in answers} == {"bad-input"}
    assert max(len(json.dumps(a)) for a in answers) < 2_000, "an answer is bounded"


@pytest.mark.parametrize("command", ["", " \n", "\ud800", "\0", "a b;" * 2_500_000])
def test_a_command_that_is_none_is_denied(command: str) -> None:
    (answer,) = check_lines([json.dumps({"command": command}).encode()], POLICY)
    assert (answer["verdict"], answer["rule"]) == ("deny", "unreadable-command")
    assert len(json.dumps(answer)) < 2_000


def test_windows_line_ends_and_a_byte_order_mark_do_no_harm() -> None:
    answers = list(
        check_lines([b'\xef\xbb\xbf{"command": "ls"}\r\n', b'{"command": "ls"}'], POLICY)
    )
    assert [a["verdict"] for a in answers] == ["allow", "allow"]


def test_a_phase_without_commands() -> None:
    policy = Policy(root=Path("/work/proj"), phase=Phase.PLANNING)
    (answer,) = check_lines([b'{"command": "ls"}'], policy)
    assert (answer["verdict"], answer["rule"]) == ("deny", "tool-not-in-phase")


def test_what_is_asked_about_is_denied_to_who_cannot_ask() -> None:
    policy = replace(POLICY, ask_commands=("docker compose up",))
    (answer,) = check_lines([b'{"command": "docker compose -f x.yaml up -d"}'], policy)
    assert (answer["verdict"], answer["rule"], answer["command"]) == ("deny", "ask-first", None)
    assert "docker compose up" in str(answer["reason"])


def test_a_command_that_takes_too_long_to_read_is_denied_in_time_and_the_next_is_read() -> None:
    lines = [json.dumps({"command": command}).encode() for command in ("ls", "slow", "ls")]
    reader = (
        "import sys, time\n"
        "print('ready', flush=True)\n"
        "sys.stdin.readline()\n"  # the policy
        "for line in sys.stdin:\n"
        "    time.sleep(3600) if 'slow' in line else print('{\"decision\": \"allow\"}', flush=True)\n"
    )
    waits = iter(
        [3600.0, 0.01, 3600.0]
    )  # only the command that is never answered meets its deadline
    before = psutil.Process().children()
    argv = (sys.executable, "-I", "-c", reader)
    with judging(POLICY, deadline=lambda: next(waits), argv=argv) as judge:
        answers = list(check_lines(lines, POLICY, judge))
    assert [a["verdict"] for a in answers] == ["allow", "deny", "allow"]
    assert "takes too long to check" in str(answers[1]["reason"])
    assert psutil.Process().children() == before, "the reader ended with us"
